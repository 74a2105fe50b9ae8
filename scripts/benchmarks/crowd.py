"""Times crowds of the human: what Python does in a frame, and after an edit.

`playback.py` runs it, with the human and the take that it has.
"""

from __future__ import annotations

import statistics
import time
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np

from benchmarks.targets import record
from dq_compensation.pipeline.crowds import known_crowds
from dq_compensation.pipeline.crowds.crowd_display import Crowds
from dq_compensation.pipeline.crowds.settings import crowd_of
from dq_compensation.pipeline.takes.stored_takes import store_take
from dq_compensation.pipeline.takes.takes import Take
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.session.known_objects import enabled, enabled_objects
from dq_compensation.session.status import status_of
from dq_compensation.viewport import gpu_objects

FRAMES = 40
FRAME_TARGET, EDIT_TARGET = 0.5, 5.0
# Clip space is 400 m wide: every figure is seen.
TO_CLIP = np.diag([0.005, 0.005, -0.005, 1.0])


class CrowdOfHumans:
    """A crowd, and what a viewport does with it but for the work of a graphics card."""

    def __init__(self, armature: bpy.types.Object, binding: Binding, take: Take) -> None:
        obj = bpy.data.objects[binding.object_name]
        settings_of(obj).is_enabled = True
        settings_of(obj).method = "COMPENSATED"
        status_of(obj).binding = binding
        item: Any = settings_of(armature).takes.add()
        item.name, item.stored = "Wave", store_take(take, "Wave")
        self.empty = bpy.data.objects.new("Crowd", None)
        bpy.context.scene.collection.objects.link(self.empty)
        self.settings: Any = crowd_of(self.empty)
        self.settings.is_crowd = True
        role = self.settings.roles.add()
        role.character, role.take = armature, "Wave"
        enabled.forget()
        known_crowds.forget_crowds()
        bpy.context.view_layer.update()
        self.crowds, self.number = Crowds(), 0
        self.view: Any = SimpleNamespace(to_view=np.eye(4), to_clip=TO_CLIP)

    def draw(self) -> float:
        """Seconds of this thread's processor for a new frame."""
        self.number += 1
        bpy.context.scene.frame_set(1 + self.number)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        begun = time.thread_time()
        crowds = [(crowd, True) for crowd in known_crowds.all_crowds()]
        enabled = enabled_objects()
        assert self.crowds.update(crowds, enabled, self.view, depsgraph)
        return time.thread_time() - begun

    def of_frames(self, count: int) -> float:
        """Seconds of a frame with so many figures."""
        self.settings.count = count
        self.draw()
        return statistics.median([self.draw() for _ in range(FRAMES)])

    def of_edits(self) -> float:
        """Seconds of a frame after the seed was changed."""
        times = []
        for seed in range(1, 8):
            self.settings.seed = seed
            times.append(self.draw())
        return statistics.median(times)


def run(armature: bpy.types.Object, binding: Binding, take: Take, counts: tuple[int, ...]) -> None:
    """Measure and print."""
    crowd, run_compute = CrowdOfHumans(armature, binding, take), gpu_objects.run_compute
    gpu_objects.run_compute = lambda *_: None
    found = {count: crowd.of_frames(count) for count in counts}
    edit = crowd.of_edits()
    gpu_objects.run_compute = run_compute
    print(f"{'Python, ms per frame, crowd of:':36}", end="")
    print("".join(f"{count:7}: {1e3 * found[count]:.3f}" for count in counts))
    _row(f"Python, a crowd of {counts[-1]:,}", 1e3 * found[counts[-1]], FRAME_TARGET)
    _row(f"another seed for {counts[-1]:,}", 1e3 * edit, EDIT_TARGET)


def _row(name: str, measured: float, target: float) -> None:
    print(f"{name:36}{measured:8.3f} ms  (target {target:.2f})")
    record(name, measured, target, "ms")

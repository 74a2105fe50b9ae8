"""Plays frame after frame, and measures what has grown: memory, data-blocks, handlers.

One character has the modifier display. Two have the GPU display: one with the pose of its armature,
one with a take, which a crowd plays, too. What is drawn of them in a frame is computed here without
a GPU; `tests/gpu/test_steady_state.py` has the rest.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import bpy

from dq_compensation.lifecycle import enabling, reconcile
from dq_compensation.pipeline.crowds.crowd_figures import figures_of_crowd
from dq_compensation.pipeline.crowds.crowds import Program, program_times
from dq_compensation.pipeline.takes.played_takes import playing_of
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.blender.armature import pose_matrices, pose_order
from dq_compensation.scene.blender.rigging import rig_of
from dq_compensation.scene.blender.scenes import scene_time
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.session.status import status_of
from tests.blender.crowd_scenes import add_crowd
from tests.blender.enabled_scenes import check
from tests.blender.take_scenes import LENGTH, playing_limb
from tests.played_poses import pose_at
from tests.soak.invariants import handlers

# Allocators keep pages; one array of 100 bytes for each of 10,000 frames would be beyond these.
PROCESS_BYTES = 1_000_000
PYTHON_OBJECTS = 500


@dataclass(frozen=True)
class Measured:
    """What can grow.

    Attributes:
        process: the resident memory, bytes.
        objects: what Python's garbage collector knows.
        data: how many data-blocks the file has.
        handlers: ours among Blender's.
    """

    process: int
    objects: int
    data: int
    handlers: int

    @classmethod
    def now(cls) -> Measured:
        gc.collect()
        blocks = (getattr(bpy.data, name) for name in dir(bpy.data))
        lists: list[Any] = [
            each for each in blocks if isinstance(each, bpy.types.bpy_prop_collection)
        ]
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
        return cls(resident, len(gc.get_objects()), sum(map(len, lists)), len(list(handlers())))


def play(frames: int, warm_up: int) -> tuple[Measured, Measured]:
    """Play so many frames; the add-on is registered, the file is empty.

    Returns:
        what was measured after the warm-up, and at the end.
    """
    with (
        mock.patch.object(enabling, "drawing_refusal", _nothing_is_refused),
        mock.patch.object(reconcile, "drawing_refusal", _nothing_is_refused),
    ):
        show = _scene()
        for number in range(warm_up):
            show(number)
        Measured.now()  # what measuring itself takes
        before = Measured.now()
        for number in range(frames):
            show(number)
        return before, Measured.now()


def _nothing_is_refused() -> None:
    """As in a session with a window."""


def grown(before: Measured, after: Measured) -> list[str]:
    """What has grown, by its name."""
    limits = {"process": PROCESS_BYTES, "objects": PYTHON_OBJECTS, "data": 0, "handlers": 0}
    return [
        name
        for name, limit in limits.items()
        if getattr(after, name) - getattr(before, name) > limit
    ]


def _scene() -> Callable[[int], None]:
    """Three characters and a crowd in the current scene; returns what shows a frame."""
    plain, _ = playing_limb("Plain", takes=())
    plain_settings: Any = settings_of(plain)
    for number, factor in ((1, 0.5), (LENGTH, 1.0)):
        plain_settings.factor = factor
        plain_settings.keyframe_insert("factor", frame=number)
    posed, _ = playing_limb("Posed", takes=())
    playing, rig = playing_limb("Playing")
    playback = settings_of(rig).playback
    playback.playing, playback.take = True, "Swing"
    crowd = add_crowd(count=20)
    drawn: list[bpy.types.Object] = [posed, playing]
    for obj in drawn:
        settings_of(obj).display = "GPU"
    check()

    def show(number: int) -> None:
        bpy.context.scene.frame_set(1 + number % LENGTH)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for obj in drawn:
            _positions_are_computed(obj, depsgraph)
        state = figures_of_crowd(crowd)
        assert not state.problems
        frame, fps = scene_time(depsgraph)
        role, figures = state.roles[0], state.figures
        times = program_times(
            figures.phases, figures.speeds, frame, state.start_frame, role.first.fps, fps
        )
        Program(role.first, role.second, role.fade_frames).poses(times)

    return show


def _positions_are_computed(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """What the GPU display computes of an object in each frame, by NumPy."""
    binding = status_of(obj).binding
    assert isinstance(binding, Binding)
    rig = rig_of(obj)
    playing = playing_of(rig, binding)
    if playing is not None:
        pose_at(playing, *scene_time(depsgraph))
    else:
        pose_matrices(rig.evaluated_get(depsgraph), pose_order(rig, binding.skeleton))

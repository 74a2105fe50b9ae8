"""Times the add-on's Python while a crowd in the modifier display is posed, plays and is drawn.

    .venv-5.2/bin/python scripts/run.py benchmarks.python

20 bodies of 12 meshes on 163 bones; the meshes are small, since no row depends on their vertices.
Each row is a share of what Blender takes for the same evaluation, our handlers included; drawing is
compared with a played frame. Times are those of the processor.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import bpy

import dq_compensation
from benchmarks.characters import human_in_pieces
from benchmarks.targets import record
from benchmarks.turns import Cast, copied
from dq_compensation.lifecycle.enabling import enable_all
from dq_compensation.session import changes
from dq_compensation.viewport import draw_handler

BODIES, MESHES, VERTICES, FRAMES = 20, 12, 300, 15
# Shares of the evaluation.
TARGETS = {"pose one body": 0.14, "play a frame": 0.01, "draw a viewport": 0.006}


def build_crowd() -> Cast:
    """The bodies in a new file, each with an armature of its own."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    crowd = copied("Crowd", *human_in_pieces(MESHES, VERTICES), BODIES)
    for armature in crowd.armatures:
        armature.data = armature.data.copy()
    crowd.view_layer.update()
    return crowd


def timed_handlers() -> Callable[[], float]:
    """Let the add-on's handlers note their time.

    Returns:
        a function: the seconds that they took since its last call.
    """
    taken = [0.0]

    def timed(handler: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: object) -> None:
            begun = time.process_time()
            handler(*arguments)
            taken[0] += time.process_time() - begun

        return call

    for event in ("depsgraph_update_post", "frame_change_post", "frame_change_pre"):
        handlers = getattr(bpy.app.handlers, event)
        handlers[:] = [timed(handler) for handler in handlers]

    def since() -> float:
        found, taken[0] = taken[0], 0.0
        return found

    return since


def measure(crowd: Cast) -> dict[str, tuple[float, float]]:
    """Median milliseconds of each row, and of the evaluation."""
    since = timed_handlers()
    bone = crowd.armatures[0].pose.bones["lowerarm01.L"]
    bodies = [armature.pose.bones["lowerarm01.L"] for armature in crowd.armatures]

    def pose(frame: int) -> None:
        bone.rotation_quaternion = (1.0, 0.1 * frame, 0.0, 0.0)
        crowd.view_layer.update()

    def redraw(_frame: int) -> None:
        draw_handler.draw()

    times = {"pose one body": _medians(pose, since)}
    for each in bodies:
        each.keyframe_insert("rotation_quaternion", frame=1)
        each.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        each.keyframe_insert("rotation_quaternion", frame=2 * FRAMES)
    changes.is_playing = lambda: True
    times["play a frame"] = played = _medians(crowd.scene.frame_set, since)
    times["draw a viewport"] = _medians(redraw, since)[1], played[1]
    return times


def _medians(step: Callable[[int], object], since: Callable[[], float]) -> tuple[float, float]:
    """Milliseconds of our handlers, and of all."""
    handlers, every = [], []
    for frame in range(FRAMES):
        since()
        begun = time.process_time()
        step(frame)
        every.append(1e3 * (time.process_time() - begun))
        handlers.append(1e3 * since())
    # The first ones build what later ones find ready.
    return statistics.median(handlers[3:]), statistics.median(every[3:])


def main() -> None:
    """Measure and print."""
    dq_compensation.register()
    crowd = build_crowd()
    version = ".".join(map(str, bpy.app.version))
    print(f"Blender {version}: {BODIES} bodies of {MESHES} meshes, modifier display")
    with bpy.context.temp_override(scene=crowd.scene, view_layer=crowd.view_layer):
        depsgraph = bpy.context.evaluated_depsgraph_get()
        begun = time.process_time()
        enable_all(crowd.meshes[:MESHES], depsgraph)
        print(f"  {'enable the first body':28}{time.process_time() - begun:8.2f} s")
        begun = time.process_time()
        enable_all(crowd.meshes[MESHES:], depsgraph)
        print(f"  {'enable the others':28}{time.process_time() - begun:8.2f} s")
    for row, (ours, every) in measure(crowd).items():
        share, target = ours / every, TARGETS[row]
        print(f"  {row:28}{ours:8.3f} of {every:8.3f} ms{share:8.3f} (target: {target})")
        record(f"{row}, Python's share", share, target)


if __name__ == "__main__":
    main()

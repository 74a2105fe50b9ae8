"""How long baking takes: the human of 13,380 vertices and 163 bones, for a number of frames.

    .venv-5.2/bin/python scripts/run.py benchmarks.bake [FRAMES]

The target is 250 frames in at most 60 seconds; 48 frames are measured unless said otherwise, and
what 250 would take follows from them, since every frame costs the same. Frames and memory: the
offsets take 12 bytes per vertex and frame, the process up to four times that.
"""

from __future__ import annotations

import resource
import sys
import time

import bpy
import numpy as np

import dq_compensation
from benchmarks.targets import record
from dq_compensation.api import disable, enable
from dq_compensation.bake.bake_source import PoseOffsets, Source
from dq_compensation.bake.options import RangeOptions
from dq_compensation.bake.range_bake import RangeBake
from dq_compensation.scene.blender.scenes import frames_of_range
from human.model import build_human
from human.poses import apply_pose, random_pose

TARGET_FRAMES = 250
TARGET_SECONDS = 60
FRAMES = 48
EVERY = 12


def build_scene(count: int) -> bpy.types.Object:
    """The human in a new file, enabled, with a random pose every `EVERY` frames."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    obj, armature = build_human()
    rng = np.random.default_rng(0)
    for frame in range(1, count + EVERY, EVERY):
        apply_pose(armature, random_pose(rng))
        for bone in armature.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.view_layer.update()
    enable(obj, use_ball_joints=False)
    return obj


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else FRAMES
    dq_compensation.register()
    obj = build_scene(count)
    scene = bpy.context.scene
    frames = frames_of_range(1, count, 1)
    times: dict[str, float] = {}
    before = _megabytes()

    start = time.perf_counter()
    for frame in frames:
        scene.frame_set(frame)
    times["going through the frames, for comparison"] = time.perf_counter() - start

    start = time.perf_counter()
    source = Source.of(obj, bpy.context.evaluated_depsgraph_get())
    times["reading the character"] = time.perf_counter() - start

    start = time.perf_counter()
    bake = RangeBake(source, RangeOptions(1, count, overwrite=False))
    steps = bake.gather()
    gathered: PoseOffsets | None = None
    while gathered is None:
        try:
            next(steps)
        except StopIteration as end:
            gathered = end.value
    times["gathering, the frames included"] = time.perf_counter() - start

    start = time.perf_counter()
    names = tuple(bake.write(obj, gathered))
    times["writing keys and curves"] = time.perf_counter() - start

    disable(obj)
    start = time.perf_counter()
    for _ in bake.verify(obj, bake.report(obj, gathered, names)):
        pass
    times["checking"] = time.perf_counter() - start

    print(
        f"{count} frames, {source.vertex_count} vertices, "
        f"{source.binding.skeleton.bone_count} bones"
    )
    for what, seconds in times.items():
        print(f"  {what:42} {seconds:7.2f} s {1000 * seconds / count:8.1f} ms per frame")
    per_frame = (times["gathering, the frames included"] + times["writing keys and curves"]) / count
    rest = times["reading the character"] + times["checking"]
    seconds = TARGET_FRAMES * per_frame + rest
    print(f"  {TARGET_FRAMES} frames would take {seconds:.0f} s (target: {TARGET_SECONDS})")
    record(f"{TARGET_FRAMES} frames", seconds, TARGET_SECONDS, "s")
    offsets = gathered.offsets.nbytes / 1e6
    print(f"  offsets {offsets:.0f} MB; the process grew by {_megabytes() - before:.0f} MB at most")


def _megabytes() -> float:
    """The largest memory of the process until now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


if __name__ == "__main__":
    main()

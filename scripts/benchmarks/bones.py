"""How well and how fast Bake to Bones works on the human of 13,380 vertices and 163 bones.

    .venv-5.2/bin/python scripts/run.py benchmarks.bones [TOLERANCE]

All joints, 4 influences, fitted to keyed anatomical poses, then to the random range of motion that
is its default. Blender's plain Armature modifier plays other anatomical poses, and is compared with
the live result. The targets: 60 seconds; a quarter of plain linear skinning's root mean square, a
third of its largest error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import bpy
import numpy as np
from numpy.typing import NDArray

import dq_compensation
from benchmarks.targets import record
from dq_compensation.api import disable, enable
from dq_compensation.pipeline.bones.bones_baking import bake_bones
from dq_compensation.pipeline.bones.options import BonesOptions, PoseSource
from human.model import build_human
from human.poses import apply_pose, random_pose

POSES, FITTED = 60, 48
SEED, FITTED_SEED = 99, 1

Errors = tuple[float, float]


def positions(obj: bpy.types.Object, armature: bpy.types.Object) -> Iterator[NDArray[np.float32]]:
    """The evaluated vertices, shape (n, 3), in each of the anatomical poses."""
    rng = np.random.default_rng(SEED)
    for _ in range(POSES):
        apply_pose(armature, random_pose(rng))
        evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
        found = np.empty((len(obj.data.vertices), 3), np.float32)
        evaluated.data.attributes["position"].data.foreach_get("vector", found.reshape(-1))
        yield found
    apply_pose(armature, {})
    bpy.context.view_layer.update()


def key_poses(armature: bpy.types.Object) -> None:
    """An action of other anatomical poses, one a frame."""
    rng = np.random.default_rng(FITTED_SEED)
    for frame in range(1, FITTED + 1):
        apply_pose(armature, random_pose(rng))
        for bone in armature.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    apply_pose(armature, {})


def measure(poses: PoseSource, tolerance: float) -> None:
    """Bake a new human, print and record."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    obj, armature = build_human()
    enable(obj, use_ball_joints=False)
    live = list(positions(obj, armature))

    def errors() -> Errors:
        away = [
            np.linalg.norm(found - wanted, axis=1)
            for found, wanted in zip(positions(obj, armature), live, strict=True)
        ]
        return 1e3 * float(np.sqrt(np.mean(np.square(away)))), 1e3 * float(np.max(away))

    disable(obj)
    plain_rms, plain_largest = errors()
    enable(obj, use_ball_joints=False)
    if poses == "FRAMES":
        key_poses(armature)
    bones = len(armature.pose.bones)
    start = time.perf_counter()
    options = BonesOptions(tolerance=tolerance, poses=poses)
    for _ in bake_bones([obj], options):
        pass
    seconds = time.perf_counter() - start
    armature.animation_data_clear()
    rms, largest = errors()
    print(f"{poses}: {len(live[0])} vertices, {bones} bones")
    print(f"  {len(armature.pose.bones) - bones} bones more, gauges included")
    print(f"  plain linear: largest {plain_largest:.1f} mm, root mean square {plain_rms:.2f} mm")
    print(f"  helper bones: largest {largest:.1f} mm, root mean square {rms:.2f} mm")
    for row, measured, target, unit in (
        ("all joints", seconds, 60.0, "s"),
        ("root mean square to plain linear's", rms / plain_rms, 0.25, ""),
        ("largest error to plain linear's", largest / plain_largest, 1.0 / 3.0, ""),
    ):
        print(f"  {row:36} {measured:6.3f} {unit} (target: {target:.3f})")
        record(f"Bake to Bones, {poses}: {row}", measured, target, unit)


def main() -> None:
    """Measure and print."""
    tolerance = float(sys.argv[1]) if len(sys.argv) > 1 else 0.5
    dq_compensation.register()
    measure("FRAMES", tolerance)
    measure("ALL", tolerance)


if __name__ == "__main__":
    main()

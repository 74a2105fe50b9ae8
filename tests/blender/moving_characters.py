"""Characters that move, and where their vertices are: for tests of what other programs read."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
from mathutils.kdtree import KDTree
from numpy.typing import NDArray

from human.motion import key_motion
from human.poses import apply_pose, random_pose
from tests.kept_files import new_file, new_file_with_human
from tests.limb import build_limb

Positions = NDArray[np.float64]


def moving_limb() -> tuple[bpy.types.Object, bpy.types.Object, int]:
    """The limb, its armature, and the last frame of a random range of motion."""
    new_file()
    obj, armature = build_limb()
    rng = np.random.default_rng(0)
    for frame in (1, 4, 8):
        for bone in armature.pose.bones:
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = rng.uniform(-0.7, 0.7, 3).tolist()
            bone.location = rng.uniform(-0.02, 0.02, 3).tolist()
            bone.keyframe_insert("rotation_euler", frame=frame)
            bone.keyframe_insert("location", frame=frame)
    return obj, armature, 8


def moving_human() -> tuple[bpy.types.Object, bpy.types.Object, int]:
    """The human, its armature, and the last frame: a captured jump, then random poses."""
    obj, armature = new_file_with_human("cmu_mb")
    last = key_motion(armature, step=15)
    rng = np.random.default_rng(0)
    for _ in range(4):
        last += 1
        apply_pose(armature, random_pose(rng, "cmu_mb"))
        for bone in armature.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=last)
    return obj, armature, last


def per_frame(frames: range, evaluate: Callable[[], Positions]) -> dict[int, Positions]:
    """What `evaluate` gives in each frame of the scene."""
    found = {}
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        found[frame] = evaluate()
    return found


def in_world(obj: bpy.types.Object, positions: NDArray[np.floating]) -> Positions:
    """Shape (n, 3), from object space to world space."""
    world = np.array(obj.matrix_world, np.float64)
    return positions @ world[:3, :3].T + world[:3, 3]


def nearest(points: Positions, others: Positions) -> NDArray[np.int64]:
    """Shape (n,): the index of the other point at the place of each point."""
    tree = KDTree(len(others))
    for index, point in enumerate(others):
        tree.insert(point, index)
    tree.balance()
    found = [tree.find(point) for point in points]
    assert max(distance for _, _, distance in found) < 1e-5
    return np.array([index for _, index, _ in found])

"""Motion capture for the rig `cmu_mb` of `human_model`: four seconds, a jump forward."""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np

from human_model import MODEL_PATH

JUMP_PATH = MODEL_PATH.with_name("forward_jump.npz")


def jump(armature_object: bpy.types.Object, every: int = 1) -> tuple[int, int]:
    """Give the rig an action `Forward Jump` from frame 1 on, at 24 frames per second.

    Args:
        every: keys in each so many frames.

    Returns:
        the first and the last frame.
    """
    with np.load(JUMP_PATH, allow_pickle=False) as archive:
        names = [str(name) for name in archive["names"]]
        rotations, locations = archive["rotations"], archive["locations"]
    pose = cast("bpy.types.Pose", armature_object.pose)
    for index, name in enumerate(names):
        bone = pose.bones[name]
        bone.rotation_mode = "QUATERNION"
        for frame in range(0, len(rotations), every):
            bone.rotation_quaternion = rotations[frame, index].tolist()
            bone.keyframe_insert("rotation_quaternion", frame=frame + 1)
            if index == 0:
                bone.location = locations[frame].tolist()
                bone.keyframe_insert("location", frame=frame + 1)
    animation = armature_object.animation_data
    assert animation is not None
    assert animation.action is not None
    animation.action.name = "Forward Jump"
    return 1, len(rotations)

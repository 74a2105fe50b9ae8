"""Takes a bone to one of its example poses."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import bpy
import numpy as np
from mathutils import Matrix

from ..core.dual_quaternion import (
    concatenate_quaternions,
    matrices_from_quaternions,
    quaternion_conjugate,
)
from ..core.example_poses import ExampleError
from ..core.pose import Pose
from ..scene.binding.bind import bind
from ..scene.binding.stored_examples import example_bone, example_items, example_placement
from ..scene.blender.linked import linked_refusal
from ..scene.blender.rigging import rig_of
from ..scene.settings.object_settings import Settings
from .items import require_bone

# Which of them counts is the bone's rotation mode.
_ROTATIONS = ("rotation_quaternion", "rotation_euler", "rotation_axis_angle")


def go_to_pose(
    obj: bpy.types.Object, index: int, depsgraph: bpy.types.Depsgraph
) -> tuple[str, float]:
    """Turn the bone of an example to its stored rotation relative to its parent.

    The parents stay as they are. Only the rotation of the bone's own pose changes, in its rotation
    mode; the bone's constraints act on it as ever.

    Returns:
        the name of the bone, and how many radians its direction is from the example's now: more
        than a little where constraints, drivers or locks hold the bone.

    Raises:
        ExampleError: the bone or the armature cannot be posed; nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    binding = bind(obj, depsgraph)
    skeleton, rig = binding.skeleton, rig_of(obj)
    item = example_items(obj)[index]
    bone = require_bone(binding, item.bone)
    if reason := linked_refusal(rig.name, [rig], "Make a library override of it to pose it."):
        raise ExampleError(reason)
    example = example_bone(bone, [item], skeleton)
    pose = Pose.from_matrices(binding.pose_matrices(rig.evaluated_get(depsgraph)), skeleton)
    parent = int(skeleton.parents[bone])
    turned = example.rotations[0]
    if parent >= 0:
        turned = concatenate_quaternions(pose.rotations[parent], turned)
    # From how the bone has turned now to how it should: about its posed head, in armature space.
    change = concatenate_quaternions(turned, quaternion_conjugate(pose.rotations[bone]))
    pose_bone = rig.pose.bones[item.bone]
    location, scale = pose_bone.location[:], pose_bone.scale[:]
    posed = np.array(pose_bone.matrix, np.float64)
    posed[:3, :3] = matrices_from_quaternions(change) @ posed[:3, :3]
    pose_bone.matrix = Matrix(posed.tolist())
    # Only the rotation was asked for; what the matrix says of the rest is rounding.
    pose_bone.location, pose_bone.scale = location, scale
    bpy.context.view_layer.update()
    return item.bone, radians_from_pose(obj, index)


@contextmanager
def at_pose(obj: bpy.types.Object, index: int, depsgraph: bpy.types.Depsgraph) -> Generator[float]:
    """Go to the pose of an example; where something fails there, the bone turns back.

    Yields:
        what `go_to_pose` says of how far the bone is from it.

    Raises:
        ExampleError, BindingError, PoseError: as of `go_to_pose`.
    """
    pose_bone = rig_of(obj).pose.bones.get(example_items(obj)[index].bone)
    before = {name: tuple(getattr(pose_bone, name)) for name in _ROTATIONS} if pose_bone else {}
    try:
        yield go_to_pose(obj, index, depsgraph)[1]
    except BaseException:
        for name, value in before.items():
            setattr(pose_bone, name, value)
        raise


def radians_from_pose(obj: bpy.types.Object, index: int) -> float:
    """The angle between the bone of an example and its pose, in the current pose.

    Raises:
        ExampleError: the bone is not there any more.
        BindingError, PoseError: the object cannot be deformed.
    """
    item = example_items(obj)[index]
    depsgraph = bpy.context.evaluated_depsgraph_get()
    binding = bind(obj, depsgraph)
    armature = rig_of(obj).evaluated_get(depsgraph)
    skeleton, bone = binding.skeleton, require_bone(binding, item.bone)
    pose = Pose.from_matrices(binding.pose_matrices(armature), skeleton)
    direction, rotation = example_placement(bone, pose, skeleton, Settings.of(obj).limb_axis)
    if item.twists:
        return 2.0 * float(np.arccos(min(1.0, abs(float(np.dot(rotation, item.rotation))))))
    return float(np.arccos(np.clip(np.dot(direction, item.direction), -1.0, 1.0)))

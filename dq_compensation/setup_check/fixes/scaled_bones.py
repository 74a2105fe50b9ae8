"""Multiplies bones by a scale: at rest, and in the current pose; see `armature_scale`."""

from __future__ import annotations

from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix as BlenderMatrix
from numpy.typing import NDArray

from ...scene.blender.armature import armature_of
from ...scene.blender.edited_bones import edited_bones
from .object_transforms import Matrix, is_equal, scaled

# Which sign a channel's components take when a bone's X axis is reflected: a rotation's axis is
# turned about as a mirror image is.
MIRROR_SIGNS: dict[str, tuple[float, ...]] = {
    "location": (-1.0, 1.0, 1.0),
    "rotation_quaternion": (1.0, 1.0, -1.0, -1.0),
    "rotation_euler": (1.0, -1.0, -1.0),
    "rotation_axis_angle": (1.0, 1.0, -1.0, -1.0),
    "bbone_rollin": (-1.0,),
    "bbone_rollout": (-1.0,),
    "bbone_curveinx": (-1.0,),
    "bbone_curveoutx": (-1.0,),
}
# The channels that are lengths.
LENGTHS = frozenset(
    {"location", "bbone_curveinx", "bbone_curveoutx", "bbone_curveinz", "bbone_curveoutz"}
)
_CURVED = [name for name in LENGTHS | MIRROR_SIGNS.keys() if name.startswith("bbone")]
_ROTATIONS = [name for name in MIRROR_SIGNS if name.startswith("rotation")]


def is_plain(scale: NDArray[np.float64]) -> bool:
    """Whether a scale is positive and equal along all axes."""
    return is_equal(scale) and bool((scale > 0.0).all())


def mirrors(scale: NDArray[np.float64]) -> bool:
    """Whether a scale turns right into left: an odd number of its axes is negative."""
    return bool(np.prod(np.sign(scale)) < 0.0)


def channel_factor(channel: str, index: int, scale: NDArray[np.float64]) -> float:
    """The factor for a component of a bone's channel.

    For an unequal scale a length takes the mean size: there is no right factor.
    """
    factor = float(np.abs(scale).mean()) if channel in LENGTHS else 1.0
    if mirrors(scale) and channel in MIRROR_SIGNS:
        factor *= MIRROR_SIGNS[channel][index]
    return factor


def is_at_rest(bone: bpy.types.PoseBone) -> bool:
    """Whether a bone's own channels move it nowhere."""
    return bool(np.abs(np.array(bone.matrix_basis) - np.eye(4)).max() < 1e-6)


def scale_rest_bones(obj: bpy.types.Object, scale: NDArray[np.float64]) -> None:
    """Give the rest bones the scale: heads and tails, rolls, and every length that they have."""
    armature = armature_of(obj)
    size = float(np.abs(scale).mean())
    if is_plain(scale):
        armature.transform(cast("BlenderMatrix", scaled(scale).tolist()))
        armature.update_tag()  # which Blender leaves to us
    else:
        _scale_by_edit_mode(obj, scale)
    for bone in armature.bones:
        for name in _CURVED:
            setattr(bone, name, getattr(bone, name) * channel_factor(name, 0, scale))
        if not is_plain(scale):
            for name in ("bbone_x", "bbone_z", "head_radius", "tail_radius", "envelope_distance"):
                setattr(bone, name, getattr(bone, name) * size)


def _scale_by_edit_mode(obj: bpy.types.Object, scale: NDArray[np.float64]) -> None:
    """Heads and tails where they were in the world, Z axes likewise; X axes as bones have them."""
    matrix = BlenderMatrix(scaled(scale).tolist())
    with edited_bones(obj) as bones:
        places = [
            (bone, matrix @ bone.head, matrix @ bone.tail, matrix @ bone.z_axis) for bone in bones
        ]
        for bone, head, tail, _ in places:
            bone.head, bone.tail = head, tail
        for bone, _, _, z_axis in places:
            bone.align_roll(z_axis)


def scale_pose(
    obj: bpy.types.Object, scale: NDArray[np.float64], factors: dict[str, Matrix]
) -> None:
    """Give the current pose the scale."""
    pose: Any = obj.pose
    size = float(np.abs(scale).mean())
    for bone in pose.bones:
        bone.location = (factors[bone.name][:3, :3] @ np.array(bone.location)).tolist()
        for channel in _CURVED:
            setattr(bone, channel, getattr(bone, channel) * channel_factor(channel, 0, scale))
        for channel in _ROTATIONS if mirrors(scale) else ():
            values = np.array(getattr(bone, channel)) * MIRROR_SIGNS[channel]
            setattr(bone, channel, values.tolist())
        # Custom shapes that are not drawn in bone lengths have a size of their own.
        bone.custom_shape_translation = [size * v for v in bone.custom_shape_translation]
        if not bone.use_custom_shape_bone_size:
            bone.custom_shape_scale_xyz = [size * v for v in bone.custom_shape_scale_xyz]

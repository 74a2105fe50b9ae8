"""Multiplies bones by a scale, and what uses an armature's units: constraints and hooks.

See `armature_scale`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix as BlenderMatrix
from numpy.typing import NDArray

from ...scene.blender.armature import armature_of
from ...scene.blender.edited_bones import edited_bones
from ...scene.blender.own_objects import is_palette
from ...wording import listed
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
# The lengths of a bone's constraints that are in the space of its owner.
_OWNER_LENGTHS = {
    "LIMIT_LOCATION": ("min_x", "min_y", "min_z", "max_x", "max_y", "max_z"),
    "LIMIT_DISTANCE": ("distance",),
    "FLOOR": ("offset",),
}
_WORLD_SCALE = frozenset({"COPY_SCALE", "COPY_TRANSFORMS", "LIMIT_SCALE"})


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


def keep_dependents(obj: bpy.types.Object, change: Matrix, bones: dict[str, Matrix]) -> None:
    """Adapt constraints and hooks after the scale of an armature object was applied.

    Args:
        obj: the armature object; before, its world matrix was O' `change`, with O' the current one.
        change: shape (4, 4).
        bones: shape (4, 4) by the name of the bone: its world matrix was the current one times
            this.
    """
    size = float(np.abs(np.diag(change)[:3]).mean())
    for _, constraint in _bone_constraints(obj):
        _scale_lengths(constraint, size)
        if constraint.type == "CHILD_OF":
            # For bones Blender takes it from the armature's space to the target's.
            ours = constraint.target == obj
            factor = bones.get(constraint.subtarget, change) if ours else np.eye(4)
            inverse = np.array(constraint.inverse_matrix, np.float64) @ np.linalg.inv(change)
            constraint.inverse_matrix = (factor @ inverse).T.tolist()  # Blender takes columns
    for follower, name in _followers(obj):
        factor = bones.get(getattr(follower, "subtarget", ""), change)
        setattr(follower, name, (factor @ np.array(getattr(follower, name))).T.tolist())


def _followers(obj: bpy.types.Object) -> Iterator[tuple[Any, str]]:
    """What holds an inverse of a place of an armature, with the name of the matrix."""
    for other in bpy.data.objects:
        if other.library is not None or is_palette(other):  # palettes are made anew
            continue
        for constraint in other.constraints:
            if constraint.type == "CHILD_OF" and getattr(constraint, "target", None) == obj:
                yield constraint, "inverse_matrix"
        for modifier in other.modifiers:
            if modifier.type == "HOOK" and getattr(modifier, "object", None) == obj:
                yield modifier, "matrix_inverse"


def unkept_dependents(obj: bpy.types.Object) -> list[str]:
    """The followers of an armature object's scale that will look different; sentences."""
    owners = {
        bone
        for bone, constraint in _bone_constraints(obj)
        if constraint.type in _WORLD_SCALE
        and constraint.owner_space == "WORLD"
        and getattr(constraint, "target", None) != obj
    } | {
        other.name
        for other in bpy.data.objects
        for constraint in other.constraints
        if constraint.type in _WORLD_SCALE and getattr(constraint, "target", None) == obj
    }
    if not owners:
        return []
    return [f"Constraints take the world scale of bones for {listed(sorted(owners))}: look there."]


def _bone_constraints(obj: bpy.types.Object) -> Iterator[tuple[str, Any]]:
    for bone in obj.pose.bones if obj.pose is not None else ():
        for constraint in bone.constraints:
            yield bone.name, constraint


def _scale_lengths(constraint: Any, size: float) -> None:
    """Multiply the lengths of a bone's constraint that are in its armature's units."""
    in_world = constraint.owner_space == "WORLD"
    # Stretch To has its length in the armature's units, whatever the space.
    names = ["rest_length"] if constraint.type == "STRETCH_TO" else []
    if not in_world:
        names += _OWNER_LENGTHS.get(constraint.type, ())
    from_world = getattr(constraint, "target_space", "WORLD") == "WORLD"
    if constraint.type == "ACTION" and constraint.transform_channel.startswith("LOCATION"):
        names += [] if from_world else ["min", "max"]
    if constraint.type == "TRANSFORM":
        if constraint.map_from == "LOCATION" and not from_world:
            names += [f"from_{end}_{axis}" for end in ("min", "max") for axis in "xyz"]
        if constraint.map_to == "LOCATION" and not in_world:
            names += [f"to_{end}_{axis}" for end in ("min", "max") for axis in "xyz"]
    for name in names:
        setattr(constraint, name, getattr(constraint, name) * size)

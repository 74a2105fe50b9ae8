"""Adapts constraints and hooks that use an armature's units when its scale is applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np

from ...scene.blender.own_objects import is_palette
from ...wording import listed
from .object_transforms import Matrix

# The lengths of a bone's constraints that are in the space of its owner.
_OWNER_LENGTHS = {
    "LIMIT_LOCATION": ("min_x", "min_y", "min_z", "max_x", "max_y", "max_z"),
    "LIMIT_DISTANCE": ("distance",),
    "FLOOR": ("offset",),
}
_WORLD_SCALE = frozenset({"COPY_SCALE", "COPY_TRANSFORMS", "LIMIT_SCALE"})


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

"""Adapts constraints and hooks that use an armature's units when its scale is applied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np

from ...scene.own_objects import is_palette
from ...wording import listed
from .object_transforms import Matrix

# The lengths of a bone's constraints, by what space they are in: that of its owner, of its target,
# or always the armature's.
_OWNER_LENGTHS = {
    "LIMIT_LOCATION": ("min_x", "min_y", "min_z", "max_x", "max_y", "max_z"),
    "LIMIT_DISTANCE": ("distance",),
    "FLOOR": ("offset",),
}
_ALWAYS_LENGTHS = {"STRETCH_TO": ("rest_length",)}
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
            _multiply_inverse(constraint, "inverse_matrix", factor, np.linalg.inv(change))
    for follower, name in _followers(obj):
        factor = bones.get(getattr(follower, "subtarget", ""), change)
        _multiply_inverse(follower, name, factor)


def _followers(obj: bpy.types.Object) -> Iterator[tuple[Any, str]]:
    """The constraints and modifiers of objects that hold an inverse of a place of an armature.

    Yields:
        each with the name of the matrix. Our own palettes are made anew and have none to keep.
    """
    for other in bpy.data.objects:
        if other.library is not None or is_palette(other):
            continue
        for constraint in other.constraints:
            if constraint.type == "CHILD_OF" and getattr(constraint, "target", None) == obj:
                yield constraint, "inverse_matrix"
        for modifier in other.modifiers:
            if modifier.type == "HOOK" and getattr(modifier, "object", None) == obj:
                yield modifier, "matrix_inverse"


def unkept_dependents(obj: bpy.types.Object) -> list[str]:
    """The followers of an armature object's scale that will look different; sentences."""
    owners = {bone for bone, constraint in _bone_constraints(obj) if _takes_scale(constraint, obj)}
    for other in bpy.data.objects:
        if other == obj:
            continue
        for constraint in other.constraints:
            if getattr(constraint, "target", None) == obj and constraint.type in _WORLD_SCALE:
                owners.add(other.name)
    if not owners:
        return []
    return [f"Constraints take the world scale of bones for {listed(sorted(owners))}: look there."]


def _bone_constraints(obj: bpy.types.Object) -> Iterator[tuple[str, Any]]:
    for bone in obj.pose.bones if obj.pose is not None else ():
        for constraint in bone.constraints:
            yield bone.name, constraint


def _takes_scale(constraint: Any, obj: bpy.types.Object) -> bool:
    """Whether a bone's constraint compares its scale in the world with something outside."""
    if constraint.type not in _WORLD_SCALE or constraint.owner_space != "WORLD":
        return False
    return getattr(constraint, "target", None) != obj


def _scale_lengths(constraint: Any, size: float) -> None:
    """Multiply the lengths of a bone's constraint that are in its armature's units."""
    in_world = constraint.owner_space == "WORLD"
    names = list(_ALWAYS_LENGTHS.get(constraint.type, ()))
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


def _multiply_inverse(owner: Any, name: str, left: Matrix, right: Matrix | None = None) -> None:
    matrix = left @ np.array(getattr(owner, name), np.float64)
    if right is not None:
        matrix = matrix @ right
    setattr(owner, name, matrix.T.tolist())  # Blender takes columns

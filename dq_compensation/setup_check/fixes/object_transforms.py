"""Objects' own transforms: their scale, what animates it, and how children stay where they are."""

from __future__ import annotations

from typing import Any

import bpy
import mathutils
import numpy as np

from ...arrays import Float64s
from ...scene.blender.animation_curves import (
    animated_paths,
    drivers,
    key_points,
    played_actions,
    set_values,
)
from ...scene.blender.armature import armature_of
from ...wording import counted, listed
from ..issue import FixError
from .requirements import require_editable, require_own_action

# Two scales that differ by less are one: what is left of a division in float32.
_SCALE_TOLERANCE = 1e-4

# Constraints that can give an object a scale of theirs, over its own.
_SCALING_CONSTRAINTS = frozenset(
    {"COPY_SCALE", "LIMIT_SCALE", "MAINTAIN_VOLUME", "COPY_TRANSFORMS", "ACTION"}
)
_SCALE_PATHS = ("scale", "delta_scale")
# The channels that place an object.
_PLACING = (
    *("location", "rotation_euler", "rotation_quaternion", "rotation_axis_angle", "scale"),
    *("delta_location", "delta_rotation_euler", "delta_rotation_quaternion", "delta_scale"),
)
# These hang on the places of vertices, which stay where they are.
_VERTEX_PARENTS = frozenset({"VERTEX", "VERTEX_3"})

Matrix = Float64s
"""Shape (4, 4), applied to columns."""


def own_scale(obj: bpy.types.Object) -> Float64s:
    """Shape (3,): the object's scale times its delta scale."""
    return np.array(obj.scale, np.float64) * np.array(obj.delta_scale, np.float64)


def is_one(scale: Float64s) -> bool:
    """Whether a scale changes nothing."""
    return bool(np.abs(scale - 1.0).max() <= _SCALE_TOLERANCE)


def is_equal(scale: Float64s) -> bool:
    """Whether a scale is the same along every axis, the signs aside."""
    size = np.abs(scale)
    return bool(np.ptp(size) <= _SCALE_TOLERANCE * size.max())


def is_nothing(scale: Float64s) -> bool:
    """Whether a scale flattens an axis."""
    return bool(np.abs(scale).min() < 1e-9)


def scaled(scale: Float64s) -> Matrix:
    """Shape (4, 4): the matrix of a scale."""
    return np.diag([*scale, 1.0])


def local_matrix(obj: bpy.types.Object, parent_inverse: Matrix | None = None) -> Matrix:
    """An object's transform relative to its parent, without constraints: P B.

    Args:
        parent_inverse: P to take in place of the object's own.
    """
    inverse = np.array(obj.matrix_parent_inverse) if parent_inverse is None else parent_inverse
    # Without a parent Blender keeps the inverse of the last one and does not use it.
    if obj.parent is None:
        inverse = np.eye(4)
    return inverse @ np.array(obj.matrix_basis, np.float64)


def scale_of(matrix: Matrix) -> Float64s:
    """Shape (3,): how far a matrix stretches its own axes; the first negative if it mirrors."""
    lengths = np.linalg.norm(matrix[:3, :3], axis=0)
    if np.linalg.det(matrix[:3, :3]) < 0.0:
        lengths[0] = -lengths[0]
    return lengths


def scale_words(scale: Float64s) -> str:
    """For messages: `0.01`, or `1, 2, 1` where the axes differ."""
    is_uniform = np.ptp(scale) <= _SCALE_TOLERANCE * np.abs(scale).max()
    return ", ".join(f"{value:.4g}" for value in scale[: 1 if is_uniform else 3])


def require_free_scale(obj: bpy.types.Object) -> None:
    """See that the scale of an object can be cleared: it is a plain number of its own.

    Raises:
        FixError: it is linked, in Edit Mode, zero, driven, constrained, or animated with changing
            values.
    """
    require_editable(obj)
    if is_nothing(own_scale(obj)):
        raise FixError(f"{obj.name} has a scale of zero. Give it a size again.")
    scaling = [
        each.name
        for each in obj.constraints
        if each.enabled
        and (each.type in _SCALING_CONSTRAINTS or getattr(each, "map_to", "") == "SCALE")
    ]
    if scaling:
        raise FixError(
            f"{obj.name} has constraints that can scale it: {listed(scaling)}. "
            "Apply or remove them first."
        )
    if any(curve.data_path in _SCALE_PATHS for curve in drivers(obj)):
        raise FixError(f"The scale of {obj.name} has a driver. Remove the driver first.")
    for played in played_actions(obj):
        for curve in played.curves:
            if curve.data_path not in _SCALE_PATHS:
                continue
            now = getattr(obj, curve.data_path)[curve.array_index]
            changes = np.abs(key_points(curve)[:, 1] - now).max(initial=0.0)
            if len(curve.modifiers) or changes > _SCALE_TOLERANCE * abs(now):
                raise FixError(
                    f"The scale of {obj.name} is animated by the action {played.action.name}. "
                    "Remove these keys first."
                )
            require_own_action(played.action, played.other_users(obj))


def shares_data(obj: bpy.types.Object) -> bool:
    """Whether other objects use an object's data, so that it gets a copy for its own scale."""
    return obj.data.users - int(obj.data.use_fake_user) > 1


def scale_questions(obj: bpy.types.Object) -> list[str]:
    """The sentences on what else changes when the scale of an object is applied."""
    found = []
    if shares_data(obj):
        found.append(
            f"The {obj.type.lower()} {obj.data.name} has other users: {obj.name} gets its own copy."
        )
    keys = sum(
        len(curve.keyframe_points)
        for played in played_actions(obj)
        for curve in played.curves
        if curve.data_path in _SCALE_PATHS
    )
    if keys:
        found.append(f"{counted(keys, 'key')} of its scale will be set to 1.")
    return found


def clear_scale(obj: bpy.types.Object) -> None:
    """Set an object's scale to 1, with the keys that hold it where it is."""
    for played in played_actions(obj):
        for curve in [c for c in played.curves if c.data_path in _SCALE_PATHS]:
            set_values(curve, 1.0)
    obj.scale = obj.delta_scale = (1.0, 1.0, 1.0)


def is_above(obj: bpy.types.Object, other: bpy.types.Object) -> bool:
    """Whether an object is an ancestor of the other."""
    while other.parent is not None and other.parent != obj:
        other = other.parent
    return other.parent is not None


def animation_of(obj: bpy.types.Object, *paths: str) -> str | None:
    """The animation of one of these paths, or of any that places an object; None without it."""
    animated = animated_paths(obj)
    return next((animated[path] for path in paths or _PLACING if path in animated), None)


def require_not_animated(obj: bpy.types.Object) -> None:
    """Raise FixError if an animation places an object."""
    if animated := animation_of(obj):
        raise FixError(f"{obj.name} is moved by {animated}. Remove these keys first.")


def require_unsheared(obj: bpy.types.Object, matrix: Matrix, tolerance: float = 1e-5) -> None:
    """Raise FixError if no location, rotation and scale of an object give this matrix."""
    parts: Any = mathutils.Matrix(matrix.tolist()).decompose()
    again = mathutils.Matrix.LocRotScale(*parts)
    if not is_same(np.array(again), matrix, tolerance):
        raise FixError(f"{obj.name} would be sheared by its unequal scale. Apply its scale first.")


def require_children_can_follow(obj: bpy.types.Object) -> None:
    """Raise FixError if a child is linked: its parent inverse cannot be written."""
    linked = [child.name for child in kept_children(obj) if child.library is not None]
    if linked:
        raise FixError(
            f"Linked objects are parented to {obj.name} and could not be kept in place: "
            f"{listed(linked)}. Make them local or unparent them first."
        )


def kept_children(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The children that would move when their parent's scale is applied, by name."""
    kept = (child for child in obj.children if child.parent_type not in _VERTEX_PARENTS)
    return sorted(kept, key=lambda child: child.name)


def keep_children(
    obj: bpy.types.Object, change: Matrix, bones: dict[str, tuple[Matrix, float]]
) -> None:
    """Let the children stay where they are after their parent or its bones were changed.

    Args:
        obj: the parent; before, its world matrix was O' `change`, with O' the current one.
        change: shape (4, 4).
        bones: by the name of the bone, for those that are parented to one: shape (4, 4), its world
            matrix was the current one times this; and its length before.
    """
    for child in kept_children(obj):
        factor = change
        if child.parent_type == "BONE" and child.parent_bone in bones:
            bone = armature_of(obj).bones[child.parent_bone]
            if not bone.use_relative_parent:
                # Children are at the tail.
                at_head, length = bones[child.parent_bone]
                factor = _along_y(-bone.length) @ at_head @ _along_y(length)
        set_parent_inverse(child, factor @ np.array(child.matrix_parent_inverse))


def _along_y(way: float) -> Matrix:
    matrix = np.eye(4)
    matrix[1, 3] = way
    return matrix


def set_parent_inverse(obj: bpy.types.Object, matrix: Matrix) -> None:
    """Write an object's parent inverse."""
    obj.matrix_parent_inverse = matrix.T.tolist()  # Blender takes columns


def set_channels(obj: bpy.types.Object, matrix: Matrix, tolerance: float = 1e-5) -> bool:
    """Write an object's own transform; False, and nothing written, where it is sheared."""
    before = obj.matrix_basis.copy()
    obj.matrix_basis = matrix.T.tolist()
    if is_same(np.array(obj.matrix_basis), matrix, tolerance):
        return True
    obj.matrix_basis = before
    return False


def is_same(one: Matrix, other: Matrix, tolerance: float = 1e-5) -> bool:
    """Whether two matrices differ by no more than this, of the size of the second one."""
    return bool(np.abs(one - other).max() <= tolerance * max(1.0, float(np.abs(other).max())))

"""Where objects are in the world, and where a mesh is by its armature."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ...arrays import Float64s
from ...errors import BindingError

# Below this the matrix of an object counts as flattened: its inverse would be noise.
_MIN_DETERMINANT = 1e-18

_IDENTITY = Matrix.Identity(4)

# The types of parents that an object follows as a whole.
_WHOLE_PARENTS = ("OBJECT", "ARMATURE")


def world_matrix(obj: bpy.types.Object) -> Matrix:
    """The world matrix of an object, original or evaluated, right after its file was opened, too.

    Blender saves no world matrices. Those of objects that it does not evaluate, as in an excluded
    collection, stay the identity. This one then comes from location, rotation, scale and parents;
    constraints and parents other than objects are left out.
    """
    found, parent = obj.matrix_world, obj.parent
    if found != _IDENTITY or (parent is not None and obj.parent_type not in _WHOLE_PARENTS):
        return found
    if obj.is_evaluated and len(obj.constraints):
        return found
    placed = obj.matrix_basis
    return placed if parent is None else world_matrix(parent) @ obj.matrix_parent_inverse @ placed


def is_place_unknown(obj: bpy.types.Object) -> bool:
    """Whether `world_matrix` leaves out what places an original object.

    So it does for objects that Blender has not evaluated since the file was opened.
    """
    included = bpy.context.view_layer.objects.get(obj.name) == obj
    return not included and obj.matrix_world == _IDENTITY and _is_placed_by_more(obj)


def _is_placed_by_more(obj: bpy.types.Object) -> bool:
    """Whether a constraint, or a bone or vertex as parent, has a part in the place of an object."""
    if any(not each.mute for each in obj.constraints):
        return True
    whole = obj.parent_type in _WHOLE_PARENTS
    return obj.parent is not None and (not whole or _is_placed_by_more(obj.parent))


def object_to_armature(obj: bpy.types.Object, armature: bpy.types.Object) -> Float64s:
    """A^-1 O, which takes points from the object's space to the armature's, shape (4, 4).

    Args:
        obj: original or evaluated; so is the armature.

    Raises:
        BindingError: one of the two is scaled to nothing, so that it has no inverse.
    """
    matrices = []
    for one in (obj, armature):
        matrix = np.array(world_matrix(one), np.float64)
        if not is_invertible(matrix):
            raise BindingError(
                f"{one.name} has a scale of zero on at least one axis. Give it a size again."
            )
        matrices.append(matrix)
    return np.linalg.solve(matrices[1], matrices[0])


def same_place(known: Float64s, now: Float64s, extent: float, rounding: float = 0.0) -> bool:
    """Whether an object is still at the same place relative to its armature.

    The displays may differ by a ten-thousandth of the object's extent; half of that changes no
    radius and no joint that anyone could see.

    Args:
        known: shape (4, 4), A^-1 O as it was.
        now: shape (4, 4), A^-1 O.
        extent: of the object, in its own space.
        rounding: how far the two may differ though nothing has moved.
    """
    linear = float(np.abs(known[:3, :3]).max())
    apart = np.abs(known - now)
    moved = apart[:3, :3].max() * extent + apart[:3, 3].max()
    return bool(moved <= 5e-5 * linear * extent + rounding)


def has_moved(
    known: Float64s, obj: bpy.types.Object, armature: bpy.types.Object, extent: float
) -> bool:
    """Whether an object is not at a `known` place relative to its armature any more.

    Blender stores world matrices in float32: the rounding error of A^-1 O grows with the distance
    from the origin of the world, for objects that move together, too.

    Args:
        known, extent: as of `same_place`.
    """
    now, world = object_to_armature(obj, armature), np.array(armature.matrix_world, np.float64)
    distance = np.abs(np.array(obj.matrix_world, np.float64)[:3, 3]).max()
    rounding = float(1e-6 * distance * np.abs(np.linalg.inv(world)[:3, :3]).max())
    return not same_place(known, now, extent, rounding)


def is_invertible(matrix: Float64s) -> bool:
    """Whether a (4, 4) world matrix is finite and flattens no direction."""
    finite = bool(np.all(np.isfinite(matrix)))
    return finite and bool(abs(np.linalg.det(matrix[:3, :3])) > _MIN_DETERMINANT)

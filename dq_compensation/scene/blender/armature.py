"""Reads an armature: its bones at rest and, every frame, its pose."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from itertools import compress
from typing import cast

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...core.skeleton import Skeleton
from ...errors import BindingError
from .attributes import read_property

# Of a bone that bakes have added; it follows constraints, whatever its parent is.
HELPER_PROPERTY = "dq_compensation_helper"

# Below this the matrix of an object counts as flattened: its inverse would be noise.
_MIN_DETERMINANT = 1e-18

_IDENTITY = Matrix.Identity(4)
# The types of parents that an object follows as a whole.
_WHOLE_PARENTS = ("OBJECT", "ARMATURE")


def armature_of(obj: bpy.types.Object) -> bpy.types.Armature:
    """The armature of an armature object."""
    return cast("bpy.types.Armature", obj.data)


def is_helper_bone(bone: bpy.types.Bone) -> bool:
    """Whether a bone is a helper bone of a bake."""
    return HELPER_PROPERTY in bone


def read_skeleton(armature: bpy.types.Object) -> Skeleton:
    """The bones at rest, parents before their children. Helper bones of bakes have no parent.

    What Edit Mode has changed shows when it is left.
    """
    bones = armature_of(armature).bones
    names = bones.keys()
    index_of = {name: index for index, name in enumerate(names)}
    parents = [-1 if above is None else index_of[above] for above in names_of_parents(bones)]
    order = _parents_first(parents)
    place = np.empty(len(order) + 1, np.int32)
    place[order], place[-1] = np.arange(len(order)), -1
    kept = [
        -1 if is_helper_bone(bone) else above for bone, above in zip(bones, parents, strict=True)
    ]
    rest = read_property(bones, "matrix_local", np.float32, (4, 4)).transpose(0, 2, 1)
    tails = read_property(bones, "tail_local", np.float32, (3,))
    return Skeleton(
        names=tuple(names[index] for index in order),
        parents=place[np.array(kept, np.intp)[order]],
        rest=np.ascontiguousarray(rest[order], np.float64),
        tails=tails[order].astype(np.float64),
    )


def names_of_parents(bones: bpy.types.ArmatureBones) -> list[str | None]:
    """The name of the parent of each bone, None for roots."""
    return [None if parent is None else parent.name for parent in (b.parent for b in bones)]


def deforming_bones(armature: bpy.types.Object) -> frozenset[str]:
    """The names of the bones that have Deform turned on."""
    bones = armature_of(armature).bones
    flags = read_property(bones, "use_deform", np.bool_)
    return frozenset(compress(bones.keys(), flags))


def pose_order(armature: bpy.types.Object, skeleton: Skeleton) -> NDArray[np.intp]:
    """The index of each bone of the skeleton in `armature.pose.bones`, shape (B,).

    Raises:
        BindingError: the pose has other bones than the skeleton.
    """
    pose = armature.pose
    names = pose.bones.keys() if pose is not None else []
    place = {name: index for index, name in enumerate(names)}
    if len(place) != skeleton.bone_count or any(name not in place for name in skeleton.names):
        raise _changed(armature)
    return np.array([place[name] for name in skeleton.names], np.intp)


def is_in_edit_mode(armature: bpy.types.Object) -> bool:
    """Whether an armature object, original or evaluated, is in Edit Mode."""
    return armature_of(cast("bpy.types.Object", armature.original)).is_editmode


def pose_matrices(armature: bpy.types.Object, order: NDArray[np.intp]) -> NDArray[np.float64]:
    """The skinning transforms D_b = B_b A_b^-1 of all bones, by one bulk read.

    Args:
        armature: the evaluated armature object.
        order: shape (B,), from `pose_order`.

    Returns:
        shape (B, 4, 4), armature space, in the order of the skeleton; identities in Rest Position
        and in Edit Mode, where Blender's deformation rests too.

    Raises:
        BindingError: the number of bones is not the one at binding.
    """
    bones = armature.pose.bones if armature.pose is not None else ()
    _require_count(armature, bones, order)
    if is_in_edit_mode(armature):
        # Blender keeps the matrices of the last pose there but deforms nothing by them.
        return np.tile(np.eye(4), (len(order), 1, 1))
    columns = read_property(bones, "matrix_channel", np.float32, (4, 4))  # type: ignore[arg-type]
    return columns[order].transpose(0, 2, 1).astype(np.float64, order="C")


def matrices_of_poses(
    armatures: Sequence[bpy.types.Object], order: NDArray[np.intp]
) -> NDArray[np.float32]:
    """`pose_matrices` of armatures with the same bones, shape (I, B, 4, 4), by one bulk read each.

    Raises:
        BindingError: the number of bones is not the one at binding.
    """
    columns = np.empty((len(armatures), 16 * len(order)), np.float32)
    for row, armature in zip(columns, armatures, strict=True):
        if armature.pose is not None:
            # Blender fills the beginning of an array that is too long.
            _require_count(armature, armature.pose.bones, order)
        if armature.pose is None or is_in_edit_mode(armature):
            row.reshape(-1, 16)[:] = np.eye(4, dtype=np.float32).ravel()
        else:
            armature.pose.bones.foreach_get("matrix_channel", row)
    return columns.reshape(-1, len(order), 4, 4)[:, order].transpose(0, 1, 3, 2)


def _require_count(armature: bpy.types.Object, bones: Sized, order: NDArray[np.intp]) -> None:
    """Raise where an armature has another number of bones than at binding."""
    if len(bones) != len(order):
        raise _changed(armature)


def _changed(armature: bpy.types.Object) -> BindingError:
    message = f"The bones of {armature.name} have changed since it was bound. Press Refresh."
    return BindingError(message)


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


def object_to_armature(obj: bpy.types.Object, armature: bpy.types.Object) -> NDArray[np.float64]:
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


def same_place(
    known: NDArray[np.float64], now: NDArray[np.float64], extent: float, rounding: float = 0.0
) -> bool:
    """Whether an object is still at the same place relative to its armature.

    The displays may differ by a ten-thousandth of the object's extent; half of that changes no
    radius and no joint that anyone could see.

    Args:
        known: shape (4, 4), A^-1 O as it was.
        now: shape (4, 4), A^-1 O.
        extent: of the object, in its own space.
        rounding: how far the two may differ though nothing has moved; see `place_rounding`.
    """
    linear = float(np.abs(known[:3, :3]).max())
    apart = np.abs(known - now)
    moved = apart[:3, :3].max() * extent + apart[:3, 3].max()
    return bool(moved <= 5e-5 * linear * extent + rounding)


def place_rounding(obj: bpy.types.Object, armature: bpy.types.Object) -> float:
    """The rounding error of A^-1 O: Blender stores world matrices in float32.

    It grows with the distance from the origin of the world, for objects that move together, too.
    """
    world = np.array(armature.matrix_world, np.float64)
    distance = np.abs(np.array(obj.matrix_world, np.float64)[:3, 3]).max()
    return float(1e-6 * distance * np.abs(np.linalg.inv(world)[:3, :3]).max())


def is_invertible(matrix: NDArray[np.float64]) -> bool:
    """Whether a (4, 4) world matrix is finite and flattens no direction."""
    finite = bool(np.all(np.isfinite(matrix)))
    return finite and bool(abs(np.linalg.det(matrix[:3, :3])) > _MIN_DETERMINANT)


def _parents_first(parents: list[int]) -> list[int]:
    """Indices of the bones so that parents come first; Blender's own order where it has them so."""
    order: list[int] = []
    placed = {-1}
    for index in range(len(parents)):
        lineage, ancestor = [], index
        while ancestor not in placed:
            lineage.append(ancestor)
            placed.add(ancestor)
            ancestor = parents[ancestor]
        order.extend(reversed(lineage))
    return order

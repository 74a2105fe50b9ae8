"""Reads an armature: bones at rest and posed, their sides, segments and envelopes; edits bones."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from itertools import compress
from typing import cast

import bpy
import numpy as np

from ...arrays import Float32s, Float64s, Indices
from ...core.skeleton import Skeleton
from ...errors import BindingError
from .bulk_arrays import read_property

# Of a bone that bakes have added; it follows constraints, whatever its parent is.
HELPER_PROPERTY = "dq_compensation_helper"


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
    above = [bone.parent for bone in bones]
    parents = [-1 if parent is None else index_of[parent.name] for parent in above]
    order = _parents_first(parents)
    place = np.empty(len(order) + 1, np.int32)
    place[order], place[-1] = np.arange(len(order)), -1
    kept = [
        -1 if HELPER_PROPERTY in bone else parent
        for bone, parent in zip(bones, parents, strict=True)
    ]
    rest = read_property(bones, "matrix_local", np.float32, (4, 4)).transpose(0, 2, 1)
    tails = read_property(bones, "tail_local", np.float32, (3,))
    return Skeleton(
        names=tuple(names[index] for index in order),
        parents=place[np.array(kept, np.intp)[order]],
        rest=np.ascontiguousarray(rest[order], np.float64),
        tails=tails[order].astype(np.float64),
    )


def deforming_bones(armature: bpy.types.Object) -> frozenset[str]:
    """The names of the bones that have Deform turned on."""
    bones = armature_of(armature).bones
    flags = read_property(bones, "use_deform", np.bool_)
    return frozenset(compress(bones.keys(), flags))


def pose_order(armature: bpy.types.Object, skeleton: Skeleton) -> Indices:
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


def pose_matrices(armature: bpy.types.Object, order: Indices) -> Float64s:
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


def matrices_of_poses(armatures: Sequence[bpy.types.Object], order: Indices) -> Float32s:
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


def _require_count(armature: bpy.types.Object, bones: Sized, order: Indices) -> None:
    """Raise where an armature has another number of bones than at binding."""
    if len(bones) != len(order):
        raise _changed(armature)


def _changed(armature: bpy.types.Object) -> BindingError:
    message = f"The bones of {armature.name} have changed since it was bound. Press Refresh."
    return BindingError(message)


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

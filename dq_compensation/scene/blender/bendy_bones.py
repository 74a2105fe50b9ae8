"""Reads bendy bones: the curves of their segments at rest and, every frame, posed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress
from operator import attrgetter
from typing import Any

import bpy
import numpy as np

from ...arrays import Float64s, Indices, Int32s
from ...core.skeleton import BendyBones, Skeleton
from .armature import armature_of
from .bulk_arrays import read_properties, read_property

# Matrices of Blender from 5.1 on give their numbers as bytes, column by column.
_READ_AS_BYTES = bpy.app.version >= (5, 1, 0)


def with_bendy_bones(skeleton: Skeleton, armature: bpy.types.Object) -> Skeleton:
    """The skeleton with those of its bones that are bendy and deform.

    What has changed in its armature is evaluated where it must be.
    """
    bones = armature_of(armature).bones
    bends = read_property(bones, "bbone_segments", np.int32) > 1
    bends &= read_property(bones, "use_deform", np.bool_)
    if not bends.any():
        return skeleton
    bending = frozenset(compress(bones.keys(), bends))
    indices = [index for index, name in enumerate(skeleton.names) if name in bending]
    names = [skeleton.names[index] for index in indices]
    segments = np.array([bones[name].bbone_segments for name in names], np.int32)
    frames = _rest_segments(armature, names, segments)
    if frames is None:
        return skeleton
    bendy = BendyBones(
        np.array(indices, np.int32),
        segments,
        skeleton.rest[np.repeat(indices, segments + 1)] @ frames,
        np.array([bones[name].bbone_mapping_mode == "CURVED" for name in names]),
    )
    return replace(skeleton, bendy=bendy)


def _rest_segments(
    armature: bpy.types.Object, names: list[str], segments: Int32s
) -> Float64s | None:
    """Shape (S, 4, 4), in their bones' spaces; None in no scene."""
    posed = [armature.pose.bones[name] for name in names]
    try:
        return _segment_matrices(posed, segments, rest=True)
    except RuntimeError:  # segments were added since the armature was evaluated
        evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        posed = [evaluated.pose.bones[name] for name in names]
    try:
        return _segment_matrices(posed, segments, rest=True)
    except RuntimeError:
        return None


def with_segments(
    matrices: Float64s, armature: bpy.types.Object, skeleton: Skeleton, order: Indices
) -> Float64s:
    """The skinning matrices of bones and of the segments of bendy bones.

    Args:
        matrices: shape (B, 4, 4), D_b of the bones.
        armature: the evaluated armature object.
        order: shape (B,), where each bone is among the pose bones.

    Returns:
        shape (R, 4, 4): D_b A_b S_i F_i^-1 for a segment that is at S_i in its bone's space and at
        F_i at rest in the armature's; those of the bone alone in Rest Position and Edit Mode.
    """
    bendy = skeleton.bendy
    if bendy is None:
        return matrices
    bones = armature.pose.bones
    try:
        segments = _segment_matrices(
            [bones[int(index)] for index in order[bendy.bones]], bendy.segments
        )
    except RuntimeError:  # its segments have changed since it was bound: it is bound again soon
        return matrices
    of_frame = bendy.bone_of_frame
    posed = matrices[of_frame] @ skeleton.rest[of_frame] @ segments
    return np.concatenate((matrices, posed @ bendy.inverse_frames))


def bendy_handles(bone: bpy.types.PoseBone) -> list[str]:
    """The bones that the user has chosen to curve a bendy bone."""
    found = list[str]()
    for end in ("start", "end"):
        handle = getattr(bone.bone, f"bbone_custom_handle_{end}")
        if handle is not None and getattr(bone.bone, f"bbone_handle_type_{end}") != "AUTO":
            found.append(handle.name)
    return found


# What can be edited of bones at rest outside of Edit Mode; places by `Armature.transform`.
_EDITED_OUTSIDE_OF_EDIT_MODE = (
    ("matrix_local", np.float32, (16,)),
    ("use_deform", np.bool_, ()),
    ("use_envelope_multiply", np.bool_, ()),
)


def rest_state(armature: bpy.types.Armature, names: Sequence[str]) -> tuple[object, ...]:
    """Equal while nobody has edited the bones of an armature at rest, which have these names."""
    bones = armature.bones
    return (
        *(each.tobytes() for each in read_properties(bones, _EDITED_OUTSIDE_OF_EDIT_MODE)),
        *bendy_state(bones, dict(zip(names, names, strict=True))),
        armature.pose_position,
        armature.is_editmode,
    )


def bendy_state(bones: bpy.types.ArmatureBones, called: Mapping[str, str]) -> list[Any]:
    """The settings that shape the bendy bones at rest, for a digest; empty without bendy bones.

    Bones are `called` this in it, by their names, in their order.
    """
    bends = read_property(bones, "bbone_segments", np.int32) > 1
    if not bends.any():
        return []
    # Blender finds a bone by its name sooner than it walks there.
    bent: list[Any] = [bones[name] for name in compress(called, bends)]
    scales = (each[bends].tolist() for each in read_properties(bones, _BENDY_SCALES))
    state: list[Any] = []
    for bone, shape, *of_ends in zip(bent, map(_bendy_shape, bent), *scales, strict=True):
        state += (shape, *map(tuple, of_ends))
        if shape[_HANDLES] == _NO_HANDLES:
            continue
        for end in ("start", "end"):
            if getattr(bone, f"bbone_handle_type_{end}") != "AUTO":
                handle = getattr(bone, f"bbone_custom_handle_{end}")
                used = getattr(bone, f"bbone_handle_use_scale_{end}")
                state += (called[handle.name] if handle is not None else "", tuple(used))
    return state


_BENDY_SCALES = tuple((f"bbone_scale{end}", np.float32, (3,)) for end in ("in", "out"))

# Of the shape.
_HANDLES, _NO_HANDLES = slice(9, 11), ("AUTO", "AUTO")

_bendy_shape = attrgetter(
    *("bbone_mapping_mode", "bbone_curveinx", "bbone_curveinz", "bbone_curveoutx"),
    *("bbone_curveoutz", "bbone_rollin", "bbone_rollout", "bbone_easein", "bbone_easeout"),
    *("bbone_handle_type_start", "bbone_handle_type_end", "bbone_handle_use_ease_start"),
    *("bbone_handle_use_ease_end", "use_endroll_as_inroll", "use_scale_easing"),
)


def _segment_matrices(bones: Iterable[Any], segments: Int32s, *, rest: bool = False) -> Float64s:
    """The matrices of the ends of all segments of pose bones, in their spaces: shape (S, 4, 4)."""
    found: list[Any] = []  # matrices, whose published types do not say that they have rows
    for bone, count in zip(bones, segments.tolist(), strict=True):
        read = bone.bbone_segment_matrix
        found += [read(index, rest=rest) for index in range(count + 1)]
    if _READ_AS_BYTES:
        columns = np.frombuffer(b"".join(found), np.float32).reshape(-1, 4, 4)
        return columns.transpose(0, 2, 1).astype(np.float64)
    numbers = chain.from_iterable(chain.from_iterable(found))
    return np.fromiter(numbers, np.float64, 16 * len(found)).reshape(-1, 4, 4)

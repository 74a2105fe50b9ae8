"""Reads an armature: bones at rest and posed, their sides, segments and envelopes; edits bones."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain, compress
from operator import attrgetter
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...arrays import Float32s, Float64s, Floats, Indices, Int32s
from ...core.skeleton import BendyBones, Skeleton
from ...errors import BindingError, UserError
from .mesh import read_properties, read_property
from .scenes import scene_aside, values_kept

# Reads an armature: its bones at rest and, every frame, its pose.


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


# Finds the side in the names of bones and vertex groups, and the names of the other side.


def flipped_name(name: str) -> str:
    """The name of the bone on the other side, the same for a bone in the middle.

    As Blender does it, also behind a prefix such as ``mixamorig:``.
    """
    prefix, colon, rest = name.rpartition(":")
    return prefix + colon + bpy.utils.flip_name(rest)


@lru_cache(maxsize=4096)
def bone_side(name: str) -> int:
    """The side that a name stands for: -1 left, 1 right, 0 the middle."""
    rest = name.rpartition(":")[2]
    letters = zip(rest, bpy.utils.flip_name(rest), strict=False)
    differing = next((letter for letter, other in letters if letter != other), "")
    return {"l": -1, "r": 1}.get(differing.lower(), 0)


# Reads bendy bones: the curves of their segments at rest and, every frame, posed.


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


# Bone envelopes as numbers: the factors that Blender's Armature modifier makes of them.


_ENVELOPE = ("head_radius", "tail_radius", "envelope_distance", "envelope_weight")


def envelope_state(modifier: bpy.types.ArmatureModifier) -> tuple[object, ...]:
    """The settings that shape the envelopes of an Armature modifier, for a digest."""
    if modifier.object is None:
        return ()
    bones = armature_of(modifier.object).bones
    multiplied = read_property(bones, "use_envelope_multiply", np.bool_)
    if not modifier.use_bone_envelopes and not multiplied.any():
        return ()
    shapes = [read_property(bones, name, np.float32) for name in _ENVELOPE]
    return (modifier.use_bone_envelopes, multiplied, *shapes)


def envelope_factors(bone: bpy.types.Bone, positions: Floats) -> Float64s:
    """The weights of points in a bone's envelope, as Blender's `distfactor_to_bone` has them.

    1 within the radius, which goes from that of the head to that of the tail; it falls with the
    square of the distance from there, to 0 at the envelope's distance. Shape (n,).

    Args:
        positions: shape (n, 3), armature space.
    """
    head, tail = np.array(bone.head_local), np.array(bone.tail_local)
    reach = max(bone.head_radius, bone.tail_radius) + max(bone.envelope_distance, 0.0)
    low, high = np.minimum(head, tail) - reach, np.maximum(head, tail) + reach
    near = np.flatnonzero(((positions >= low) & (positions <= high)).all(axis=1))
    factors = np.zeros(len(positions))
    positions = positions[near]
    length = float(np.linalg.norm(tail - head))
    along = (positions - head) @ ((tail - head) / max(length, 1e-12))
    share = np.clip(along / max(length, 1e-12), 0.0, 1.0)
    nearest = head + share[:, None] * (tail - head)
    radii = bone.head_radius + share * (bone.tail_radius - bone.head_radius)
    outside = np.linalg.norm(positions - nearest, axis=1) - radii
    if bone.envelope_distance <= 0.0:
        factors[near] = outside < 0.0
    else:
        falling = 1.0 - np.square(np.maximum(outside, 0.0) / bone.envelope_distance)
        factors[near] = np.where(outside < bone.envelope_distance, np.maximum(falling, 0.0), 0.0)
    return factors


# Edits bones in a scene of their own: the user's scene and mode stay as they are.


@contextmanager
def edited_bones(armature: bpy.types.Object) -> Generator[bpy.types.ArmatureEditBones]:
    """The edit bones of an armature, inside of a `with`; its mode is the one before afterwards.

    Active object, selection and visibility of the user's scene are not touched: the armature goes
    into Edit Mode in a scene that lives as long as the `with`. `evaluate_unkeyed`
    has to come next.

    Raises:
        UserError: it is in Edit Mode already, or Edit Mode refuses it.
    """
    if is_in_edit_mode(armature):
        raise UserError(f"{armature.name} is in Edit Mode. Leave it (Tab) and try again.")
    mode, hidden = armature.mode, armature.hide_viewport
    try:
        # Edit Mode plays the animation into the pose, as it does for a user.
        with values_kept(), scene_aside(bpy.context.scene) as scene:
            scene.collection.objects.link(armature)
            layer = scene.view_layers[0]
            layer.objects.active = armature
            armature.hide_viewport = False
            with bpy.context.temp_override(
                scene=scene, view_layer=layer, active_object=armature, object=armature
            ):
                with suppress(RuntimeError):
                    bpy.ops.object.mode_set(mode="EDIT")
                if not armature_of(armature).is_editmode:
                    raise UserError(f"{armature.name} cannot go into Edit Mode.")
                try:
                    yield armature_of(armature).edit_bones
                finally:
                    bpy.ops.object.mode_set(mode=mode)
    finally:
        armature.hide_viewport = hidden

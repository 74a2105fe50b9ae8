"""The attributes of a mesh for node trees: what is the same in every pose."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...arrays import Float32s, Float64s, Floats, Int32s, Integers
from ...core.compensation import PublishedCompensation
from ...core.deform import Deformation
from ...core.example_poses import ExamplePoses
from ...core.influences import Influences
from ...core.measured_joints import MeasuredJoints, distances_at_rest
from ...core.skeleton import Skeleton
from ...core.spherical_joints import JointSets
from ...core.swing_joints import SwingJoints
from ...core.twist_limbs import TwistLimbs
from ...core.vectors import places_in_rows, transformed_points
from ...scene.binding.binding import Binding
from ...scene.binding.facts import digest
from ...scene.binding.kept_examples import Examples
from ...scene.blender.bulk_arrays import write_attribute
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import record_in
from ..attribute_names import (
    AMOUNT,
    EXAMPLE_ANGLES,
    EXAMPLE_BONE,
    EXAMPLE_BONES,
    EXAMPLE_DIRECTION,
    EXAMPLE_KIND,
    EXAMPLE_LIMB,
    EXAMPLE_OFFSETS,
    EXAMPLE_ROTATION,
    EXAMPLE_SOLUTION,
    EXAMPLE_TWISTS,
    EXAMPLE_WAY,
    EXAMPLES_REACH,
    JOINT_DISTANCE,
    JOINT_ROWS,
    PAIR,
    PAIR_ROWS,
    PREFIX,
    REST_DISTANCE,
    REST_HEAD,
    REST_RAY,
    SET,
    SET_BONE,
    SET_CENTROID,
    SET_JOINT,
    SET_REFERENCE,
    SET_SIZE,
    SOLVED_FIRST,
    SOLVED_ROW,
    STRONGEST,
    SWING_AMOUNT,
    SWING_JOINT,
    TURN_AMOUNTS,
    TURN_LIMB,
    WEIGHTS,
    numbered,
)
from ..palette_points import IDENTITY_ROW, PaletteTables, rows_of_bones
from ..tree_kind import Base, ExampleCounts, slots_for
from .solved_points import SolvedLayout

# A custom property of the mesh: the record of what its attributes were written from.
CONTENT_PROPERTY = "dq_compensation_written_from"


def _example_tables(
    examples: Examples, offsets: Float32s, row_of_bone: Integers
) -> dict[str, NDArray[Any]]:
    """The attributes of `attribute_names` that begin with EXAMPLE.

    Args:
        offsets: shape (m, n, 3), of the mesh's shape keys.
        row_of_bone: the palette row of each bone.
    """
    poses, counts = examples.poses, ExampleCounts.of(examples, offsets)
    count, size, most = poses.solution.shape
    rows = np.zeros((count, size, 3))
    rows[:, :, 0] = row_of_bone[poses.bones][:, None]
    rows[:, :, 1] = np.where(poses.is_root, IDENTITY_ROW, row_of_bone[poses.parents])[:, None]
    rows[:, :, 2] = poses.falloff
    tables = {EXAMPLE_BONES: rows, **_blending_tables(poses)}
    if counts.twisting:
        exists = poses.rotations.any(axis=2, keepdims=True)
        tables[EXAMPLE_ROTATION] = np.where(exists, poses.rotations, (1.0, 0.0, 0.0, 0.0))
        tables[EXAMPLE_TWISTS] = np.repeat(poses.twists.astype(np.float32), size)
    reached = examples.reached(offsets)
    # The bones of each vertex come first; the poses are listed bone by bone.
    bones, reach = np.argsort(~reached, axis=0, kind="stable"), reached.sum(axis=0)
    number, vertices = np.full((count, 3 * counts.threes), -1), np.arange(len(reach))
    number[np.divmod(poses.rows, most)] = np.arange(poses.pose_count)
    scaled = offsets[examples.rows] * examples.factors[:, None, None]
    values: dict[str, NDArray[Any]] = {EXAMPLES_REACH: reach.astype(np.int32)}
    for slot in range(counts.reach):
        acts = slot < reach
        values[numbered(EXAMPLE_BONE, slot)] = (size * bones[slot] * acts).astype(np.int32)
        for three in range(counts.threes):
            columns = np.zeros((len(reach), 4, 4), np.float32)
            for column in range(3):
                pose = number[bones[slot], 3 * three + column]
                shown = (acts & (pose >= 0))[:, None]
                columns[:, column, :3] = np.where(shown, scaled[pose, vertices], 0.0)
            values[numbered(numbered(EXAMPLE_OFFSETS, slot), three)] = columns.reshape(-1, 16)
    for three in range(counts.threes):
        part = poses.solution[:, :, 3 * three : 3 * three + 3]
        filled = np.pad(part, ((0, 0), (0, 0), (0, 3 - part.shape[2])))
        tables[numbered(EXAMPLE_SOLUTION, three)] = filled
    for name, table in tables.items():
        values[name] = table.astype(np.float32).reshape(count * size, -1)
    return values


def _blending_tables(poses: ExamplePoses) -> dict[str, Floats]:
    """The tables of limbs and directions, or of hats, by bones and their rest and poses."""
    count, size, _ = poses.solution.shape
    limbs, directions = np.repeat(poses.limbs[:, None], size, axis=1), poses.directions.copy()
    tables = {EXAMPLE_LIMB: limbs, EXAMPLE_DIRECTION: directions}
    if not len(poses.linear):
        return tables
    hats, bone = poses.hats, poses.linear[poses.hats.joints]
    row = places_in_rows(bone, np.bincount(bone, minlength=count)) + 1
    limbs[poses.linear] = hats.frames[:, None, 0]
    directions[poses.linear] = hats.frames[:, None, 1]
    kinds, angles = np.zeros((count, size)), np.tile((-1.0, 0.0, 1.0), (count, size, 1))
    ways = np.tile((0.0, 1.0, 1.0), (count, size, 1))
    kinds[poses.linear] = hats.kinds[:, None]
    angles[bone, row] = hats.angles
    ways[bone, row] = np.column_stack((hats.azimuths, hats.widths))
    return tables | {EXAMPLE_KIND: kinds, EXAMPLE_ANGLES: angles, EXAMPLE_WAY: ways}


def write_attributes(
    mesh: bpy.types.Mesh,
    binding: Binding,
    deformation: Deformation,
    shapes: tuple[Examples | None, SolvedLayout | None],
    palette: bpy.types.Object,
    base: Base,
    *,
    remove_others: bool = True,
) -> int:
    """Write the attributes that a tree reads.

    Args:
        mesh: the mesh of the bound object, not in Edit Mode.
        deformation: of the object, where it was bound.
        shapes: the examples and the solved shapes that act.
        palette: has the bones; it gets the rows of joints or pairs that the mesh needs.
        base: of the tree, which may skin vertices itself.
        remove_others: remove what other methods read.

    Returns:
        how many sets of bones there are.
    """
    influences, (examples, solved) = deformation.influences, shapes
    bone_rows = rows_of_bones(palette, binding.skeleton.names)
    row_of_bone = bone_rows[:, 0]
    values: dict[str, NDArray[Any]] = {}
    if base == "OWN":
        values = _of_influences(influences, row_of_bone, slots_for(influences.width))
    if deformation.compensation is not None:
        values |= _of_compensation(binding, deformation, bone_rows, PaletteTables(mesh_of(palette)))
    if deformation.sets is not None:
        values |= _of_joints(influences, deformation.sets, row_of_bone, values[SET])
    if examples is not None and binding.shape_keys is not None:
        values |= _example_tables(examples, binding.shape_keys.offsets, row_of_bone)
    if solved is not None:
        values |= _of_solved(solved)
    set_count = int(values[SET].max(initial=0)) + 1 if SET in values else 1
    if replace_attributes(mesh, values, remove_others=remove_others):
        mesh.update_tag()
    return set_count


def attribute_names(mesh: bpy.types.Mesh) -> list[str]:
    """The attributes of a mesh that are ours."""
    return [attribute.name for attribute in mesh.attributes if attribute.name.startswith(PREFIX)]


def digest_of_attributes(mesh: bpy.types.Mesh) -> str:
    """The digest of the attributes that a mesh has for our modifier, and of their number."""
    attributes = [(a.name, a.data_type) for a in mesh.attributes if a.name.startswith(PREFIX)]
    # An object that shares the mesh may have written them anew: another number of sets, perhaps.
    weights = record_in(mesh, CONTENT_PROPERTY).get("weights")
    return digest(sorted(attributes), len(mesh.vertices), weights)


def replace_attributes(
    mesh: bpy.types.Mesh, values: dict[str, NDArray[Any]], *, remove_others: bool = True
) -> bool:
    """Write attributes of points; arrays that are shorter are tables, for the first points.

    The attribute that is selected in the Attributes panel stays so, unless it is ours: to add and
    to remove attributes selects others.

    Args:
        remove_others: remove our other attributes.

    Returns:
        whether anything has changed.
    """
    names = attribute_names(mesh)
    if not (names or values):
        return False
    active = mesh.attributes.active
    selected = None if active is None or active.name.startswith(PREFIX) else active.name
    unused = [name for name in names if remove_others and name not in values]
    for name in unused:
        mesh.attributes.remove(mesh.attributes[name])
    differs = bool(unused)
    for name, array in values.items():
        full = np.zeros((len(mesh.vertices), *array.shape[1:]), array.dtype)
        full[: len(array)] = array
        differs |= write_attribute(mesh, name, full)
    attributes = mesh.attributes
    attributes.active_index = attributes.find(selected) if selected is not None else -1
    return differs


def _of_influences(
    influences: Influences, row_of_bone: Integers, slots: int
) -> dict[str, NDArray[Any]]:
    """The set of each vertex, its weights, and the table of sets.

    Sets are distinct rows of bones in blending order. Unused slots repeat the first bone, with
    weight 0: they agree with it in everything.
    """
    bones, weights = influences.in_blending_order()
    used = weights > 0.0
    rows = np.where(used[:, :1], row_of_bone[bones], IDENTITY_ROW)
    rows = np.where(used, rows, rows[:, :1])
    padded = np.repeat(rows[:, :1], slots, axis=1)
    padded[:, : rows.shape[1]] = rows[:, :slots]
    table, set_of_vertex = _distinct_rows(padded)
    shares = np.zeros((len(weights), slots), np.float32)
    shares[:, : weights.shape[1]] = weights[:, :slots]
    values: dict[str, NDArray[Any]] = {SET: set_of_vertex}
    for chunk in range((slots - 1) // 3):
        values[numbered(WEIGHTS, chunk)] = shares[:, 3 * chunk : 3 * chunk + 3]
    for slot in range(slots):
        values[numbered(SET_BONE, slot)] = table[:, slot]
    return values


def measured_bones(deformation: Deformation, skeleton: Skeleton) -> frozenset[str]:
    """The bones that MEASURED compensation and spread twists look at; some may not deform."""
    measured, twists, both = deformation.compensation, deformation.twist_limbs, np.zeros(0, np.intp)
    if twists is not None:
        both = np.concatenate((twists.before, twists.bones, twists.behind))
    if isinstance(measured, MeasuredJoints):
        joints = np.unique(measured.joints[measured.rows])
        both = np.union1d(both, measured.limbs.children[joints])
        both = np.union1d(both, measured.limbs.parents[joints])
        if measured.swings is not None:
            both = np.union1d(both, (measured.swings.children, measured.swings.parents))
    return frozenset(skeleton.names[int(bone)] for bone in both)


def straight_bones(
    deformation: Deformation, examples: Examples | None, base: Base, skeleton: Skeleton
) -> frozenset[str]:
    """The bones that trees read as one straight bone: of examples, of vertices that they skin."""
    bones = np.zeros(0, np.intp)
    if examples is not None:  # some may not deform
        bones = np.concatenate((examples.poses.bones, examples.poses.parents))
    if base == "OWN":
        influences = deformation.influences
        bones = np.concatenate((bones, influences.bones[influences.weights > 0.0]))
    return frozenset(skeleton.names[bone] for bone in np.unique(bones).tolist())


def _of_compensation(
    binding: Binding, deformation: Deformation, bone_rows: Integers, tables: PaletteTables
) -> dict[str, NDArray[Any]]:
    """What COMPENSATED takes of each vertex."""
    compensation, twists = deformation.compensation, deformation.twist_limbs
    if isinstance(compensation, MeasuredJoints):
        values = _of_measured(binding, compensation, bone_rows, tables)
    else:
        assert isinstance(compensation, PublishedCompensation)
        values = _of_pairs(compensation, _rows_of_pose(binding.skeleton, bone_rows), tables)
    values[AMOUNT] = compensation.amounts
    if compensation.swings is not None and compensation.swings.acts:
        values |= _of_swings(compensation.swings, bone_rows, tables)
    if twists is not None and len(twists.rows):
        values |= _of_twists(twists, bone_rows, tables)
    return values


def _of_solved(solved: SolvedLayout) -> dict[str, NDArray[Any]]:
    """The blocks of solved shapes that move each vertex, slot by slot."""
    values: dict[str, NDArray[Any]] = {}
    for slot, (first, rows) in enumerate(zip(solved.first, solved.rows, strict=True)):
        values[numbered(SOLVED_FIRST, slot)] = first
        values[numbered(SOLVED_ROW, slot)] = rows
    return values


def _of_measured(
    binding: Binding, measured: MeasuredJoints, bone_rows: Integers, tables: PaletteTables
) -> dict[str, NDArray[Any]]:
    """The joint and limb that each vertex is measured against, in the palette's table."""
    _, starts, ends = bone_rows.T
    limbs = measured.limbs
    two = np.zeros((binding.vertex_count, 2), np.int64)
    rows = measured.rows
    two[rows, 0], two[rows, 1] = measured.joints[rows], measured.bones[rows]
    distinct, of_vertex = _distinct_rows(two)
    joint, limb = distinct.T
    child, parent, ray = limbs.children[joint], limbs.parents[joint], limbs.rays(joint, limb)
    other = np.where((limb == child)[:, None], limbs.back[joint], limbs.forth[joint])
    table = np.zeros((len(distinct), 4, 4))
    table[:, :, :3] = np.stack((limbs.heads[joint], ray, other, limbs.forth[parent]), axis=1)
    of_limb = np.where(limb == child, starts[limb], ends[limb])
    table[:, :, 3] = np.stack((starts[child], ends[parent], of_limb, starts[parent]), axis=1)
    aside = limbs.aside[joint] * (limb == child)
    every, kept = _with_turns(table, aside), np.ones((len(table), 4), np.bool_)
    kept[aside == 0.0, 1:] = False
    firsts = np.flatnonzero(kept) % 4 == 0
    points = tables.points_of(JOINT_ROWS, every[kept].reshape(-1, 16))[firsts]
    values: dict[str, NDArray[Any]] = {PAIR: points[of_vertex]}
    if not binding.shape_varies:
        rest = transformed_points(binding.object_to_armature, binding.rest)
        from_joint = rest - limbs.heads[joint][of_vertex]
        distances, farther = distances_at_rest(from_joint, ray[of_vertex])
        values[REST_DISTANCE], values[JOINT_DISTANCE] = distances, distances + farther
    else:
        values[REST_HEAD] = limbs.heads[joint][of_vertex]
        values[REST_RAY] = ray[of_vertex]
    return values


def _with_turns(rows: Float64s, aside: Float64s) -> Float64s:
    """Rows of children's limbs that point aside, shape (k, 4, 4), each with its turn behind it.

    The turn is three rows: that limb as the parent moves it, and the parent's limb as the child and
    as the parent do. In the place of the child's limb is what the parent's limb is before,
    shortened to half of `aside`: so `palette_object` knows these rows, and no two joints have the
    same ones.

    Returns:
        shape (k, 4, 4, 4).
    """
    forth, back, child, parent = rows[:, 1, :3], rows[:, 2, :3], rows[:, 0, 3], rows[:, 1, 3]
    found = np.repeat(rows[:, None], 4, axis=1)
    turns = found[:, 1:]
    turns[:, :, 0, :3] = np.stack((back, forth, forth), axis=1)
    turns[:, :, 1, :3] = np.stack((forth, back, back), axis=1)
    turns[:, :, 2, :3] = (0.5 * aside[:, None] * rows[:, 3, :3])[:, None]
    turns[:, :, 3, :3] = 0.0
    turns[:, :, 2, 3] = np.stack((parent, child, parent), axis=1)
    turns[:, :, 3, 3] = parent[:, None]
    return found


def _of_swings(
    swings: SwingJoints, bone_rows: Integers, tables: PaletteTables
) -> dict[str, NDArray[Any]]:
    """The joints that swing each vertex, in the palette's table, and how much."""
    _, starts, ends = bone_rows.T
    children, parents = swings.children, swings.parents
    table = np.zeros((len(children), 2, 4, 4))
    # No limb of the child or the parent: so `palette_object` knows rows of swings.
    table[:, :, 0, :3], table[:, :, 1, :3] = swings.heads[:, None], swings.axes[:, None]
    for row, limb in enumerate((ends[parents], starts[children])):
        rows = (starts[children], ends[parents], limb, starts[parents])
        table[:, row, :, 3] = np.stack(rows, axis=1)
    points = tables.points_of(JOINT_ROWS, table.reshape(-1, 16))[::2]
    amounts = 2.0 * swings.amounts
    values: dict[str, NDArray[Any]] = {}
    for slot in range(amounts.shape[1]):
        values[numbered(SWING_JOINT, slot)] = points[swings.joints[:, slot]]
        values[numbered(SWING_AMOUNT, slot)] = amounts[:, slot]
    return values


def _of_twists(
    twists: TwistLimbs, bone_rows: Integers, tables: PaletteTables
) -> dict[str, NDArray[Any]]:
    """The limbs that turn each vertex, in the palette's table, and how much.

    Each limb has seven rows there, one after the other: its axis; then two directions across it, by
    the bone before it, by its own and by the bone behind it.
    """
    straight, starts, ends = bone_rows.T
    before, own, behind = ends[twists.before], straight[twists.bones], starts[twists.behind]
    x, y = twists.across[:, 0], twists.across[:, 1]
    rays = np.stack((twists.axes, x, y, x, y, x, y), axis=1)
    table = np.zeros((len(own), 7, 4, 4))
    table[:, :, 0, :3], table[:, :, 1, :3] = twists.heads[:, None], rays
    table[:, :, :2, 3] = own[:, None, None]
    table[:, :, 2, 3] = np.stack((own, before, before, own, own, behind, behind), axis=1)
    # No limb of the parent: so `palette_object` knows rows of twists. Numbers and bones in the
    # place of the child's limb make all rows differ.
    table[:, :, 2, 0], table[:, :, 2, 1], table[:, :, 2, 2] = (
        np.arange(1, 8),
        before[:, None],
        behind[:, None],
    )
    points = tables.points_of(JOINT_ROWS, table.reshape(-1, 16))[::7]
    amounts = twists.amounts
    turns = amounts.any(axis=2)
    values: dict[str, NDArray[Any]] = {}
    for slot in range(amounts.shape[1]):
        limbs = np.where(turns[:, slot], points[twists.limbs[:, slot]], 0)
        values[numbered(TURN_LIMB, slot)] = limbs
        both = np.pad(amounts[:, slot], ((0, 0), (0, 1)))
        values[numbered(TURN_AMOUNTS, slot)] = both
    return values


def _of_pairs(
    published: PublishedCompensation, rows_of_pose: Integers, tables: PaletteTables
) -> dict[str, NDArray[Any]]:
    """The pair of strongest bones of each vertex, a row of the palette's table."""
    compensated = published.amounts != 0.0
    pairs, of_vertex = _distinct_rows(np.where(compensated[:, None], published.rows, 0))
    table = np.zeros((len(pairs), 4, 4))
    table[:, :2, :3] = published.limb_directions[published.skeleton.bone_of_row[pairs]]
    table[:, :2, 3] = rows_of_pose[pairs]
    return {PAIR: tables.points_of(PAIR_ROWS, table.reshape(-1, 16))[of_vertex]}


def _rows_of_pose(skeleton: Skeleton, bone_rows: Integers) -> Integers:
    """The palette row of each row of a pose, shape (R,): of bones, of the ends of bendy bones."""
    rows = np.full(skeleton.row_count, IDENTITY_ROW)
    rows[: skeleton.bone_count] = bone_rows[: skeleton.bone_count, 0]
    if skeleton.bendy is not None:
        bones = skeleton.bendy.bones
        rows[skeleton.start_rows[bones]] = bone_rows[bones, 1]
        rows[skeleton.end_rows[bones]] = bone_rows[bones, 2]
    return rows


def _of_joints(
    influences: Influences, sets: JointSets, row_of_bone: Integers, set_of_vertex: Int32s
) -> dict[str, NDArray[Any]]:
    """The joint of each set, and the strongest bone of each vertex."""
    moved = influences.weights[:, 0] > 0.0
    values: dict[str, NDArray[Any]] = {
        STRONGEST: np.where(moved, row_of_bone[influences.bones[:, 0]], IDENTITY_ROW)
    }
    # Rows are sets in blending order; sets of joints have no order. Vertices tell which is which.
    count = int(set_of_vertex.max(initial=0)) + 1
    joint_set = np.full(count, -1)
    joint_set[set_of_vertex] = sets.set_of_vertex
    known = joint_set >= 0
    joint_set = joint_set[known]
    centroid, shared = np.zeros((count, 3)), np.ones(count, np.int32)
    reference, size = np.full(count, -1), np.ones(count, np.int32)
    centroid[known], shared[known] = sets.centroid[joint_set], sets.shared[joint_set]
    controlling = sets.controlling[joint_set]
    reference[known] = np.where(controlling >= 0, row_of_bone[controlling], -1)
    size[known] = np.diff(sets.offsets)[joint_set]
    return values | {
        SET_CENTROID: centroid,
        SET_JOINT: shared,
        SET_REFERENCE: reference,
        SET_SIZE: size,
    }


def _distinct_rows(rows: Integers) -> tuple[Integers, Int32s]:
    """The distinct rows, and which of them each row is; sorting numbers, not rows, is fast."""
    keys = np.zeros(len(rows), np.int64)
    base = int(rows.max(initial=0)) + 1
    largest = 1
    for column in rows.T:
        if largest > 2**62 // base:
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1)
            largest = len(rows)
        keys = keys * base + column
        largest *= base
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], inverse.reshape(-1).astype(np.int32)

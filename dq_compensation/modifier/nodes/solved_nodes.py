"""Nodes for solved shapes: the weight of each, and the mesh with them.

They equal `core.solved_shapes`. All but the last step runs on a few points. The object with the
tables and offsets is described in `solved_points`.

Few shapes of a block act at once. *Sort Elements* puts those of each block first, so that a vertex
fetches these alone: for each one its weight, where its offsets begin, and the offset. Blocks are
in slots: those of one slot share no vertex, so each vertex has one of them at most. A slot all of
whose blocks rest is left out, and so are vertices whose large block rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from operator import add

from ..attribute_names import BONE_GROWTH, BONE_TURN, SOLVED_FIRST, SOLVED_ROW, numbered
from ..attributes.solved_points import HEADER_POINTS, POSE_POINTS, SHAPE_POINTS
from ..tree_kind import SolvedCounts
from .hat_nodes import hat_weight
from .node_values import (
    Cloud,
    Field,
    Geometry,
    Integer,
    Matrix,
    Rotation,
    Scalar,
    TreeBuilder,
    Vector,
    grouped,
    grouped_again,
)

# Shapes that act less move no vertex that anyone could see: they are left out.
_NOTHING = 1e-6
# So many shapes are fetched in one group of nodes: Blender's time to link nodes grows with the
# square of those in one tree.
_FETCHED = 4


def with_solved_shapes(
    build: TreeBuilder,
    mesh: Geometry,
    held: Geometry,
    posed: tuple[Geometry, Matrix],
    share: Scalar | None,
    counts: SolvedCounts,
) -> Geometry:
    """The deformed mesh, in its own space, with the offsets of solved shapes.

    Args:
        held: the points of `solved_points`.
        posed: the palette, evaluated, with BONE_TURN and, where bones are scaled, BONE_GROWTH; and
            what takes armature space to that of the object.
        share: how much of them acts on each vertex; None for all.
    """
    palette, to_object = posed
    header: Vector = held.sample(build.position, build.constant(0))
    of_poses = (held, palette, header)
    poses = grouped(build, "DQ Compensation listed poses", _listed_poses, *of_poses)
    acting = poses.geometry.statistic(poses.fields["weight"], "Max")
    part = partial(_shapes, joints=counts.joints)
    of_shapes = (held, palette, poses, header, to_object)
    unsorted, shapes = grouped(build, "DQ Compensation shapes", part, *of_shapes)
    fetched = Cloud(shapes.geometry, {"packed": shapes.fields["packed"]})
    moved, group = mesh, None
    for slot, most in enumerate(counts.slots):
        first: Integer = build.attribute(numbered(SOLVED_FIRST, slot), Integer)
        row: Integer = build.attribute(numbered(SOLVED_ROW, slot), Integer)
        fetch = held, fetched, row
        parts: list[Vector] = []
        for number in range(0, most - most % _FETCHED, _FETCHED):
            several = *fetch, first.plus(number) if number else first
            if group is None:
                part = partial(_sum_of_shapes, count=_FETCHED)
                group = grouped(build, "DQ Compensation several shapes", part, *several)
                parts.append(group)
            else:
                parts.append(grouped_again(build, group, *several))
        if most % _FETCHED:
            rest = first.plus(most - most % _FETCHED) if most > _FETCHED else first
            parts.append(_sum_of_shapes(build, *fetch, rest, count=most % _FETCHED))
        turn: Matrix = shapes.at("turn", first)
        offset = turn.transform_direction(reduce(add, parts))
        if share is not None:
            offset = offset * share
        is_large = slot < counts.large
        with_slot = moved.moved_by(offset, shapes.at("weight", first) if is_large else first)
        acts = unsorted.at("of_slot", build.constant(slot)) > _NOTHING
        moved = build.choose(acts, moved, with_slot)
    return build.choose(acting > _NOTHING, mesh, moved)


def _sum_of_shapes(
    build: TreeBuilder, held: Geometry, shapes: Cloud, row: Integer, first: Scalar, *, count: int
) -> Vector:
    """The offsets of so many shapes of a block from `first` on, times their weights."""
    parts: list[Vector] = []
    for number in range(count):
        shape = Integer.of(first).plus(number) if number else first
        packed: Vector = shapes.at("packed", shape)
        weight, start, _ = packed.components()
        offset: Vector = held.sample(build.position, Integer.of(start).plus(row))
        parts.append(offset * weight)
    return reduce(add, parts)


def _shapes(
    build: TreeBuilder,
    held: Geometry,
    palette: Geometry,
    poses: Cloud,
    header: Vector,
    to_object: Matrix,
    *,
    joints: int,
) -> tuple[Cloud, Cloud]:
    """All shapes as points with what vertices fetch, as in the tables and sorted.

    Returns:
        of both the fields `weight`; `packed`, the weight and the first of its offsets, for one
        fetch; `turn`, that of its block, into object space; and `of_slot`, of the first shapes the
        sum of the weights in the slot.
    """
    pose_count, shape_count, _ = header.components()
    tables = pose_count.times_plus(float(POSE_POINTS), float(HEADER_POINTS))
    first = build.index.times_plus(float(SHAPE_POINTS), tables)

    def at(number: int) -> tuple[Scalar, Scalar, Scalar]:
        of_row: Vector = held.sample(build.position, first + float(number))
        return of_row.components()

    block, slot, start = at(0)
    rows = at(1)[: min(joints, 3)]
    if joints > 3:
        rows += at(2)[:1]
    weight: Scalar = poses.at("weight", rows[0])
    rotation, growth = _turn_of_joint(build, held, palette, rows[0])
    if joints > 1:
        weight = weight * reduce(
            Scalar.__mul__, (_weight_or_one(build, poses, r) for r in rows[1:])
        )
        turns = [_turn_of_joint(build, held, palette, row) for row in rows]
        rotation, growth = _mean_turn(build, rows, turns)
    turn = to_object @ build.turn(rotation, growth + 1.0)
    packed = build.vector(weight, start, 0.0)
    of_shape: dict[str, Field] = {"weight": weight, "packed": packed, "turn": turn}
    known = build.points(shape_count).capture(of_shape | {"block": block, "slot": slot})
    weight, block = known.fields["weight"], known.fields["block"]
    of_slot = build.total(weight, known.fields["slot"])
    with_sums = known.geometry.capture({"of_slot": of_slot})
    fields = {**known.fields, **with_sums.fields}
    ordered = with_sums.geometry.sorted_within(block, weight * -1.0)
    return Cloud(with_sums.geometry, fields), Cloud(ordered, fields)


def _weight_or_one(build: TreeBuilder, poses: Cloud, row: Scalar) -> Scalar:
    """The weight of a listed pose; 1 where the row is below 0."""
    return build.choose(row > -0.5, 1.0, poses.at("weight", row))


def _turn_of_joint(
    build: TreeBuilder, held: Geometry, palette: Geometry, row: Scalar
) -> tuple[Rotation, Scalar]:
    """The turn of the joint of a listed pose, and its size less 1."""
    place = row.times_plus(float(POSE_POINTS), float(HEADER_POINTS))
    bones: Vector = held.sample(build.position, place)
    before, behind, _ = bones.components()
    turn, growth = build.attribute(BONE_TURN, Rotation), build.attribute(BONE_GROWTH, Scalar)
    grown = palette.sample(growth, before) + palette.sample(growth, behind)
    return palette.sample(turn, before).half_way(palette.sample(turn, behind)), grown * 0.5


def _mean_turn(
    build: TreeBuilder, rows: Sequence[Scalar], turns: Sequence[tuple[Rotation, Scalar]]
) -> tuple[Rotation, Scalar]:
    """The turn and the growth of some joints; rows below 0 are none, but for the first."""
    (rotation, growth), *others = turns
    first = total = rotation.quaternion()
    count: Scalar | None = None
    for row, (other, grown) in zip(rows[1:], others, strict=True):
        exists, turn = row > -0.5, other.quaternion()
        away = turn.dot(first) < 0.0
        total = total + turn * (exists - exists * away * 2.0)
        growth = growth + grown * exists
        count = exists if count is None else count + exists
    assert count is not None
    mean = build.rotation(total.w, *total.axis.components())
    return mean, growth / (count + 1.0)


def _listed_poses(build: TreeBuilder, held: Geometry, palette: Geometry, header: Vector) -> Cloud:
    """A point for each listed pose, with the field `weight`."""
    count, _, _ = header.components()
    first = build.index * float(POSE_POINTS)

    def at(number: int) -> Vector:
        return held.sample(build.position, first + float(HEADER_POINTS + number))

    before, behind, kind = at(0).components()
    turn = build.attribute(BONE_TURN, Rotation)
    bones = palette.sample(turn, before), palette.sample(turn, behind)
    weight = hat_weight(build, bones, (at(1), at(2)), kind, (at(3), at(4)))
    return build.points(count).capture({"weight": weight})

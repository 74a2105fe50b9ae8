"""Nodes for solved shapes, a subject of its own: the weight of each, and the mesh with them.

They equal `core.solved_shapes`. All but the last step runs on a few points. The object with the
tables and offsets is described in `solved_points`.

Few shapes of a block act at once. *Sort Elements* puts those of each block first, so that a vertex
fetches these alone: for each one its weight, where its offsets begin, and the offset. Blocks are
in slots: those of one slot share no vertex, so each vertex has one of them at most. A slot all of
whose blocks rest is left out, and so are vertices whose block rests.
"""

from __future__ import annotations

from functools import partial, reduce
from math import pi
from operator import add

from ...core.solved_shapes import FADE, OFF_PLANE, TURNED_ROUND
from ..attribute_names import (
    BONE_GROWTH,
    BONE_TURN,
    SOLVED_FIRST,
    SOLVED_ROW,
    SolvedCounts,
    numbered,
)
from ..solved_points import HEADER_POINTS, POSE_POINTS, SHAPE_POINTS
from .node_values import (
    Cloud,
    Geometry,
    Integer,
    Matrix,
    Quaternion,
    Rotation,
    Scalar,
    TreeBuilder,
    Vector,
    grouped,
)

# Shapes that act less move no vertex that anyone could see: they are left out.
_NOTHING = 1e-6


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
    part = partial(_shapes, joints=counts.joints)
    unsorted, shapes = grouped(build, "DQ Compensation shapes", part, held, *posed)
    moved = mesh
    for slot, most in enumerate(counts.slots):
        first: Integer = build.attribute(numbered(SOLVED_FIRST, slot), Integer)
        row: Integer = build.attribute(numbered(SOLVED_ROW, slot), Integer)
        parts: list[Vector] = []
        for acting in range(most):
            shape = first.plus(acting) if acting else first
            offset: Vector = held.sample(build.position, shapes.at("start", shape) + row)
            parts.append(offset * shapes.at("weight", shape))
        turn: Matrix = shapes.at("turn", first)
        offset = turn.transform_direction(reduce(add, parts))
        if share is not None:
            offset = offset * share
        with_slot = moved.moved_by(offset, shapes.at("weight", first) > _NOTHING)
        acts = unsorted.at("of_slot", build.constant(slot)) > _NOTHING
        moved = build.choose(acts, moved, with_slot)
    acting = unsorted.geometry.statistic(unsorted.fields["weight"], "Max")
    return build.choose(acting > _NOTHING, mesh, moved)


def _shapes(
    build: TreeBuilder, held: Geometry, palette: Geometry, to_object: Matrix, *, joints: int
) -> tuple[Cloud, Cloud]:
    """All shapes as points with what vertices fetch, as in the tables and sorted.

    Returns:
        of both the fields `weight`; `start`, the first of its offsets; `turn`, that of its block,
        into object space; and `of_slot`, of the first shapes the sum of the weights in the slot.
    """
    counts: Vector = held.sample(build.position, build.constant(0))
    pose_count, shape_count, _ = counts.components()
    of_poses = (held, palette, pose_count)
    poses = grouped(build, "DQ Compensation listed poses", _listed_poses, *of_poses)
    first = build.index * float(SHAPE_POINTS) + pose_count.times_plus(
        float(POSE_POINTS), float(HEADER_POINTS)
    )

    def at(number: int) -> tuple[Scalar, Scalar, Scalar]:
        of_row: Vector = held.sample(build.position, first + float(number))
        return of_row.components()

    block, slot, start = at(0)
    of_shape = at(1)[: min(joints, 3)]
    if joints > 3:
        of_shape += at(2)[:1]
    weight, rotation = poses.at("weight", of_shape[0]), poses.at("turn", of_shape[0])
    size = poses.at("growth", of_shape[0])
    if joints > 1:
        weight, rotation, size = _of_all(build, poses, of_shape)
    turn = to_object @ build.turn(rotation, size + 1.0)
    fields = {"weight": weight, "start": start, "turn": turn, "block": block, "slot": slot}
    known = build.points(shape_count).capture(fields)
    weight, block = known.fields["weight"], known.fields["block"]
    of_slot = build.total(weight, known.fields["slot"])
    with_sums = known.geometry.capture({"of_slot": of_slot})
    fields = {**known.fields, **with_sums.fields}
    ordered = with_sums.geometry.sorted_within(block, weight * -1.0)
    return Cloud(with_sums.geometry, fields), Cloud(ordered, fields)


def _of_all(
    build: TreeBuilder, poses: Cloud, rows: tuple[Scalar, ...]
) -> tuple[Scalar, Rotation, Scalar]:
    """The weight, the turn and the growth of shapes of some joints; rows below 0 are none."""
    weights: list[Scalar] = []
    turns: list[Quaternion] = []
    growths: list[Scalar] = []
    counted: list[Scalar] = []
    for number, row in enumerate(rows):
        weight: Scalar = poses.at("weight", row)
        growth: Scalar = poses.at("growth", row)
        rotation: Rotation = poses.at("turn", row)
        turn = rotation.quaternion()
        if number:
            exists = row > -0.5
            weight = build.choose(exists, 1.0, weight)
            along = turn.dot(turns[0]) < 0.0
            turn = turn * (exists - exists * along * 2.0)
            growth = growth * exists
            counted.append(exists)
        weights.append(weight)
        turns.append(turn)
        growths.append(growth)
    total = reduce(add, turns)
    rotation = build.rotation(total.w, *total.axis.components())
    count = reduce(add, counted) + 1.0
    return reduce(Scalar.__mul__, weights), rotation, reduce(add, growths) / count


def _listed_poses(build: TreeBuilder, held: Geometry, palette: Geometry, count: Scalar) -> Cloud:
    """A point for each listed pose.

    Returns:
        the fields `weight`; and of its joint `turn`, and `growth`, its size less 1.
    """
    first = build.index * float(POSE_POINTS)

    def at(number: int) -> Vector:
        return held.sample(build.position, first + float(HEADER_POINTS + number))

    before, behind, hinge = at(0).components()
    limb, toward = at(1), at(2)
    turn, growth = build.attribute(BONE_TURN, Rotation), build.attribute(BONE_GROWTH, Scalar)
    start, end = palette.sample(turn, before), palette.sample(turn, behind)
    back = start.inverted()
    seen = back.rotate(end.rotate(limb))
    x, y, z = seen.dot(limb), seen.dot(toward), seen.dot(limb.cross(toward))
    bent = y.arctangent(x)
    swung = y.times_plus(y, z * z).square_root().arctangent(x)
    in_plane = x.times_plus(x, y * y).smooth_step(0.0, OFF_PLANE)
    in_plane = in_plane * (pi - bent.absolute()).smooth_step(0.0, FADE)
    angle, in_plane = build.choose(hinge, swung, bent), build.choose(hinge, 1.0, in_plane)

    low, own, high = at(3).components()
    hat = ((angle - low) / (own - low)).minimum((high - angle) / (high - own))
    azimuth, below, above = at(4).components()
    apart = (z.arctangent(y) - azimuth).wrapped(pi, -pi)
    beside = 1.0 - (apart / above).maximum(apart / (below * -1.0))
    facing = end.after(back).quaternion().w.absolute()
    fade = facing.smooth_step(0.0, TURNED_ROUND) * in_plane
    grown = palette.sample(growth, before) + palette.sample(growth, behind)
    return build.points(count).capture(
        {
            "weight": hat.clamped(0.0, 1.0) * beside.clamped(0.0, 1.0) * fade,
            "turn": start.half_way(end),
            "growth": grown * 0.5,
        }
    )

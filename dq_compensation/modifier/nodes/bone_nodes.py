"""Nodes that compute every bone's transform in this frame from the points of the palette object.

They run in the palette's own node modifier (`palette_object`), once per armature and frame, on a
cloud with one point per row. See `core.pose.Pose`, which they equal. `palette` is as its Armature
and Hook modifiers leave it, `bones` are `bone_matrices`, `last` is the last row of the bones, and
`length` is how far the points of axes are from the origin, the length of the skeleton.

`with_examples` gives the mesh the offsets of example poses, by the weight of each, which equals
`core.example_poses.ExamplePoses.alphas`. All of it runs on a few points, but for the sum of the
offsets. Vectors have the numbers of three poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from ...core.pose import CURVED, NO_LENGTH, NOT_ORTHONORMAL, STRAIGHT
from ..attribute_names import (
    BONE,
    BONE_GROWTH,
    BONE_MATRIX,
    BONE_TURN,
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
    PALETTE_END,
    PALETTE_LENGTH,
    PALETTE_PARTNER,
    PALETTE_REST,
    PREFIX,
    REST_LENGTH,
    numbered,
)
from ..palette_points import OFF_ALL_AXES
from ..tree_kind import ExampleCounts
from .hat_nodes import hat_weight
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
    rotation_to,
)

# What compensation and twist read of joints and rotations counts as rigid up to here, for the dot
# products of axes: bones of imported files are off by some 2e-5, and those along -Y by 7e-5. What
# is left out is this share of an offset, 2e-5 of the object's size at most.
NEARLY_RIGID = 1e-3
# Likewise of the lengths of edges, in lengths of the skeleton.
_STRETCHED = 0.5 * NEARLY_RIGID
_RIGID = f"{PREFIX}rigid"
_UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def stretched_edges(build: TreeBuilder, palette: Geometry, length: Scalar) -> Scalar:
    """How many edges of `palette_points` have another length than at rest.

    Bones that are mirrored, no more, are not seen.
    """
    rest: Scalar = build.attribute(REST_LENGTH, Scalar)
    outputs = build.node("GeometryNodeInputMeshEdgeVertices").outputs
    start, end = (Vector(build, outputs[name]) for name in ("Position 1", "Position 2"))
    off = start.distance(end).differs(rest, length * _STRETCHED)
    return palette.statistic(off, "Sum", "EDGE")


def bone_turns(
    build: TreeBuilder, palette: Geometry, rows: Scalar, length: Scalar, *, stretches_seen: bool
) -> Cloud:
    """The rotations of bones that are not scaled, bendy or mirrored.

    Args:
        stretches_seen: whether `stretched_edges` tells of scaled bones: mirrored ones are left.

    Returns:
        a point for each of the rows with the fields `turn`, and `scaled`: 1 where a bone is scaled
        or mirrored, so that its turn means nothing; else 0.
    """
    first = build.index * 4.0
    # Blender copies a mesh that comes into a modifier, with all its vertex groups, for each *Sample
    # Index*; this one it copies once, where another node reads the palette, too.
    places = palette.capture({"place": build.position})
    origin, *corners = (places.at("place", first + float(corner)) for corner in range(4))
    x, y, z = (corner - origin for corner in corners)
    if stretches_seen:
        scaled = x.dot(y.cross(z)) < 0.0
    else:
        shrink = 1.0 / length
        x, y, z = (axis * shrink for axis in (x, y, z))
        scaled = _is_scaled((x, y, z), NEARLY_RIGID)
    return build.points(rows).capture({"turn": rotation_to(y, z), "scaled": scaled})


def posed_bones(build: TreeBuilder, palette: Geometry) -> Cloud:
    """The bones that `with_bones` has left on the points of an evaluated palette.

    Returns:
        the fields `matrix` (D) and `packed`, one matrix for one fetch: the quaternion of the rigid
        part of D, w >= 0 (x, y, z, w), its dual part (x, y, z, w; right only where the bone is not
        scaled), and as the last number of the third column 1 where the bone is scaled.
    """
    return Cloud(
        palette,
        {
            "matrix": build.attribute(BONE_MATRIX, Matrix),
            "packed": build.attribute(BONE, Matrix),
        },
    )


def rotation_of(build: TreeBuilder, bones: Cloud, row: Scalar) -> Quaternion:
    """The quaternion of the rigid part of a bone."""
    x, y, z, w = bones.at("packed", row).entries()[0]
    return Quaternion(w, build.vector(x, y, z))


def bone_matrices(
    build: TreeBuilder,
    palette: Geometry,
    points: Geometry,
    last: Scalar,
    length: Scalar,
    *,
    bendy: bool,
) -> Cloud:
    """The points with the matrices of the bones, `matrix` (D) and `scaled` (1 or 0), one on each.

    On points beyond it is the last one again. Bendy bones have lengths and origins of their own.
    """
    row = build.index.minimum(last)
    first = row * 4.0
    corners = [palette.sample(build.position, first + float(corner)) for corner in range(4)]
    if bendy:
        length = palette.sample(build.attribute(PALETTE_LENGTH, Scalar), row)
    shrink = 1.0 / length
    x, y, z = ((corner - corners[0]) * shrink for corner in corners[1:])
    origin = corners[0]
    if bendy:
        turn = build.matrix_of_columns(x, y, z, None)
        at_rest: Matrix = palette.sample(build.attribute(PALETTE_REST, Matrix), row)
        origin = origin - turn.transform_direction(at_rest.transform_point(build.zero()))
    matrix = build.matrix_of_columns(x, y, z, origin)
    return points.capture({"matrix": matrix, "scaled": _is_scaled((x, y, z))})


def with_rigid_parts(
    build: TreeBuilder, palette: Geometry, bones: Cloud, any_scaled: Scalar, last: Scalar
) -> Cloud:
    """Bones with the field `rigid`, the rigid parts of their matrices: rotations.

    Where a bone is not scaled, it is the matrix, with its translation.
    """
    matrix, scaled = bones.fields["matrix"], bones.fields["scaled"]
    row = build.index.minimum(last)
    at_rest: Matrix = palette.sample(build.attribute(PALETTE_REST, Matrix), row)
    # Scales are rare, and their nodes many: Switches leave them out.
    orthogonal = build.choose(scaled, matrix, _rigid_part(build, matrix, at_rest))
    made_rigid = bones.geometry.store(_RIGID, orthogonal)
    geometry = build.choose(any_scaled, bones.geometry, made_rigid)
    rigid = build.choose(any_scaled, matrix, build.attribute(_RIGID, Matrix))
    return Cloud(geometry, {**bones.fields, "rigid": rigid})


def with_straightness(build: TreeBuilder, palette: Geometry, bones: Cloud) -> Cloud:
    """Bones with the field `straight`: `core.pose`; 1 where not bendy."""
    row = build.index
    partner: Scalar = palette.sample(build.attribute(PALETTE_PARTNER, Integer), row)
    other = row + partner
    end = build.attribute(PALETTE_END, Vector)
    here: Vector = palette.sample(end, row)
    matrix = bones.fields["matrix"]
    posed = bones.geometry.capture({"end": matrix.transform_point(here)})
    posed_here = posed.fields["end"]
    # From one end to the other, at either of them; it is the direction up to its sign.
    chord = (palette.sample(end, other) - here).normalized()
    posed_chord = (posed.at("end", other) - posed_here).normalized()
    cosine = matrix.transform_direction(chord).normalized().dot(posed_chord)
    known = posed.geometry.capture({"cosine": cosine})
    cosine = known.fields["cosine"]
    lesser = cosine.minimum(known.at("cosine", other))
    share = ((lesser - CURVED) * (1.0 / (STRAIGHT - CURVED))).maximum(0.0).minimum(1.0)
    smooth = share * share * (3.0 - share * 2.0)
    straight = build.choose(partner.absolute() > 0.5, 1.0, smooth)
    known = known.geometry.capture({"straight": straight})
    return Cloud(known.geometry, {**bones.fields, **known.fields})


def with_turns_of_bones(build: TreeBuilder, points: Geometry, turned: Cloud) -> Geometry:
    """Points with BONE_TURN, the rotation of the rigid part of each bone: `turned`."""
    return points.store(BONE_TURN, turned.at("turn", build.index))


def with_growth(build: TreeBuilder, points: Geometry, bones: Cloud) -> Geometry:
    """Points with BONE_GROWTH: the cube root of |det D| of each bone, less 1."""
    matrix: Matrix = bones.at("matrix", build.index)
    x, y, z = (matrix.transform_direction(unit) for unit in _UNITS)
    volume = x.dot(y.cross(z)).absolute()
    return points.store(BONE_GROWTH, volume.power(1.0 / 3.0) - 1.0)


def with_bones(build: TreeBuilder, bones: Cloud) -> Geometry:
    """Points with the attributes of bones for `posed_bones`."""
    matrix, rigid, scaled = (bones.fields[name] for name in ("matrix", "rigid", "scaled"))
    real = rigid.rotation().quaternion()
    half = matrix.transform_point(build.zero()) * 0.5
    dual = half * real.w + half.cross(real.axis)
    dual_w = half.dot(real.axis) * -1.0
    unused = (0.0, 0.0, 0.0, 0.0)
    packed = build.matrix(
        (
            (*real.components, real.w),
            (*dual.components(), dual_w),
            (0.0, 0.0, 0.0, scaled),
            unused,
        )
    )
    return bones.geometry.store(BONE, packed).store(BONE_MATRIX, matrix)


def state_of(build: TreeBuilder, length: Scalar, *, limb_states: bool = False) -> Vector:
    """What the position of the first point of an evaluated palette is to be: `palette_state`."""
    if limb_states:
        return build.vector(length, 0.0, 0.0)
    return build.vector(*OFF_ALL_AXES) * length


def palette_state(build: TreeBuilder, palette: Geometry) -> Vector:
    """The position of the first point of an evaluated palette: its state, in one fetch.

    Its x is how far the skeleton reaches from the origin, as a power of two. It is a multiple of
    OFF_ALL_AXES; but where there is LIMB_STATE, its y and z are 0.
    """
    return palette.sample(build.position, build.constant(0))


def _is_scaled(columns: Sequence[Vector], limit: float = NOT_ORTHONORMAL) -> Scalar:
    """1 where the columns of a matrix are not those of a rotation, by the limit, else 0.

    From z = x cross y and x = y cross z follows that they are at right angles, |y| = 1 and
    |x| = |z|, or that all are 0.
    """
    x, y, z = columns
    off = x.cross(y).distance(z) + y.cross(z).distance(x) + (x.dot(x) - 1.0).absolute()
    return off > limit


def _rigid_part(build: TreeBuilder, turned: Matrix, at_rest: Matrix) -> Matrix:
    """`core.pose._rigid_parts`: posed axes made orthogonal, Y first, times the rest's inverse."""
    own_axes = [at_rest.transform_direction(unit) for unit in _UNITS]
    x, long_y, z = (turned.transform_direction(axis) for axis in own_axes)
    y = _unit_or_zero(long_y)
    y_x, y_y, y_z = y.components()
    x_exists = x.dot(x) > NO_LENGTH**2
    x_serves = x_exists * (y.dot(x) < 1.0)
    z_serves = (1.0 - x_exists).maximum(x.dot(z) < 1.0)
    from_x = _unit_or_zero(x.cross(y))
    from_z = _unit_or_zero(y.cross(z)).cross(y)
    from_y = _unit_or_zero(y.cross(build.vector(y_y, y_z, y_x))).cross(y)
    new_z = build.choose(x_serves, build.choose(z_serves, from_y, from_z), from_x)
    exists = new_z.dot(new_z) > 0.0
    axes = build.matrix_of_columns(y.cross(new_z), y, new_z, None)
    unit = build.matrix([[float(row == column) for row in range(4)] for column in range(4)])
    rest = build.matrix_of_columns(own_axes[0], own_axes[1], own_axes[2], None)
    return build.choose(exists, unit, axes) @ rest.transposed()


def _unit_or_zero(vector: Vector) -> Vector:
    """The normalised vector; zero where it is shorter than `NO_LENGTH`."""
    return vector.normalized() * (vector.dot(vector) > NO_LENGTH**2)


# Examples that act less move no vertex that anyone could see: they are left out.
_NOTHING = 1e-5


def with_examples(
    build: TreeBuilder,
    mesh: Geometry,
    held: Geometry,
    palette: Geometry,
    counts: ExampleCounts,
    *,
    sampled: bool = False,
) -> Geometry:
    """The mesh, in its own space, with the offsets of the examples times their current weights.

    Args:
        held: the geometry with the attributes of examples: the mesh, or, `sampled`, another one.
        palette: evaluated, `with_turns_of_bones`.
    """
    alphas = _example_alphas(build, held, palette, counts)

    def of_vertex(name: str, kind: type[Integer | Matrix]) -> Any:
        value = build.attribute(name, kind)
        return held.sample(value, build.index) if sampled else value

    reach, moved = of_vertex(EXAMPLES_REACH, Integer), mesh
    for slot in range(counts.reach):
        row = of_vertex(numbered(EXAMPLE_BONE, slot), Integer)
        offsets = numbered(EXAMPLE_OFFSETS, slot)
        parts = [
            of_vertex(numbered(offsets, three), Matrix).transform_direction(
                alphas.at(f"{three}", row)
            )
            for three in range(counts.threes)
        ]
        moved = moved.moved_by(reduce(add, parts), reach > slot if slot else reach)
    acting = alphas.geometry.statistic(alphas.fields["all"], "Max")
    return build.choose(acting > _NOTHING, mesh, moved)


def _example_alphas(
    build: TreeBuilder, held: Geometry, palette: Geometry, counts: ExampleCounts
) -> Cloud:
    """The weights of examples, for the poses of each bone on the rows of the bone.

    Returns:
        the fields `0`, `1`, ...: the weights of three poses each; and `all`, their sum.
    """
    rows = build.points(build.constant(counts.table_rows))
    known = rows.capture({"near": _nearness(build, held, palette, counts)})
    size = counts.most + 1
    bone = build.index.times_plus(1.0 / size, 0.5 / size)
    alphas: list[Vector] = []
    for three in range(counts.threes):
        solution = build.attribute(numbered(EXAMPLE_SOLUTION, three), Vector)
        counted: Vector = held.sample(solution, build.index) * known.fields["near"]
        alpha = build.total(counted, bone)
        alphas.append(alpha.maximum((0.0, 0.0, 0.0)).minimum((1.0, 1.0, 1.0)))
    total = reduce(add, (alpha.dot((1.0, 1.0, 1.0)) for alpha in alphas))
    share = 1.0 / total.maximum(1.0)
    fields = {f"{three}": alpha * share for three, alpha in enumerate(alphas)}
    return known.geometry.capture({**fields, "all": total})


def _nearness(
    build: TreeBuilder, held: Geometry, palette: Geometry, counts: ExampleCounts
) -> Scalar:
    """exp(-(r / sigma)^2) of every row: r from where its bone is to the row's example or rest.

    Of the poses of bones with linear weights: their hats.
    """

    def of_row(name: str, kind: type[Scalar | Vector | Rotation]) -> Any:
        return held.sample(build.attribute(name, kind), build.index)

    bone_row, parent_row, falloff = of_row(EXAMPLE_BONES, Vector).components()
    turn = build.attribute(BONE_TURN, Rotation)
    bone, parent = palette.sample(turn, bone_row), palette.sample(turn, parent_row)
    limb, direction = of_row(EXAMPLE_LIMB, Vector), of_row(EXAMPLE_DIRECTION, Vector)
    apart = bone.rotate(limb).dot(parent.rotate(direction)).arccosine()
    if counts.twisting:
        example = parent.after(of_row(EXAMPLE_ROTATION, Rotation))
        turned = example.inverted().after(bone).quaternion().w.absolute().arccosine() * 2.0
        apart = apart + (turned - apart) * of_row(EXAMPLE_TWISTS, Scalar)
    near = (apart * apart * falloff).exponential()
    if not counts.linear:
        return near
    kind, hat = (
        of_row(EXAMPLE_KIND, Scalar),
        (of_row(EXAMPLE_ANGLES, Vector), of_row(EXAMPLE_WAY, Vector)),
    )
    frame = limb, direction
    weight = hat_weight(build, (parent, bone), frame, kind, hat, rotates=counts.twisting)
    return build.choose(kind > 0.5, near, weight)

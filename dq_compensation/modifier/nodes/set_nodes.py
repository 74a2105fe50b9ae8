"""Nodes for the distinct sets and pairs of bones: vertices share the result of their set.

A human of 13,380 vertices has 700 sets of bones and 430 pairs. For the bones 1..k of a set, with
signs s that agree, the sums that every vertex needs, such as sum w_i s_i q_i, are a matrix of the
set times the vertex's weights: one *Sample Index* and one *Transform Point* for three bones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ...core.compensation import LEAST_BISECTOR, LEAST_SINE
from ...core.dual_quaternion import FACING_TOLERANCE
from ..attribute_names import PAIR_ROWS, SET_BONE, numbered
from .node_builder import TreeBuilder
from .node_values import Cloud, Field, Geometry, Integer, Matrix, Scalar, Vector

# Quaternions of one set that are farther from a right angle than this surely agree, whatever
# rounding does; below, vertices decide for themselves, with `core`'s tolerance.
_SURELY_FACING = 1e-6


def faces_away(dot: Scalar) -> Scalar:
    """1 where unit quaternions of that dot product blend with opposite signs, else 0."""
    return dot < -FACING_TOLERANCE


def set_bones(build: TreeBuilder, mesh: Geometry, slots: int, row: Scalar) -> list[Scalar]:
    """The palette rows of the bones of sets, slot by slot."""
    return [
        mesh.sample(build.attribute(numbered(SET_BONE, slot), Integer), row)
        for slot in range(slots)
    ]


def chunks_of(slots: int) -> list[list[int]]:
    """The slots of each chunk: three, and the last slot, which every chunk has as its fourth."""
    return [[*range(start, start + 3), slots - 1] for start in range(0, slots - 1, 3)]


def aligned(
    build: TreeBuilder, quaternions: Sequence[Matrix], towards: Sequence[Scalar] | None = None
) -> tuple[list[Matrix], Scalar]:
    """Give the quaternions of each set the sign that agrees with its first one.

    Where all of them agree with one another then, any sum of them with positive weights agrees too:
    the signs are those of the sum so far, in any order.

    Args:
        quaternions: for each chunk the four quaternions as columns.
        towards: the quaternion (x, y, z, w) to agree with, in place of the first one.

    Returns:
        for each chunk the diagonal matrix of the signs; and above 0.5 where the weights decide the
        signs, so that no set can.
    """
    nothing = (0.0, 0.0, 0.0, 0.0)
    reference = build.matrix((towards, nothing, nothing, nothing)) if towards else None
    pairs = [
        (one, other, quaternions[one].transposed() @ quaternions[other])
        for one in range(len(quaternions))
        for other in range(one, len(quaternions))
    ]
    signed = []
    for one, other, products in pairs:
        if one == 0:
            first = [column[0] for column in products.entries()]
            if reference is not None:
                first = (quaternions[other].transposed() @ reference).entries()[0]
            signs = [faces_away(dot).times_plus(-2.0, 1.0) for dot in first]
            assert other == len(signed)
            signed.append(build.diagonal(signs))
    dots: list[Scalar] = []
    for one, other, products in pairs:
        entries = (signed[one] @ products @ signed[other]).entries()
        for column in range(4 if one == other else 3):
            dots += entries[column][: column if one == other else 3]
    return signed, reduce(Scalar.minimum, dots) < _SURELY_FACING


def last_slot_implied(build: TreeBuilder, first: bool) -> Matrix:
    """Takes columns of four slots to differences from the last one, which is the origin.

    Weights sum to 1: `sum w_i c_i = c_4 + sum over 1..3 of w_i (c_i - c_4)`. Only the first chunk
    adds the origin.
    """
    last = (0.0, 0.0, 0.0, 1.0 if first else 0.0)
    return build.matrix(((1.0, 0.0, 0.0, -1.0), (0.0, 1.0, 0.0, -1.0), (0.0, 0.0, 1.0, -1.0), last))


def dual_quaternion_sets(
    build: TreeBuilder,
    mesh: Geometry,
    bones: Cloud,
    set_count: Scalar,
    slots: int,
    *,
    with_matrices: bool = False,
) -> Cloud:
    """For each set the matrices that blend its dual quaternions, and whether they do.

    Matrix j of a name takes the weights of the slots 3 j to 3 j + 2 to what they add to a weighted
    sum over the set; the last slot has the weight that they leave of 1.

    Returns:
        `real_j`, `dual_j` (rows x, y, z), `scalars_j` (rows real w, dual w), and `needs_per_bone`:
        1 where a bone is scaled or the signs depend on the weights, so that the matrices do not
        serve.
        And `matrix_i`, the matrix of the bone in slot i, `with_matrices`.
    """
    cloud = build.points(set_count)
    rows = set_bones(build, mesh, slots, build.index())
    packed = [bones.at("packed", row).entries() for row in rows]
    chunks = chunks_of(slots)
    reals = [build.matrix([packed[slot][0] for slot in chunk]) for chunk in chunks]
    duals = [build.matrix([packed[slot][1] for slot in chunk]) for chunk in chunks]
    scalars = [
        build.matrix([(packed[slot][0][3], packed[slot][1][3], 0.0, 0.0) for slot in chunk])
        for chunk in chunks
    ]
    signs, doubtful = aligned(build, reals)
    per_bone = reduce(Scalar.maximum, [bone[2][3] for bone in packed], doubtful)
    fields: dict[str, Field] = {"needs_per_bone": per_bone}
    for number, signed in enumerate(signs):
        blending = signed @ last_slot_implied(build, number == 0)
        fields[numbered("real", number)] = reals[number] @ blending
        fields[numbered("dual", number)] = duals[number] @ blending
        fields[numbered("scalars", number)] = scalars[number] @ blending
    if with_matrices:
        for slot, row in enumerate(rows):
            fields[numbered("matrix", slot)] = bones.at("matrix", row)
    return cloud.capture(fields)


def pair_offset(build: TreeBuilder, palette: Geometry, bones: Cloud) -> Vector:
    """`core.compensation.compensation_offsets` of pairs of bones, on the rows of PAIR_ROWS.

    Args:
        palette: with the rows, as its Armature modifier leaves it.
        bones: their rotations, `turn`; and how `straight` they are, if that is to count.
    """
    row: Matrix = palette.sample(build.attribute(PAIR_ROWS, Matrix), build.index())
    columns = row.entries()[:2]
    first, second = (bones.at("turn", column[3]) for column in columns)
    limb, other_limb = (
        turn.rotate(build.vector(*column[:3]))
        for turn, column in zip((first, second), columns, strict=True)
    )
    limb_sum = limb + other_limb
    bisector = limb_sum.normalized() * (limb_sum.length() > LEAST_BISECTOR)
    relative = first.after(second.inverted()).quaternion()
    w, turn = relative.w, relative.axis
    sine = turn.length()
    axis = turn.normalized()
    across = bisector - axis * axis.dot(bisector)
    # 2 sqrt(1 - |w|) = 2 sine / sqrt(1 + |w|), without the cancellation at small angles
    bend = w.absolute().times_plus(0.25, 0.25).inverse_square_root() * sine
    bend = bend.minimum(1.0) * (sine > LEAST_SINE)
    if "straight" in bones.fields:
        bend = bend * (bones.at("straight", columns[0][3]) * bones.at("straight", columns[1][3]))
    return across * bend

"""Nodes that deform vertices: fields for *Set Position*, in armature space.

Vertices share what depends on their bones alone, by the distinct sets and pairs of bones. A human
of 13,380 vertices has 700 sets of bones and 430 pairs. For the bones 1..k of a set, with signs s
that agree, the sums that every vertex needs, such as sum w_i s_i q_i, are a matrix of the set times
the vertex's weights: one *Sample Index* and one *Transform Point* for three bones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from ...core.compensation import LEAST_BISECTOR, LEAST_SINE
from ...core.dual_quaternion import FACING_TOLERANCE
from ...core.spherical_joints import CENTRE_DAMPING
from ..attribute_names import (
    PAIR_ROWS,
    SET,
    SET_BONE,
    SET_CENTROID,
    SET_JOINT,
    SET_REFERENCE,
    SET_SIZE,
    STRONGEST,
    WEIGHTS,
    numbered,
)
from .bone_nodes import rotation_of
from .node_values import (
    Cloud,
    Field,
    Geometry,
    Integer,
    Matrix,
    Quaternion,
    Scalar,
    TreeBuilder,
    Vector,
    grouped,
)

# Quaternions of one set that are farther from a right angle than this surely agree, whatever
# rounding does; below, vertices decide for themselves, with `core`'s tolerance.
_SURELY_FACING = 1e-6


def _faces_away(dot: Scalar) -> Scalar:
    """1 where unit quaternions of that dot product blend with opposite signs, else 0."""
    return dot < -FACING_TOLERANCE


def _set_bones(build: TreeBuilder, mesh: Geometry, slots: int, row: Scalar) -> list[Scalar]:
    """The palette rows of the bones of sets, slot by slot."""
    return [
        mesh.sample(build.attribute(numbered(SET_BONE, slot), Integer), row)
        for slot in range(slots)
    ]


def _chunks_of(slots: int) -> list[list[int]]:
    """The slots of each chunk: three, and the last slot, which every chunk has as its fourth."""
    return [[*range(start, start + 3), slots - 1] for start in range(0, slots - 1, 3)]


def _aligned(
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
            signs = [_faces_away(dot).times_plus(-2.0, 1.0) for dot in first]
            assert other == len(signed)
            signed.append(build.diagonal(signs))
    dots: list[Scalar] = []
    for one, other, products in pairs:
        entries = (signed[one] @ products @ signed[other]).entries()
        for column in range(4 if one == other else 3):
            dots += entries[column][: column if one == other else 3]
    return signed, reduce(Scalar.minimum, dots) < _SURELY_FACING


def _last_slot_implied(build: TreeBuilder, first: bool) -> Matrix:
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
    rows = _set_bones(build, mesh, slots, build.index)
    packed = [bones.at("packed", row).entries() for row in rows]
    chunks = _chunks_of(slots)
    reals = [build.matrix([packed[slot][0] for slot in chunk]) for chunk in chunks]
    duals = [build.matrix([packed[slot][1] for slot in chunk]) for chunk in chunks]
    scalars = [
        build.matrix([(packed[slot][0][3], packed[slot][1][3], 0.0, 0.0) for slot in chunk])
        for chunk in chunks
    ]
    signs, doubtful = _aligned(build, reals)
    per_bone = reduce(Scalar.maximum, [bone[2][3] for bone in packed], doubtful)
    fields: dict[str, Field] = {"needs_per_bone": per_bone}
    for number, signed in enumerate(signs):
        blending = signed @ _last_slot_implied(build, number == 0)
        fields[numbered("real", number)] = reals[number] @ blending
        fields[numbered("dual", number)] = duals[number] @ blending
        fields[numbered("scalars", number)] = scalars[number] @ blending
    if with_matrices:
        for slot, row in enumerate(rows):
            fields[numbered("matrix", slot)] = bones.at("matrix", row)
    return cloud.capture(fields)


def pair_offset(build: TreeBuilder, palette: Geometry, bones: Cloud) -> Vector:
    """The offsets of `core.compensation` for pairs of bones, on the rows of PAIR_ROWS.

    Args:
        palette: with the rows, as its Armature modifier leaves it.
        bones: their rotations, `turn`; and how `straight` they are, if that is to count.
    """
    row: Matrix = palette.sample(build.attribute(PAIR_ROWS, Matrix), build.index)
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


class Vertices:
    """The input of every vertex: its set of bones and its weights."""

    def __init__(self, build: TreeBuilder, mesh: Geometry, slots: int) -> None:
        self.build = build
        self.mesh = mesh
        self.slots = slots
        self.set = build.attribute(SET, Integer)
        self.weight_vectors: list[Vector] = [
            build.attribute(numbered(WEIGHTS, chunk), Vector) for chunk in range((slots - 1) // 3)
        ]

    def weighted(self, sets: Cloud, name: str) -> Vector:
        """The weighted sum that matrices of `dual_quaternion_sets` hold, by name."""
        matrices = [sets.at(numbered(name, n), self.set) for n in range(len(self.weight_vectors))]
        parts = map(Matrix.transform_point, matrices, self.weight_vectors)
        return reduce(add, parts)  # there are at least 4 slots

    def weights(self) -> list[Scalar]:
        """The weight of each slot."""
        weights = [part for vector in self.weight_vectors for part in vector.components()]
        return [*weights, 1.0 - reduce(add, weights)]

    def bones(self) -> list[Scalar]:
        """The palette row of each slot's bone."""
        return _set_bones(self.build, self.mesh, self.slots, self.set)

    def strongest(self) -> Scalar:
        """The palette row of the strongest bone."""
        return self.build.attribute(STRONGEST, Integer)


def blended_by_sets(vertices: Vertices, sets: Cloud, position: Vector) -> Vector:
    """DUAL_QUATERNION where bones are not scaled and signs do not depend on the weights.

    A point is transformed by a dual quaternion that is not normalised (Kavan et al. 2008).
    """
    w, dual_w, _ = vertices.weighted(sets, "scalars").components()
    real, dual = Quaternion(w, vertices.weighted(sets, "real")), vertices.weighted(sets, "dual")
    inner = real.axis.cross(position) + position * real.w + dual
    outer = real.axis.cross(inner) + dual * real.w - real.axis * dual_w
    return position + outer * (2.0 / real.dot(real))


def blended_by_bones(vertices: Vertices, bones: Cloud, position: Vector) -> Vector:
    """DUAL_QUATERNION of any vertex, scaled bones and all signs: bone by bone.

    With p = sum s_i w_i (D_i v) q_i, the product of quaternions, and q = sum s_i w_i q_i, the
    blended transform takes v to the vector part of p conj(q) / |q|^2: D_i v = R_i v + t_i, so
    (D_i v) q_i = q_i v + t_i q_i = q_i v + 2 d_i, and p = q v + 2 d. The scale needs nothing else,
    since Blender's rigid transform of a scaled bone takes v to D_i v.
    """
    build = vertices.build
    total: Quaternion | None = None
    products: list[Quaternion] = []
    for bone, weight in zip(vertices.bones(), vertices.weights(), strict=True):
        real = rotation_of(build, bones, bone)
        matrix: Matrix = bones.at("matrix", bone)
        there = matrix.transform_point(position)
        signed = weight
        if total is not None:
            signed = weight * (1.0 - _faces_away(real.dot(total)) * 2.0)
        real = real * signed
        along = there.dot(real.axis) * -1.0
        products.append(Quaternion(along, there * real.w + there.cross(real.axis)))
        total = real if total is None else total + real
    assert total is not None
    moved = reduce(add, products)
    turned = moved.axis * total.w + total.axis.cross(moved.axis) - total.axis * moved.w
    return turned * (1.0 / total.dot(total))


def linear_blend(vertices: Vertices, bones: Cloud, position: Vector) -> Vector:
    """LINEAR: the weighted sum of where the bones take the vertex."""
    matrices = [bones.at("matrix", bone) for bone in vertices.bones()]
    return _weighted_places(vertices, matrices, position)


def linear_blend_by_sets(vertices: Vertices, sets: Cloud, position: Vector) -> Vector:
    """LINEAR where each set has the matrices of its bones: one fetch for a slot, not two."""
    slots = range(vertices.slots)
    matrices = [sets.at(numbered("matrix", slot), vertices.set) for slot in slots]
    return _weighted_places(vertices, matrices, position)


def _weighted_places(vertices: Vertices, matrices: list[Matrix], position: Vector) -> Vector:
    places = (matrix.transform_point(position) for matrix in matrices)
    return reduce(add, map(Vector.__mul__, places, vertices.weights()))


_UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def joint_set_cloud(
    build: TreeBuilder, mesh: Geometry, bones: Cloud, set_count: Scalar, slots: int
) -> Cloud:
    """For each set its centre, and the matrices that blend rotations and posed centres.

    Returns:
        `centre`; `real_j`, `scalars_j` (row real w) and `posed_j` as in `dual_quaternion_sets`;
        `reference`, the palette row of the controlling bone or -1; and `needs_per_bone`.
    """
    row = build.index
    rows = _set_bones(build, mesh, slots, row)
    reference = mesh.sample(build.attribute(SET_REFERENCE, Integer), row)
    centre = grouped(build, "DQ Compensation centres", _centre, mesh, bones, rows)
    # Of a first capture, so that the slots share it.
    cloud = build.points(set_count).capture({"centre": centre, "reference": reference})
    centre, reference = cloud.fields["centre"], cloud.fields["reference"]

    free = reference < 0.0
    packed = [bones.at("packed", bone).entries() for bone in rows]
    aligning_bone = build.choose(free, reference, rows[0])
    aligning = bones.at("packed", aligning_bone).entries()[0]
    posed = [bones.at("matrix", bone).transform_point(centre).components() for bone in rows]
    chunks = _chunks_of(slots)
    reals = [build.matrix([packed[slot][0] for slot in chunk]) for chunk in chunks]
    tops = [
        build.matrix([(packed[slot][0][3], 0.0, 0.0, 0.0) for slot in chunk]) for chunk in chunks
    ]
    places = [build.matrix([(*posed[slot], 0.0) for slot in chunk]) for chunk in chunks]
    signs, doubtful = _aligned(build, reals, aligning)
    per_bone = reduce(Scalar.maximum, [bone[2][3] for bone in packed], doubtful * free)
    fields: dict[str, Field] = {"needs_per_bone": per_bone}
    for number, signed in enumerate(signs):
        implied = _last_slot_implied(build, number == 0)
        fields[numbered("real", number)] = reals[number] @ (signed @ implied)
        fields[numbered("scalars", number)] = tops[number] @ (signed @ implied)
        fields[numbered("posed", number)] = places[number] @ implied
    captured = cloud.geometry.capture(fields)
    return Cloud(captured.geometry, {**cloud.fields, **captured.fields})


def _centre(build: TreeBuilder, mesh: Geometry, bones: Cloud, rows: list[Scalar]) -> Vector:
    """`core.spherical_joints.joint_centres`: the normal equations, slot by slot.

    Everything is relative to the first bone, as sums of squares minus the square of the sum:
    differences are as small as the angles between the bones, so that float32 serves. Unused slots
    repeat the first bone and add nothing.
    """
    index = build.index
    centroid: Vector = mesh.sample(build.attribute(SET_CENTROID, Vector), index)
    size: Scalar = mesh.sample(build.attribute(SET_SIZE, Integer), index)
    shared: Scalar = mesh.sample(build.attribute(SET_JOINT, Integer), index)

    matrices = [bones.at("matrix", row) for row in rows]
    share = -1.0 / size
    # Over the damping, so that the matrix to invert is the identity and more.
    per_pair = (2.0 / CENTRE_DAMPING) / (size - 1.0).maximum(1.0)

    def spread(places: list[Vector]) -> tuple[list[Vector], Vector]:
        apart = [place - places[0] for place in places[1:]]
        return apart, reduce(add, apart)

    def product(one: tuple[list[Vector], Vector], other: tuple[list[Vector], Vector]) -> Scalar:
        dots = reduce(add, map(Vector.dot, one[0], other[0]))
        return one[1].dot(other[1]).times_plus(share, dots) * per_pair

    axes = [spread([matrix.transform_direction(unit) for matrix in matrices]) for unit in _UNITS]
    entries = {
        (one, other): product(axes[one], axes[other]) for one in range(3) for other in range(one, 3)
    }
    columns: list[list[Scalar | float]] = []
    for column in range(3):
        numbers = [entries[min(row, column), max(row, column)] for row in range(3)]
        numbers[column] = numbers[column] + 1.0
        columns.append([*numbers, 0.0])
    inverse = build.matrix([*columns, [0.0, 0.0, 0.0, 1.0]]).inverted()

    def gradient(centre: Vector) -> Vector:
        posed = spread([matrix.transform_point(centre) for matrix in matrices])
        return build.vector(*(product(axis, posed) for axis in axes))

    correction = inverse.transform_direction(gradient(centroid))
    # Float32 needs a second step where the bones hardly say where the centre is.
    rest = gradient(centroid - correction) - correction
    correction = correction + inverse.transform_direction(rest)
    return centroid - correction * (1.0 - shared)


def turned_by_sets(vertices: Vertices, sets: Cloud, position: Vector) -> Vector:
    """SPHERICAL_JOINT where bones are not scaled and signs do not depend on the weights."""
    w, _, _ = vertices.weighted(sets, "scalars").components()
    real = Quaternion(w, vertices.weighted(sets, "real"))
    from_centre = position - sets.at("centre", vertices.set)
    return _turned(real, from_centre) + vertices.weighted(sets, "posed")


def turned_by_bones(vertices: Vertices, sets: Cloud, bones: Cloud, position: Vector) -> Vector:
    """SPHERICAL_JOINT of any vertex: bone by bone, the scales blended in rest space."""
    build = vertices.build
    reference = sets.at("reference", vertices.set)
    aligning = build.choose(reference < 0.0, reference, vertices.strongest())
    towards = rotation_of(build, bones, aligning)
    centre = sets.at("centre", vertices.set)
    from_centre = position - centre
    signed: list[Quaternion] = []
    scaled: list[Vector] = []
    posed: list[Vector] = []
    for bone, weight in zip(vertices.bones(), vertices.weights(), strict=True):
        real = rotation_of(build, bones, bone)
        matrix = bones.at("matrix", bone)
        signed.append(real * (weight * (1.0 - _faces_away(real.dot(towards)) * 2.0)))
        # R^-1 D, what the bone does before it turns
        before = real.conjugate().rotate(matrix.transform_direction(from_centre))
        scaled.append(before * weight)
        posed.append(matrix.transform_point(centre) * weight)
    return _turned(reduce(add, signed), reduce(add, scaled)) + reduce(add, posed)


def _turned(real: Quaternion, vector: Vector) -> Vector:
    """A vector rotated by a quaternion that is not normalised."""
    inner = real.axis.cross(vector) + vector * real.w
    return vector + real.axis.cross(inner) * (2.0 / real.dot(real))

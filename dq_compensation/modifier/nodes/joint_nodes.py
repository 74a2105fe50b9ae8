"""Nodes of SPHERICAL_JOINT: the centre of each set of bones, and the rotation about it."""

from __future__ import annotations

from functools import reduce
from operator import add

from ...core.spherical_joint import CENTRE_DAMPING
from ..attribute_names import SET_CENTROID, SET_JOINT, SET_REFERENCE, SET_SIZE, numbered
from .bone_nodes import rotation_of
from .node_builder import TreeBuilder, grouped
from .node_values import Cloud, Field, Geometry, Integer, Quaternion, Scalar, Vector
from .set_nodes import aligned, chunks_of, faces_away, last_slot_implied, set_bones
from .vertex_nodes import Vertices

_UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def joint_set_cloud(
    build: TreeBuilder, mesh: Geometry, bones: Cloud, set_count: Scalar, slots: int
) -> Cloud:
    """For each set its centre, and the matrices that blend rotations and posed centres.

    Returns:
        `centre`; `real_j`, `scalars_j` (row real w) and `posed_j` as in `dual_quaternion_sets`;
        `reference`, the palette row of the controlling bone or -1; and `needs_per_bone`.
    """
    row = build.index()
    rows = set_bones(build, mesh, slots, row)
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
    chunks = chunks_of(slots)
    reals = [build.matrix([packed[slot][0] for slot in chunk]) for chunk in chunks]
    tops = [
        build.matrix([(packed[slot][0][3], 0.0, 0.0, 0.0) for slot in chunk]) for chunk in chunks
    ]
    places = [build.matrix([(*posed[slot], 0.0) for slot in chunk]) for chunk in chunks]
    signs, doubtful = aligned(build, reals, aligning)
    per_bone = reduce(Scalar.maximum, [bone[2][3] for bone in packed], doubtful * free)
    fields: dict[str, Field] = {"needs_per_bone": per_bone}
    for number, signed in enumerate(signs):
        implied = last_slot_implied(build, number == 0)
        fields[numbered("real", number)] = reals[number] @ (signed @ implied)
        fields[numbered("scalars", number)] = tops[number] @ (signed @ implied)
        fields[numbered("posed", number)] = places[number] @ implied
    captured = cloud.geometry.capture(fields)
    return Cloud(captured.geometry, {**cloud.fields, **captured.fields})


def _centre(build: TreeBuilder, mesh: Geometry, bones: Cloud, rows: list[Scalar]) -> Vector:
    """`core.spherical_joint.joint_centres`: the normal equations, slot by slot.

    Everything is relative to the first bone, as sums of squares minus the square of the sum:
    differences are as small as the angles between the bones, so that float32 serves. Unused slots
    repeat the first bone and add nothing.
    """
    index = build.index()
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
        signed.append(real * (weight * (1.0 - faces_away(real.dot(towards)) * 2.0)))
        # R^-1 D, what the bone does before it turns
        before = real.conjugate().rotate(matrix.transform_direction(from_centre))
        scaled.append(before * weight)
        posed.append(matrix.transform_point(centre) * weight)
    return _turned(reduce(add, signed), reduce(add, scaled)) + reduce(add, posed)


def _turned(real: Quaternion, vector: Vector) -> Vector:
    """A vector rotated by a quaternion that is not normalised."""
    inner = real.axis.cross(vector) + vector * real.w
    return vector + real.axis.cross(inner) * (2.0 / real.dot(real))

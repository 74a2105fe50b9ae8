"""Nodes of SPHERICAL_JOINT: the centre of each set of bones, and the rotation about it."""

from __future__ import annotations

from ..core.spherical_joint import CENTRE_DAMPING
from .attribute_names import SET_CENTROID, SET_JOINT, SET_REFERENCE, SET_SIZE, numbered
from .node_builder import TreeBuilder
from .node_groups import grouped
from .node_values import Cloud, Field, Geometry, Quaternion, Scalar, Vector
from .set_nodes import FACING_TOLERANCE, aligned, chunks_of, last_slot_implied, set_bones
from .vertex_nodes import Vertices, added

_UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def joint_set_cloud(
    build: TreeBuilder, mesh: Geometry, bones: Cloud, set_count: Scalar, slots: int
) -> Cloud:
    """For each set its centre, and the matrices that blend rotations and posed centres.

    Returns:
        `centre`; `real_j`, `scalars_j` (row real w) and `posed_j` as in `dual_quaternion_sets`;
        `reference`, the palette row of the controlling bone or -1; and `careful`.
    """
    row = build.index()
    rows = set_bones(build, mesh, slots, row)
    reference = mesh.sample(build.attribute(SET_REFERENCE, Scalar, integer=True), row)
    centre = grouped(build, "DQ Compensation centres", _centre, mesh, bones, rows)
    # Of a first capture, so that the slots share it.
    cloud = build.points(set_count).capture({"centre": centre, "reference": reference})
    centre, reference = cloud.fields["centre"], cloud.fields["reference"]
    assert isinstance(centre, Vector)
    assert isinstance(reference, Scalar)

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
    signs = aligned(build, reals, aligning)
    careful = signs.doubtful * free
    for bone in packed:
        careful = careful.maximum(bone[2][3])
    fields: dict[str, Field] = {"careful": careful}
    for number, signed in enumerate(signs.signed):
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
    size: Scalar = mesh.sample(build.attribute(SET_SIZE, Scalar, integer=True), index)
    shared: Scalar = mesh.sample(build.attribute(SET_JOINT, Scalar, integer=True), index)

    def moved(row: Scalar) -> list[Vector]:
        matrix = bones.at("matrix", row)
        axes = [matrix.transform_direction(unit) for unit in _UNITS]
        return [*axes, matrix.transform_point(centroid)]

    products = [(one, other) for one in range(3) for other in range(one, 4)]
    first = moved(rows[0])
    sums: list[Vector] = []
    dots: list[Scalar] = []
    for row in rows[1:]:
        apart = [now - then for now, then in zip(moved(row), first, strict=True)]
        parts = [apart[one].dot(apart[other]) for one, other in products]
        sums = [a + b for a, b in zip(sums, apart, strict=True)] if sums else apart
        dots = [a + b for a, b in zip(dots, parts, strict=True)] if dots else parts
    share = -1.0 / size
    # Over the damping, so that the matrix to invert is the identity and more.
    per_pair = (2.0 / CENTRE_DAMPING) / (size - 1.0).maximum(1.0)
    entries = {
        (one, other): sums[one].dot(sums[other]).times_plus(share, dot) * per_pair
        for (one, other), dot in zip(products, dots, strict=True)
    }
    columns: list[list[Scalar | float]] = []
    for column in range(3):
        numbers = [entries[min(row, column), max(row, column)] for row in range(3)]
        numbers[column] = numbers[column] + 1.0
        columns.append([*numbers, 0.0])
    matrix = build.matrix([*columns, [0.0, 0.0, 0.0, 1.0]])
    gradient = build.vector(entries[0, 3], entries[1, 3], entries[2, 3])
    correction = matrix.inverted().transform_direction(gradient)
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
    towards = bones.quaternion("real", aligning)
    centre = sets.at("centre", vertices.set)
    from_centre = position - centre
    total: Quaternion | None = None
    sums: list[Vector] = []
    for bone, weight in zip(vertices.bones(), vertices.weights(), strict=True):
        real = bones.quaternion("real", bone)
        signed = real * (weight * (1.0 - (real.dot(towards) < FACING_TOLERANCE) * 2.0))
        scaled = bones.at("scale", bone).transform_direction(from_centre) * weight
        posed = bones.at("matrix", bone).transform_point(centre) * weight
        total = signed if total is None else added(total, signed)
        parts = [scaled, posed]
        sums = [a + b for a, b in zip(sums, parts, strict=True)] if sums else parts
    assert total is not None
    return _turned(total, sums[0]) + sums[1]


def _turned(real: Quaternion, vector: Vector) -> Vector:
    """A vector rotated by a quaternion that is not normalised."""
    inner = real.axis.cross(vector) + vector * real.w
    return vector + real.axis.cross(inner) * (2.0 / real.dot(real))

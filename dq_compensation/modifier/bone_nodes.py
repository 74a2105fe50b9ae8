"""Nodes that compute every bone's transform in this frame from the points of the palette object.

Each is a field on a cloud of one point per palette row; see `core.pose.Pose`, which it equals.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.pose import NO_LENGTH, NOT_ORTHONORMAL
from .attribute_names import PALETTE_AXES, PALETTE_LENGTH, PALETTE_RIGID
from .node_builder import TreeBuilder
from .node_values import Cloud, Field, Geometry, Matrix, Scalar, Vector


def bone_cloud(
    build: TreeBuilder,
    palette: Geometry,
    *,
    with_scales: bool = False,
    limb: tuple[Scalar, Scalar] | None = None,
) -> Cloud:
    """The transform of each bone, captured on one point per row of the palette object.

    Args:
        with_scales: also `scale`: the matrix R^-1 D.
        limb: for the posed limb direction in `packed`: its row among the bone's four and its sign.

    Returns:
        the fields `matrix` (D); `real`, `real_w` (the quaternion of its rigid part, w >= 0);
        and `packed`, all of it in one matrix for one fetch: the quaternion (x, y, z, w), its dual
        part (x, y, z, w; right only where the bone is not scaled), the posed limb direction and 1
        where the bone is scaled.
    """
    cloud = build.points(palette.point_count() / 4.0)
    first = build.index() * 4.0
    rows = [first, *(first + float(row) for row in (1, 2, 3))]
    origin, *corners = (palette.sample(build.position(), row) for row in rows)
    shrink = 1.0 / palette_length(build, palette)
    x, y, z = ((corner - origin) * shrink for corner in corners)
    matrix = build.matrix_of_columns(x, y, z, origin)
    scaled = _is_scaled(build, matrix, (x, y, z))

    # Scales are rare, and their nodes many: a Switch of geometries leaves them out.
    own_axes = [palette.sample(build.attribute(PALETTE_AXES, Vector), row) for row in rows[1:]]
    known = cloud.capture({"matrix": matrix, "scaled": scaled})
    matrix, scaled = known.fields["matrix"], known.fields["scaled"]
    assert isinstance(matrix, Matrix)
    assert isinstance(scaled, Scalar)
    as_posed = known.geometry.store(PALETTE_RIGID, matrix)
    orthogonal = build.choose(scaled, matrix, _rigid_part(build, matrix, own_axes))
    made_rigid = known.geometry.store(PALETTE_RIGID, orthogonal)
    any_scaled = known.geometry.greatest(scaled) > 0.5
    cloud = build.choose(any_scaled, as_posed, made_rigid)
    rigid = build.attribute(PALETTE_RIGID, Matrix)

    real = rigid.rotation()
    half = matrix.transform_point(build.zero()) * 0.5
    dual = half * real.w + half.cross(real.axis)
    dual_w = half.dot(real.axis) * -1.0
    direction: tuple[Scalar | float, ...] = (0.0, 0.0, 0.0)
    if limb is not None:
        at_rest = palette.sample(build.attribute(PALETTE_AXES, Vector), first + limb[0])
        direction = rigid.transform_direction(at_rest * limb[1]).components()
    unused = (0.0, 0.0, 0.0, 0.0)
    fields: dict[str, Field] = {
        "real": real.axis,
        "real_w": real.w,
        "packed": build.matrix(
            ((*real.components, real.w), (*dual.components(), dual_w), (*direction, scaled), unused)
        ),
    }
    if with_scales:
        fields["scale"] = rigid.transposed() @ matrix
    captured = cloud.capture(fields)
    return Cloud(captured.geometry, {**captured.fields, "matrix": matrix})


def palette_length(build: TreeBuilder, palette: Geometry) -> Scalar:
    """How far from the origin the palette's axes are at rest; a single number."""
    index = build.constant(0)
    return palette.sample(build.attribute(PALETTE_LENGTH, Scalar), index)


def _is_scaled(build: TreeBuilder, matrix: Matrix, columns: Sequence[Vector]) -> Scalar:
    """1 where the columns of a matrix are not those of the rotation that it holds, else 0."""
    rotation = matrix.rotation_socket()
    off: Scalar | None = None
    for axis, column in enumerate(columns):
        unit = tuple(float(axis == row) for row in range(3))
        distance = build.rotated(unit, rotation).distance(column)
        off = distance if off is None else off + distance
    assert off is not None
    return off > NOT_ORTHONORMAL


def _rigid_part(build: TreeBuilder, turned: Matrix, own_axes: list[Vector]) -> Matrix:
    """`core.pose._rigid_parts`: posed axes made orthogonal, Y first, times the rest's inverse."""
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

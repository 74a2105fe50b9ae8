"""Nodes of MEASURED compensation: skin keeps its distance from the limb; `core.measured_joints`."""

from __future__ import annotations

from . import attribute_names as stored
from .node_builder import TreeBuilder
from .node_values import Cloud, Geometry, Integer, Matrix, Scalar, Vector


def posed_joint(
    build: TreeBuilder, palette: Geometry, bones: Cloud, any_scaled: Scalar, bendy: Scalar
) -> Matrix:
    """Each joint with one of its two limbs, in the pose; on the rows of JOINT_ROWS.

    Args:
        palette: with the rows, as its Armature modifier leaves it.
        bones: `bone_nodes.with_straightness`.
        any_scaled, bendy: whether any bone is scaled; whether there are bendy bones.

    Returns:
        its columns: the posed head and `size`, how thick the limbs are scaled; the posed ray and
        `gap`, how far the parent's end has come away from the joint; the head at rest and the
        straightness of the limb; the ray at rest.
    """
    row: Matrix = palette.sample(build.attribute(stored.JOINT_ROWS, Matrix), build.index())
    columns = [(build.vector(*column[:3]), column[3]) for column in row.entries()]
    (head, joint), (ray, parent), (forth, limb), (before, before_joint) = columns
    of_joint, of_parent = bones.at("matrix", joint), bones.at("matrix", parent)
    posed_head = of_joint.transform_point(head)
    size = _thickness(build, of_joint, forth).maximum(
        _thickness(build, bones.at("matrix", before_joint), before)
    )
    size = build.choose(any_scaled, 1.0, size)
    posed_ray = bones.at("rigid", limb).transform_direction(ray)
    straight = build.choose(bendy, 1.0, bones.at("straight", limb))
    gap = posed_head.distance(of_parent.transform_point(head))
    return build.matrix(
        (
            (*posed_head.components(), size),
            (*posed_ray.components(), gap),
            (*head.components(), straight),
            (*ray.components(), 0.0),
        )
    )


def _thickness(build: TreeBuilder, matrix: Matrix, along: Vector) -> Scalar:
    """The largest factor by which a matrix stretches what is at right angles to a unit vector."""
    x, _, _ = along.components()
    other = build.choose(x.absolute() > 0.7, (1.0, 0.0, 0.0), build.vector(0.0, 1.0, 0.0))
    across = along.cross(other).normalized()
    p = matrix.transform_direction(across)
    q = matrix.transform_direction(along.cross(across))
    long, wide = p.dot(p) * 0.5, q.dot(q) * 0.5
    slant, difference = p.dot(q), long - wide
    root = (slant * slant + difference * difference).square_root()
    return (long + wide + root).square_root()


def brought_back(
    build: TreeBuilder,
    palette: Geometry,
    share: Scalar,
    rest: Vector,
    moved: Vector,
    *,
    shaped: bool,
) -> Vector:
    """Vertices after dual quaternion skinning, brought back to their limbs.

    Args:
        palette: evaluated, with `posed_joint`.
        share: amount, painted weight and factor of the vertex.
        rest, moved: the vertex before and after skinning.
        shaped: whether shape keys change the rest; else its distances are in attributes.
    """
    row: Scalar = build.attribute(stored.PAIR, Integer)
    joint: Matrix = palette.sample(build.attribute(stored.POSED_JOINT, Matrix), row)
    columns = joint.entries()
    posed_head, posed_ray, head, ray = (build.vector(*column[:3]) for column in columns)
    size, gap, straight = (column[3] for column in columns[:3])
    away = _from_ray(moved - posed_head, posed_ray)
    distance = away.length()
    if shaped:
        from_joint = rest - head
        rest_distance = _from_ray(from_joint, ray).length()
        max_correction = from_joint.length() - rest_distance
    else:
        rest_distance = build.attribute(stored.REST_DISTANCE, Scalar)
        max_correction = build.attribute(stored.MAX_CORRECTION, Scalar)
    too_far = (distance - size.times_plus(rest_distance, gap)).clamped(0.0, size * max_correction)
    # Blender divides by 0 without harm.
    return moved - away * (share * straight * too_far / distance)


def _from_ray(from_joint: Vector, ray: Vector) -> Vector:
    """The vector from the nearest point of a ray."""
    return from_joint - ray * from_joint.dot(ray).maximum(0.0)

"""Nodes of MEASURED compensation: skin keeps its distance from the limb; `core.measured_joints`."""

from __future__ import annotations

from ..core.measured_joints import TINY
from . import attribute_names as stored
from .node_builder import TreeBuilder
from .node_values import Cloud, Geometry, Integer, Matrix, Scalar, Vector
from .set_nodes import turn_and_limb


def measured_joints(build: TreeBuilder, mesh: Geometry, bones: Cloud, count: Scalar) -> Cloud:
    """Each joint, with each of its two limbs, in the pose.

    Returns:
        `head` and `ray`, at rest; `posed_head`, `posed_ray`; `size`, how thick the limbs are
        scaled; `gap`, how far the parent's end has come away from the joint.
    """
    index = build.index()
    joint, parent, limb = (
        mesh.sample(build.attribute(name, Integer), index)
        for name in (stored.JOINT, stored.JOINT_PARENT, stored.JOINT_LIMB)
    )
    head, ray = (
        mesh.sample(build.attribute(name, Vector), index)
        for name in (stored.JOINT_HEAD, stored.JOINT_RAY)
    )
    across = [
        mesh.sample(build.attribute(stored.numbered(stored.JOINT_ACROSS, number), Vector), index)
        for number in range(4)
    ]
    of_joint, of_parent = bones.at("matrix", joint), bones.at("matrix", parent)
    posed_head = of_joint.transform_point(head)
    real, _ = turn_and_limb(build, bones, limb)
    size = _thickness(of_joint, across[0], across[1])
    size = size.maximum(_thickness(of_parent, across[2], across[3]))
    return build.points(count).capture(
        {
            "head": head,
            "ray": ray,
            "posed_head": posed_head,
            "posed_ray": real.rotate(ray),
            "size": size,
            "gap": posed_head.distance(of_parent.transform_point(head)),
        }
    )


def _thickness(matrix: Matrix, one: Vector, other: Vector) -> Scalar:
    """The largest factor by which a matrix stretches directions of a plane."""
    p, q = matrix.transform_direction(one), matrix.transform_direction(other)
    long, wide = p.dot(p) * 0.5, q.dot(q) * 0.5
    slant, difference = p.dot(q), long - wide
    root = (slant * slant + difference * difference).square_root()
    return (long + wide + root).square_root()


def brought_back(
    build: TreeBuilder, joints: Cloud, share: Scalar, rest: Vector, moved: Vector, *, shaped: bool
) -> Vector:
    """Vertices after dual quaternion skinning, brought back to their limbs.

    Args:
        joints: `measured_joints`.
        share: amount, painted weight and factor of the vertex.
        rest, moved: the vertex before and after skinning.
        shaped: whether shape keys change the rest; else its distances are in attributes.
    """
    row: Scalar = build.attribute(stored.PAIR, Integer)
    away = _from_ray(moved - joints.at("posed_head", row), joints.at("posed_ray", row))
    distance = away.length()
    if shaped:
        from_joint = rest - joints.at("head", row)
        rest_distance = _from_ray(from_joint, joints.at("ray", row)).length()
        max_correction = from_joint.length() - rest_distance
    else:
        rest_distance = build.attribute(stored.REST_DISTANCE, Scalar)
        max_correction = build.attribute(stored.MAX_CORRECTION, Scalar)
    size = joints.at("size", row)
    too_far = (distance - size * rest_distance - joints.at("gap", row)).maximum(0.0)
    too_far = too_far.minimum((size * max_correction).maximum(0.0))
    return moved - away * (share * too_far / distance.maximum(TINY))


def _from_ray(from_joint: Vector, ray: Vector) -> Vector:
    """The vector from the nearest point of a ray."""
    return from_joint - ray * from_joint.dot(ray).maximum(0.0)

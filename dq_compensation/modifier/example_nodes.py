"""Nodes for example poses: how much of each acts, and the mesh with their offsets.

They equal `core.example_poses.ExamplePoses.alphas`. All of it runs on a few points, but for the sum
of the offsets.
"""

from __future__ import annotations

from .attribute_names import (
    EXAMPLE_BONE,
    EXAMPLE_DIRECTION,
    EXAMPLE_FACTOR,
    EXAMPLE_FALLOFF,
    EXAMPLE_FIRST,
    EXAMPLE_LIMB,
    EXAMPLE_OFFSET,
    EXAMPLE_PARENT,
    EXAMPLE_ROTATION,
    EXAMPLE_ROTATION_W,
    EXAMPLE_SIBLING,
    EXAMPLE_TWISTS,
    EXAMPLE_WEIGHT,
    numbered,
)
from .node_builder import TreeBuilder
from .node_values import AnyField, Cloud, Geometry, Quaternion, Scalar, Vector
from .tree_kind import ExampleCounts


def with_examples(
    build: TreeBuilder, mesh: Geometry, bones: Cloud, counts: ExampleCounts
) -> Geometry:
    """The mesh, in its own space, with the offsets of the examples as far as they act now."""
    alphas = example_alphas(build, mesh, bones, counts)
    position = build.position()
    for number in range(counts.poses):
        offset = build.attribute(numbered(EXAMPLE_OFFSET, number), Vector)
        position = position + offset * alphas.at("alpha", build.constant(number))
    return mesh.set_position(position)


def example_alphas(
    build: TreeBuilder, mesh: Geometry, bones: Cloud, counts: ExampleCounts
) -> Cloud:
    """How much of each example acts, `alpha` on a point for each pose.

    Args:
        build: of the tree.
        mesh: with the tables of the examples.
        bones: of `bone_nodes.bone_cloud`.
        counts: of the examples.
    """
    rows = build.points(build.constant(counts.table_rows))
    near = rows.capture({"near": _nearness(build, mesh, bones, counts)})
    table = _Table(build, mesh)

    first = table.integer(EXAMPLE_FIRST)
    alpha: Scalar | None = None
    for number in range(counts.most + 1):
        weight = table.number(numbered(EXAMPLE_WEIGHT, number))
        part = near.at("near", first + float(number)) * weight
        alpha = part if alpha is None else alpha + part
    assert alpha is not None
    poses = build.points(build.constant(counts.poses))
    clamped = poses.capture({"alpha": alpha.maximum(0.0).minimum(1.0)})
    total: Scalar | None = None
    for number in range(counts.most):
        sibling = table.integer(numbered(EXAMPLE_SIBLING, number))
        exists = sibling > -0.5
        part = clamped.at("alpha", sibling.maximum(0.0)) * exists
        total = part if total is None else total + part
    assert total is not None
    own = clamped.fields["alpha"]
    assert isinstance(own, Scalar)
    acting = own / total.maximum(1.0) * table.number(EXAMPLE_FACTOR)
    return clamped.geometry.capture({"alpha": acting})


class _Table:
    """The rows of a table in a mesh, one for each point of another geometry."""

    def __init__(self, build: TreeBuilder, mesh: Geometry) -> None:
        self._build, self._mesh = build, mesh
        self._row = build.index()

    def number(self, name: str) -> Scalar:
        """A column of floats."""
        return self._sampled(self._build.attribute(name, Scalar))

    def integer(self, name: str) -> Scalar:
        """A column of integers."""
        return self._sampled(self._build.attribute(name, Scalar, integer=True))

    def vector(self, name: str) -> Vector:
        """A column of vectors."""
        return self._sampled(self._build.attribute(name, Vector))

    def _sampled(self, field: AnyField) -> AnyField:
        return self._build.sampled(self._mesh, field, self._row)


def _nearness(build: TreeBuilder, mesh: Geometry, bones: Cloud, counts: ExampleCounts) -> Scalar:
    """exp(-(r / sigma)^2) of every row: r from where its bone is to the row's example or rest."""
    table = _Table(build, mesh)
    bone = bones.quaternion("real", table.integer(EXAMPLE_BONE))
    parent = bones.quaternion("real", table.integer(EXAMPLE_PARENT))
    # conj(parent) bone
    turned = Quaternion(
        bone.w * parent.w + parent.axis.dot(bone.axis),
        bone.axis * parent.w - parent.axis * bone.w - parent.axis.cross(bone.axis),
    )
    direction = turned.rotate(table.vector(EXAMPLE_LIMB))
    apart = direction.dot(table.vector(EXAMPLE_DIRECTION)).arccosine()
    if counts.twisting:
        example = Quaternion(table.number(EXAMPLE_ROTATION_W), table.vector(EXAMPLE_ROTATION))
        turn = turned.dot(example).absolute().arccosine() * 2.0
        apart = apart + (turn - apart) * table.number(EXAMPLE_TWISTS)
    return (apart * apart * table.number(EXAMPLE_FALLOFF)).exponential()

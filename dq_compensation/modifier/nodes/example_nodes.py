"""Nodes for example poses: the weight of each, and the mesh with their offsets.

They equal `core.example_poses.ExamplePoses.alphas`. All of it runs on a few points, but for the sum
of the offsets.
"""

from __future__ import annotations

from .. import attribute_names as stored
from ..tree_kind import ExampleCounts
from .bone_nodes import rotation_of
from .node_builder import TreeBuilder
from .node_values import AnyField, Cloud, Geometry, Integer, Quaternion, Scalar, Vector

# An example that acts less moves no vertex that anyone could see: it is left out.
_NOTHING = 1e-5


def with_examples(
    build: TreeBuilder, mesh: Geometry, bones: Cloud, counts: ExampleCounts
) -> Geometry:
    """The mesh, in its own space, with the offsets of the examples times their current weights."""
    alphas = example_alphas(build, mesh, bones, counts)
    for number in range(counts.poses):
        offset = build.attribute(stored.numbered(stored.EXAMPLE_OFFSET, number), Vector)
        alpha = alphas.at("alpha", build.constant(number))
        moved = mesh.set_position(build.position() + offset * alpha)
        mesh = build.choose(alpha > _NOTHING, mesh, moved)
    return mesh


def example_alphas(
    build: TreeBuilder, mesh: Geometry, bones: Cloud, counts: ExampleCounts
) -> Cloud:
    """The weight of each example, `alpha` on a point for each pose.

    Args:
        mesh: with the tables of the examples.
    """
    rows = build.points(build.constant(counts.table_rows))
    near = rows.capture({"near": _nearness(build, mesh, bones, counts)})
    table = _Table(build, mesh)

    first = table.integer(stored.EXAMPLE_FIRST)
    alpha: Scalar | None = None
    for number in range(counts.most + 1):
        weight = table.number(stored.numbered(stored.EXAMPLE_WEIGHT, number))
        part = near.at("near", first + float(number)) * weight
        alpha = part if alpha is None else alpha + part
    assert alpha is not None
    poses = build.points(build.constant(counts.poses))
    clamped = poses.capture({"alpha": alpha.maximum(0.0).minimum(1.0)})
    total: Scalar | None = None
    for number in range(counts.most):
        sibling = table.integer(stored.numbered(stored.EXAMPLE_SIBLING, number))
        exists = sibling > -0.5
        part = clamped.at("alpha", sibling.maximum(0.0)) * exists
        total = part if total is None else total + part
    assert total is not None
    own = clamped.fields["alpha"]
    assert isinstance(own, Scalar)
    acting = own / total.maximum(1.0) * table.number(stored.EXAMPLE_FACTOR)
    return clamped.geometry.capture({"alpha": acting})


class _Table:
    """The rows of a table in a mesh, one for each point of another geometry."""

    def __init__(self, build: TreeBuilder, mesh: Geometry) -> None:
        self._build, self._mesh = build, mesh
        self._row = build.index()

    def number(self, name: str) -> Scalar:
        """A column of floats."""
        return self._sampled(self._build.attribute(name, Scalar))

    def integer(self, name: str) -> Integer:
        """A column of integers."""
        return self._sampled(self._build.attribute(name, Integer))

    def vector(self, name: str) -> Vector:
        """A column of vectors."""
        return self._sampled(self._build.attribute(name, Vector))

    def _sampled(self, field: AnyField) -> AnyField:
        return self._mesh.sample(field, self._row)


def _nearness(build: TreeBuilder, mesh: Geometry, bones: Cloud, counts: ExampleCounts) -> Scalar:
    """exp(-(r / sigma)^2) of every row: r from where its bone is to the row's example or rest."""
    table = _Table(build, mesh)
    bone = rotation_of(build, bones, table.integer(stored.EXAMPLE_BONE))
    parent = rotation_of(build, bones, table.integer(stored.EXAMPLE_PARENT))
    # conj(parent) bone
    turned = Quaternion(
        bone.w * parent.w + parent.axis.dot(bone.axis),
        bone.axis * parent.w - parent.axis * bone.w - parent.axis.cross(bone.axis),
    )
    direction = turned.rotate(table.vector(stored.EXAMPLE_LIMB))
    apart = direction.dot(table.vector(stored.EXAMPLE_DIRECTION)).arccosine()
    if counts.twisting:
        example = Quaternion(
            table.number(stored.EXAMPLE_ROTATION_W), table.vector(stored.EXAMPLE_ROTATION)
        )
        turn = turned.dot(example).absolute().arccosine() * 2.0
        apart = apart + (turn - apart) * table.number(stored.EXAMPLE_TWISTS)
    return (apart * apart * table.number(stored.EXAMPLE_FALLOFF)).exponential()

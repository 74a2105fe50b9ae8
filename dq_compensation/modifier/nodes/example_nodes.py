"""Nodes for example poses: the weight of each, and the mesh with their offsets.

They equal `core.example_poses.ExamplePoses.alphas`. All of it runs on a few points, but for the sum
of the offsets.
"""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Any

from .. import attribute_names as stored
from ..tree_kind import ExampleCounts
from .bone_nodes import rotation_of
from .node_builder import TreeBuilder
from .node_values import Cloud, Geometry, Integer, Quaternion, Scalar, Vector

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
    """The weight of each example, `alpha` on a point for each pose; the mesh has their tables."""
    rows = build.points(build.constant(counts.table_rows))
    near = rows.capture({"near": _nearness(build, mesh, bones, counts)})
    column = partial(_column, build, mesh)
    first = column(stored.EXAMPLE_FIRST, Integer)
    weights = [stored.numbered(stored.EXAMPLE_WEIGHT, n) for n in range(counts.most + 1)]
    rows_near = [near.at("near", first + float(number)) for number in range(counts.most + 1)]
    parts = [row * column(name, Scalar) for row, name in zip(rows_near, weights, strict=True)]
    alpha = reduce(add, parts)
    poses = build.points(build.constant(counts.poses))
    clamped = poses.capture({"alpha": alpha.maximum(0.0).minimum(1.0)})
    names = [stored.numbered(stored.EXAMPLE_SIBLING, number) for number in range(counts.most)]
    siblings = [column(name, Integer) for name in names]
    acting = [clamped.at("alpha", each.maximum(0.0)) * (each > -0.5) for each in siblings]
    total = reduce(add, acting)
    own = clamped.fields["alpha"] / total.maximum(1.0)
    return clamped.geometry.capture({"alpha": own * column(stored.EXAMPLE_FACTOR, Scalar)})


def _column(
    build: TreeBuilder, mesh: Geometry, name: str, kind: type[Scalar | Vector | Integer]
) -> Any:
    """A column of a table in a mesh, one row for each point of another geometry."""
    return mesh.sample(build.attribute(name, kind), build.index())


def _nearness(build: TreeBuilder, mesh: Geometry, bones: Cloud, counts: ExampleCounts) -> Scalar:
    """exp(-(r / sigma)^2) of every row: r from where its bone is to the row's example or rest."""
    column = partial(_column, build, mesh)
    bone = rotation_of(build, bones, column(stored.EXAMPLE_BONE, Integer))
    parent = rotation_of(build, bones, column(stored.EXAMPLE_PARENT, Integer))
    # conj(parent) bone
    turned = Quaternion(
        bone.w * parent.w + parent.axis.dot(bone.axis),
        bone.axis * parent.w - parent.axis * bone.w - parent.axis.cross(bone.axis),
    )
    direction = turned.rotate(column(stored.EXAMPLE_LIMB, Vector))
    apart = direction.dot(column(stored.EXAMPLE_DIRECTION, Vector)).arccosine()
    if counts.twisting:
        example = Quaternion(
            column(stored.EXAMPLE_ROTATION_W, Scalar), column(stored.EXAMPLE_ROTATION, Vector)
        )
        turn = turned.dot(example).absolute().arccosine() * 2.0
        apart = apart + (turn - apart) * column(stored.EXAMPLE_TWISTS, Scalar)
    return (apart * apart * column(stored.EXAMPLE_FALLOFF, Scalar)).exponential()

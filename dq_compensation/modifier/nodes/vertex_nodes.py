"""Nodes that deform vertices: fields for *Set Position*, in armature space."""

from __future__ import annotations

from functools import reduce
from operator import add

from ..attribute_names import SET, STRONGEST, WEIGHTS, numbered
from .bone_nodes import rotation_of
from .node_builder import TreeBuilder
from .node_values import Cloud, Geometry, Integer, Matrix, Quaternion, Scalar, Vector
from .set_nodes import faces_away, set_bones


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
        """The weighted sum that matrices of `set_nodes.dual_quaternion_sets` hold, by name."""
        matrices = [sets.at(numbered(name, n), self.set) for n in range(len(self.weight_vectors))]
        parts = map(Matrix.transform_point, matrices, self.weight_vectors)
        return reduce(add, parts)  # there are at least 4 slots

    def weights(self) -> list[Scalar]:
        """The weight of each slot."""
        weights = [part for vector in self.weight_vectors for part in vector.components()]
        return [*weights, 1.0 - reduce(add, weights)]

    def bones(self) -> list[Scalar]:
        """The palette row of each slot's bone."""
        return set_bones(self.build, self.mesh, self.slots, self.set)

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
        there = bones.at("matrix", bone).transform_point(position)
        signed = weight
        if total is not None:
            signed = weight * (1.0 - faces_away(real.dot(total)) * 2.0)
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

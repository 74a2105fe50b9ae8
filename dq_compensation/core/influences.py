"""The influences: the bones that move each vertex, and their weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arrays import Booleans, Float32s, Float64s, Floats, Indices, Int32s, Int64s, Integers
from .vectors import places_in_rows

# Blender leaves a vertex alone when its deforming weights sum to this or less.
MIN_WEIGHT_SUM = 1e-4

# The share of a vertex's weights below which an influence is too weak to see.
WEAKEST_SHARE = 1e-4

# Stands for the bone of an unused slot while rows are sorted: behind every bone.
_UNUSED = np.iinfo(np.int64).max

# The vertices that have an influence of some rank (all of them: a slice), their bones and weights.
Slot = tuple[Indices | slice, Int32s, Float32s]


@dataclass(frozen=True, eq=False)
class Influences:
    """The influences of every vertex, strongest first, padded to a common width.

    Attributes:
        bones: shape (n, k), int32; indices into the `Skeleton`. 0 in unused slots.
        weights: shape (n, k), float32; each row falls from left to right and sums to 1, or is all
            zeros for a vertex that no bone moves. 0 in unused slots.
        blending_order: shape (n, k), int16; the slots in the order in which Blender adds the
            influences up, which is that of the vertex's groups; unused slots last. None: strongest
            first. It decides signs where dual quaternions of three or more bones are blended.
    """

    bones: Int32s
    weights: Float32s
    blending_order: NDArray[np.int16] | None = None

    @classmethod
    def from_triples(
        cls, vertices: Integers, bones: Integers, weights: Floats, vertex_count: int
    ) -> Influences:
        """Collect (vertex, bone, weight) triples into normalised rows.

        The order of a vertex's triples becomes its blending order; otherwise they may come in any
        order. Weights that are not positive are dropped; several weights of one bone on one vertex
        are added; what is nothing in float32 beside the vertex's other weights is dropped; equal
        weights keep the order of their bones. A vertex gets none where its weights sum to
        `MIN_WEIGHT_SUM` or less, or where one of them is not finite: Blender leaves it alone.

        Args:
            vertices: shape (m,), vertex indices below `vertex_count`.
            bones: shape (m,), indices into the skeleton.
            weights: shape (m,).
        """
        weights = np.asarray(weights, dtype=np.float64)
        vertices = np.asarray(vertices)
        broken = np.zeros(vertex_count, np.bool_)
        broken[vertices[~np.isfinite(weights)]] = True
        keep = (weights > 0.0) & ~broken[vertices]
        vertices = vertices[keep].astype(np.int64)
        bones = np.asarray(bones)[keep].astype(np.int64)
        weights = weights[keep]
        sums = np.bincount(vertices, weights=weights, minlength=vertex_count)
        keep = sums[vertices] > MIN_WEIGHT_SUM
        if not keep.all():
            vertices, bones, weights = vertices[keep], bones[keep], weights[keep]
        if np.any(vertices[1:] < vertices[:-1]):
            by_vertex = np.argsort(vertices, kind="stable")
            vertices, bones, weights = vertices[by_vertex], bones[by_vertex], weights[by_vertex]

        counts = np.bincount(vertices, minlength=vertex_count)
        width = max(1, int(counts.max(initial=0)))
        places = places_in_rows(vertices, counts)
        bone_rows = np.full((vertex_count, width), _UNUSED)
        weight_rows = np.zeros((vertex_count, width))
        bone_rows[vertices, places] = bones
        weight_rows[vertices, places] = weights / sums[vertices]

        # Places in the flattened arrays: several times faster than taking along an axis.
        starts = width * np.arange(vertex_count)[:, None]
        by_bone = starts + np.argsort(bone_rows, axis=1, kind="stable")
        sorted_bones = bone_rows.take(by_bone)
        twice = (sorted_bones[:, 1:] == sorted_bones[:, :-1]) & (sorted_bones[:, 1:] != _UNUSED)
        if twice.any():
            return cls.from_triples(*_merged(vertices, bones, weights), vertex_count)
        lasting = weight_rows[vertices, places].astype(np.float32) > 0.0
        if not lasting.all():
            left = (vertices[lasting], bones[lasting], weights[lasting])
            return cls.from_triples(*left, vertex_count)
        by_weight = starts + np.argsort(-weight_rows.take(by_bone), axis=1, kind="stable")
        strongest_first = by_bone.take(by_weight)
        order = np.empty((vertex_count, width), np.int16)
        order.put(strongest_first, np.arange(width, dtype=np.int16))
        bone_rows[bone_rows == _UNUSED] = 0
        return cls(
            bone_rows.take(strongest_first).astype(np.int32),
            weight_rows.take(strongest_first).astype(np.float32),
            order,
        )

    def moves_like(self, other: Influences) -> bool:
        """Whether others are the same bones with the same weights, however they are blended."""
        same_bones = np.array_equal(self.bones, other.bones)
        return same_bones and np.array_equal(self.weights, other.weights)

    @property
    def vertex_count(self) -> int:
        """The number of vertices, n."""
        return len(self.bones)

    @property
    def width(self) -> int:
        """The largest number of influences of any vertex, at least 1."""
        return self.bones.shape[1]

    def counts(self) -> Indices:
        """Shape (n,), the number of influences of each vertex."""
        return np.count_nonzero(self.weights, axis=1)

    def at(self, vertices: Integers) -> Influences:
        """The influences of some vertices, without their blending order."""
        return Influences(self.bones[vertices], self.weights[vertices])

    @classmethod
    def joined(cls, parts: Sequence[Influences]) -> Influences:
        """The influences of several meshes on the same bones, one behind the other."""
        width = max(part.width for part in parts)
        spaces = [((0, 0), (0, width - part.width)) for part in parts]
        pairs = list(zip(parts, spaces, strict=True))
        return cls(
            np.concatenate([np.pad(part.bones, space) for part, space in pairs]),
            np.concatenate([np.pad(part.weights, space) for part, space in pairs]),
        )

    def with_rows(self, vertices: Integers, others: Influences) -> Influences:
        """The same with the influences of some vertices replaced, one of `others` for each."""
        width = max(self.width, others.width)
        space = ((0, 0), (0, width - self.width))
        bones, weights = np.pad(self.bones, space), np.pad(self.weights, space)
        bones[vertices], weights[vertices] = 0, 0.0
        bones[vertices, : others.width] = others.bones
        weights[vertices, : others.width] = others.weights
        return Influences(bones, weights)

    def blended(self, vertices: Integers, shares: Floats) -> Influences:
        """The influences of places between vertices, (m, k), by their shares of them, (m, k)."""
        count = len(vertices)
        weights = self.weights[vertices] * shares[:, :, None]
        rows = np.repeat(np.arange(count), vertices.shape[1] * self.width)
        return Influences.from_triples(
            rows, self.bones[vertices].reshape(-1), weights.reshape(-1), count
        )

    def dense(self, bone_count: int) -> Float32s:
        """The weights of all bones on each vertex, shape (n, B)."""
        weights = np.zeros((self.vertex_count, bone_count), np.float32)
        for rows, bones, values in self.slots():
            weights[np.arange(self.vertex_count)[rows], bones] = values
        return weights

    def moving_bones(self, bone_count: int) -> Booleans:
        """Shape (B,), which bones move a vertex."""
        moves = np.zeros(bone_count, np.bool_)
        moves[self._moving] = True
        return moves

    @cached_property
    def _moving(self) -> Int32s:
        """The bones that move a vertex, rising."""
        return np.flatnonzero(np.bincount(self.bones[self.weights > 0.0])).astype(np.int32)

    def moved_by(self, bones: Booleans) -> Indices:
        """The vertices that any of some bones, shape (B,), moves."""
        return np.flatnonzero((bones[self.bones] & (self.weights > 0.0)).any(axis=1))

    def of_bones(self, bones: Integers) -> Influences:
        """The influences with the weights of each bone given to another one: shape (B,)."""
        if (bones == np.arange(len(bones))).all():
            return self
        used = np.flatnonzero(self.weights > 0.0)
        given = bones[self.bones.take(used)]
        return Influences.from_triples(
            used // self.width, given, self.weights.take(used), self.vertex_count
        )

    def in_blending_order(self) -> tuple[Int32s, Float32s]:
        """The bones and weights, shapes (n, k), in the order in which Blender adds them up."""
        if self.blending_order is None:
            return self.bones, self.weights
        order = self.width * np.arange(self.vertex_count)[:, None] + self.blending_order
        return self.bones.take(order), self.weights.take(order)

    def slots(self, *, in_blending_order: bool = False) -> Iterator[Slot]:
        """The influences one rank after the other, without the unused ones.

        Args:
            in_blending_order: begin with those that Blender adds up first, not with the strongest.
        """
        bones, weights = self.bones, self.weights
        if in_blending_order:
            bones, weights = self.in_blending_order()
        for slot in range(weights.shape[1]):
            used = weights[:, slot] > 0.0
            if not used.any():
                continue
            if used.all():
                yield slice(None), bones[:, slot], weights[:, slot]
            else:
                rows = np.flatnonzero(used)
                yield rows, bones[rows, slot], weights[rows, slot]


def _merged(vertices: Int64s, bones: Int64s, weights: Float64s) -> tuple[Int64s, Int64s, Float64s]:
    """The triples with the weights of one bone on one vertex added, at the first one's place."""
    pairs = vertices * (int(bones.max()) + 1) + bones
    _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    sums = np.bincount(inverse.reshape(-1), weights=weights)
    as_given = np.argsort(first)
    first = first[as_given]
    return vertices[first], bones[first], sums[as_given]

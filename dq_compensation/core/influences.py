"""The influences: the bones that move each vertex, and their weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arrays import Booleans, Float32s, Float64s, Floats, Indices, Int32s, Int64s, Integers
from .skeleton import BendyBones, Skeleton
from .vectors import dots, places_in_rows, unit_or

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


# Finds which segments of a bendy bone move a vertex, as Blender's Armature modifier does.

# Of Blender's curved mapping: how wide, in segments of a straight bone, the band is that is
# smoothed; how sharp its slopes and its borders are.
_SMOOTHED_BAND = 0.222
_SLOPE_SHARPNESS = 3.0
_BORDER_SHARPNESS = 7.0


def segment_influences(influences: Influences, skeleton: Skeleton, positions: Floats) -> Influences:
    """The influences of the rows of a pose: those of a bendy bone go to two of its segments' ends.

    Args:
        influences: of bones.
        positions: shape (n, 3), armature space, at rest, as they come into the Armature modifier.

    Returns:
        influences of `skeleton.row_count` rows, in Blender's blending order; the argument itself
        where no bendy bone moves a vertex.
    """
    bendy = skeleton.bendy
    if bendy is None:
        return influences
    slot_of_bone = np.full(skeleton.bone_count, -1)
    slot_of_bone[bendy.bones] = np.arange(len(bendy.bones))
    bones, weights = influences.in_blending_order()
    slots = np.where(weights > 0.0, slot_of_bone[bones], -1)
    vertices, places = np.nonzero(slots >= 0)
    if not len(vertices):
        return influences
    slots = slots[vertices, places]
    along = _along_line(bendy, skeleton, slots, positions[vertices]) * bendy.segments[slots]
    for slot in np.flatnonzero(bendy.curved):
        rows = np.flatnonzero(slots == slot)
        along[rows] = _along_curve(bendy, int(slot), positions[vertices[rows]])
    index = np.clip(np.floor(along), 0, bendy.segments[slots] - 1).astype(np.int32)
    to_next = np.clip(along - index, 0.0, 1.0)

    pairs = np.stack((bones, bones), axis=2)
    shares = np.stack((weights, np.zeros_like(weights)), axis=2).astype(np.float64)
    first = skeleton.start_rows[bendy.bones[slots]] + index
    pairs[vertices, places] = np.stack((first, first + 1), axis=1)
    of_bone = shares[vertices, places, :1]
    shares[vertices, places] = of_bone * np.stack((1.0 - to_next, to_next), axis=1)
    used = np.flatnonzero(shares)
    rows = used // (2 * influences.width)
    return Influences.from_triples(rows, pairs.take(used), shares.take(used), len(shares))


def _along_line(bendy: BendyBones, skeleton: Skeleton, slots: Integers, points: Floats) -> Float64s:
    """Where points (p, 3) are between heads and tails of bones: shape (p,), 0 to 1."""
    bones = bendy.bones[slots]
    lengths = np.linalg.norm(skeleton.tails - skeleton.heads, axis=1)[bones]
    from_head = np.asarray(points - skeleton.heads[bones], np.float64)
    along = dots(from_head, skeleton.rest[bones, :3, 1])
    return np.clip(along / np.where(lengths > 0.0, lengths, 1.0), 0.0, 1.0)


def _along_curve(bendy: BendyBones, slot: int, points: Floats) -> Float64s:
    """Where points (p, 3) are along the curve of a bone: shape (p,), in segments.

    Blender's curved mapping. Planes across the curve at the segments' ends are searched by
    bisection; between two planes a point's place goes by its distances from them. On the inner side
    of the curve, where planes meet, the place is then pulled towards the planes that the search has
    passed, so that it changes no faster than on the curve itself.
    """
    segments, start = int(bendy.segments[slot]), int(bendy.starts[slot])
    frames = bendy.frames[start : start + segments + 1]
    ends, normals = frames[:, :3, 3], unit_or(frames[:, :3, 1], 0.0)
    distances = points @ normals.T - dots(ends, normals)
    arc = float(np.linalg.norm(np.diff(ends, axis=0), axis=1).sum())
    if arc == 0.0:
        return np.zeros(len(points))
    low, high, passed = _bisected(distances, segments)

    each = np.arange(len(points))
    before = np.abs(distances[each, np.maximum(low, 0)])
    behind = np.abs(distances[each, np.minimum(high, segments)])
    both = before + behind
    between = low + before / np.where(both > 0.0, both, 1.0)
    places = np.where(high <= 0, 0.0, np.where(low >= segments, segments, between))

    depth = int(np.ceil(np.log2(segments + 2)))
    straight = float(np.linalg.norm(ends[-1] - ends[0])) / arc
    widest = segments * straight * _SMOOTHED_BAND
    growth = max(widest, 1.0) ** (1.0 / (depth - 1))
    for level in range(len(passed) - 1, -1, -1):
        planes = passed[level]
        rows = np.flatnonzero(planes >= 0)
        if not len(rows) or widest == 0.0:
            continue
        plane = planes[rows]
        # Distances in the bone's length, places in segments.
        apart = distances[rows, plane] / arc
        gaps = np.abs(places[rows] - plane) / segments - np.abs(apart)
        strength = 1.0 - np.abs(apart) * (segments / widest) * growth**level
        pulled = (gaps > 0.0) & (strength > 0.0)
        scaled = _SLOPE_SHARPNESS * np.where(pulled, gaps, 1.0)
        steep = scaled / (scaled + np.abs(apart))
        smooth = strength**2 * (_BORDER_SHARPNESS + 1.0) / (_BORDER_SHARPNESS * strength + 1.0)
        share = np.where(pulled, steep * smooth, 0.0)
        places[rows] += share * (plane + apart * segments - places[rows])
    return places


def _bisected(distances: Floats, segments: int) -> tuple[Indices, Indices, list[Indices]]:
    """The planes before and behind each point, and the planes passed by the search, -1 for none.

    Args:
        distances: shape (p, segments + 1), signed, from each plane.
    """
    count = len(distances)
    low, high = np.full(count, -1), np.full(count, segments + 1)
    bias, passed = np.zeros(count, np.intp), []
    each = np.arange(count)
    while (going := high - low > 1).any():
        middle = (low + high + bias) // 2
        behind = distances[each, np.minimum(middle, segments)] >= 0.0
        low = np.where(going & behind, middle, low)
        high = np.where(going & ~behind, middle, high)
        bias = np.where(behind, 0, 1)
        passed.append(np.where(going, middle, -1))
    return low, high, passed

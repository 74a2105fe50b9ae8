"""Which segments of a bendy bone move a vertex, as Blender's Armature modifier finds it."""

from __future__ import annotations

import numpy as np

from ..arrays import Float64s, Floats, Indices, Integers
from .influences import Influences
from .skeleton import BendyBones, Skeleton
from .vectors import dots, unit_or

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

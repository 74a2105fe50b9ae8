"""Bendy bones: curves of segments, each end of which moves the skin like a bone of its own.

Blender's Armature modifier gives a bendy bone of s segments s + 1 skinning matrices, from head to
tail. A vertex follows the two that its place along the bone at rest is between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .influences import Influences
from .vectors import dots, smooth_step, unit_or

if TYPE_CHECKING:
    from .pose import Pose
    from .skeleton import Skeleton

# Cosines of the angle between a bendy bone, from its head to its tail in a pose, and the direction
# of either end: below the first (10 degrees) it is curved and nothing is compensated at it, above
# the second (2.5 degrees) it counts as straight.
CURVED, STRAIGHT = 0.9848078, 0.9990482

# Of Blender's curved mapping: how wide, in segments of a straight bone, the band is that is
# smoothed; how sharp its slopes and its borders are.
_SMOOTHED_BAND = 0.222
_SLOPE_SHARPNESS = 3.0
_BORDER_SHARPNESS = 7.0


@dataclass(frozen=True, eq=False)
class BendyBones:
    """The m bendy bones of a skeleton at rest, armature space.

    Attributes:
        bones: shape (m,), int32; indices of bones.
        segments: shape (m,), int32, at least 2.
        frames: shape (S, 4, 4), float64; the rest matrices of the ends of all segments, bone after
            bone, from head to tail. S is the sum of segments + 1.
        curved: shape (m,), bool; whether vertices are mapped along the curve (B-Bone Vertex
            Mapping: Curved), not along the straight line from head to tail.
    """

    bones: NDArray[np.int32]
    segments: NDArray[np.int32]
    frames: NDArray[np.float64]
    curved: NDArray[np.bool_]

    @cached_property
    def starts(self) -> NDArray[np.int32]:
        """Shape (m,), int32; the place of each bone's first frame."""
        return np.cumsum(self.segments + 1, dtype=np.int32) - self.segments - 1

    @cached_property
    def bone_of_frame(self) -> NDArray[np.int32]:
        """Shape (S,), int32; the bone that each frame is on."""
        return np.repeat(self.bones, self.segments + 1)

    @cached_property
    def inverse_frames(self) -> NDArray[np.float64]:
        """Shape (S, 4, 4)."""
        return np.linalg.inv(self.frames)


def segment_influences(
    influences: Influences, skeleton: Skeleton, positions: NDArray[np.floating]
) -> Influences:
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


def limb_straightness(skeleton: Skeleton, pose: Pose) -> NDArray[np.float64]:
    """The share to which the limbs of all bones are as straight as at rest: shape (B,), 0 to 1.

    Let c be the direction from a bendy bone's head to its tail at rest, c' that from where its
    first segment takes the head to where its last one takes the tail, d and e what these two
    segments make of c, as directions. Then the lesser of d . c' and e . c' goes by `smooth_step`
    from `CURVED` to `STRAIGHT`. Other bones are straight.
    """
    found = np.ones(skeleton.bone_count)
    if skeleton.bendy is None:
        return found
    bones = skeleton.bendy.bones
    heads, tails = skeleton.heads[bones], skeleton.tails[bones]
    starts, ends = skeleton.start_rows[bones], skeleton.end_rows[bones]
    chords = unit_or(tails - heads, 0.0)
    posed = _moved(pose.matrices[ends], tails) - _moved(pose.matrices[starts], heads)
    posed = unit_or(posed, 0.0)
    cosines = [dots(_turned(pose.matrices[rows], chords), posed) for rows in (starts, ends)]
    found[bones] = smooth_step(np.minimum(*cosines), CURVED, STRAIGHT)
    return found


def _turned(matrices: NDArray[np.float64], directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Directions (m, 3), each by its own matrix (m, 4, 4)."""
    return unit_or(np.einsum("mij,mj->mi", matrices[:, :3, :3], directions), 0.0)


def _moved(matrices: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (m, 3), each by its own matrix (m, 4, 4)."""
    return np.einsum("mij,mj->mi", matrices[:, :3, :3], points) + matrices[:, :3, 3]


def _along_line(
    bendy: BendyBones,
    skeleton: Skeleton,
    slots: NDArray[np.integer],
    points: NDArray[np.floating],
) -> NDArray[np.float64]:
    """Where points (p, 3) are between heads and tails of bones: shape (p,), 0 to 1."""
    bones = bendy.bones[slots]
    lengths = np.linalg.norm(skeleton.tails - skeleton.heads, axis=1)[bones]
    from_head = np.asarray(points - skeleton.heads[bones], np.float64)
    along = dots(from_head, skeleton.rest[bones, :3, 1])
    return np.clip(along / np.where(lengths > 0.0, lengths, 1.0), 0.0, 1.0)


def _along_curve(bendy: BendyBones, slot: int, points: NDArray[np.floating]) -> NDArray[np.float64]:
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


def _bisected(
    distances: NDArray[np.floating], segments: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], list[NDArray[np.intp]]]:
    """The planes before and behind each point, and those that the search has passed, -1 for none.

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

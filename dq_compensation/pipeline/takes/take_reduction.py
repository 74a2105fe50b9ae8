"""The mathematics of making a take of sampled poses: keys where the skin needs them.

From the roots down. Each node is keyed relative to its parent as the keys of the parent play it, so
that the errors of a chain do not add up: at its own keys a node is where it was sampled, whatever
the nodes above it do between theirs. The frames of the keys are found as by Ramer, Douglas and
Peucker: where the skin is farthest from where it should be, until it is near enough.

The skin is bounded by the boxes of the vertices of each node. A box moved by an error matrix bounds
all that is in it, and linear blending stays between what the nodes of a vertex do: so no vertex of
the plain Armature modifier is farther from its sampled place than the largest error of a corner.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from ...arrays import Booleans, Float32s, Float64s, Floats, Indices, Int32s, Integers
from ...core.vectors import dots
from .local_poses import Interpolation, LocalPoses, blended_poses
from .takes import Keys, levels_of

_CORNERS = np.array(list(product((0, 1), repeat=3)))


def skin_boxes(rest: Float64s, sizes: Floats, points: Floats, nodes: Integers) -> Float64s:
    """The corners of the boxes around what each node moves.

    Args:
        rest: shape (N, 4, 4), the nodes' frames, armature space.
        sizes: shape (N,); a node that moves no point gets a box that is so large to either side.
        points: shape (m, 3), at rest, armature space.
        nodes: shape (m,), the node that each point follows.

    Returns:
        shape (N, 8, 3), in the frames of the nodes.
    """
    boxes = np.empty((len(rest), 2, 3))
    boxes[:, 0], boxes[:, 1] = np.inf, -np.inf
    into = np.linalg.inv(rest)[nodes]
    there = np.einsum("mij,mj->mi", into[:, :3, :3], points) + into[:, :3, 3]
    np.minimum.at(boxes[:, 0], nodes, there)
    np.maximum.at(boxes[:, 1], nodes, there)
    bare = ~np.isfinite(boxes).all(axis=(1, 2))
    boxes[bare] = np.array([-1.0, 1.0])[:, None] * sizes[bare, None, None]
    return boxes[:, _CORNERS, np.arange(3)]


def _box_reach(off: Float64s, corners: Float64s) -> Float64s:
    """The largest ways of corners (n, 8, 3) by differences of matrices (..., n, 4, 4)."""
    points = np.concatenate((corners, np.ones((*corners.shape[:2], 1))), axis=2)
    moved = off[..., :3, :] @ points.transpose(0, 2, 1)
    return np.sqrt(np.einsum("...ij,...ij->...j", moved, moved).max(axis=-1))


# A tolerance of 0 keeps every frame of what moves by more than rounding.
_SMALLEST = 1e-12


class Places(NamedTuple):
    """Some frames of some tracks, m of them, and the keys around each.

    Attributes:
        frames, tracks: shape (m,).
        before, behind: shape (m,), frames of the keys; behind the last key both are that one.
        shares: shape (m,), of the key behind, 0 to 1.
    """

    frames: Indices
    tracks: Indices
    before: Indices
    behind: Indices
    shares: Float64s


# How far each place is off where it should be, as a part of its tolerance, shape (m,).
Errors = Callable[[Places], Float64s]


def _keyed_frames(frame_count: int, track_count: int, errors: Errors) -> Booleans:
    """The frames with keys, shape (F, T): few, and with every error at 1 or below.

    By the method of Ramer, Douglas and Peucker, for all tracks at once. A track is anything that
    has a value in each of F frames: a bone, the value of a shape key. One that stays near its first
    frame has no other key; any other one also has one in the last frame. Each round adds the worst
    frame between any two keys.
    """
    keyed = np.zeros((frame_count, track_count), np.bool_)
    keyed[:1] = True
    open_places = ~keyed
    _, bad = _worst_between(keyed, open_places, errors)
    moving = bad.any(axis=0)
    keyed[-1:, moving] = True
    open_places &= moving & ~keyed
    while open_places.any():
        worst, bad = _worst_between(keyed, open_places, errors)
        keyed |= worst
        open_places = bad & ~keyed
    return keyed


def _places_of(keyed: Booleans, which: Booleans) -> Places:
    """The places of a mask (F, T) with the keys (F, T) around them, frame after frame."""
    frames, tracks = np.nonzero(which)
    count = len(keyed)
    every = np.arange(count)[:, None]
    before = np.maximum.accumulate(np.where(keyed, every, 0))[frames, tracks]
    behind = np.minimum.accumulate(np.where(keyed, every, count)[::-1])[::-1][frames, tracks]
    behind = np.where(behind == count, before, behind)
    shares = (frames - before) / np.maximum(behind - before, 1)
    return Places(frames, tracks, before, behind, shares)


def _packed_keys(keyed: Booleans) -> tuple[Keys, Indices, Indices]:
    """The keys of each track after the other, and the frame and the track of each."""
    tracks, frames = np.nonzero(keyed.T)
    offsets = np.concatenate(([0], np.cumsum(keyed.sum(axis=0)))).astype(np.int32)
    return Keys(offsets, frames.astype(np.uint16)), frames, tracks


def reduced_values(values: Floats, tolerances: Floats) -> tuple[Keys, Float32s]:
    """The keys of values that are linear in between.

    Args:
        values: shape (F, V).
        tolerances: shape (V,); how far each value may be off.

    Returns:
        the keys of V tracks, and the value of each, shape (K,).
    """
    limits = np.maximum(tolerances, _SMALLEST)

    def errors(places: Places) -> Float64s:
        frames, tracks, before, behind, shares = places
        start = values[before, tracks]
        between = start + shares * (values[behind, tracks] - start)
        return np.abs(between - values[frames, tracks]) / limits[tracks]

    frame_count, value_count = values.shape
    keys, frames, tracks = _packed_keys(_keyed_frames(frame_count, value_count, errors))
    return keys, values[frames, tracks].astype(np.float32)


def _worst_between(keyed: Booleans, which: Booleans, errors: Errors) -> tuple[Booleans, Booleans]:
    """Where an error is above 1: the worst frame between two keys, and all frames there.

    Args:
        which: shape (F, T), the places to look at; the errors of others count as 0.

    Returns:
        two masks of shape (F, T).
    """
    off = np.zeros(keyed.shape)
    off[which] = errors(_places_of(keyed, which))
    on_one_line = off.T.ravel()
    starts = np.flatnonzero(keyed.T.ravel())
    largest = np.maximum.reduceat(on_one_line, starts) if len(starts) else np.zeros(0)
    largest = np.repeat(largest, np.diff(starts, append=len(on_one_line)))
    bad = largest > 1.0
    worst = bad & (on_one_line == largest)
    return worst.reshape(off.T.shape).T, bad.reshape(off.T.shape).T


# A node whose motion relative to its parent is a shear by more than this part of the skin's size
# is keyed in armature space.
_SHEARED = 1e-5
# A frame that shrinks a length to less than this part has no inverse that is worth anything.
_FLATTENED = 1e-4


@dataclass(frozen=True, eq=False)
class ReducedPoses:
    """The keys of N nodes, K of them, as a `Take` has them.

    Attributes:
        parents: shape (N,); -1 also for a node whose motion is a shear of its parent's frame, or
            whose parent is scaled to nothing.
        poses: of the keys, float64; neighbours of a node face each other.
        error: the largest distance of a corner from its sampled place, armature units.
    """

    parents: Int32s
    keys: Keys
    poses: LocalPoses
    error: float


def reduce_poses(
    poses: Float64s,
    parents: Int32s,
    boxes: Float64s,
    tolerance: float,
    interpolation: Interpolation = "SLERP",
) -> Generator[float, None, ReducedPoses]:
    """Find the keys with which no corner of a box is farther than the tolerance from where it was.

    Yields the part that is done.

    Args:
        poses: shape (F, N, 4, 4), armature space, one after the other in time.
        parents: shape (N,), -1 for none; parents come first.
        boxes: shape (N, 8, 3), the corners, from `skin_boxes`.
        tolerance: armature units; 0 keeps every frame of what moves.
    """
    chain = _parents_of_chain(poses, parents, boxes)
    frame_count, node_count = poses.shape[:2]
    keyed = np.zeros((frame_count, node_count), np.bool_)
    local = LocalPoses(*(np.zeros((frame_count, node_count, width)) for width in (3, 4, 3)))
    played, error, done = np.empty_like(poses), 0.0, 0
    for nodes in levels_of(chain):
        above = None if chain[nodes[0]] < 0 else played[:, chain[nodes]]
        wanted = poses[:, nodes]
        relative = wanted if above is None else np.linalg.solve(above, wanted)
        from_above = LocalPoses.from_matrices(relative)
        level = _Level(wanted, above, from_above, boxes[nodes], tolerance, interpolation)
        found = _keyed_frames(frame_count, len(nodes), level.errors)
        keyed[:, nodes] = found
        everywhere = _places_of(found, np.ones_like(found))
        played[:, nodes] = level.played(everywhere).reshape(wanted.shape)
        off = _box_reach(played[:, nodes] - wanted, boxes[nodes])
        error = max(error, float(off.max(initial=0.0)))
        local.locations[:, nodes] = from_above.locations
        local.rotations[:, nodes] = from_above.rotations
        local.scales[:, nodes] = from_above.scales
        done += len(nodes)
        yield done / node_count
    keys, frames, nodes = _packed_keys(keyed)
    found = local[frames, nodes]
    rotations = _facing(found.rotations, keys)
    return ReducedPoses(chain, keys, LocalPoses(found.locations, rotations, found.scales), error)


@dataclass(frozen=True, eq=False)
class _Level:
    """The n nodes of one depth, and how their parents are played.

    Attributes:
        wanted: shape (F, n, 4, 4), as sampled.
        above: shape (F, n, 4, 4), the parents as their keys play them; None for roots.
        local: relative to them, so that each frame would be played as sampled.
        boxes: shape (n, 8, 3), the corners.
    """

    wanted: Float64s
    above: Float64s | None
    local: LocalPoses
    boxes: Float64s
    tolerance: float
    interpolation: Interpolation

    def played(self, places: Places) -> Float64s:
        """The poses at some places, shape (m, 4, 4)."""
        frames, nodes, before, behind, shares = places
        first, second = self.local[before, nodes], self.local[behind, nodes]
        found = blended_poses(first, second, shares, self.interpolation).matrices()
        return found if self.above is None else self.above[frames, nodes] @ found

    def errors(self, places: Places) -> Float64s:
        """The errors of the boxes at some places, as a part of the tolerance."""
        off = self.played(places) - self.wanted[places.frames, places.tracks]
        return _box_reach(off, self.boxes[places.tracks]) / max(self.tolerance, _SMALLEST)


def _facing(rotations: Floats, keys: Keys) -> Floats:
    """The same rotations (K, 4), with signs so that neighbours of a track face each other."""
    turns = np.ones(len(rotations))
    turns[1:] = np.where(dots(rotations[1:], rotations[:-1]) < 0.0, -1.0, 1.0)
    turns[keys.offsets[:-1][np.diff(keys.offsets) > 0]] = 1.0
    # The product of the signs since the first key of each track.
    signs = np.cumprod(turns)
    firsts = np.repeat(signs[keys.offsets[:-1]], np.diff(keys.offsets))
    return rotations * (signs * firsts)[:, None]


def _parents_of_chain(poses: Float64s, parents: Int32s, corners: Float64s) -> Int32s:
    """The parents, but none where the motion relative to them is not T R S of their frames."""
    nodes = np.flatnonzero(parents >= 0)
    above, below = poses[:, parents[nodes]], poses[:, nodes]
    lengths = np.linalg.norm(above[..., :3, :3], axis=-2)
    flat = np.any(lengths < _FLATTENED * lengths.max(initial=0.0), axis=(0, 2))
    above[:, flat] = np.eye(4)
    relative = np.linalg.solve(above, below)
    # How far corners are off at most by what the poses have of a shear.
    alone, chained = (
        _box_reach(off, corners[nodes]).max(axis=0, initial=0.0)
        for off in (_shear(below), above @ _shear(relative))
    )
    limit = _SHEARED * float(np.abs(corners).max(initial=0.0))
    found = parents.copy()
    found[nodes[flat | ((chained > limit) & (alone < chained))]] = -1
    return found


def _shear(poses: Float64s) -> Float64s:
    """T R S of poses (F, n, 4, 4), less these."""
    return LocalPoses.from_matrices(poses).matrices() - poses

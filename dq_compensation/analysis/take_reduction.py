"""Makes a take of sampled poses: keys where the skin needs them.

From the roots down. Each node is keyed relative to its parent as the keys of the parent play it, so
that the errors of a chain do not add up: at its own keys a node is where it was sampled, whatever
the nodes above it do between theirs. The frames of the keys are found as by Ramer, Douglas and
Peucker: where the skin is farthest from where it should be, until it is near enough.

The skin is bounded by the boxes of the vertices of each node. A box moved by an error matrix bounds
all that is in it, and linear blending stays between what the nodes of a vertex do: so no vertex of
the plain Armature modifier is farther from its sampled place than the largest error of a corner.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.local_poses import Interpolation, LocalPoses, blended_poses
from ..core.takes import Keys, levels_of
from ..core.vectors import dots
from .keyed_frames import SMALLEST, Places, keyed_frames, packed_keys, places_of
from .skin_boxes import box_reach

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

    parents: NDArray[np.int32]
    keys: Keys
    poses: LocalPoses
    error: float


def reduce_poses(
    poses: NDArray[np.float64],
    parents: NDArray[np.int32],
    boxes: NDArray[np.float64],
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
        found = keyed_frames(frame_count, len(nodes), level.errors)
        keyed[:, nodes] = found
        everywhere = places_of(found, np.ones_like(found))
        played[:, nodes] = level.played(everywhere).reshape(wanted.shape)
        off = box_reach(played[:, nodes] - wanted, boxes[nodes])
        error = max(error, float(off.max(initial=0.0)))
        local.locations[:, nodes] = from_above.locations
        local.rotations[:, nodes] = from_above.rotations
        local.scales[:, nodes] = from_above.scales
        done += len(nodes)
        yield done / node_count
    keys, frames, nodes = packed_keys(keyed)
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

    wanted: NDArray[np.float64]
    above: NDArray[np.float64] | None
    local: LocalPoses
    boxes: NDArray[np.float64]
    tolerance: float
    interpolation: Interpolation

    def played(self, places: Places) -> NDArray[np.float64]:
        """The poses at some places, shape (m, 4, 4)."""
        frames, nodes, before, behind, shares = places
        first, second = self.local[before, nodes], self.local[behind, nodes]
        found = blended_poses(first, second, shares, self.interpolation).matrices()
        return found if self.above is None else self.above[frames, nodes] @ found

    def errors(self, places: Places) -> NDArray[np.float64]:
        """The errors of the boxes at some places, as a part of the tolerance."""
        off = self.played(places) - self.wanted[places.frames, places.tracks]
        return box_reach(off, self.boxes[places.tracks]) / max(self.tolerance, SMALLEST)


def _facing(rotations: NDArray[np.floating], keys: Keys) -> NDArray[np.floating]:
    """The same rotations (K, 4), with signs so that neighbours of a track face each other."""
    turns = np.ones(len(rotations))
    turns[1:] = np.where(dots(rotations[1:], rotations[:-1]) < 0.0, -1.0, 1.0)
    turns[keys.offsets[:-1][np.diff(keys.offsets) > 0]] = 1.0
    # The product of the signs since the first key of each track.
    signs = np.cumprod(turns)
    firsts = np.repeat(signs[keys.offsets[:-1]], np.diff(keys.offsets))
    return rotations * (signs * firsts)[:, None]


def _parents_of_chain(
    poses: NDArray[np.float64], parents: NDArray[np.int32], corners: NDArray[np.float64]
) -> NDArray[np.int32]:
    """The parents, but none where the motion relative to them is not T R S of their frames."""
    nodes = np.flatnonzero(parents >= 0)
    above, below = poses[:, parents[nodes]], poses[:, nodes]
    lengths = np.linalg.norm(above[..., :3, :3], axis=-2)
    flat = np.any(lengths < _FLATTENED * lengths.max(initial=0.0), axis=(0, 2))
    above[:, flat] = np.eye(4)
    relative = np.linalg.solve(above, below)
    # How far corners are off at most by what the poses have of a shear.
    alone, chained = (
        box_reach(off, corners[nodes]).max(axis=0, initial=0.0)
        for off in (_shear(below), above @ _shear(relative))
    )
    limit = _SHEARED * float(np.abs(corners).max(initial=0.0))
    found = parents.copy()
    found[nodes[flat | ((chained > limit) & (alone < chained))]] = -1
    return found


def _shear(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """T R S of poses (F, n, 4, 4), less these."""
    return LocalPoses.from_matrices(poses).matrices() - poses

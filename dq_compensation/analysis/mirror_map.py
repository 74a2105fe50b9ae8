"""Finds the counterpart of each vertex, and of each bone, on the other side of X = 0."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..arrays import Float64s, Floats, Indices, Integers
from ..core.nearest_points import cell_keys, nearest_within
from ..core.vectors import extent

# In parts of the skeleton's size: how far a bone may be from the mirror image of the other one.
_BONES_APART = 1e-3
# SplitMix64 (Steele, Lea, Flood 2014): numbers that differ a little become hashes that differ much.
_MIX_STEPS = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))
# The cells of the grid for the first look, in parts of the tolerance.
_FINE = 0.02

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mirrored_bones(heads: Floats, tails: Floats) -> Indices:
    """The bone on the other side of X = 0 of each bone: each is the only image of the other.

    Args:
        heads, tails: shape (B, 3), at rest.

    Returns:
        shape (B,); -1 where there is none, and for bones in the middle.
    """
    return _mirrored(np.hstack((heads, tails), dtype=np.float64).tobytes()).copy()


# Asked for whenever weights are read anew, and bones are the same then.
@lru_cache(maxsize=8)
def _mirrored(heads_and_tails: bytes) -> Indices:
    if not heads_and_tails:
        return np.zeros(0, np.intp)
    ends = np.frombuffer(heads_and_tails).reshape(-1, 6)
    images = ends * np.tile((-1.0, 1.0, 1.0), 2)
    near = np.ones((len(ends), len(ends)), np.bool_)
    for axis in range(6):
        near &= np.abs(ends[:, axis] - images[:, axis, None]) <= _BONES_APART * extent(ends[:, :3])
    only = near & (near.sum(axis=1, keepdims=True) == 1) & (near.sum(axis=0) == 1)
    np.fill_diagonal(only, val=False)
    return np.where(only.any(axis=1), only.argmax(axis=1), -1)


def partners_by_position(positions: Floats, tolerance: float) -> Indices:
    """The vertex on the other side of X = 0 of each vertex: the nearest to its mirror image.

    Args:
        positions: shape (n, 3).
        tolerance: how far from the mirror image it may be, above 0.

    Returns:
        shape (n,); -1 where there is none, the vertex itself in the middle.
    """
    points = np.asarray(positions, np.float64)
    images = points * (-1.0, 1.0, 1.0)
    partners = _partners_in_same_cell(points, images, _FINE * tolerance)
    left = np.flatnonzero(partners < 0)
    if len(left):
        partners[left] = nearest_within(points, images[left], tolerance)
    return partners


def _partners_in_same_cell(points: Float64s, images: Float64s, size: float) -> Indices:
    """A point in the cell of each image in a grid; -1 where there is none. Both (n, 3).

    Most meshes are symmetric to the last bit: in a grid far finer than the tolerance nearly all
    find their partner, and none finds another one's.
    """
    if not len(points):
        return np.full(0, -1, np.intp)
    lowest = np.minimum(points.min(axis=0), images.min(axis=0))
    # Half a cell off, so that what lies on the plane does not lie on the border of two cells.
    cells, wanted = (
        np.floor((each - lowest) / size + 0.5).astype(np.int64) for each in (points, images)
    )
    sizes = np.maximum(cells.max(axis=0), wanted.max(axis=0)) + 1
    keys, wanted_keys = cell_keys(cells, sizes), cell_keys(wanted, sizes)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    places = np.minimum(np.searchsorted(keys, wanted_keys), len(keys) - 1)
    return np.where(keys[places] == wanted_keys, order[places], -1)


def partners_by_topology(edges: Integers, vertex_count: int) -> Indices:
    """The counterpart of each vertex by the connections of the mesh.

    Colour refinement (Weisfeiler and Leman 1968): vertices of the same number of neighbours get the
    same colour, then those whose neighbours have the same colours, until no more colours come up.
    Two vertices that are left with one colour are each other's partners; positions do not matter.

    Args:
        edges: shape (e, 2), vertices.

    Returns:
        shape (n,); -1 where more than two vertices look the same, the vertex itself where none
        other does.
    """
    if not vertex_count:
        return np.zeros(0, np.intp)
    both_ways = np.concatenate((edges, edges[:, ::-1])).astype(np.intp)
    both_ways = both_ways[np.argsort(both_ways[:, 0], kind="stable")]
    degrees = np.bincount(both_ways[:, 0], minlength=vertex_count)
    connected = np.flatnonzero(degrees)
    starts = (np.cumsum(degrees) - degrees)[connected]
    neighbours = both_ways[:, 1]
    colours = degrees.astype(np.uint64)
    known = 0
    while True:
        _, inverse, counts = np.unique(colours, return_inverse=True, return_counts=True)
        if len(counts) == known:
            break
        known = len(counts)
        sums = np.zeros(vertex_count, np.uint64)
        if len(connected):
            sums[connected] = np.add.reduceat(_mixed(colours)[neighbours], starts)
        colours = _mixed(_mixed(colours) + _GOLDEN * sums)
    partners = np.full(vertex_count, -1, np.intp)
    by_colour = np.argsort(inverse, kind="stable")
    firsts = np.cumsum(counts) - counts
    alone = by_colour[firsts[counts == 1]]
    partners[alone] = alone
    one, other = by_colour[firsts[counts == 2]], by_colour[firsts[counts == 2] + 1]
    partners[one], partners[other] = other, one
    return partners


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = numbers + _GOLDEN
    for shift, factor in _MIX_STEPS:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * factor
    return mixed ^ (mixed >> np.uint64(31))

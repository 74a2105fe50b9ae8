"""Which vertex of a mesh lies where the mirror image of another one is."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

# The cells of the grids in which partners are looked for, in parts of the tolerance, the finest
# first: most meshes are symmetric to the last bit, and in a fine grid nobody is mistaken for the
# neighbour. Whatever is within half a cell is found.
_CELLS = (0.02, 0.3, 2.0)
_KEY_FACTORS = np.array([73856093, 19349663, 83492791], np.int64)


def mirror_partners(positions: NDArray[np.floating], tolerance: float) -> NDArray[np.int32]:
    """The partner of each vertex across the plane X = 0.

    Args:
        positions: shape (n, 3).
        tolerance: how far a partner may be from the mirror image.

    Returns:
        shape (n,); -1 where there is none. A vertex on the plane is its own.
    """
    positions = np.asarray(positions, np.float64)
    mirrored = positions * (-1.0, 1.0, 1.0)
    partners = np.full(len(positions), -1, np.int32)
    left = np.arange(len(positions))
    for cell in _CELLS:
        if not len(left):
            break
        size = max(cell * tolerance, 1e-30)
        keys = _keys(positions / size)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        # The cell of the point itself, then those that touch the nearest corner of it.
        for shift in ((0.0, 0.0, 0.0), *itertools.product((-0.5, 0.5), repeat=3)):
            wanted = _keys(mirrored[left] / size + np.array(shift))
            places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = order[places]
            apart = np.linalg.norm(positions[found] - mirrored[left], axis=1)
            near = (keys[places] == wanted) & (apart <= tolerance)
            partners[left[near]] = found[near]
            left = left[~near]
    return partners


def _keys(cells: NDArray[np.float64]) -> NDArray[np.int64]:
    """One number for each cell (m, 3) of a grid; seldom the same one for two."""
    return (np.floor(cells).astype(np.int64) * _KEY_FACTORS).sum(axis=1)

"""Which vertex of a mesh lies where the mirror image of another one is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# The grids in which partners are looked for, in parts of the tolerance, the finest first: most
# meshes are symmetric to the last bit, and in a fine grid nobody is mistaken for the neighbour.
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
        size = max(cell * tolerance, 1e-30)
        # A point and its mirror image can fall on either side of the border of two cells: then
        # they are in one cell of a grid that is shifted by half a cell along some of the axes.
        for shift in np.ndindex(2, 2, 2):
            if not len(left):
                return partners
            found = _in_same_cell(positions, mirrored[left], size, 0.5 * np.array(shift))
            apart = np.linalg.norm(positions[found] - mirrored[left], axis=1)
            near = (found >= 0) & (apart <= tolerance)
            partners[left[near]] = found[near]
            left = left[~near]
    return partners


def _in_same_cell(
    positions: NDArray[np.float64],
    wanted: NDArray[np.float64],
    size: float,
    shift: NDArray[np.float64],
) -> NDArray[np.intp]:
    """For each wanted point (m, 3) one of the positions (n, 3) in its cell of a grid, or -1."""
    keys, wanted_keys = (
        (np.floor(points / size + shift).astype(np.int64) * _KEY_FACTORS).sum(axis=1)
        for points in (positions, wanted)
    )
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    places = np.minimum(np.searchsorted(keys, wanted_keys), max(len(keys) - 1, 0))
    return np.where(keys[places] == wanted_keys, order[places], -1)

"""What solving the skin round joints costs, the mathematics: seconds and memory, before it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.vectors import cross, dots
from .region import FleshRegion

# Fitted to 65 poses of 29 ways of a human's joints on one core of a busy server, and raised to the
# time of its whole body, in which joints that bend together are looked at, too: of a pose that is
# kept, seconds for each cell and each vertex of the region. Single joints are off by a factor of
# three, as what touches takes most steps. Memory is counted: arrays of the lattice and its factors,
# and of contact.
_SECONDS_OF_CELL, _SECONDS_OF_VERTEX = 7.0e-4, 4.0e-4
_BYTES_OF_CELL, _BYTES_OF_VERTEX = 12_000.0, 30_000.0
# Adding a pose, playing and measuring it, for each vertex of the whole skin: seconds.
_SECONDS_OF_PROOF = 1.0e-5
# The skin passes through this many cells in each square of a cell's edge.
_CELLS_OF_SKIN = 0.6


@dataclass(frozen=True)
class FleshCost:
    """What it costs to solve some poses.

    Attributes:
        seconds: on one core.
        megabytes: of memory, while it is solved.
    """

    seconds: float
    megabytes: float


def estimated_cost(region: FleshRegion, poses: int, *, is_mirrored: bool = False) -> FleshCost:
    """What it costs to solve a region in kept poses.

    Args:
        is_mirrored: the poses are those of the other side: they are only played and measured.
    """
    cells, vertices = _cells(region), len(region.vertices)
    seconds = poses * _SECONDS_OF_PROOF * len(region.skin.positions)
    if not is_mirrored:
        seconds += poses * (_SECONDS_OF_CELL * cells + _SECONDS_OF_VERTEX * vertices)
    return FleshCost(seconds, 1e-6 * (_BYTES_OF_CELL * cells + _BYTES_OF_VERTEX * vertices))


def _cells(region: FleshRegion) -> float:
    """About how many cells the lattice will have."""
    corners = (region.rest[region.triangles] - region.centres.mean(axis=0)) / region.cell
    areas = cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    volume = abs(float(dots(corners[:, 0], areas).sum())) / 6.0
    return volume + _CELLS_OF_SKIN * 0.5 * float(np.linalg.norm(areas, axis=1).sum())

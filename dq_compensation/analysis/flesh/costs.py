"""What it costs to solve the skin round joints, before it is solved: seconds and memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.vectors import cross, dots
from .region import FleshRegion

# Fitted to the joints of a human (`quality.folds`) on one core of a server: seconds of a pose that
# is kept, for each cell and each vertex, and bytes.
_SECONDS_OF_CELL, _SECONDS_OF_VERTEX = 1.0e-3, 5.0e-4
_BYTES_OF_CELL, _BYTES_OF_VERTEX = 12_000.0, 30_000.0
# Playing a pose and measuring it, before and after, for each vertex of the region: seconds.
_SECONDS_OF_PROOF = 1.0e-4
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
    """What it costs to solve a region in kept poses; within a factor of two of what it does.

    Args:
        is_mirrored: the poses are those of the other side: they are only played and measured.
    """
    cells, vertices = _cells(region), len(region.vertices)
    seconds = poses * _SECONDS_OF_PROOF * vertices
    if not is_mirrored:
        seconds += poses * (_SECONDS_OF_CELL * cells + _SECONDS_OF_VERTEX * vertices)
    return FleshCost(seconds, 1e-6 * (_BYTES_OF_CELL * cells + _BYTES_OF_VERTEX * vertices))


def _cells(region: FleshRegion) -> float:
    """About how many cells the lattice will have."""
    corners = (region.rest[region.triangles] - region.centres.mean(axis=0)) / region.cell
    areas = cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    volume = abs(float(dots(corners[:, 0], areas).sum())) / 6.0
    return volume + _CELLS_OF_SKIN * 0.5 * float(np.linalg.norm(areas, axis=1).sum())

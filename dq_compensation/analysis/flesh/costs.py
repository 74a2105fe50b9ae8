"""What solving the skin round joints costs, the mathematics: seconds and memory, before it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.vectors import dots, triangle_normals
from .region import FleshRegion

# Fitted to elbow, wrist, finger, knee and shoulder of a human on one core of a busy server: of a
# pose, seconds for each cell and each vertex of the region; so many times as much where limbs are
# bent by more than this, degrees, as what touches takes most steps. Single joints are off by half.
# Memory is counted: arrays of the lattice and its factors, and of contact.
_SECONDS_OF_CELL, _SECONDS_OF_VERTEX = 4.2e-4, 2.4e-4
_DEEP, _MORE_IF_DEEP = 90.0, 2.5
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


def estimated_cost(
    region: FleshRegion, bends: Sequence[float], *, is_mirrored: bool = False
) -> FleshCost:
    """What it costs to solve a region in poses.

    Args:
        bends: of each pose by how much its limbs are bent, degrees; 0 of joints that swing.
        is_mirrored: the poses are those of the other side: they are only played and measured.
    """
    cells, vertices = _cells(region), len(region.vertices)
    seconds = len(bends) * _SECONDS_OF_PROOF * len(region.skin.positions)
    if not is_mirrored:
        work = sum(_MORE_IF_DEEP if bend > _DEEP else 1.0 for bend in bends)
        seconds += work * (_SECONDS_OF_CELL * cells + _SECONDS_OF_VERTEX * vertices)
    return FleshCost(seconds, 1e-6 * (_BYTES_OF_CELL * cells + _BYTES_OF_VERTEX * vertices))


def _cells(region: FleshRegion) -> float:
    """About how many cells the lattice will have."""
    corners = (region.rest[region.triangles] - region.centres.mean(axis=0)) / region.cell
    areas = triangle_normals(corners)
    volume = abs(float(dots(corners[:, 0], areas).sum())) / 6.0
    return volume + _CELLS_OF_SKIN * 0.5 * float(np.linalg.norm(areas, axis=1).sum())

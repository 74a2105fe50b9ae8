"""The weights that move a mesh, and what Blender makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.influences import MIN_WEIGHT_SUM
from ..scene.blender.mesh import VertexGroupWeights


@dataclass(frozen=True, eq=False)
class DeformingWeights:
    """The weights of the groups that deforming bones move, one row per (vertex, group) pair.

    Attributes:
        rows: shape (m,), indices into the weights of all groups.
        vertices: shape (m,), int32, rising.
        groups: shape (m,), int32.
        weights: shape (m,), float64, 0 or more; 0 for a vertex with a weight that is not a number,
            which Blender does not move.
        sums: shape (n,), float64, of every vertex.
        moved: shape (n,), bool; whether Blender moves the vertex: where the sum is above 1e-4.
        broken: shape (n,), bool; whether a weight of the vertex is not a number.
    """

    rows: NDArray[np.intp]
    vertices: NDArray[np.int32]
    groups: NDArray[np.int32]
    weights: NDArray[np.float64]
    sums: NDArray[np.float64]
    moved: NDArray[np.bool_]
    broken: NDArray[np.bool_]

    @classmethod
    def of(cls, every: VertexGroupWeights, deforming: Sequence[int]) -> DeformingWeights:
        """Those of all weights that are in these groups, given by their indices."""
        rows = np.flatnonzero(np.isin(every.groups, deforming))
        vertices = every.vertices[rows]
        weights = every.weights[rows].astype(np.float64)
        broken = np.zeros(every.vertex_count, np.bool_)
        broken[vertices[~np.isfinite(weights)]] = True
        weights = np.where((weights > 0.0) & ~broken[vertices], weights, 0.0)
        sums = np.bincount(vertices, weights=weights, minlength=every.vertex_count)
        moved = sums > MIN_WEIGHT_SUM
        return cls(rows, vertices, every.groups[rows], weights, sums, moved, broken)

"""Vertices and the edges between them, and functions on the vertices that are smooth along these.

What is spread or diffused over a mesh is the solution of a sparse, symmetric system: each value is
bound to its neighbours by the pulls of the edges, and to what it was by a mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.vectors import places_in_rows

_MOST_ROUNDS = 400


@dataclass(frozen=True, eq=False)
class MeshGraph:
    """The neighbours of m of the n vertices of a mesh, by their rank among a vertex's neighbours.

    Attributes:
        neighbours: shape (k, m), vertices; n, behind the last one, in unused places.
        pulls: shape (k, m), the pulls of the edges to them; 0 in unused places.
    """

    neighbours: NDArray[np.intp]
    pulls: NDArray[np.float64]

    @classmethod
    def of(
        cls, edges: NDArray[np.integer], pulls: NDArray[np.floating], vertex_count: int
    ) -> MeshGraph:
        """All vertices of a mesh, by its edges (e, 2) and their pulls (e,)."""
        of, others = np.concatenate((edges, edges[:, ::-1])).astype(np.intp).T
        order = np.argsort(of, kind="stable")
        of, others = of[order], others[order]
        counts = np.bincount(of, minlength=vertex_count)
        ranks = places_in_rows(of, counts)
        shape = (int(counts.max(initial=0)), vertex_count)
        neighbours, found = np.full(shape, vertex_count, np.intp), np.zeros(shape)
        neighbours[ranks, of] = others
        found[ranks, of] = np.tile(np.asarray(pulls, np.float64), 2)[order]
        return cls(neighbours, found)

    def at(self, vertices: NDArray[np.integer]) -> MeshGraph:
        """The neighbours of some vertices, shape (m,)."""
        return MeshGraph(self.neighbours[:, vertices], self.pulls[:, vertices])

    @property
    def degrees(self) -> NDArray[np.float64]:
        """Shape (m,), the sums of the pulls."""
        return self.pulls.sum(axis=0)

    def pulled(self, values: NDArray[np.floating]) -> NDArray[np.float64]:
        """The sums (m, g) of the neighbours' values times the pulls.

        Args:
            values: shape (n + 1, g); the last row is for the unused places.
        """
        sums = np.zeros((self.pulls.shape[1], values.shape[1]))
        rows = np.empty_like(sums)
        for others, pulls in zip(self.neighbours, self.pulls, strict=True):
            # Without an array for each step.
            np.take(values, others, axis=0, out=rows, mode="clip")
            rows *= pulls[:, None]
            sums += rows
        return sums


def with_unused_row(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Values (n, g) as `MeshGraph.pulled` wants them, copied: one row of zeros more."""
    return np.concatenate((values, np.zeros((1, values.shape[1])))).astype(np.float64)


def smooth_values(
    graph: MeshGraph,
    values: NDArray[np.floating],
    vertices: NDArray[np.integer],
    masses: NDArray[np.floating],
    still: float,
) -> NDArray[np.float64]:
    """The values at some vertices, smooth along the edges; those of other vertices stay.

    For each of these vertices v, with the mass m and the neighbours u, it solves

        m (x_v - value_v) + sum of pull_vu (x_v - x_u) = 0

    by conjugate gradients, with the diagonal as the preconditioner. Columns do not see each other,
    and each ends by itself: left and right come out alike.

    Args:
        graph: of all vertices.
        values: shape (n, g).
        vertices: shape (m,), each with a mass or a neighbour that pulls.
        masses: shape (m,), 0 or more.
        still: a column ends when no value of it changes by this much in a round.

    Returns:
        shape (m, g).
    """
    near = graph.at(vertices)
    diagonal = (near.degrees + masses)[:, None]
    start = with_unused_row(values)
    result = start[vertices]
    found = result.copy()
    residual = masses[:, None] * found + near.pulled(start) - diagonal * found
    step = residual / diagonal
    size = (residual * step).sum(axis=0)
    columns = np.arange(values.shape[1])
    along = np.zeros_like(start)
    for _ in range(_MOST_ROUNDS):
        along[vertices] = step
        turned = diagonal * step - near.pulled(along)
        curvature = (step * turned).sum(axis=0)
        lengths = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0.0)
        found += lengths * step
        result[:, columns] = found
        moving = np.abs(lengths * step).max(axis=0, initial=0.0) >= still
        if not moving.any():
            break
        columns, found = columns[moving], found[:, moving]
        along = along if moving.all() else np.zeros((len(start), len(columns)))
        residual = (residual - lengths * turned)[:, moving]
        ahead = residual / diagonal
        new_size = (residual * ahead).sum(axis=0)
        step = ahead + step[:, moving] * (new_size / size[moving])
        size = new_size
    return result

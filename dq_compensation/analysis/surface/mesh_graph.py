"""The graph of the vertices and edges of a mesh, and values on it that are smooth along the edges.

What is spread or diffused over a mesh is the solution of a sparse, symmetric system: each value
is bound to its neighbours by the pulls of the edges, and to what it was by a mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Float64s, Floats, Indices, Integers
from ...core.vectors import places_in_rows

_MOST_ROUNDS = 400


@dataclass(frozen=True, eq=False)
class MeshGraph:
    """The neighbours of m of the n vertices of a mesh, by their rank among a vertex's neighbours.

    Attributes:
        neighbours: shape (k, m), vertices; n, behind the last one, in unused places.
        pulls: shape (k, m), the pulls of the edges to them; 0 in unused places.
    """

    neighbours: Indices
    pulls: Float64s

    @classmethod
    def of(cls, edges: Integers, pulls: Floats, vertex_count: int) -> MeshGraph:
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

    def at(self, vertices: Integers) -> MeshGraph:
        """The neighbours of some vertices, shape (m,)."""
        pulls = self.pulls[:, vertices]
        most = int(np.count_nonzero(pulls.any(axis=1)))
        return MeshGraph(self.neighbours[:most, vertices], pulls[:most])

    @property
    def degrees(self) -> Float64s:
        """Shape (m,), the sums of the pulls."""
        return self.pulls.sum(axis=0)

    def pulled(self, values: Floats) -> Float64s:
        """The sums (m,) or (m, g) of the neighbours' values times the pulls.

        Args:
            values: shape (n + 1,) or (n + 1, g); the last row is for the unused places.
        """
        if values.ndim == 1:
            # All at once: of short arrays, the calls cost more than the numbers.
            near = np.take(values, self.neighbours, mode="clip")
            return np.einsum("km,km->m", near, self.pulls)
        sums = np.zeros((self.pulls.shape[1], values.shape[1]))
        rows = np.empty_like(sums)
        for others, pulls in zip(self.neighbours, self.pulls, strict=True):
            # Without an array for each step.
            np.take(values, others, axis=0, out=rows, mode="clip")
            rows *= pulls[:, None]
            sums += rows
        return sums


def with_unused_row(values: Floats) -> Float64s:
    """Values (n, g) as `MeshGraph.pulled` wants them, copied: one row of zeros more."""
    return np.concatenate((values, np.zeros((1, values.shape[1])))).astype(np.float64)


def smooth_values(
    graph: MeshGraph, values: Floats, vertices: Integers, masses: Floats, still: float
) -> Float64s:
    """The values at some vertices, smooth along the edges; those of other vertices stay.

    For each of these vertices v, with the mass m and the neighbours u, it solves

        m (x_v - value_v) + sum of pull_vu (x_v - x_u) = 0

    by conjugate gradients, with the diagonal as the preconditioner.

    Args:
        graph: of all vertices.
        values: shape (n,).
        vertices: shape (m,), each with a mass or a neighbour that pulls.
        masses: shape (m,), 0 or more.
        still: it ends when no value changes by this much in a round.

    Returns:
        shape (m,).
    """
    near = graph.at(vertices)
    diagonal = near.degrees + masses
    start = np.append(values, 0.0)
    found = start[vertices]
    residual = masses * found + near.pulled(start) - diagonal * found
    step = residual / diagonal
    size = _product(residual, step)
    # Among these vertices alone, and without an array for each step: rounds are short.
    place = np.full(len(start), len(vertices), np.intp)
    place[vertices] = np.arange(len(vertices))
    others, along = place[near.neighbours], np.append(step, 0.0)
    step, pulled, turned = along[:-1], np.empty(others.shape), np.empty_like(found)
    ahead = np.empty_like(found)
    for _ in range(_MOST_ROUNDS):
        np.take(along, others, mode="clip", out=pulled)
        np.einsum("km,km->m", pulled, near.pulls, out=turned)
        np.subtract(np.multiply(diagonal, step, out=ahead), turned, out=turned)
        curvature = _product(step, turned)
        if curvature <= 0.0:
            break
        length = size / curvature
        found += np.multiply(step, length, out=ahead)
        if np.abs(ahead, out=ahead).max() < still:
            break
        residual -= np.multiply(turned, length, out=turned)
        np.divide(residual, diagonal, out=ahead)
        size, old_size = _product(residual, ahead), size
        step *= size / old_size
        step += ahead
    return found


def _product(one: Float64s, other: Float64s) -> float:
    """The scalar product, without the threads that BLAS would wait for in each round."""
    return float(np.einsum("i,i", one, other))

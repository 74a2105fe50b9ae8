"""The surface that weights are diffused over: vertices in one place are one, quads have no side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from ...core.vectors import cross, dots
from .mesh_graph import MeshGraph, smooth_values

# The largest cotangent that counts, of 11 degrees: needles would tie their ends together.
_MOST_COTANGENT = 5.0
# The least pull of an edge: of the diagonals of rectangles, which have none.
_LEAST_PULL = 1e-3
# How far weights in one place may differ, so that they are one vertex.
_ALIKE = 1e-5


@dataclass(frozen=True, eq=False)
class SkinSurface:
    """A surface of n points.

    Attributes:
        point_of_vertex: shape (v,), the point that each vertex of the mesh belongs to.
        vertices: shape (n,), one vertex of each point.
        graph: edges pull by half the cotangents of the angles across them (Pinkall and Polthier
            1993, Computing discrete minimal surfaces).
        areas: shape (n,), a third of the triangles around; 0 for loose points.
    """

    point_of_vertex: NDArray[np.intp]
    vertices: NDArray[np.intp]
    graph: MeshGraph
    areas: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        positions: NDArray[np.floating],
        influences: Influences,
        face_starts: NDArray[np.integer],
        corner_vertex: NDArray[np.integer],
    ) -> SkinSurface:
        """The surface of a mesh.

        A face counts by the triangles at its corners, each with the corners before and after it, as
        much as they all together are as large as the face: both diagonals of a quad count alike, so
        that left and right do.

        Args:
            positions: shape (v, 3).
            face_starts: shape (f,), the first corner of each face.
            corner_vertex: shape (c,).
        """
        points = _points(positions, influences)
        vertices = np.unique(points, return_index=True)[1]
        sizes = np.diff(np.append(face_starts, len(corner_vertex)))
        face = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(corner_vertex)) - face_starts[face]
        ends = [
            points[corner_vertex[face_starts[face] + (place + step) % sizes[face]]]
            for step in (-1, 0, 1)
        ]
        at = [np.asarray(positions, np.float64)[vertices[each]] for each in ends]
        areas = 0.5 * np.linalg.norm(cross(at[1] - at[0], at[2] - at[0]), axis=1)
        # Of the polygon: half the sum of the cross products of neighbouring corners.
        swept = cross(at[1] - at[1][face_starts[face]], at[2] - at[1][face_starts[face]])
        whole = np.stack([np.bincount(face, axis, len(sizes)) for axis in swept.T], axis=1)
        whole = 0.5 * np.linalg.norm(whole, axis=1)
        covered = np.bincount(face, areas, len(sizes))
        shares = np.divide(whole, covered, out=np.zeros_like(whole), where=covered > 0.0)[face]
        edges, pulls, of_points = [], [], np.zeros(len(vertices))
        for corner in range(3):
            one, other = (corner + 1) % 3, (corner + 2) % 3
            cosines = dots(at[one] - at[corner], at[other] - at[corner])
            # cot = (u . v) / |u x v|, of a triangle without area the largest one.
            cotangents = cosines / np.maximum(2.0 * areas, 1e-30)
            pulls.append(0.5 * shares * cotangents.clip(0.0, _MOST_COTANGENT))
            edges.append(np.stack((ends[one], ends[other]), axis=1))
            of_points += np.bincount(ends[corner], shares * areas / 3.0, len(vertices))
        # Each edge once, with the sum of its pulls.
        ordered = np.sort(np.concatenate(edges), axis=1).astype(np.int64)
        count = max(len(vertices), 1)
        keys, rows = np.unique(ordered[:, 0] * count + ordered[:, 1], return_inverse=True)
        sums = np.bincount(rows.reshape(-1), np.concatenate(pulls), len(keys))
        pairs = np.stack((keys // count, keys % count), axis=1)
        apart = pairs[:, 0] != pairs[:, 1]
        sums = np.maximum(sums[apart], _LEAST_PULL)
        graph = MeshGraph.of(pairs[apart], sums, len(vertices))
        return cls(points, vertices, graph, of_points)

    @cached_property
    def connected(self) -> NDArray[np.bool_]:
        """Shape (n,): the points that anything can be diffused to."""
        return (self.areas > 0.0) & (self.graph.degrees > 0.0)

    def diffused(
        self,
        values: NDArray[np.floating],
        lengths: NDArray[np.floating],
        still: float,
        shares: NDArray[np.floating] | None = None,
    ) -> NDArray[np.float64]:
        """Values (n, g) diffused by these lengths (n,); as they are where a length is 0.

        One implicit step of heat (Desbrun et al. 1999): the values spread as e^(-distance / length)
        does.

        Args:
            shares: shape (n,), 0 to 1, how much of a point the values are of; 1 without.
        """
        moved = np.flatnonzero((lengths > 0.0) & self.connected)
        masses = self.areas[moved] / lengths[moved] ** 2
        if shares is not None:
            masses *= shares[moved]
        result = np.array(values, np.float64)
        result[moved] = smooth_values(self.graph, values, moved, masses, still)
        return result


def _points(positions: NDArray[np.floating], influences: Influences) -> NDArray[np.intp]:
    """Shape (v,): vertices in one place with the same weights are one point."""
    if not len(positions):
        return np.zeros(0, np.intp)
    places = np.unique(positions, axis=0, return_inverse=True)[1].reshape(-1)
    first = np.unique(places, return_index=True)[1][places]
    weights = np.abs(influences.weights - influences.weights[first]) <= _ALIKE
    bones = (influences.bones == influences.bones[first]) | (influences.weights <= _ALIKE)
    alone = ~(weights & bones).all(axis=1)
    places[alone] = places.max() + 1 + np.arange(np.count_nonzero(alone))
    return np.unique(places, return_inverse=True)[1].reshape(-1)

"""The surface that weights are diffused over: vertices in one place are one, quads have no side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices, Integers
from ...core.influences import Influences
from ...core.vectors import cross, dots
from .mesh_graph import MeshGraph, smooth_values
from .rigid_pieces import islands, points_of_vertices

# The largest cotangent that counts, of 11 degrees: needles would tie their ends together.
_MOST_COTANGENT = 5.0

# The least pull of an edge: of the diagonals of rectangles, which have none.
_LEAST_PULL = 1e-3


@dataclass(frozen=True, eq=False)
class SkinSurface:
    """A surface of n points.

    Attributes:
        point_of_vertex: shape (v,), the point that each vertex of the mesh belongs to.
        vertices: shape (n,), one vertex of each point.
        graph: edges pull by half the cotangents of the angles across them (Pinkall and Polthier
            1993, Computing discrete minimal surfaces).
        areas: shape (n,), a third of the triangles around; 0 for loose points.
        area_vectors: shape (n, 3), the same with the directions of these triangles.
        positions: shape (n, 3).
    """

    point_of_vertex: Indices
    vertices: Indices
    graph: MeshGraph
    areas: Float64s
    area_vectors: Float64s
    positions: Float64s

    @classmethod
    def of(
        cls,
        positions: Floats,
        influences: Influences,
        face_starts: Integers,
        corner_vertex: Integers,
        points: Indices | None = None,
    ) -> SkinSurface:
        """The surface of a mesh, or of several, one behind the other.

        A face counts by the triangles at its corners, each with the corners before and after it, as
        much as they all together are as large as the face: both diagonals of a quad count alike, so
        that left and right do.

        Args:
            positions: shape (v, 3).
            face_starts: shape (f,), the first corner of each face.
            corner_vertex: shape (c,).
            points: shape (v,), the point of each vertex; None: `points_of_vertices`.
        """
        points = points_of_vertices(positions, influences) if points is None else points
        vertices = np.unique(points, return_index=True)[1]
        sizes = np.diff(np.append(face_starts, len(corner_vertex)))
        face = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(corner_vertex)) - face_starts[face]
        ends = [
            points[corner_vertex[face_starts[face] + (place + step) % sizes[face]]]
            for step in (-1, 0, 1)
        ]
        places = np.asarray(positions, np.float64)[vertices]
        at = [places[each] for each in ends]
        turns = 0.5 * cross(at[1] - at[0], at[2] - at[0])
        areas = np.linalg.norm(turns, axis=1)
        # Of the polygon: half the sum of the cross products of neighbouring corners.
        swept = cross(at[1] - at[1][face_starts[face]], at[2] - at[1][face_starts[face]])
        whole = np.stack([np.bincount(face, axis, len(sizes)) for axis in swept.T], axis=1)
        whole = 0.5 * np.linalg.norm(whole, axis=1)
        covered = np.bincount(face, areas, len(sizes))
        shares = np.divide(whole, covered, out=np.zeros_like(whole), where=covered > 0.0)[face]
        edges, pulls, of_points = [], [], np.zeros((len(vertices), 4))
        parts = np.column_stack((turns, areas)) * shares[:, None] / 3.0
        for corner in range(3):
            one, other = (corner + 1) % 3, (corner + 2) % 3
            cosines = dots(at[one] - at[corner], at[other] - at[corner])
            # cot = (u . v) / |u x v|, of a triangle without area the largest one.
            cotangents = cosines / np.maximum(2.0 * areas, 1e-30)
            pulls.append(0.5 * shares * cotangents.clip(0.0, _MOST_COTANGENT))
            edges.append(np.stack((ends[one], ends[other]), axis=1))
            for column, part in enumerate(parts.T):
                of_points[:, column] += np.bincount(ends[corner], part, len(vertices))
        # Each edge once, with the sum of its pulls.
        ordered = np.sort(np.concatenate(edges), axis=1).astype(np.int64)
        count = max(len(vertices), 1)
        keys, rows = np.unique(ordered[:, 0] * count + ordered[:, 1], return_inverse=True)
        sums = np.bincount(rows.reshape(-1), np.concatenate(pulls), len(keys))
        pairs = np.stack((keys // count, keys % count), axis=1)
        apart = pairs[:, 0] != pairs[:, 1]
        sums = np.maximum(sums[apart], _LEAST_PULL)
        graph = MeshGraph.of(pairs[apart], sums, len(vertices))
        return cls(points, vertices, graph, of_points[:, 3], of_points[:, :3], places)

    @cached_property
    def connected(self) -> Booleans:
        """Shape (n,): the points that anything can be diffused to."""
        return (self.areas > 0.0) & (self.graph.degrees > 0.0)

    @cached_property
    def pieces(self) -> Indices:
        """Shape (n,), 0 to p - 1: the connected part that each point belongs to."""
        near, count = self.graph.neighbours, len(self.vertices)
        ranks, at = np.nonzero((near > np.arange(count)) & (near < count))
        labels = islands(np.stack((at, near[ranks, at]), axis=1), count)
        return np.unique(labels, return_inverse=True)[1].reshape(-1)

    def diffused(self, values: Floats, lengths: Floats) -> Float64s:
        """Values (n,) diffused by these lengths (n,), roughly; as they are where a length is 0.

        One implicit step of heat (Desbrun et al. 1999): the values spread as e^(-distance / length)
        does.
        """
        moved = np.flatnonzero((lengths > 0.0) & self.connected)
        masses = self.masses(lengths)[moved]
        result = np.array(values, np.float64)
        result[moved] = smooth_values(self.graph, values, moved, masses, _ROUGHLY_STILL)
        return result

    def masses(self, lengths: Floats) -> Float64s:
        """Shape (n,), how much values that are diffused by these lengths (n,) stay what they are.

        0 where a length is 0: values there are not diffused.
        """
        squares = lengths**2
        return np.divide(self.areas, squares, out=np.zeros_like(squares), where=squares > 0.0)


# What counts as still of what only says where to soften and how far.
_ROUGHLY_STILL = 1e-3

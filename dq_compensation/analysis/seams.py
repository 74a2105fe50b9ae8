"""Seams: open edges of several meshes of a character that lie in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Float64s, Floats, Indices, Integers
from ..core.influences import Influences
from ..core.vectors import dots, extent, nearest_within
from .mesh_graph import islands, points_of_vertices

# How far vertices of a seam may lie apart, in sizes of the character, and their weights differ.
SEAM_APART, SEAM_ALIKE = 1e-5, 1e-3
# So far apart, in sizes of the character, open edges are meant to be a seam.
SEAM_MEANT = 1e-3
# The fewest edges of a seam.
_FEWEST = 3


@dataclass(frozen=True, eq=False)
class SeamMesh:
    """A mesh at rest.

    Attributes:
        positions: shape (n, 3), armature space.
        influences: of the n vertices.
        face_starts: shape (f,), the first corner of each face.
        corner_vertex: shape (c,).
    """

    positions: Floats
    influences: Influences
    face_starts: Integers
    corner_vertex: Integers

    def open_edges(self, points: Indices) -> tuple[Indices, Indices]:
        """The edges of one face alone.

        Args:
            points: shape (n,), of `points_of_vertices`: splits inside the mesh are none.

        Returns:
            shape (e, 2), their vertices; shape (e,), the face of each.
        """
        if not len(self.corner_vertex):
            return np.zeros((0, 2), np.intp), np.zeros(0, np.intp)
        following = np.arange(1, len(self.corner_vertex) + 1)
        ends = np.append(self.face_starts[1:], len(self.corner_vertex)) - 1
        following[ends] = self.face_starts
        vertices = np.stack((self.corner_vertex, self.corner_vertex[following]), axis=1)
        keys = np.sort(points[vertices].astype(np.int64), axis=1) @ (len(points), 1)
        _, edges, counts = np.unique(keys, return_inverse=True, return_counts=True)
        corners = np.flatnonzero(counts[edges.reshape(-1)] == 1)
        faces = np.searchsorted(self.face_starts, corners, side="right") - 1
        return vertices[corners].astype(np.intp), faces.astype(np.intp)

    def centre_of_faces(self, faces: Indices) -> Float64s:
        """Shape (k, 3), the mean of the corners of each of these faces."""
        sums = np.add.reduceat(self.positions[self.corner_vertex], self.face_starts)
        counts = np.diff(np.append(self.face_starts, len(self.corner_vertex)))
        return (sums[faces] / counts[faces, None]).astype(np.float64)

    @cached_property
    def points(self) -> Indices:
        """Shape (n,), of `points_of_vertices`."""
        return points_of_vertices(self.positions, self.influences)

    @cached_property
    def opened(self) -> Indices:
        """The vertices of its open edges."""
        return np.unique(self.open_edges(self.points)[0])

    @cached_property
    def rim(self) -> Rim:
        """Its open edges; where vertices lie in one place, their weights do not matter."""
        places = np.unique(self.positions, axis=0, return_inverse=True)[1].reshape(-1)
        edges, faces = self.open_edges(places)
        inward = self.centre_of_faces(faces) - self.positions[edges].mean(axis=1)
        sums = np.zeros((int(places.max(initial=-1)) + 1, 3))
        np.add.at(sums, places[edges].ravel(), np.repeat(inward, 2, axis=0))
        vertices = np.flatnonzero(np.isin(places, places[edges]))
        return Rim(vertices, self.positions[vertices], places[vertices], sums, places[edges])


@dataclass(frozen=True, eq=False)
class Rim:
    """The open edges of a mesh.

    Attributes:
        vertices: shape (k,), every vertex at an open edge, rising.
        positions: shape (k, 3), of these.
        places: shape (k,), vertices in one place have one number.
        inward: shape (number of places, 3), where the faces lie.
        edges: shape (e, 2), places.
    """

    vertices: Indices
    positions: Floats
    places: Indices
    inward: Float64s
    edges: Indices


@dataclass(frozen=True, eq=False)
class Seam:
    """Open edges of two meshes that run beside each other, with faces on both sides.

    Attributes:
        one, other: shape (p,), vertices of either mesh; every vertex of `one` at the seam once.
        distances: shape (p,), between them, armature space.
        differences: shape (p,), the largest between their weights.
    """

    one: Indices
    other: Indices
    distances: Float64s
    differences: Floats


def find_seam(one: SeamMesh, other: SeamMesh, size: float) -> Seam | None:
    """The seam of two meshes; None where they have none.

    Hems on skin and sockets around eyes have no open edge beside them, copies and levels of detail
    have their faces on the same side.

    Args:
        size: of the character.
    """
    first, second, most = one.rim, other.rim, SEAM_MEANT * size
    nearest = nearest_within(second.positions, first.positions, most)
    rows = np.flatnonzero(nearest >= 0)
    columns = nearest[rows]
    back = first.places[nearest_within(first.positions, second.positions[columns], most)]
    places, beside = first.places[rows], second.places[columns]
    facing = dots(first.inward[places], second.inward[beside]) < 0.0
    kept = (back == places) & facing
    partner = np.full(len(first.inward), -1)
    partner[places[kept]] = beside[kept]
    along = np.sort(partner[first.edges], axis=1)
    count = len(second.inward) + 1
    along_other = np.sort(second.edges, axis=1)
    matched = np.isin(along @ (count, 1), along_other @ (count, 1)) & (along[:, 0] >= 0)
    if matched.sum() < _FEWEST:
        return None
    kept &= np.isin(places, first.edges[matched])
    pairs = first.vertices[rows[kept]], second.vertices[columns[kept]]
    differences = _differences((one, other), pairs[0], pairs[1] + len(one.positions))
    apart = np.linalg.norm(one.positions[pairs[0]] - other.positions[pairs[1]], axis=1)
    return Seam(*pairs, apart.astype(np.float64), differences)


def seam_points(meshes: Sequence[SeamMesh]) -> Indices:
    """The point of each vertex of several meshes, one mesh behind the other.

    Vertices of a mesh are one point as `points_of_vertices` has it. Where open edges of two meshes
    lie in one place, with the same weights, their points are one.
    """
    own = [mesh.points for mesh in meshes]
    starts = np.cumsum([0, *(len(each) for each in own)])
    points = np.concatenate([each + start for each, start in zip(own, starts, strict=False)])
    if len(meshes) < 2:
        return points
    opened = [mesh.opened for mesh in meshes]
    of_mesh = np.repeat(np.arange(len(meshes)), [len(each) for each in opened])
    vertices = np.concatenate([each + start for each, start in zip(opened, starts, strict=False)])
    positions = np.concatenate([mesh.positions for mesh in meshes])
    one, other = _pairs(positions[vertices], SEAM_APART * extent(positions))
    apart = of_mesh[one] != of_mesh[other]
    one, other = vertices[one[apart]], vertices[other[apart]]
    alike = _differences(meshes, one, other) <= SEAM_ALIKE
    one, other = points[one[alike]], points[other[alike]]
    label = islands(np.stack((one, other), axis=1), len(positions))
    return np.unique(label[points], return_inverse=True)[1].reshape(-1)


def _pairs(positions: Floats, apart: float) -> tuple[Indices, Indices]:
    """The pairs of positions (m, 3) that are this near."""
    axis = int(np.ptp(positions, axis=0).argmax()) if len(positions) else 0
    order = np.argsort(positions[:, axis], kind="stable")
    ranked = positions[order]
    first, second = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
    for step in range(1, len(order)):
        rows = np.flatnonzero(ranked[step:, axis] - ranked[:-step, axis] <= apart)
        if not len(rows):
            break
        rows = rows[np.linalg.norm(ranked[rows + step] - ranked[rows], axis=1) <= apart]
        first.append(order[rows])
        second.append(order[rows + step])
    return np.concatenate(first), np.concatenate(second)


def _differences(meshes: Sequence[SeamMesh], one: Indices, other: Indices) -> Floats:
    """Shape (p,), the largest difference between the weights of two vertices of a pair."""
    every = Influences.joined([mesh.influences for mesh in meshes])
    ours, theirs = every.at(one), every.at(other)
    differ = (ours.bones != theirs.bones) | (ours.weights != theirs.weights)
    rows = np.flatnonzero(differ.any(axis=1))  # few: a mesh that is cut has the same on both sides
    bones = np.concatenate((ours.bones[rows], theirs.bones[rows]), axis=1)
    weights = np.concatenate((ours.weights[rows], -theirs.weights[rows]), axis=1)
    count = int(bones.max(initial=0)) + 1
    keys, places = np.unique(rows[:, None] * count + bones, return_inverse=True)
    sums = np.bincount(places.reshape(-1), weights.ravel(), len(keys))
    found = np.zeros(len(one))
    np.maximum.at(found, keys // count, np.abs(sums))
    return found

"""Seams: open edges of several meshes of a character that lie in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.vectors import extent
from .mesh_graph import points_of_vertices

# How far vertices of a seam may lie apart, in sizes of the character, and their weights differ.
_APART, _ALIKE = 1e-5, 1e-3


@dataclass(frozen=True, eq=False)
class SeamMesh:
    """A mesh at rest.

    Attributes:
        positions: shape (n, 3), armature space.
        influences: of the n vertices.
        face_starts: shape (f,), the first corner of each face.
        corner_vertex: shape (c,).
    """

    positions: NDArray[np.floating]
    influences: Influences
    face_starts: NDArray[np.integer]
    corner_vertex: NDArray[np.integer]

    def open_vertices(self, points: NDArray[np.intp]) -> NDArray[np.intp]:
        """The vertices at open edges: an edge of one face alone.

        Args:
            points: shape (n,), of `points_of_vertices`: splits inside the mesh are none.
        """
        if not len(self.corner_vertex):
            return np.zeros(0, np.intp)
        following = np.arange(1, len(self.corner_vertex) + 1)
        ends = np.append(self.face_starts[1:], len(self.corner_vertex)) - 1
        following[ends] = self.face_starts
        vertices = np.stack((self.corner_vertex, self.corner_vertex[following]), axis=1)
        keys = np.sort(points[vertices].astype(np.int64), axis=1) @ (len(points), 1)
        _, edges, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return np.unique(vertices[counts[edges.reshape(-1)] == 1]).astype(np.intp)


def seam_points(meshes: Sequence[SeamMesh]) -> NDArray[np.intp]:
    """The point of each vertex of several meshes, one mesh behind the other.

    Vertices of a mesh are one point as `points_of_vertices` has it. Where open edges of two meshes
    lie in one place, with the same weights, their points are one.
    """
    own = [points_of_vertices(mesh.positions, mesh.influences) for mesh in meshes]
    starts = np.cumsum([0, *(len(each) for each in own)])
    points = np.concatenate([each + start for each, start in zip(own, starts, strict=False)])
    if len(meshes) < 2:
        return points
    opened = [mesh.open_vertices(each) for mesh, each in zip(meshes, own, strict=True)]
    of_mesh = np.repeat(np.arange(len(meshes)), [len(each) for each in opened])
    vertices = np.concatenate([each + start for each, start in zip(opened, starts, strict=False)])
    positions = np.concatenate([mesh.positions for mesh in meshes])
    one, other = _pairs(positions[vertices], _APART * extent(positions))
    apart = of_mesh[one] != of_mesh[other]
    one, other = vertices[one[apart]], vertices[other[apart]]
    alike = _differences(meshes, starts, one, other) <= _ALIKE
    one, other = points[one[alike]], points[other[alike]]
    label = np.arange(len(positions))
    while len(one) and not np.array_equal(label[one], label[other]):
        lower = np.minimum(label[one], label[other])
        np.minimum.at(label, one, lower)
        np.minimum.at(label, other, lower)
    return np.unique(label[points], return_inverse=True)[1].reshape(-1)


def _pairs(
    positions: NDArray[np.floating], apart: float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
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


def _differences(
    meshes: Sequence[SeamMesh],
    starts: NDArray[np.integer],
    one: NDArray[np.intp],
    other: NDArray[np.intp],
) -> NDArray[np.floating]:
    """Shape (p,), the largest difference between the weights of two vertices of a pair."""
    bones, weights, rows = [], [], []
    for sign, vertices in ((1.0, one), (-1.0, other)):
        for mesh, start in zip(meshes, starts, strict=False):
            chosen = np.flatnonzero((vertices >= start) & (vertices < start + len(mesh.positions)))
            of_mesh = vertices[chosen] - start
            bones.append(mesh.influences.bones[of_mesh].ravel())
            weights.append(sign * mesh.influences.weights[of_mesh].ravel())
            rows.append(np.repeat(chosen, mesh.influences.width))
    row, bone, weight = np.concatenate(rows), np.concatenate(bones), np.concatenate(weights)
    count = int(bone.max(initial=0)) + 1
    keys, places = np.unique(row * count + bone, return_inverse=True)
    sums = np.bincount(places.reshape(-1), weight, len(keys))
    found = np.zeros(len(one))
    np.maximum.at(found, keys // count, np.abs(sums))
    return found

"""Seams: where vertices of several meshes of a character lie in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices, Int64s, Integers
from ...core.influences import Influences
from ...core.nearest_points import cell_keys, nearest_within
from ...core.vectors import dots, extent
from .rigid_pieces import islands, points_of_vertices

# How far vertices of a seam may lie apart, in sizes of the character, and their weights differ.
SEAM_APART, SEAM_ALIKE = 1e-5, 1e-3
# So far apart, in sizes of the character, open edges are meant to be a seam.
SEAM_MEANT = 1e-3
# The size of cells in which vertices in one place are looked for, in how far they may lie apart.
_CELL = 8.0
# An odd number that mixes the bits of those that it multiplies.
_MIX = np.int64(0x2545F4914F6CDD1D)
# The fewest edges of a seam.
_FEWEST = 3
_NO_PAIRS = np.zeros(0, np.intp), np.zeros(0, np.intp)


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

    def face_keys(self, places: Indices) -> Int64s:
        """Shape (k,), what tells faces apart by the places (n,) of vertices; not those at -1."""
        if not len(self.face_starts):
            return np.zeros(0, np.int64)
        corners = places[self.corner_vertex].astype(np.int64)
        kept = np.minimum.reduceat(corners, self.face_starts) >= 0
        # Sums of what looks like random numbers of 64 bits, whatever corner is first.
        mixed = (corners + 1) * _MIX
        mixed = (mixed ^ (mixed >> 29)) * _MIX
        return np.add.reduceat(mixed ^ (mixed >> 32), self.face_starts)[kept]

    @cached_property
    def points(self) -> Indices:
        """Shape (n,), of `points_of_vertices`."""
        return points_of_vertices(self.positions, self.influences)

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
    """Where two meshes meet: open edges beside each other, and vertices in one place.

    Attributes:
        one, other: shape (p,), vertices of either mesh; every vertex of `one` at the seam once.
        distances: shape (p,), between them, armature space.
        differences: shape (p,), the largest between their weights.
    """

    one: Indices
    other: Indices
    distances: Float64s
    differences: Floats


@dataclass(frozen=True, eq=False)
class MeshSeams:
    """The seams between the meshes of a character: vertices in one place are looked for once.

    A seam is where open edges run beside each other, which are meant to be a seam whatever their
    weights are, and where softening takes vertices of both for one, `seam_points`.

    Attributes:
        meshes: its meshes.
        size: of the character.
    """

    meshes: Sequence[SeamMesh]
    size: float

    @cached_property
    def _in_one_place(self) -> dict[tuple[int, int], tuple[Indices, Indices]]:
        """Of two meshes, the lower row first: the pairs of their vertices in one place."""
        counts = [len(mesh.positions) for mesh in self.meshes]
        of_mesh = np.repeat(np.arange(len(counts)), counts)
        positions = np.concatenate([mesh.positions for mesh in self.meshes])
        one, other = _pairs(positions, of_mesh, SEAM_APART * self.size)
        key = of_mesh[one] * len(counts) + of_mesh[other]
        order, starts = np.argsort(key, kind="stable"), np.cumsum([0, *counts])
        keys, first = np.unique(key[order], return_index=True)
        found = {}
        for each, rows in zip(keys.tolist(), np.split(order, first[1:]), strict=False):
            row, column = divmod(each, len(counts))
            found[row, column] = one[rows] - starts[row], other[rows] - starts[column]
        return found

    def between(self, row: int, column: int) -> Seam | None:
        """The seam of two of the meshes, the lower row first; None where they have none."""
        both = one, other = self.meshes[row], self.meshes[column]
        count, beside = len(one.positions), _beside(one, other, self.size)
        ours, theirs = self._in_one_place.get((row, column), _NO_PAIRS)
        starts = np.array([0, count, count + len(other.positions)])
        rows, columns = _joined(both, starts, (ours, theirs + count))
        rows, first = np.unique(rows, return_index=True)
        more = ~np.isin(rows, beside[0])
        if len(rows) < _FEWEST and not len(beside[0]):
            return None
        ours = np.concatenate((beside[0], rows[more]))
        theirs = np.concatenate((beside[1], columns[first[more]] - count))
        differences = _differences(one.influences.at(ours), other.influences.at(theirs))
        apart = np.linalg.norm(one.positions[ours] - other.positions[theirs], axis=1)
        return Seam(ours, theirs, apart.astype(np.float64), differences)


def find_seam(one: SeamMesh, other: SeamMesh, size: float) -> Seam | None:
    """The seam of two meshes of a character of a size; None where they have none."""
    return MeshSeams((one, other), size).between(0, 1)


def _beside(one: SeamMesh, other: SeamMesh, size: float) -> tuple[Indices, Indices]:
    """The vertices of two meshes at open edges that run beside each other, faces on both sides.

    Hems on skin and sockets around eyes have no open edge beside them, copies and levels of detail
    have their faces on the same side.

    Returns:
        shape (p,) both, pairs.
    """
    first, second, most = one.rim, other.rim, SEAM_MEANT * size
    nearest = nearest_within(second.positions, first.positions, most)
    rows = np.flatnonzero(nearest >= 0)
    if len(rows) < _FEWEST:
        return _NO_PAIRS
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
    kept &= np.isin(places, first.edges[matched]) & (matched.sum() >= _FEWEST)
    return first.vertices[rows[kept]], second.vertices[columns[kept]]


def seam_points(meshes: Sequence[SeamMesh]) -> Indices:
    """The point of each vertex of several meshes, one mesh behind the other.

    Vertices of a mesh are one point as `points_of_vertices` has it. Where vertices of two meshes
    lie in one place, with the same weights, their points are one, but for those of copies: what
    most of whose faces another mesh has, too.
    """
    own = [mesh.points for mesh in meshes]
    starts = np.cumsum([0, *(len(each) for each in own)])
    points = np.concatenate([each + start for each, start in zip(own, starts, strict=False)])
    if len(meshes) < 2:
        return points
    positions = np.concatenate([mesh.positions for mesh in meshes])
    of_mesh = np.repeat(np.arange(len(meshes)), np.diff(starts))
    pairs = _pairs(positions, of_mesh, SEAM_APART * extent(positions))
    one, other = _joined(meshes, starts, pairs)
    edges = np.stack((points[one], points[other]), axis=1)
    label = islands(edges, len(positions))
    return np.unique(label[points], return_inverse=True)[1].reshape(-1)


def _joined(
    meshes: Sequence[SeamMesh], starts: Indices, pairs: tuple[Indices, Indices]
) -> tuple[Indices, Indices]:
    """The pairs of vertices of meshes, one behind the other, that are one point at their seams.

    Args:
        starts: shape (k + 1,), the first vertex of each mesh.
        pairs: shape (p,) both, vertices of two meshes in one place.
    """
    one, other = pairs
    if not len(one):
        return pairs
    every = Influences.joined([mesh.influences for mesh in meshes])
    alike = _differences(every.at(one), every.at(other)) <= SEAM_ALIKE
    one, other = one[alike], other[alike]
    of_mesh = np.repeat(np.arange(len(meshes)), np.diff(starts))
    meets = of_mesh[one], of_mesh[other]
    copies = _are_copies(meshes, starts, (one, other), meets)
    seams = ~(copies[meets[0]] | copies[meets[1]])
    return one[seams], other[seams]


def pairs_in_one_place(positions: Floats, apart: float) -> tuple[Indices, Indices]:
    """The pairs of positions (n, 3) that are this near, shape (p,) both."""
    return _pairs(positions, np.arange(len(positions)), apart)


def _pairs(positions: Floats, of_mesh: Indices, apart: float) -> tuple[Indices, Indices]:
    """The pairs of positions (m, 3) of two meshes that are this near, the first mesh first."""
    if not apart > 0.0:
        return _NO_PAIRS
    # Each position is in all cells that lie so near to it.
    lowest, cell = positions.min(axis=0) - apart, _CELL * apart
    low = np.floor((positions - apart - lowest) / cell).astype(np.int64)
    more = np.floor((positions + apart - lowest) / cell).astype(np.int64) > low
    sizes, rows, keys = low.max(axis=0) + 2, [], []
    for corner in np.ndindex(2, 2, 2):
        chosen = np.flatnonzero((more | ~np.array(corner, np.bool_)).all(axis=1))
        rows.append(chosen)
        keys.append(cell_keys(low[chosen] + corner, sizes))
    row, key = np.concatenate(rows), np.concatenate(keys)
    order = np.lexsort((of_mesh[row], key))
    row, key = row[order], key[order]
    first, second = [_NO_PAIRS[0]], [_NO_PAIRS[1]]
    begins = np.arange(len(row))
    for step in range(1, len(row)):
        begins = begins[begins + step < len(row)]
        begins = begins[key[begins] == key[begins + step]]
        if not len(begins):
            break
        pairs = row[begins], row[begins + step]
        near = np.linalg.norm(positions[pairs[0]] - positions[pairs[1]], axis=1) <= apart
        near &= of_mesh[pairs[0]] != of_mesh[pairs[1]]
        first.append(pairs[0][near])
        second.append(pairs[1][near])
    return np.concatenate(first), np.concatenate(second)


def _are_copies(
    meshes: Sequence[SeamMesh],
    starts: Indices,
    pairs: tuple[Indices, Indices],
    meets: tuple[Indices, Indices],
) -> Booleans:
    """Shape (k,), the meshes most of whose faces lie in one place with those of a larger one.

    Of equal ones the first is none.

    Args:
        starts: shape (k + 1,), the first vertex of each mesh.
        pairs: shape (p,) both, vertices in one place.
        meets: shape (p,) both, their meshes.
    """
    found, sizes = np.zeros(len(meshes), np.bool_), [len(mesh.face_starts) for mesh in meshes]
    key = meets[0] * len(meshes) + meets[1]
    order = np.argsort(key, kind="stable")
    for both, count in zip(*np.unique(key, return_counts=True), strict=True):
        rows, order = order[:count], order[count:]
        row, column = divmod(int(both), len(meshes))
        smaller = row if sizes[row] < sizes[column] else column
        # Faces have at least half as many vertices.
        if found[smaller] or 4 * len(rows) < sizes[smaller]:
            continue
        one, other = pairs[0][rows] - starts[row], pairs[1][rows] - starts[column]
        places = [np.full(len(meshes[mesh].positions), -1) for mesh in (row, column)]
        places[0][one] = one
        places[1][other] = one
        shared = np.isin(meshes[row].face_keys(places[0]), meshes[column].face_keys(places[1]))
        found[smaller] = 2 * shared.sum() > sizes[smaller]
    return found


def _differences(one: Influences, other: Influences) -> Floats:
    """Shape (p,), the largest difference between the weights of two vertices of a pair."""
    both = Influences.joined((one, other))
    bones = both.bones.reshape(2, len(one.bones), -1)
    weights = both.weights.reshape(bones.shape)
    differ = (bones[0] != bones[1]) | (weights[0] != weights[1])
    rows = np.flatnonzero(differ.any(axis=1))  # few: a mesh that is cut has the same on both sides
    bones = np.concatenate(bones[:, rows], axis=1)
    weights = np.concatenate((weights[0, rows], -weights[1, rows]), axis=1)
    count = int(bones.max(initial=0)) + 1
    keys, places = np.unique(rows[:, None] * count + bones, return_inverse=True)
    sums = np.bincount(places.reshape(-1), weights.ravel(), len(keys))
    found = np.zeros(len(one.bones))
    np.maximum.at(found, keys // count, np.abs(sums))
    return found

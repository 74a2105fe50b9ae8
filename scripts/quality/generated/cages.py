"""Skin of blocks that lie side by side, subdivided: closed, with rings on limbs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Cell = tuple[int, int, int]

# The corners of a block's six sides, counter-clockwise from outside; and where its neighbour is.
_SIDES: tuple[tuple[Cell, tuple[Cell, ...]], ...] = (
    ((-1, 0, 0), ((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0))),
    ((1, 0, 0), ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1))),
    ((0, -1, 0), ((0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1))),
    ((0, 1, 0), ((0, 1, 0), (0, 1, 1), (1, 1, 1), (1, 1, 0))),
    ((0, 0, -1), ((0, 0, 0), (0, 1, 0), (1, 1, 0), (1, 0, 0))),
    ((0, 0, 1), ((0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))),
)


@dataclass(frozen=True, eq=False)
class Skin:
    """A mesh of quads.

    Attributes:
        points: shape (n, 3), metres.
        faces: shape (f, 4), counter-clockwise from outside.
        cells: shape (f, 3), the block of which each face is.
    """

    points: Array
    faces: NDArray[np.int32]
    cells: NDArray[np.int32]

    def of_faces(self, chosen: NDArray[np.bool_]) -> Skin:
        """Some of the faces, with their vertices alone."""
        used, faces = np.unique(self.faces[chosen], return_inverse=True)
        faces = faces.reshape(-1, 4).astype(np.int32)
        return Skin(self.points[used], faces, self.cells[chosen])

    def normals(self) -> Array:
        """Shape (n, 3), unit, the mean of the faces around each vertex by their areas."""
        diagonals = self.points[self.faces]
        turns = np.cross(diagonals[:, 2] - diagonals[:, 0], diagonals[:, 3] - diagonals[:, 1])
        found = np.zeros_like(self.points)
        np.add.at(found, self.faces, turns[:, None])
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)

    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Ends (e, 2); which edge begins at each corner (f, 4); and of how many faces each is."""
        pairs = np.stack((self.faces, np.roll(self.faces, -1, 1)), 2).astype(np.int64)
        keys = np.sort(pairs, axis=2) @ (len(self.points), 1)
        unique, edges, counts = np.unique(keys, return_inverse=True, return_counts=True)
        ends = np.stack((unique // len(self.points), unique % len(self.points)), 1)
        return ends, edges.reshape(-1, 4), counts

    def rims(self) -> list[list[int]]:
        """The loops of open edges, each a list of vertices against the direction of its faces."""
        _, edges, counts = self.edges()
        face, corner = np.nonzero(counts[edges] == 1)
        ends = self.faces[face, (corner + 1) % 4], self.faces[face, corner]
        after = dict(zip(ends[0].tolist(), ends[1].tolist(), strict=True))
        loops = []
        while after:
            loop = [next(iter(after))]
            while (following := after.pop(loop[-1], None)) not in (None, loop[0]):
                assert following is not None
                loop.append(following)
            loops.append(loop)
        return loops

    def capped(self) -> Skin:
        """With every open loop closed by faces from one of its sides to the other."""
        caps = []
        for loop in self.rims():
            half = len(loop) // 2
            caps += [(loop[i], loop[i + 1], loop[-2 - i], loop[-1 - i]) for i in range(half - 1)]
        if not caps:
            return self
        cells = np.repeat(self.cells[:1], len(caps), 0)
        faces = np.concatenate((self.faces, np.array(caps, np.int32)))
        return Skin(self.points, faces, np.concatenate((self.cells, cells)))

    def above(self, height: float) -> Skin:
        """The same at a distance along its normals."""
        return Skin(self.points + height * self.normals(), self.faces, self.cells)

    def thick(self, thickness: float) -> Skin:
        """With an inner side at this distance below, and faces from rim to rim."""
        count = len(self.points)
        inner = self.points - thickness * self.normals()
        rims = [
            (a, b, b + count, a + count)
            for loop in self.rims()
            for a, b in zip(loop, [*loop[1:], loop[0]], strict=True)
        ]
        back = self.faces[:, ::-1] + count
        faces = np.concatenate((self.faces, back, np.array(rims, np.int32).reshape(-1, 4)))
        cells = np.concatenate((self.cells, self.cells, np.repeat(self.cells[:1], len(rims), 0)))
        return Skin(np.concatenate((self.points, inner)), faces.astype(np.int32), cells)

    def subdivided(self) -> Skin:
        """One step of Catmull and Clark (1978), open edges as curves of their own."""
        ends, edges, counts = self.edges()
        points, faces, count = self.points, self.faces, len(self.points)
        centres = points[faces].mean(axis=1)
        middles, around = points[ends].mean(axis=1), np.zeros((len(ends), 3))
        np.add.at(around, edges, centres[:, None])
        is_open = counts == 1
        on_edges = np.where(is_open[:, None], middles, 0.5 * middles + 0.25 * around)
        valence = np.bincount(ends.ravel(), minlength=count)[:, None]
        by_faces, by_edges, by_rims = (np.zeros((count, 3)) for _ in range(3))
        np.add.at(by_faces, faces, centres[:, None])
        np.add.at(by_edges, ends, middles[:, None])
        np.add.at(by_rims, ends[is_open], middles[is_open][:, None])
        of_faces = np.bincount(faces.ravel(), minlength=count)[:, None]
        inner = by_faces / of_faces + 2.0 * by_edges / valence + (valence - 3.0) * points
        moved = inner / valence
        rim = np.unique(ends[is_open])
        moved[rim] = 0.5 * points[rim] + 0.25 * by_rims[rim]
        at_edges, at_centres = count + edges, count + len(ends) + np.arange(len(faces))
        corners = [
            np.stack((faces[:, c], at_edges[:, c], at_centres, at_edges[:, c - 1]), 1)
            for c in range(4)
        ]
        return Skin(
            np.concatenate((moved, on_edges, centres)),
            np.concatenate(corners).astype(np.int32),
            np.tile(self.cells, (4, 1)),
        )


def skin_of(
    cells: Collection[Cell],
    places: Mapping[Cell, Array] | Callable[[Cell], Array],
    open_sides: Collection[tuple[Cell, Cell]] = (),
) -> Skin:
    """The outer side of blocks.

    Args:
        cells: the blocks, by the lowest of their corners in the lattice.
        places: where the corners of the lattice are, metres.
        open_sides: blocks and where the neighbours are that they miss: no face is there.
    """
    of_corner = places if callable(places) else places.__getitem__
    known, numbers, faces, of_cell = set(cells), dict[Cell, int](), [], []
    for cell in cells:
        for way, corners in _SIDES:
            if _sum(cell, way) in known or (cell, way) in open_sides:
                continue
            at = [_sum(cell, corner) for corner in corners]
            faces.append([numbers.setdefault(each, len(numbers)) for each in at])
            of_cell.append(cell)
    points = np.array([of_corner(each) for each in numbers], np.float64)
    return Skin(points, np.array(faces, np.int32), np.array(of_cell, np.int32))


def _sum(one: Cell, other: Cell) -> Cell:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]

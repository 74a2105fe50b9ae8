"""Smooths many functions with the same masses on a mesh: solved directly, for all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Float64s, Floats, Indices, Integers
from .mesh_graph import MeshGraph
from .rigid_pieces import islands

# The most vertices that are solved together: BLAS starts no threads for so few.
_PART = 80

# A cut through more vertices than this, in roots of how many it cuts, goes through many pieces.
_WIDE_CUT = 4.0

# The least mass, of the sum of the pulls at a vertex.
_LEAST_MASS = 1e-9

# Products of matrices that it starts none for, either. They wait for each other longer than these
# take, the more so where other programs run.
_FEW_PRODUCTS, _LEAST_STRIP = 1 << 18, 4


@dataclass(eq=False)
class _Part:
    """Some vertices, solved together where those that cut them off are known.

    Attributes:
        own: shape (m,).
        parent: the part that cuts these off from others, among the parts before; -1: none does.
        rim: shape (r,), the vertices beside these and beside what they cut, of parts before.
        rim_in_parent: shape (r,), the places of these among own and rim of the parent.
        groups: shape (g,), whose values begin here or come from what these vertices cut, rising.
        solved: shape (m, r + g), what is subtracted for each value at the rim, and the values of
            the groups where those are 0.
    """

    own: Indices
    parent: int
    rim: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    rim_in_parent: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
    groups: Integers = field(default_factory=lambda: np.zeros(0, np.intp))
    solved: Float64s = field(default_factory=lambda: np.zeros((0, 0)))


class SmoothSystem:
    """The system of `smooth_values` at some vertices, for many functions: nested dissection.

    The surface is cut in halves again and again (George 1973, Nested dissection of a regular finite
    element mesh). Both halves are eliminated, each by itself, before the vertices along the cut:
    matrices stay small and dense, on a surface of n vertices those of the largest cut have some
    sqrt(n) rows.

    Args:
        graph: of all n vertices, each edge once.
        positions: shape (n, 3), by which it is cut.
        vertices: shape (m,), at which it is solved.
        masses: shape (n,), above 0 at these. Those of next to no skin count for more than they
            are: by less the system would not say what it solves.
        least_mass: the least mass, of the sum of the pulls at a vertex; 0 where some of the
            vertices hang together with others, at which it is not solved.
    """

    def __init__(
        self,
        graph: MeshGraph,
        positions: Floats,
        vertices: Indices,
        masses: Floats,
        least_mass: float = _LEAST_MASS,
    ) -> None:
        self._graph, self._masses = graph, np.maximum(masses, least_mass * graph.degrees)
        self._diagonal = graph.degrees + self._masses
        self._parts = _dissected(graph, positions, vertices)
        # The part of each vertex; behind all parts where nothing is solved.
        self._part_of = np.full(len(positions) + 1, len(self._parts), np.intp)
        for row, part in enumerate(self._parts):
            self._part_of[part.own] = row

    def eliminated(self, groups: Integers, values: Floats) -> Iterator[float]:
        """Solve it up to the cuts, part by part.

        Args:
            groups, values: shape (n, k), what the functions are at each vertex, each group at most
                once where the value is not 0. They stay what they are where nothing is solved.

        Yields:
            how much is done, 0 to 1.
        """
        (vertices, of, amounts), starts = self._sources(groups, values)
        place = np.empty(len(self._part_of), np.intp)
        waiting: list[list[tuple[_Part, Float64s]]] = [[] for _ in self._parts]
        for row in range(len(self._parts) - 1, -1, -1):
            part, at = self._parts[row], slice(starts[row], starts[row + 1])
            begins = vertices[at], of[at], amounts[at]
            rest = self._eliminate(row, waiting.pop(), begins, place)
            if part.parent >= 0:
                waiting[part.parent].append((part, rest))
            yield 1.0 - row / len(self._parts)

    def _sources(
        self, groups: Integers, values: Floats
    ) -> tuple[tuple[Indices, Integers, Floats], Indices]:
        """The right sides: vertices, groups and amounts, (s,), by parts; and where each begins."""
        count, part_of = len(self._parts), self._part_of
        at, slots = np.nonzero((values != 0.0) & (part_of[:-1] < count)[:, None])
        vertices, of, amounts = [at], [groups[at, slots]], [values[at, slots] * self._masses[at]]
        # What pulls from vertices that stay.
        ranks, beside = np.nonzero(
            (part_of[self._graph.neighbours] == count) & (self._graph.pulls != 0.0)
        )
        ranks, beside = ranks[part_of[beside] < count], beside[part_of[beside] < count]
        stays = self._graph.neighbours[ranks, beside]
        pulls, (rows, slots) = self._graph.pulls[ranks, beside], np.nonzero(values[stays])
        vertices.append(beside[rows])
        of.append(groups[stays[rows], slots])
        amounts.append(pulls[rows] * values[stays[rows], slots])
        every = np.concatenate(vertices)
        order = np.argsort(part_of[every], kind="stable")
        starts = np.searchsorted(part_of[every][order], np.arange(count + 1))
        found = every[order], np.concatenate(of)[order], np.concatenate(amounts)[order]
        return found, starts

    def _eliminate(
        self,
        row: int,
        inner: list[tuple[_Part, Float64s]],
        begins: tuple[Indices, Integers, Floats],
        place: Indices,
    ) -> Float64s:
        """Solve a part after the parts that it cuts, and return what is left at its rim."""
        part, part_of = self._parts[row], self._part_of
        own, size, (vertices, of, amounts) = part.own, len(part.own), begins
        near = self._graph.neighbours[:, own]
        later = part_of[near]
        rims = [each.rim[part_of[each.rim] < row] for each, _ in inner]
        part.rim = np.unique(np.concatenate((near[later < row], *rims)))
        part.groups = np.unique(np.concatenate((of, *(each.groups for each, _ in inner))))
        width, count = size + len(part.rim), len(part.groups)
        place[own], place[part.rim] = np.arange(size), np.arange(size, width)
        system = np.zeros((width, width + count))
        ranks, at = np.nonzero(later <= row)
        system[at, place[near[ranks, at]]] = -self._graph.pulls[ranks, own[at]]
        system[np.arange(size), np.arange(size)] = self._diagonal[own]
        cells = place[vertices] * count + np.searchsorted(part.groups, of)
        system[:size, width:] = np.bincount(cells, amounts, size * count).reshape(size, count)
        for each, rest in inner:
            each.rim_in_parent = place[each.rim]
            columns = width + np.searchsorted(part.groups, each.groups)
            system[each.rim_in_parent[:, None], np.append(each.rim_in_parent, columns)] += rest
        inverse = np.linalg.inv(system[:size, :size])
        part.solved = _matrix_product(inverse, system[:size, size:])
        rest = system[size:, size:]
        rest -= _matrix_product(system[:size, size:width].T, part.solved)
        return rest

    def solutions(self, least: float) -> Iterator[tuple[Indices, Integers, Float64s]]:
        """The values, part by part, once all is eliminated.

        Args:
            least: groups none of whose values at a rim is as large are 0 behind it.

        Yields:
            vertices (m,), groups (g,), rising, and their values (m, g).
        """
        found: list[tuple[Integers, Float64s]] = []
        for part in self._parts:
            size, rim = len(part.own), len(part.rim)
            groups, values = part.groups, part.solved[:, rim:]
            if rim:
                known, beyond = found[part.parent]
                beyond = beyond[part.rim_in_parent]
                reach = (beyond >= least).any(axis=0)
                known, beyond = known[reach], beyond[:, reach]
                groups = np.union1d(part.groups, known)
                whole = np.zeros((size + rim, len(groups)))
                whole[:size, np.searchsorted(groups, part.groups)] = values
                columns = np.searchsorted(groups, known)
                whole[:size, columns] -= _matrix_product(part.solved[:, :rim], beyond)
                whole[size:, columns] = beyond
                values = whole
            found.append((groups, values))
            yield part.own, groups, values[:size]


def _matrix_product(one: Float64s, other: Float64s) -> Float64s:
    """The product of matrices, if they are not large in strips that BLAS starts no threads for."""
    step = _FEW_PRODUCTS // max(other.size, 1)
    if step < _LEAST_STRIP:
        return one @ other
    result = np.empty((len(one), other.shape[1]))
    for first in range(0, len(one), step):
        np.matmul(one[first : first + step], other, out=result[first : first + step])
    return result


def _dissected(graph: MeshGraph, positions: Floats, vertices: Indices) -> list[_Part]:
    """The parts of some vertices, each before those that it cuts off from each other."""
    parts, beyond = list[_Part](), np.zeros(len(positions) + 1, np.bool_)
    left = [(piece, -1) for piece in _pieces(graph, vertices)]
    while left:
        chosen, parent = left.pop()
        if len(chosen) <= _PART:
            parts += [_Part(chosen, parent)] if len(chosen) else []
            continue
        places, half = positions[chosen], len(chosen) // 2
        order = np.argpartition(places[:, np.argmax(np.ptp(places, axis=0))], half)
        one, other = chosen[order[:half]], chosen[order[half:]]
        beyond[other] = True
        cut = beyond[graph.neighbours[:, one]].any(axis=0)
        beyond[other] = False
        along_cut = one[cut]
        for first in range(0, len(along_cut), _PART):
            parts.append(_Part(along_cut[first : first + _PART], parent))
            parent = len(parts) - 1
        sides = [one[~cut], other]
        if len(along_cut) > _WIDE_CUT * np.sqrt(half):
            sides = [piece for side in sides for piece in _pieces(graph, side)]
        left += [(side, parent) for side in sides]
    return parts


def _pieces(graph: MeshGraph, vertices: Indices) -> list[Indices]:
    """The connected pieces of some vertices; small ones together."""
    rows = np.arange(len(vertices))
    place = np.full(graph.neighbours.shape[1] + 1, -1, np.intp)
    place[vertices] = rows
    near = place[graph.neighbours[:, vertices]]
    ranks, at = np.nonzero(near > rows)
    labels = islands(np.stack((at, near[ranks, at]), axis=1), len(vertices))
    sizes = np.bincount(labels, minlength=len(vertices))
    small = np.where(sizes <= _PART, sizes, 0)
    batch = np.where(sizes > _PART, rows, len(vertices) + np.cumsum(small) // _PART)[labels]
    order = np.argsort(batch, kind="stable")
    return np.split(vertices[order], np.flatnonzero(np.diff(batch[order])) + 1)

"""The graph of vertices and edges, and weights on it: spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Int64s, Integers
from ..core.influences import Influences
from ..core.vectors import places_in_rows

# Vertices and the edges between them, and functions on the vertices that are smooth along these.
#
# What is spread or diffused over a mesh is the solution of a sparse, symmetric system: each value
# is bound to its neighbours by the pulls of the edges, and to what it was by a mass.

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


def _with_unused_row(values: Floats) -> Float64s:
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


# Many functions with the same masses: the system is solved directly, for all of them at once.


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
    groups: Indices = field(default_factory=lambda: np.zeros(0, np.intp))
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
    """

    def __init__(
        self, graph: MeshGraph, positions: Floats, vertices: Indices, masses: Floats
    ) -> None:
        self._graph, self._masses = graph, np.maximum(masses, _LEAST_MASS * graph.degrees)
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
    ) -> tuple[tuple[Indices, Indices, Float64s], Indices]:
        """The right sides: vertices, groups and amounts, (s,), by parts; and where each begins."""
        count, part_of = len(self._parts), self._part_of
        at, slots = np.nonzero((values != 0.0) & (part_of[:-1] < count)[:, None])
        vertices, of, amounts = [at], [groups[at, slots]], [values[at, slots] * self._masses[at]]
        # What pulls from vertices that stay.
        ranks, beside = np.nonzero(
            (part_of[self._graph.neighbours] == count) & (self._graph.pulls > 0.0)
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
        begins: tuple[Indices, Indices, Float64s],
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

    def solutions(self, least: float) -> Iterator[tuple[Indices, Indices, Float64s]]:
        """The values, part by part, once all is eliminated.

        Args:
            least: groups none of whose values at a rim is as large are 0 behind it.

        Yields:
            vertices (m,), groups (g,), rising, and their values (m, g).
        """
        found: list[tuple[Indices, Float64s]] = []
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


# Spreads weights along the edges of a mesh to the vertices without weights.

# The fill ends when it changes no weight by this much in a round.
_STILL = 1e-5
# Rows of edges times groups that are held in memory at once.
_MOST_NUMBERS = 4_000_000


def islands(edges: Integers, vertex_count: int) -> Int64s:
    """Which connected part of the mesh each vertex belongs to.

    Args:
        edges: shape (m, 2), vertices.

    Returns:
        shape (n,); the least vertex of the part.
    """
    labels = np.arange(vertex_count, dtype=np.int64)
    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    while len(ends):
        ends = labels[ends]
        ends = ends[ends[:, 0] != ends[:, 1]]
        # Parts that touch are hooked onto the least one, and the chains that come of it shortened.
        np.minimum.at(labels, ends.max(axis=1), ends.min(axis=1))
        while True:
            shorter = labels[labels]
            if np.array_equal(shorter, labels):
                break
            labels = shorter
    return labels


# How far weights may differ that count as the same.
_ALIKE = 1e-5


def points_of_vertices(positions: Floats, influences: Influences) -> Indices:
    """Shape (n,), 0 to m - 1: vertices in one place with the same weights are one of m points."""
    if not len(positions):
        return np.zeros(0, np.intp)
    order = np.lexsort(positions.T)
    steps = (positions[order[1:]] != positions[order[:-1]]).any(axis=1)
    places = np.empty(len(positions), np.intp)
    places[order] = np.append(0, np.cumsum(steps))
    first = np.unique(places, return_index=True)[1][places]
    alone = ~_same_weights(influences, first)
    places[alone] = places.max() + 1 + np.arange(np.count_nonzero(alone))
    return np.unique(places, return_inverse=True)[1].reshape(-1)


def rigid_pieces(
    positions: Floats, influences: Influences, edges: Integers, parts: Int64s | None = None
) -> Int64s:
    """The rigid piece that each vertex belongs to: armour, a robot's part, a button, an eye.

    A rigid piece is a connected part of the mesh, of more than one point, whose vertices all have
    the same weights: it follows its bones as one thing. Vertices in one place with the same weights
    are one point, so that a piece may be split along its seams.

    Args:
        positions: shape (n, 3), at rest.
        influences: of the n vertices, as they are painted.
        edges: shape (m, 2), vertices.
        parts: `islands` of the edges, if they are known.

    Returns:
        shape (n,); one number for the vertices of a piece, -1 for vertices of none.
    """
    labels = islands(edges, len(positions)) if parts is None else parts
    rigid = _whole(_same_weights(influences, labels), labels)
    if not rigid[edges].any():  # most characters: this costs little
        return np.full(len(positions), -1, np.int64)
    points = points_of_vertices(positions, influences)
    ends = points[edges]
    labels = islands(ends[ends[:, 0] != ends[:, 1]], int(points.max()) + 1)[points]
    first = np.unique(labels, return_index=True, return_inverse=True)[1:]
    rigid = _whole(_same_weights(influences, first[0][first[1].reshape(-1)]), labels)
    rigid &= np.bincount(labels, (labels != points))[labels] > 0
    return np.where(rigid, labels, -1)


def _whole(alike: Booleans, labels: Integers) -> Booleans:
    """Shape (n,): whether all vertices with the same label are alike."""
    return np.bincount(labels, ~alike)[labels] == 0


def _same_weights(influences: Influences, others: Integers) -> Booleans:
    """Shape (n,): whether each vertex has the weights of another one, shape (n,)."""
    bones, weights = influences.bones, influences.weights
    same = np.abs(weights - weights[others]) <= _ALIKE
    same &= (bones == bones[others]) | (weights <= _ALIKE)
    return same.all(axis=1)


def spread_weights(
    weights: Floats, known: Booleans, edges: Integers, positions: Floats
) -> tuple[Floats, Booleans]:
    """Fill in the weights of vertices from their neighbours along edges, smoothly.

    Ring by ring each vertex takes the mean of the neighbours that have weights, the nearer ones
    counting more. From there conjugate gradients find the harmonic function: every filled vertex
    is the mean of all its neighbours. A sum of 1 in the known rows stays 1.

    Args:
        weights: shape (n, g); rows of vertices that are not known do not count.
        known: shape (n,).
        edges: shape (m, 2), vertices.
        positions: shape (n, 3).

    Returns:
        shape (n, g), the known rows as they were, and shape (n,), which rows are filled now: a
        vertex that no edges lead to from a known one stays 0 and unfilled.
    """
    graph = _graph_of(edges, positions)
    start = np.where(known[:, None], weights, 0.0)
    columns = max(1, _MOST_NUMBERS // max(1, graph.pulls.size))
    parts = [start[:, first : first + columns] for first in range(0, start.shape[1], columns)]
    filled = known.copy()
    results = []
    for part in parts:
        result, filled = _ring_by_ring(part, known, graph)
        rows = np.flatnonzero(filled & ~known)
        massless = np.zeros(len(rows))
        smooth = [smooth_values(graph, values, rows, massless, _STILL) for values in result.T]
        result[rows] = np.maximum(np.stack(smooth, axis=1), 0.0)
        results.append(result)
    return (np.concatenate(results, axis=1) if results else start), filled


def _ring_by_ring(weights: Floats, known: Booleans, graph: MeshGraph) -> tuple[Float64s, Booleans]:
    """Shape (n, g), and shape (n,), which rows are filled."""
    # 1 beside the weights where a vertex is filled: its neighbours' pulls count then.
    result = _with_unused_row(np.column_stack((weights, known.astype(np.float64))))
    left = np.flatnonzero(~known)
    while len(left):
        sums = graph.at(left).pulled(result)
        reached = sums[:, -1] > 0.0
        if not reached.any():
            break
        result[left[reached]] = sums[reached] / sums[reached, -1:]
        left = left[~reached]
    return result[:-1, :-1], result[:-1, -1] > 0.0


def averaged_weights(weights: Floats, edges: Integers, positions: Floats, rounds: int) -> Floats:
    """Average all vertices with their neighbours, some times.

    Args:
        weights: shape (n, g).
        edges: shape (m, 2), vertices.
        positions: shape (n, 3).

    Returns:
        shape (n, g).
    """
    graph = _graph_of(edges, positions)
    connected = np.flatnonzero(graph.degrees)
    near, result = graph.at(connected), _with_unused_row(weights)
    for _ in range(rounds):
        # Half of the way: a checkerboard would swing for ever.
        mean = near.pulled(result) / near.degrees[:, None]
        result[connected] = 0.5 * (result[connected] + mean)
    return result[:-1]


def strongest_weights(weights: Floats, most: int) -> Floats:
    """Keep the `most` largest weights of each row, without those of less than 1 %; sums become 1.

    Args:
        weights: shape (m, g), rows with a sum above 0.
        most: at least 1.
    """
    total = weights.sum(axis=1, keepdims=True)
    kept = weights / np.where(total > 0.0, total, 1.0)
    largest = kept.max(axis=1, keepdims=True, initial=0.0)
    kept = np.where((kept >= 0.01) | (kept == largest), kept, 0.0)
    if most < kept.shape[1]:
        cut = np.argpartition(kept, kept.shape[1] - most, axis=1)[:, : kept.shape[1] - most]
        np.put_along_axis(kept, cut, 0.0, axis=1)
    total = kept.sum(axis=1, keepdims=True)
    return kept / np.where(total > 0.0, total, 1.0)


def _graph_of(edges: Integers, positions: Floats) -> MeshGraph:
    """Each edge pulls by one over its length."""
    lengths = np.linalg.norm(positions[edges[:, 0]] - positions[edges[:, 1]], axis=1)
    # Vertices in one place pull most, but not without limit.
    shortest = 1e-3 * float(lengths.mean()) if len(lengths) else 1.0
    return MeshGraph.of(edges, 1.0 / np.maximum(lengths, max(shortest, 1e-12)), len(positions))

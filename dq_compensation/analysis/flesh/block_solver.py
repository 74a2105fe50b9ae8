"""Sparse symmetric systems whose unknowns lie in slices: mathematics of the preconditioner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Float32s, Float64s, Floats, Indices, Integers


class SlicedSystem:
    """A block tridiagonal system, factored; single precision, which a preconditioner needs.

    Args:
        slices: shape (n,), the slice of each unknown: neighbours are in the same or the next one.
        rows, columns: shape (m,), each pair once, both halves of the matrix.
        values: shape (m,); the matrix is positive definite.
    """

    def __init__(self, slices: Integers, rows: Integers, columns: Integers, values: Floats) -> None:
        order = np.argsort(slices, kind="stable")
        place = np.empty(len(order), np.intp)
        place[order] = np.arange(len(order))
        self._order, self._place = order, place
        ends = np.flatnonzero(np.diff(slices[order])) + 1
        self._starts = np.concatenate(([0], ends, [len(order)]))
        block = np.repeat(np.arange(len(self._starts) - 1), np.diff(self._starts))
        rows, columns = place[rows], place[columns]
        by_block = np.argsort(block[rows], kind="stable")
        rows, columns = rows[by_block], columns[by_block]
        values = values[by_block].astype(np.float32)
        bounds = np.searchsorted(block[rows], np.arange(len(self._starts)))
        self._inverses: list[Float32s] = []
        self._back: list[Float32s] = []
        for k, (start, end) in enumerate(zip(self._starts[:-1], self._starts[1:], strict=True)):
            at = slice(bounds[k], bounds[k + 1])
            row, column, value, of = rows[at] - start, columns[at], values[at], block[columns[at]]
            matrix = np.zeros((end - start, end - start), np.float32)
            own = of == k
            matrix[row[own], column[own] - start] = value[own]
            if k:
                before = self._starts[k - 1]
                coupling = np.zeros((end - start, start - before), np.float32)
                own = of == k - 1
                coupling[row[own], column[own] - before] = value[own]
                solved = self._inverses[-1] @ coupling.T
                matrix -= coupling @ solved
                self._back.append(solved)
            self._inverses.append(np.linalg.inv(matrix))

    def solve(self, right: Floats) -> Float64s:
        """The solutions for right sides (k, n), of the same shape."""
        values = np.ascontiguousarray(right[:, self._order].astype(np.float32).T)
        starts, blocks = self._starts, len(self._inverses)
        found = np.empty_like(values)
        for k in range(blocks):
            at = slice(starts[k], starts[k + 1])
            if k:
                before = slice(starts[k - 1], starts[k])
                values[at] -= self._back[k - 1].T @ values[before]
            found[at] = self._inverses[k] @ values[at]
        for k in range(blocks - 2, -1, -1):
            at = slice(starts[k], starts[k + 1])
            found[at] -= self._back[k] @ found[starts[k + 1] : starts[k + 2]]
        return found.T[:, self._place].astype(np.float64)


@dataclass(frozen=True, eq=False)
class StiffWays:
    """Ways that something holds stiffly: m sums over the unknowns along a direction each.

    Attributes:
        shares: shape (m, n).
        directions: shape (m, 3), unit.
        stiffness: shape (m,).
    """

    shares: Float64s
    directions: Float64s
    stiffness: Float64s

    def pull(self, ways: Floats) -> Float64s:
        """The forces, shape (3, n), that hold back what goes such ways, (3, n)."""
        along = ((ways @ self.shares.T) * self.directions.T).sum(axis=0)
        return (self.stiffness * along * self.directions.T) @ self.shares

    def of(self, unknowns: Indices) -> StiffWays:
        """The same, as far as some of the unknowns go."""
        return StiffWays(self.shares[:, unknowns], self.directions, self.stiffness)


class StiffenedSystem:
    """A system, the same along x, y and z, with some ways held stiffly besides.

    With K the system and a row of B for each way, its inverse is that of K + B^T D B, after
    Woodbury: K^-1 - K^-1 B^T (D^-1 + B K^-1 B^T)^-1 B K^-1. What moves with what it touches is not
    held, as it would be with D on the diagonal.
    """

    def __init__(self, system: SlicedSystem, ways: StiffWays) -> None:
        self._system = system
        self._shares = ways.shares.astype(np.float32)
        self._directions = ways.directions.T
        solved = system.solve(ways.shares)
        soft = (ways.shares @ solved.T) * (ways.directions @ ways.directions.T)
        self._held = np.linalg.inv(np.diag(1.0 / ways.stiffness) + 0.5 * (soft + soft.T))
        self._solved = solved.astype(np.float32)

    def solve(self, right: Floats) -> Float64s:
        """The solutions for right sides (3 k, n), x, y and z each, of the same shape."""
        found = self._system.solve(right)
        at = (found.astype(np.float32) @ self._shares.T).reshape(-1, 3, len(self._shares))
        along = (at * self._directions).sum(axis=1)
        pushed = (along @ self._held)[:, None] * self._directions
        found -= pushed.reshape(len(right), -1).astype(np.float32) @ self._solved
        return found

"""Sparse symmetric systems whose unknowns lie in slices: mathematics of the preconditioner."""

from __future__ import annotations

import numpy as np

from ...arrays import Float32s, Float64s, Floats, Integers


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
        self._forth: list[Float32s] = []
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
                self._forth.append(coupling)
                self._back.append(solved)
            self._inverses.append(np.linalg.inv(matrix))

    def solve(self, right: Floats) -> Float64s:
        """The solutions for right sides (k, n), of the same shape."""
        values = right[:, self._order].astype(np.float32).T
        starts, blocks = self._starts, len(self._inverses)
        found = np.empty_like(values)
        for k in range(blocks):
            at = slice(starts[k], starts[k + 1])
            own = values[at]
            if k:
                own = own - self._forth[k - 1] @ found[starts[k - 1] : starts[k]]
            found[at] = self._inverses[k] @ own
        for k in range(blocks - 2, -1, -1):
            at = slice(starts[k], starts[k + 1])
            found[at] -= self._back[k] @ found[starts[k + 1] : starts[k + 2]]
        return found.T[:, self._place].astype(np.float64)

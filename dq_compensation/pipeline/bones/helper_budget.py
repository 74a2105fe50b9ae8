"""The mathematics of a budget of helper bones: those stay whose loss would raise the error most.

The weights of a sample of vertices say what each helper is worth. Helpers leave a few at a time,
each with its mirror image, and the vertices that followed them get other weights.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ...analysis.convex_weights import losses, sparse_convex_weights
from ...arrays import Booleans, Float64s, Floats, Indices, Integers
from ..correctives.key_budget import Spending

# So large a part of the helpers leaves at a time.
_AT_A_TIME = 0.06


@dataclass(frozen=True, eq=False)
class Candidates:
    """Vertices with as many things that may move each.

    Attributes:
        helpers: shape (m, k), the place of each helper; below 0: a bone.
        gram, pulled: shape (m, k, k), of `convex_weights`, without and with what keeps weights.
    """

    helpers: Integers
    gram: Floats
    pulled: Floats


class _Weights:
    """The weights of the sample, as helpers leave."""

    def __init__(self, sample: Sequence[Candidates], most: int) -> None:
        self._sample, self._most = sample, most
        self._allowed = [np.ones(each.helpers.shape, np.bool_) for each in sample]
        self._weights = [np.zeros(each.helpers.shape) for each in sample]
        for place, each in enumerate(sample):
            self._solve(place, np.arange(len(each.helpers)))

    def _solve(self, place: int, rows: Indices) -> None:
        pulled, allowed = self._sample[place].pulled[rows], self._allowed[place][rows]
        self._weights[place][rows] = sparse_convex_weights(pulled, self._most, allowed)

    def without(self, gone: Booleans) -> None:
        """Let helpers go."""
        for place, each in enumerate(self._sample):
            leaves = gone[np.maximum(each.helpers, 0)] & (each.helpers >= 0)
            self._allowed[place] &= ~leaves
            followed = (leaves & (self._weights[place] > 0.0)).any(axis=1)
            if followed.any():
                self._solve(place, np.flatnonzero(followed))

    def worth(self, count: int) -> Float64s:
        """By how much the loss of each helper raises the squares of the errors, about."""
        found = np.zeros(count)
        for each, weights in zip(self._sample, self._weights, strict=True):
            raised = losses(each.pulled, weights)
            counts = (each.helpers >= 0) & np.isfinite(raised)
            np.add.at(found, each.helpers[counts], raised[counts])
        return found

    def left(self) -> float:
        """The root mean square of the errors, metres."""
        squares = [
            np.einsum("nj,njk,nk->n", weights, each.gram, weights)
            for each, weights in zip(self._sample, self._weights, strict=True)
        ]
        return float(np.sqrt(np.concatenate(squares).mean())) if squares else 0.0


def within_budget(
    sample: Sequence[Candidates],
    helpers: Sequence[Hashable],
    images: Sequence[Hashable],
    budget: int | None,
    most: int,
) -> Generator[float, None, tuple[list[int], Spending]]:
    """Choose helpers for a budget, and find what half and twice as many would leave.

    Args:
        images: of each helper the one that stays and leaves with it.
        budget: how many may stay; None: all.
        most: influences of a vertex; 0 for any number.

    Yields:
        how much is done, 0 to 1.

    Returns:
        the places of those that stay, rising, and what numbers of them leave.
    """
    count = len(helpers)
    if budget is None:
        return list(range(count)), Spending((count,), (0.0,))
    size = min(count, budget)
    half = size // 2
    known = {helper: place for place, helper in enumerate(helpers)}
    twins = [known.get(image, place) for place, image in enumerate(images)]
    units = np.minimum(twins, np.arange(count)).astype(np.intp)
    weights, stays = _Weights(sample, most), np.ones(count, np.bool_)
    marks = (2 * size, size, half)
    within = {mark: list(range(count)) for mark in marks if count <= mark}
    counts, left = [count], [weights.left()]
    while counts[-1] > half:
        worth = np.bincount(units, weights.worth(count), minlength=count)
        sizes = np.bincount(units[stays], minlength=count)
        order = [unit for unit in np.argsort(worth / np.maximum(sizes, 1)) if sizes[unit]]
        above = max(mark for mark in marks if mark < counts[-1])
        most_now, gone = max(1, int(_AT_A_TIME * counts[-1])), np.zeros(count, np.bool_)
        for unit in order:
            if gone.sum() and gone.sum() + sizes[unit] > min(most_now, counts[-1] - above):
                break
            gone |= stays & (units == unit)
        stays &= ~gone
        weights.without(gone)
        counts.append(int(stays.sum()))
        left.append(weights.left())
        for mark in marks:
            if counts[-1] <= mark:
                within.setdefault(mark, np.flatnonzero(stays).tolist())
        yield (count - counts[-1]) / max(count - half, 1)
    return within[size], Spending(tuple(counts), tuple(left))

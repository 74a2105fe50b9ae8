"""Convex weights against SciPy's non-negative least squares, and against all sets of candidates."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.analysis.convex_weights import convex_weights, sparse_convex_weights


def _problems(
    rng: np.random.Generator, count: int, width: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Candidates (count, 30, width), where they should go (count, 30), and the matrices G."""
    candidates = rng.normal(size=(count, 30, width)) + 1.0
    wanted = candidates @ rng.dirichlet(np.full(width, 0.3)) + rng.normal(size=(count, 30))
    away = candidates - wanted[:, :, None]
    return candidates, wanted, away.transpose(0, 2, 1) @ away


@pytest.mark.parametrize("width", [1, 2, 5, 14])
def test_random_problems_as_scipy_solves_them(rng: np.random.Generator, width: int) -> None:
    """SciPy's has no sum: a row of 1e4 stands for it, and for what the two differ by."""
    nnls = pytest.importorskip("scipy.optimize").nnls
    candidates, wanted, gram = _problems(rng, 60, width)
    found = convex_weights(gram)
    for each, b, weights in zip(candidates, wanted, found, strict=True):
        expected, _ = nnls(np.vstack((each, np.full(width, 1e4))), np.append(b, 1e4))
        np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-5)


def test_weights_are_optimal(rng: np.random.Generator) -> None:
    """G w is the same number wherever a weight is not 0, and not smaller elsewhere."""
    _, _, gram = _problems(rng, 500, 9)
    weights = convex_weights(gram)
    assert weights.min() >= 0.0
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    slopes = np.einsum("njk,nk->nj", gram, weights)
    level = np.einsum("nj,nj->n", slopes, weights)[:, None]
    assert np.all(slopes >= level - 1e-6 * level)
    assert np.all(np.abs(slopes - level)[weights > 0.0] < 1e-6 * level.max())


def test_candidates_that_are_not_allowed_get_nothing(rng: np.random.Generator) -> None:
    _, _, gram = _problems(rng, 50, 6)
    allowed = rng.random((50, 6)) < 0.5
    allowed[:, 2] = True
    weights = convex_weights(gram, allowed)
    assert np.all(weights[~allowed] == 0.0)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    alone = convex_weights(gram[:1][:, allowed[0]][:, :, allowed[0]])
    np.testing.assert_allclose(weights[0, allowed[0]], alone[0], rtol=0, atol=1e-8)


def test_candidates_that_do_not_differ_break_nothing() -> None:
    """At rest every bone takes a vertex to the same place: nothing decides."""
    np.testing.assert_allclose(convex_weights(np.zeros((2, 4, 4))), 0.25)
    alike = convex_weights(np.full((2, 3, 3), 7.0))
    assert alike.min() >= 0.0
    np.testing.assert_allclose(alike.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_few_weights_are_nearly_the_best_few(rng: np.random.Generator) -> None:
    """Against all sets of 3 of 7 candidates: the same in most problems, never much worse."""
    _, _, gram = _problems(rng, 80, 7)
    found = sparse_convex_weights(gram, 3)
    assert np.count_nonzero(found, axis=1).max() == 3
    errors = np.einsum("nj,njk,nk->n", found, gram, found)
    best = np.full(80, np.inf)
    for few in combinations(range(7), 3):
        allowed = np.isin(np.arange(7), few)[None].repeat(80, axis=0)
        weights = convex_weights(gram, allowed)
        best = np.minimum(best, np.einsum("nj,njk,nk->n", weights, gram, weights))
    assert np.mean(errors <= best * (1.0 + 1e-6)) > 0.8
    assert np.all(errors <= 1.2 * best)
    np.testing.assert_array_equal(sparse_convex_weights(gram, 0), convex_weights(gram))

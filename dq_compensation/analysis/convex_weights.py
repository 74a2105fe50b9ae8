"""Convex weights by least squares, for many small problems at once: not negative, their sum 1.

The weights w of a point that should be at b, from candidates a_k, minimise

    |sum w_k a_k - b|^2 = w^T G w,    G_jk = (a_j - b) . (a_k - b),

since the sum of w is 1. Up to their sum they are the solution u of

    min 1/2 u^T G u - sum u,    u >= 0,    w = u / sum u

(both have the same conditions of optimality: (G w)_k is the same number wherever w_k > 0, and not
smaller elsewhere). That is a problem of non-negative least squares; the active set method is
Lawson and Hanson's (1974) on the matrix G, as Bro and de Jong (1997) do it, for all problems in
step.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Integers

# What is added to the diagonal of G, in its mean: far below what can be seen, far above rounding.
_RIDGE = 1e-10
# How far a gradient, which is 1 where a candidate would be at b, may be above 0 at the end.
_TOLERANCE = 1e-9
# In steps of the method for each candidate: three are many.
_MOST_STEPS = 10


def convex_weights(gram: Floats, allowed: Booleans | None = None) -> Float64s:
    """The weights of n problems that minimise w^T G w.

    Args:
        gram: shape (n, k, k), the matrices G, symmetric and not negative.
        allowed: shape (n, k), the candidates that may have a weight, at least one of each problem;
            None: all of them.

    Returns:
        shape (n, k), not negative, rows with the sum 1.
    """
    count, width = gram.shape[:2]
    if allowed is None:
        allowed = np.ones((count, width), np.bool_)
    diagonal = np.einsum("nkk->nk", gram)
    mean = np.where(allowed, diagonal, 0.0).sum(axis=1) / np.maximum(allowed.sum(axis=1), 1)
    scale = np.where(mean > 0.0, mean, 1.0)
    matrices = gram / scale[:, None, None] + _RIDGE * np.eye(width)
    solution = np.zeros((count, width))
    passive = np.zeros((count, width), np.bool_)
    rows = np.arange(count)
    for _ in range(_MOST_STEPS * width):
        gradient = 1.0 - np.einsum("njk,nk->nj", matrices[rows], solution[rows])
        gradient[passive[rows] | ~allowed[rows]] = -np.inf
        best = gradient.argmax(axis=1)
        rises = gradient[np.arange(len(rows)), best] > _TOLERANCE
        rows, best = rows[rises], best[rises]
        if not len(rows):
            break
        passive[rows, best] = True
        _settle(matrices, solution, passive, rows)
    return solution / solution.sum(axis=1, keepdims=True)


def _settle(matrices: Float64s, solution: Float64s, passive: Booleans, rows: Indices) -> None:
    """Solve for the passive candidates; candidates with a weight below 0 leave. In place."""
    while len(rows):
        found = _solved(matrices[rows], passive[rows])
        below = passive[rows] & (found <= 0.0)
        stuck = below.any(axis=1)
        solution[rows[~stuck]] = found[~stuck]
        rows, found, below = rows[stuck], found[stuck], below[stuck]
        old = solution[rows]
        steps = np.where(below, old / np.where(below, old - found, 1.0), np.inf)
        least = steps.min(axis=1, keepdims=True)
        passive[rows] &= ~(below & (steps <= least))
        solution[rows] = np.where(passive[rows], old + least * (found - old), 0.0)


def _solved(matrices: Float64s, passive: Booleans) -> Float64s:
    """Solutions of G u = 1 within the passive candidates, 0 elsewhere: shape (m, k)."""
    both = passive[:, :, None] & passive[:, None, :]
    systems = np.where(both, matrices, 0.0)
    diagonal = np.einsum("nkk->nk", systems)
    diagonal += ~passive
    return np.linalg.solve(systems, passive[:, :, None].astype(np.float64))[:, :, 0]


def sparse_convex_weights(gram: Floats, most: int, allowed: Booleans | None = None) -> Float64s:
    """Convex weights of which at most so many are not 0 in each problem.

    Candidates leave one by one: the one without which the rest, weights free, does worst the least.

    Args:
        gram, allowed: of `convex_weights`.
        most: the largest number; 0 for any.
    """
    weights = convex_weights(gram, allowed)
    rows = np.arange(len(weights))
    while most:
        rows = rows[np.count_nonzero(weights[rows], axis=1) > most]
        if not len(rows):
            break
        used = weights[rows] > 0.0
        used[np.arange(len(rows)), losses(gram[rows], weights[rows]).argmin(axis=1)] = False
        weights[rows] = convex_weights(gram[rows], used)
    return weights


def losses(gram: Floats, weights: Float64s) -> Float64s:
    """Shape (n, k): by how much the loss of a candidate raises the error at least; inf if unused.

    With the other weights free, positive or not, it is w^2 / (G^-1)_kk.
    """
    used = weights > 0.0
    both = used[:, :, None] & used[:, None, :]
    mean = np.einsum("nkk->n", gram) / gram.shape[1]
    systems = np.where(both, gram, 0.0)
    diagonal = np.einsum("nkk->nk", systems)
    diagonal += np.where(used, 1e-9 * np.maximum(mean, 1e-30)[:, None], 1.0)
    inverse = np.einsum("nkk->nk", np.linalg.inv(systems))
    return np.where(used, weights**2 / np.maximum(inverse, 1e-300), np.inf)


def fitted_weights(
    matrices: Floats,
    candidates: Integers,
    rest: Floats,
    live: Floats,
    pose_weights: Floats,
    *,
    before: Floats,
    pull: float,
    most: int,
) -> Float64s:
    """Weights of the least squares of distances in all poses.

    Args:
        matrices: shape (P, M, 3, 4), skinning matrices of everything that can move a vertex.
        candidates: shape (m, k), what may move each vertex, rows of the matrices.
        rest, live: shapes (m, 3), (P, m, 3); where vertices are and where they should go.
        pose_weights: shape (P,).
        before: shape (m, k), weights near which they stay where the poses do not decide.
        pull: metres; what a weight that is 1 off costs.
        most: the largest number of weights of a vertex; 0 for any.

    Returns:
        shape (m, k), not negative, with the sum 1.
    """
    gram = gram_matrices(matrices, candidates, rest, live, pose_weights)
    return sparse_convex_weights(gram + pulled_matrices(before, pull), most)


def gram_matrices(
    matrices: Floats, candidates: Integers, rest: Floats, live: Floats, pose_weights: Floats
) -> Float64s:
    """G of `convex_weights`, the sum over all poses, shape (m, k, k); see `fitted_weights`."""
    count, width = candidates.shape
    gram = np.zeros((count, width, width))
    points = np.concatenate((rest, np.ones((count, 1))), axis=1)[:, :, None]
    rows = (3 * candidates[:, :, None] + np.arange(3)).reshape(count, -1)
    for each, wanted, weight in zip(matrices, live, pose_weights, strict=True):
        missed = (each.reshape(-1, 4)[rows] @ points).reshape(count, width, 3)
        missed -= wanted[:, None]
        gram += weight * (missed @ missed.transpose(0, 2, 1))
    return gram


def pulled_matrices(before: Floats, pull: float) -> Float64s:
    """What G gains to keep weights, whose sum is 1, near others: pull^2 |w - before|^2."""
    away = np.eye(before.shape[1]) - before[:, None, :]
    return pull**2 * (away @ away.transpose(0, 2, 1))

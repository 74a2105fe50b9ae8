"""The weights of vertices on bones and helpers that fit positions in many poses best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..convex_weights import sparse_convex_weights


def fitted_weights(
    matrices: NDArray[np.floating],
    candidates: NDArray[np.integer],
    rest: NDArray[np.floating],
    live: NDArray[np.floating],
    *,
    before: NDArray[np.floating],
    pull: float,
    most: int,
) -> NDArray[np.float64]:
    """Weights of the least squares of distances in all poses.

    Args:
        matrices: shape (P, M, 3, 4), skinning matrices of everything that can move a vertex.
        candidates: shape (m, k), what may move each vertex, rows of the matrices.
        rest, live: shapes (m, 3), (P, m, 3); where vertices are and where they should go.
        before: shape (m, k), weights near which they stay where the poses do not decide.
        pull: metres; what a weight that is 1 off costs.
        most: the largest number of weights of a vertex; 0 for any.

    Returns:
        shape (m, k), not negative, with the sum 1.
    """
    gram = gram_matrices(matrices, candidates, rest, live)
    return sparse_convex_weights(gram + pulled(before, pull), most)


def gram_matrices(
    matrices: NDArray[np.floating],
    candidates: NDArray[np.integer],
    rest: NDArray[np.floating],
    live: NDArray[np.floating],
) -> NDArray[np.float64]:
    """G of `convex_weights`, the mean over all poses, shape (m, k, k); see `fitted_weights`."""
    count, width = candidates.shape
    gram = np.zeros((count, width, width))
    points = np.concatenate((rest, np.ones((count, 1))), axis=1)[:, :, None]
    rows = (3 * candidates[:, :, None] + np.arange(3)).reshape(count, -1)
    for each, wanted in zip(matrices, live, strict=True):
        missed = (each.reshape(-1, 4)[rows] @ points).reshape(count, width, 3)
        missed -= wanted[:, None]
        gram += missed @ missed.transpose(0, 2, 1)
    return gram / max(len(matrices), 1)


def pulled(before: NDArray[np.floating], pull: float) -> NDArray[np.float64]:
    """What G gains to keep weights, whose sum is 1, near others: pull^2 |w - before|^2."""
    away = np.eye(before.shape[1]) - before[:, None, :]
    return pull**2 * (away @ away.transpose(0, 2, 1))

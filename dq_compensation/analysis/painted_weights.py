"""Smooths painted weights, and mirrors them from one side to the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def smoothed_weights(
    weights: NDArray[np.floating],
    edges: NDArray[np.integer],
    *,
    factor: float = 0.5,
    iterations: int = 1,
    vertices: NDArray[np.integer] | None = None,
) -> NDArray[np.float32]:
    """Move each weight towards the mean of its neighbours: w' = (1 - factor) w + factor mean.

    Args:
        weights: shape (n,).
        edges: shape (e, 2), vertices; a vertex without an edge stays as it is.
        factor: 0 to 1.
        vertices: shape (k,), which may change; all of them when left out. Their neighbours count
            in any case.

    Returns:
        shape (n,), within the bounds of `weights`.
    """
    count = len(weights)
    first, second = edges[:, 0], edges[:, 1]
    degrees = np.bincount(edges.ravel(), minlength=count)
    movable = degrees > 0
    if vertices is not None:
        chosen = np.zeros(count, np.bool_)
        chosen[vertices] = True
        movable &= chosen
    values = weights.astype(np.float64)
    for _ in range(iterations):
        sums = np.bincount(first, weights=values[second], minlength=count)
        sums += np.bincount(second, weights=values[first], minlength=count)
        means = sums / np.maximum(degrees, 1)
        values = np.where(movable, (1.0 - factor) * values + factor * means, values)
    low, high = (float(weights.min()), float(weights.max())) if count else (0.0, 0.0)
    return np.clip(values, low, high).astype(np.float32)


def mirrored_weights(
    weights: NDArray[np.floating],
    positions: NDArray[np.floating],
    partners: NDArray[np.integer],
    *,
    from_positive: bool,
) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """The weights of one side on the other side.

    Args:
        weights: shape (n,).
        positions: shape (n, 3); of two partners the one with the greater X is on the positive side.
        partners: shape (n,), of `partners_by_position` or `partners_by_topology`.
        from_positive: copy from positive X to negative X, or back.

    Returns:
        shape (n,), the weights; and the vertices of the side that is written to that have no
        partner and stay as they were.
    """
    towards = 1.0 if from_positive else -1.0
    x = towards * positions[:, 0]
    has_partner = partners >= 0
    source = np.where(has_partner, partners, np.arange(len(weights)))
    source = np.where(x < x[source], source, np.arange(len(weights)))
    return weights[source].astype(np.float32), np.flatnonzero(~has_partner & (x < 0.0))

"""Clothes: their weights change as those of the body below them do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from .soft_weights import SoftWeights, cut_weights

# What the weights of a vertex change by, at least, to count.
_LEAST_CHANGE = 1e-4


def followed_weights(
    influences: Influences,
    places: tuple[NDArray[np.integer], NDArray[np.floating]],
    body: tuple[Influences, Influences],
    amounts: NDArray[np.floating],
    kept: NDArray[np.bool_],
    most: int,
) -> SoftWeights:
    """Add to each weight what it has changed by at the nearest place of a body.

    Args:
        influences: of v vertices.
        places: of the body, those nearest to the vertices: the body's vertices around each, and
            its barycentric shares of them, both (v, 3).
        body: of its vertices, before and after.
        amounts: shape (v,), how much of the change counts.
        kept: shape (B,), bones whose weights stay.
        most: of `soft_weights`.
    """
    count = len(influences.bones)
    painted, soft = body
    corners, shares = places[0], places[1] * amounts[:, None]
    bones = np.concatenate((soft.bones, painted.bones), axis=1)[corners].reshape(count, -1)
    changes = np.concatenate((soft.weights, -painted.weights), axis=1)[corners]
    changes = (changes * shares[:, :, None]).reshape(count, -1)
    changes[kept[bones]] = 0.0
    bones = np.concatenate((influences.bones, bones), axis=1)
    weights = np.concatenate((influences.weights, changes), axis=1)
    keys = bones + len(kept) * np.arange(count, dtype=np.int64)[:, None]
    used = weights != 0.0
    pairs, rows = np.unique(keys[used], return_inverse=True)
    sums = np.bincount(rows.reshape(-1), weights[used], len(pairs))
    old = np.where(np.arange(bones.shape[1]) < influences.width, weights, 0.0)[used]
    changed = np.abs(sums - np.bincount(rows.reshape(-1), old, len(pairs))) > _LEAST_CHANGE
    vertices = np.unique(pairs[changed] // len(kept))
    found = Influences.from_triples(
        pairs // len(kept), pairs % len(kept), np.maximum(sums, 0.0), count
    )
    vertices = vertices[found.weights[vertices, 0] > 0.0]
    cut = cut_weights(found.weights[vertices], most).astype(np.float32)
    return SoftWeights(vertices, found.bones[vertices], cut)

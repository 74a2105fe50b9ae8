"""What solved joints do together, apart from solving them: each has its part of the skin."""

from __future__ import annotations

import numpy as np

from ...arrays import Float64s, Floats


def shared_offsets(parts: Floats, away: Floats) -> Float64s:
    """What several shapes do together where each has its part of what more than one of them moves.

    Args:
        parts: shape (J, n, 3), the offsets of each alone.
        away: shape (J, n), how far points are from the joint of each, in its reaches.

    Returns:
        shape (n, 3), sum_j s_j o_j with s_j = (1 - a_j)^2 / sum (1 - a_k)^2, over the shapes k that
        move the point.
    """
    near = np.maximum(1.0 - away, 0.0) ** 2 * parts.any(axis=2)
    total = near.sum(axis=0)
    shares = np.where(total > 0.0, near / np.where(total > 0.0, total, 1.0), 1.0)
    return (shares[:, :, None] * parts).sum(axis=0)

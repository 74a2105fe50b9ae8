"""Which spheres a view can see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def frustum_planes(to_clip: NDArray[np.floating]) -> NDArray[np.float64]:
    """The planes around what a view sees, normals inwards and unit: shape (6, 4).

    A point p is inside where n p + d >= 0 for all of them (Gribb and Hartmann 2001).

    Args:
        to_clip: shape (4, 4), world to clip space, in which x, y and z go from -w to w.
    """
    matrix = np.asarray(to_clip, np.float64)
    planes = np.concatenate((matrix[3] + matrix[:3], matrix[3] - matrix[:3]))
    lengths = np.linalg.norm(planes[:, :3], axis=1)
    # A plane at infinity has no normal and hides nothing.
    at_infinity = lengths <= 1e-12 * lengths.max()
    planes = planes / np.where(at_infinity, 1.0, lengths)[:, None]
    planes[at_infinity] = 0.0, 0.0, 0.0, np.inf
    return planes


def spheres_in_view(
    planes: NDArray[np.floating], centres: NDArray[np.floating], radii: NDArray[np.floating]
) -> NDArray[np.bool_]:
    """Whether a view may see spheres: all that it sees, and a few beside its corners.

    Args:
        planes: of `frustum_planes`.
        centres: shape (I, 3), world space.
        radii: shape (I,).

    Returns:
        shape (I,).
    """
    distances = planes[:, :3] @ centres.T + planes[:, 3:]
    return np.asarray((distances >= -radii).all(axis=0))

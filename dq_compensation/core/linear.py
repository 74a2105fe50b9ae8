"""LINEAR: linear blend skinning, what the Armature modifier does without Preserve Volume."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .influences import Influences
from .pose import Pose
from .vectors import unit_or


def blended_matrices(
    matrices: NDArray[np.floating], influences: Influences, dtype: np.dtype
) -> NDArray[np.floating]:
    """The weighted sums of matrices over the influences of each vertex.

    Args:
        matrices: shape (B, ...), one for each bone.
        dtype: of the result.

    Returns:
        shape (n, ...); zeros for a vertex without influences.
    """
    entries = matrices.reshape(len(matrices), -1).astype(dtype, copy=False)
    sums = np.zeros((influences.vertex_count, entries.shape[1]), dtype)
    for rows, bones, weights in influences.slots():
        sums[rows] += weights[:, None].astype(dtype, copy=False) * entries[bones]
    return sums.reshape(-1, *matrices.shape[1:])


def cofactors(matrices: NDArray[np.floating]) -> NDArray[np.floating]:
    """Cofactor matrices (..., 3, 3), which transform normals; the inverse transpose times det."""
    x, y, z = matrices[..., 0], matrices[..., 1], matrices[..., 2]
    return np.stack((np.cross(y, z), np.cross(z, x), np.cross(x, y)), axis=-1)


def transformed_normals(
    matrices: NDArray[np.floating], normals: NDArray[np.floating]
) -> NDArray[np.floating]:
    """Unit normals (n, 3) of surfaces that the 3x3 matrices (n, 3, 3) transform.

    A normal that a matrix without a volume turns into nothing stays as it was.
    """
    turned = np.einsum("nij,nj->ni", cofactors(matrices), normals)
    return unit_or(turned, normals)


def linear_blend(
    positions: NDArray[np.floating],
    normals: NDArray[np.floating] | None,
    influences: Influences,
    pose: Pose,
) -> tuple[NDArray[np.floating], NDArray[np.floating] | None]:
    """Transform each vertex once, by its blended matrix: v' = (sum w_i D_i) v.

    Args:
        positions: shape (n, 3), float32 or float64, armature space.
        normals: shape (n, 3), unit, or None.

    Returns:
        positions and unit normals (None without normals), of the dtype of `positions`. Vertices
        without influences are where they were. Normals go by the cofactor of the blended matrix.
    """
    blended = blended_matrices(pose.matrices[:, :3, :], influences, positions.dtype)
    moved = (influences.weights[:, 0] > 0.0)[:, None]
    deformed = np.einsum("nij,nj->ni", blended[:, :, :3], positions) + blended[:, :, 3]
    deformed = np.where(moved, deformed, positions)
    if normals is None:
        return deformed, None
    turned = transformed_normals(blended[:, :, :3], normals)
    return deformed, np.where(moved, turned, normals)

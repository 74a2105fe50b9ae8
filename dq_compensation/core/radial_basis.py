"""Gaussian radial basis functions of how far apart poses are (Houska 2005, section 5.3).

Every pose has a weight that is 1 in it and 0 in the other poses and at rest, which is a point
of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Poses nearer to each other than this have weights that jump: 0.5 degrees.
NEAREST = np.radians(0.5)


class PosesTooClose(ValueError):  # noqa: N818 - it reads as what is wrong
    """Two poses are one and the same for a distance.

    Attributes:
        first, second: their places among the poses, 0 for rest.
    """

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"poses {first} and {second} are nearly the same")
        self.first, self.second = first, second


@dataclass(frozen=True, eq=False)
class RadialBasis:
    """Gaussian radial basis functions: phi(r) = exp(-r^2 / sigma^2) about rest and each pose.

    Attributes:
        coefficients: shape (k + 1, k); the weights of the k poses are phi @ coefficients.
        sigma: in the unit of the distances.
    """

    coefficients: NDArray[np.float64]
    sigma: float

    @classmethod
    def solve(
        cls, distances: NDArray[np.floating], sigma: float = 1.0, nearest: float = NEAREST
    ) -> RadialBasis:
        """Find the coefficients that make each pose's weight 1 in it and 0 in the others.

        Args:
            distances: shape (k + 1, k + 1), between rest, which comes first, and the k poses.
            nearest: poses must be farther apart than this.

        Raises:
            PosesTooClose: two of them are nearer; the nearest two.
        """
        apart = np.array(distances, np.float64)
        np.fill_diagonal(apart, np.inf)
        first, second = np.unravel_index(int(np.argmin(apart)), apart.shape)
        if apart[first, second] < nearest:
            raise PosesTooClose(min(int(first), int(second)), max(int(first), int(second)))
        np.fill_diagonal(apart, 0.0)
        wanted = np.eye(len(apart))[:, 1:]
        return cls(np.linalg.solve(_gaussian(apart, sigma), wanted), sigma)

    def weights(self, distances: NDArray[np.floating]) -> NDArray[np.float64]:
        """The weights, shape (m, k), at distances (m, k + 1) from rest and the poses."""
        return _gaussian(np.asarray(distances, np.float64), self.sigma) @ self.coefficients


def _gaussian(distances: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    return np.exp(-((distances / sigma) ** 2))


def arc_distances(
    directions: NDArray[np.floating], others: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Arc lengths on the unit sphere between directions (m, 3) and (k, 3); shape (m, k)."""
    return np.arccos(np.clip(np.asarray(directions, np.float64) @ np.asarray(others).T, -1.0, 1.0))


def rotation_distances(
    rotations: NDArray[np.floating], others: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Angles, radians, of the rotations from (m, 4) to (k, 4) unit quaternions; shape (m, k)."""
    cosines = np.abs(np.asarray(rotations, np.float64) @ np.asarray(others).T)
    return 2.0 * np.arccos(np.minimum(cosines, 1.0))

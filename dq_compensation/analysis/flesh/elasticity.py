"""The elastic energy of a lattice: the mathematics of flesh that keeps its volume.

Stable neo-Hookean after Smith, de Goes and Kim (Stable Neo-Hookean Flesh Simulation, 2018), without
the logarithm. Each cube is five tetrahedra. With F the deformation gradient of a tetrahedron, J its
determinant, w its volume times the fill of its cube, and J_c the mean of J in a cube, by volume:

    E = sum_t w (|F|^2 / 2 - J + VOLUME / 2 (J - 1)^2 + INVERTED / 2 min(J - 0.3, 0)^2)
        + AVERAGED / 2 sum_c fill_c (J_c - 1)^2

At rest its gradient is 0. The volume of a cube as a whole is stiff and that of a tetrahedron is
soft: where each were stiff, tetrahedra could not bend (locking).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ...arrays import Booleans, Float64s, Indices, Int64s
from .lattice import CORNERS, Lattice

VOLUME, AVERAGED, INVERTED = 1.0, 2.0, 60.0
# The volume of a tetrahedron, in parts of that at rest, below which it is kept from turning inside
# out.
_SQUEEZED = 0.3

# Five tetrahedra of a cube: four at corners, and the one between. Other cubes have them mirrored.
_TETRAHEDRA = np.array([[0, 1, 2, 4], [3, 1, 7, 2], [5, 1, 4, 7], [6, 2, 7, 4], [1, 2, 4, 7]])
_MIRRORED = np.arange(8) ^ 1


def _gradients() -> tuple[Float64s, Float64s]:
    """The columns of F as sums over the corners of a cube, shape (15, 8), and volumes, (5,)."""
    matrix, volumes = np.zeros((5, 3, 8)), np.zeros(5)
    for row, corners in enumerate(_TETRAHEDRA):
        edges = (CORNERS[corners[1:]] - CORNERS[corners[0]]).T.astype(np.float64)
        volumes[row] = abs(np.linalg.det(edges)) / 6.0
        inverse = np.linalg.inv(edges)
        matrix[row][:, corners[1:]] = inverse.T
        matrix[row][:, corners[0]] = -inverse.sum(axis=0)
    return matrix.reshape(15, 8), volumes


_OF_CORNERS, VOLUMES = _gradients()
_TO_CORNERS = np.ascontiguousarray(_OF_CORNERS.T)
# The stiffness of a cube: the Laplacian of its tetrahedra.
_STIFFNESS = _TO_CORNERS @ (np.repeat(VOLUMES, 3)[:, None] * _OF_CORNERS)


class Flesh:
    """The elastic energy of a lattice, in shear moduli times the volume of a cube.

    Args:
        lattice: its cubes.
        precision: in which the energy of cubes is computed; single takes two thirds of the time.
    """

    def __init__(
        self, lattice: Lattice, precision: type[np.float32 | np.float64] = np.float64
    ) -> None:
        self._precision = precision
        self._of_corners, self._volumes = _OF_CORNERS.astype(precision), VOLUMES.astype(precision)
        self.count = len(lattice.nodes)
        mirrored = lattice.mirrored
        self._corners = np.where(
            mirrored[:, None], lattice.corners[:, _MIRRORED], lattice.corners
        ).T.copy()
        # Mirrored along x, the first column of F has the other sign, and so has its determinant.
        self._signs = np.where(mirrored, -1.0, 1.0).astype(precision)
        self._fill = lattice.fill.astype(precision)
        self._weights = self._volumes[:, None] * self._fill
        self._places = self._corners[:, None] + self.count * np.arange(3)[:, None]

    def energy(self, places: Float64s) -> tuple[float, Float64s]:
        """The energy above that at rest, and its gradient.

        Args:
            places: shape (3, N), of the nodes.

        Returns:
            the energy, and shape (3, N).
        """
        cubes = places.astype(self._precision, copy=False).reshape(-1).take(self._places)
        # Tetrahedron, column, axis.
        f = (self._of_corners @ cubes.reshape(8, -1)).reshape(5, 3, 3, -1)
        area = np.empty_like(f)
        for column in range(3):
            one, other = f[:, (column + 1) % 3], f[:, (column + 2) % 3]
            for axis in range(3):
                k, m = (axis + 1) % 3, (axis + 2) % 3
                np.multiply(one[:, k], other[:, m], out=area[:, column, axis])
                area[:, column, axis] -= one[:, m] * other[:, k]
        signs, weights, fill = self._signs, self._weights, self._fill
        volume = signs * np.einsum("tac,tac->tc", f[:, 0], area[:, 0])
        changed = volume - 1.0
        of_cubes = self._volumes @ changed
        squeezed = np.minimum(volume - _SQUEEZED, 0.0)
        found = 0.5 * np.einsum("tjac,tjac->tc", f, f) - 1.5 - changed
        found += (0.5 * VOLUME) * changed**2 + (0.5 * INVERTED) * squeezed**2
        energy = float((weights * found).sum(dtype=np.float64))
        energy += 0.5 * AVERAGED * float((fill * of_cubes**2).sum(dtype=np.float64))
        slopes = weights * (VOLUME * changed - 1.0 + INVERTED * squeezed)
        slopes += (AVERAGED * self._volumes)[:, None] * (fill * of_cubes)
        area *= (signs * slopes)[:, None, None]
        f *= weights[:, None, None]
        f += area
        return energy, self._to_nodes(self._of_corners.T @ f.reshape(15, -1))

    def stiffness(self, places: Float64s) -> Float64s:
        """The Laplacian of the flesh times values of the nodes, shape (3, N)."""
        cubes = places.reshape(-1).take(self._places)
        return self._to_nodes((_STIFFNESS @ cubes.reshape(8, -1)).reshape(8, 3, -1) * self._fill)

    def stiffness_entries(self, hardness: Float64s | None = None) -> Float64s:
        """The values of the Laplacian at `stiffness_places`.

        Args:
            hardness: shape (c,), how much stiffer each cube is than at rest; None: all alike.
        """
        fill = self._fill if hardness is None else self._fill * hardness
        values = (_STIFFNESS[:, :, None] * fill).ravel()
        return np.bincount(self._entries[2], values, len(self._entries[0]))

    @property
    def stiffness_places(self) -> tuple[Int64s, Int64s]:
        """The rows and columns where the Laplacian is not 0, each pair once."""
        return self._entries[:2]

    @cached_property
    def _entries(self) -> tuple[Int64s, Int64s, Indices]:
        shape = (8, *self._corners.shape)
        rows = np.broadcast_to(self._corners[:, None], shape).ravel()
        columns = np.broadcast_to(self._corners[None], shape).ravel()
        pairs, inverse = np.unique(rows * self.count + columns, return_inverse=True)
        return pairs // self.count, pairs % self.count, inverse.reshape(-1)

    def hardness(self, places: Float64s) -> Float64s:
        """Shape (c,), how much stiffer cubes are than at rest: the mean of second derivatives."""
        cubes = places.reshape(-1).take(self._places)
        f = (_OF_CORNERS @ cubes.reshape(8, -1)).reshape(5, 3, 3, -1)
        area = np.stack(
            [np.cross(f[:, (k + 1) % 3], f[:, (k + 2) % 3], axis=1) for k in range(3)], 1
        )
        volume = self._signs * (f[:, 0] * area[:, 0]).sum(axis=1)
        squares = (area**2).sum(axis=(1, 2)) / 3.0
        stiff = VOLUME + AVERAGED + INVERTED * (volume < _SQUEEZED)
        return VOLUMES @ (1.0 + stiff * squares) / (1.0 + VOLUME + AVERAGED)

    def inverted(self, places: Float64s) -> Booleans:
        """Shape (5, c), the tetrahedra that are inside out."""
        cubes = places.reshape(-1).take(self._places)
        f = (_OF_CORNERS @ cubes.reshape(8, -1)).reshape(5, 3, 3, -1)
        return self._signs * np.linalg.det(f.transpose(0, 3, 1, 2)) < 0.0

    def _to_nodes(self, of_corners: Float64s) -> Float64s:
        sums = np.bincount(self._places.reshape(-1), of_corners.reshape(-1), 3 * self.count)
        return sums.reshape(3, -1)

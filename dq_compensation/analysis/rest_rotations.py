"""Rotates a bone's rest axes, and converts the numbers of its pose.

A bone with the rest matrix A and the pose channels M (a 4x4 matrix: location, rotation, scale) is
posed at B = X A M, where X is what its parent did. With its axes turned, A' = A R, the channels
M' = R^-1 M R give B' = B R: the skinning transform B' A'^-1 is the same, and the children see no
difference. So each bone can be turned by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import numpy as np

from ..arrays import Float64s, Floats

Matrix3 = Float64s


@dataclass(frozen=True, eq=False)
class RestRotation:
    """The rotation of the axes of one bone.

    Attributes:
        rotation: shape (3, 3), R: its columns are the new axes in the space of the bone as it was.
        length: the new distance from head to tail.
    """

    bone: str
    rotation: Matrix3
    length: float

    @property
    def angle(self) -> float:
        """By how much the axes turn, radians."""
        return float(np.arccos(np.clip(0.5 * (np.trace(self.rotation) - 1.0), -1.0, 1.0)))

    @property
    def axes(self) -> tuple[tuple[int, int, int], tuple[int, int, int]] | None:
        """The new place and sign of each axis if axes only change places; else None.

        A vector with the components v has in the turned bone the components v'[place] = sign v.
        """
        if not np.all(np.isclose(np.abs(self.rotation), np.abs(self.rotation).round(), atol=1e-6)):
            return None
        places = np.abs(self.rotation).argmax(axis=1)
        signs = np.sign(self.rotation[np.arange(3), places]).astype(int)
        return tuple(places.tolist()), tuple(signs.tolist())

    def vectors(self, values: Floats) -> Float64s:
        """Vectors in the space of the turned bone: R^-1 v.

        Args:
            values: shape (..., 3): locations, axes, or the x, y, z of quaternions. That is linear,
                so keys and handles of F-Curves may be put in as they are.
        """
        return values @ self.rotation

    def order(self, order: str) -> str:
        """The Euler order of the angles from `vectors`; for axes that only change places."""
        axes = self.axes
        if axes is None:
            raise ValueError(f"{self.bone}: its axes do more than change places")
        return "".join("XYZ"[axes[0]["XYZ".index(letter)]] for letter in order)


def to_direction(direction: Float64s) -> Matrix3:
    """The rotation whose Y points along a direction, with as little twist as can be.

    The nearest change of places first, then the shortest way: so a bone that is a quarter turn off
    gets axes that are quarter turns off, and no roll comes in.

    Args:
        direction: shape (3,), unit, in the space of the bone.
    """
    places = nearest_axes(direction)
    # The rotation by the smallest angle between unit directions less than 90 degrees apart.
    x, y, z = np.cross(places[:, 1], direction)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    shortest = np.eye(3) + cross + cross @ cross / (1.0 + float(places[:, 1] @ direction))
    return shortest @ places


def nearest_axes(direction: Float64s) -> Matrix3:
    """The exchange of axes that brings Y nearest to a direction with the least turn.

    Args:
        direction: shape (3,), unit, in the space of the bone.
    """
    candidates = _changes_of_places()
    fit = candidates[:, :, 1] @ direction
    traces = np.trace(candidates, axis1=1, axis2=2)
    return candidates[int(np.argmax(np.where(fit > fit.max() - 1e-6, traces, -np.inf)))]


@cache
def _changes_of_places() -> Float64s:
    """Shape (24, 3, 3): the rotations that take axes to axes."""
    found = []
    for places, signs in product(permutations(range(3)), product((1.0, -1.0), repeat=3)):
        matrix = np.zeros((3, 3))
        matrix[list(places), range(3)] = signs
        if np.linalg.det(matrix) > 0.0:
            found.append(matrix)
    return np.array(found)

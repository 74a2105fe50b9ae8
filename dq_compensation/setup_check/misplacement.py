"""A mesh object that was moved, turned or scaled off its rig, and where it belongs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ..analysis.skin_fit import Movement, SkinnedJoints, find_movement, scale_of
from ..core.influences import Influences
from ..core.skeleton import Skeleton

# A scale that comes this near to a power of ten is meant to be one, as that of centimetres is. The
# fit finds the scale of the human within half a percent.
_POWER_OF_TEN = 0.02


@dataclass(frozen=True, eq=False)
class Misplacement:
    """The movement of a mesh object that makes its skin fit its rig.

    Attributes:
        movement: in armature space.
        joints: that bend its skin, where it is now.
    """

    movement: Movement
    joints: SkinnedJoints

    @property
    def outside(self) -> NDArray[np.intp]:
        """The bones at whose heads the joints are that lie outside of their skin now."""
        return self.joints.bones[~self.joints.inside(np.eye(4))]

    @property
    def outside_after(self) -> int:
        """The number of joints that lie outside after the movement."""
        return int((~self.joints.inside(self.movement)).sum())


def find_misplacement(
    obj: bpy.types.Object,
    to_armature: NDArray[np.float64],
    positions: NDArray[np.floating],
    influences: Influences,
    skeleton: Skeleton,
) -> Misplacement | None:
    """The misplacement of a mesh object; None where it fits, or where nothing can be said.

    Args:
        to_armature: shape (4, 4), the current A^-1 O.
        positions: shape (n, 3), armature space.
    """
    joints, back = SkinnedJoints.of(positions, influences, skeleton), np.linalg.inv(to_armature)
    movement = find_movement(
        joints, lambda near: (place @ back for place in _plain_places(obj, near, to_armature))
    )
    return Misplacement(movement, joints) if movement is not None else None


def _plain_places(
    obj: bpy.types.Object, movement: Movement, to_armature: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    """The places, as A^-1 O, where a mesh object is likelier to belong than anywhere else.

    Where its location is 0, or its rotation, or both; and at the origin of the armature, turned
    about its axes by quarters as files with another axis up have it.
    """
    basis = np.array(obj.matrix_basis, np.float64)
    scale = np.array(obj.scale, np.float64) * np.array(obj.delta_scale, np.float64)
    size = _plain_size(movement, to_armature)
    parent = to_armature @ np.linalg.inv(basis)
    turned = basis[:3, :3] / scale
    for linear, location in (
        (turned, np.zeros(3)),
        (np.eye(3), basis[:3, 3]),
        (np.eye(3), np.zeros(3)),
    ):
        own = np.eye(4)
        own[:3, :3], own[:3, 3] = size * linear * scale, location
        yield parent @ own
    left, stretch, right = np.linalg.svd((movement @ to_armature)[:3, :3])
    quarters = np.rint(left @ right)
    # Half-way between two axes nothing is plain.
    if np.array_equal(quarters @ quarters.T, np.eye(3)):
        place = np.eye(4)
        stretch *= size / scale_of(movement)
        place[:3, :3] = quarters @ right.T @ np.diag(stretch) @ right
        yield place


def _plain_size(movement: Movement, to_armature: NDArray[np.float64]) -> float:
    """The scale of a movement; where that comes near, the one that leaves a power of ten."""
    size = scale_of(movement)
    if size == 1.0:
        return size
    whole = size * abs(scale_of(to_armature))
    power = 10.0 ** round(np.log10(whole))
    return size * power / whole if abs(whole / power - 1.0) <= _POWER_OF_TEN else size

"""A mesh object that was moved, turned or scaled off its rig, and where it belongs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..analysis.skin_fit import Movement, SkinnedJoints, scale_of
from ..arrays import Float64s, Indices

# A scale that comes this near to a power of ten is meant to be one, as that of centimetres is. The
# fit finds the scale of the human within half a percent.
_POWER_OF_TEN = 0.02


@dataclass(frozen=True, eq=False)
class Misplacement:
    """The movement of a mesh object that makes its skin fit its rig.

    Attributes:
        movement: in armature space, of the mesh with an equal scale.
        joints: that bend its skin, where it is now.
        to_armature: shape (4, 4), A^-1 O, with O where it belongs.
        outside_after: the number of joints that lie outside there.
    """

    movement: Movement
    joints: SkinnedJoints
    to_armature: Float64s
    outside_after: int

    @property
    def outside(self) -> Indices:
        """The bones whose heads are joints outside of their skin now."""
        return self.joints.bones[~self.joints.inside(np.eye(4))]


def plain_places(
    basis: Float64s, scale: Float64s, movement: Movement, to_armature: Float64s
) -> Iterator[Float64s]:
    """The places, as A^-1 O, where a mesh object is likelier to belong than anywhere else.

    Where it is; where its location is 0, or its rotation, or both; and at the origin of the
    armature, turned about its axes by quarters as files with another axis up have it.

    Args:
        basis: shape (4, 4), of the object, with this scale (3,).
    """
    size = scale_of(movement)
    # A scale that leaves nearly a power of ten leaves that.
    whole = size * abs(scale_of(to_armature))
    power = 10.0 ** round(np.log10(whole))
    if size != 1.0 and abs(whole / power - 1.0) <= _POWER_OF_TEN:
        size *= power / whole
    parent = to_armature @ np.linalg.inv(basis)
    turned = basis[:3, :3] / scale
    for linear, location in (
        (turned, basis[:3, 3]),
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

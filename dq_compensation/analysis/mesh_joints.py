"""Finds the joints that the mesh shows where the hierarchy knows none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.skeleton import LimbAxis, Skeleton
from ..core.vectors import two_across, unit_or
from .skeleton_gaps import Gap, find_gaps

# Cosine of the angle from a bone to the head of the one that continues it, where no end touches: 45
# degrees. The bones of a face lie elsewhere: in front of the head.
_AHEAD = 0.7
# Skin goes around a limb: the widest sector about the joint, in radians, without any skin that the
# two bones share. Fingers, feet and necks leave 130 degrees at most, jaws, brows and ears 150.
_WIDEST_OPENING = np.radians(135.0)


def mesh_parents(
    positions: NDArray[np.floating],
    influences: Influences,
    skeleton: Skeleton,
    sides: NDArray[np.integer],
    limb_axis: LimbAxis = "AUTO",
) -> NDArray[np.int32]:
    """The bone that each bone continues on the mesh although neither is above the other.

    Args:
        positions, sides: of `find_gaps`.
        limb_axis: the bones end along it; AUTO: at their tails.

    Returns:
        shape (B,), -1 for none; together with the hierarchy they make no cycles.
    """
    skeleton = along_limbs(skeleton, limb_axis)
    found = np.full(skeleton.bone_count, -1, np.int32)
    for gap in find_gaps(positions, influences, skeleton, sides):
        if is_joint(gap, positions, skeleton):
            found[gap.child] = gap.parent
    return found


def along_limbs(skeleton: Skeleton, limb_axis: LimbAxis) -> Skeleton:
    """The skeleton with tails along the axis that the user has named for limbs."""
    if limb_axis == "AUTO":
        return skeleton
    lengths = np.linalg.norm(skeleton.tails - skeleton.heads, axis=1)[:, None]
    tails = skeleton.heads + lengths * skeleton.limb_directions(limb_axis)
    return replace(skeleton, tails=tails)


def is_joint(gap: Gap, positions: NDArray[np.floating], skeleton: Skeleton) -> bool:
    """Whether the two bones of a gap are one limb with a joint in it.

    The child starts where the parent ends or leads to, and the skin that both move surrounds them.
    """
    heads, ends = skeleton.heads[[gap.parent, gap.child]], skeleton.tails[[gap.parent, gap.child]]
    along = unit_or(ends - heads, 0.0)
    way = unit_or(heads[1:] - heads[:1], 0.0)
    if not gap.touches and float(way[0] @ along[0]) < _AHEAD:
        return False
    axis = unit_or(way + along[1:], along[1:])
    one, other = two_across(axis)
    from_joint = positions[gap.vertices] - heads[1]
    angles = np.sort(np.arctan2(from_joint @ other[0], from_joint @ one[0]))
    openings = np.diff(angles, append=angles[0] + 2.0 * np.pi)
    return bool(openings.max() <= _WIDEST_OPENING)

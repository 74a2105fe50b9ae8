"""Finds the joints that the mesh shows where the hierarchy knows none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.vectors import two_across, unit_or
from .skeleton_gaps import Gap, find_gaps, leads_to
from .skin_limbs import Limbs

# Skin goes around a limb: the widest sector about the joint, in radians, without any skin that the
# two bones share. Fingers, feet and necks leave 130 degrees at most, jaws, brows and ears 150.
_WIDEST_OPENING = np.radians(135.0)


def mesh_parents(
    positions: NDArray[np.floating],
    influences: Influences,
    limbs: Limbs,
    sides: NDArray[np.integer],
) -> NDArray[np.int32]:
    """The bone that each bone continues on the mesh although neither is above the other.

    Args:
        positions, limbs, sides: of `find_gaps`.

    Returns:
        shape (B,), -1 for none; together with the hierarchy they make no cycles.
    """
    found = np.full(limbs.skeleton.bone_count, -1, np.int32)
    for gap in find_gaps(positions, influences, limbs, sides):
        if is_joint(gap, positions, limbs):
            found[gap.child] = gap.parent
    return found


def is_joint(gap: Gap, positions: NDArray[np.floating], limbs: Limbs) -> bool:
    """Whether the two bones of a gap are one limb with a joint in it.

    The child starts where the parent ends or leads to, and the skin that both move surrounds them.
    """
    skeleton = limbs.skeleton
    if not gap.touches and not leads_to(skeleton, gap.child, gap.parent):
        return False
    heads, child = skeleton.heads, [gap.child]
    axis = unit_or(heads[child] - heads[[gap.parent]], 0.0)
    # A fingertip that hardly moves skin has it on one side, which tells no direction.
    if not limbs.by_skin[gap.child]:
        along = unit_or(skeleton.tails[child] - heads[child], 0.0)
        axis = unit_or(axis + along, along)
    one, other = two_across(axis)
    from_joint = positions[gap.vertices] - heads[gap.child]
    angles = np.sort(np.arctan2(from_joint @ other[0], from_joint @ one[0]))
    openings = np.diff(angles, append=angles[0] + 2.0 * np.pi)
    return bool(openings.max() <= _WIDEST_OPENING)

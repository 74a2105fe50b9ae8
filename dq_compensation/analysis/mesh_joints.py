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
    for gap in joints_of(find_gaps(positions, influences, limbs, sides), positions, limbs):
        found[gap.child] = gap.parent
    return found


def joints_of(gaps: list[Gap], positions: NDArray[np.floating], limbs: Limbs) -> list[Gap]:
    """Those of the gaps whose two bones are one limb with a joint in it.

    The child starts where the parent ends or leads to, and the skin that both move surrounds them.
    """
    skeleton, heads = limbs.skeleton, limbs.skeleton.heads
    children = np.array([gap.child for gap in gaps], np.intp)
    parents = np.array([gap.parent for gap in gaps], np.intp)
    leading = leads_to(skeleton, children, parents)
    axes = unit_or(heads[children] - heads[parents], 0.0)
    # A fingertip that hardly moves skin has it on one side, which tells no direction.
    along = unit_or(skeleton.tails[children] - heads[children], 0.0)
    axes = np.where(limbs.by_skin[children, None], axes, unit_or(axes + along, along))
    found = []
    for row, (gap, one, other) in enumerate(zip(gaps, *two_across(axes), strict=True)):
        if gap.touches or leading[row]:
            from_joint = positions[gap.vertices] - heads[gap.child]
            angles = np.sort(np.arctan2(from_joint @ other, from_joint @ one))
            openings = np.diff(angles, append=angles[0] + 2.0 * np.pi)
            if openings.max() <= _WIDEST_OPENING:
                found.append(gap)
    return found

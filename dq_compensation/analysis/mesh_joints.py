"""Finds the joints that the mesh shows where the hierarchy knows none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.skeleton import Ancestry, Skeleton
from ..core.vectors import two_across, unit_or
from .skeleton_gaps import Gap, find_gaps, has_ancestor, leads_to
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


def joined_skeleton(
    positions: NDArray[np.floating],
    influences: Influences,
    skeleton: Skeleton,
    sides: NDArray[np.integer],
) -> tuple[Skeleton, NDArray[np.int32]]:
    """The skeleton with the hierarchy that the mesh shows, if bones have no other one.

    It is the skeleton itself where all bones that continue others on the mesh have a bone above
    them that moves vertices. Where the skin tells the limbs of bones, their Y axes point along
    these, and the other two are any.

    Args:
        positions, sides: of `find_gaps`.

    Returns:
        the skeleton, depth first; and where each bone of the given one is in it, shape (B,).
    """
    count = skeleton.bone_count
    limbs = Limbs.of(positions, influences, skeleton)
    found = mesh_parents(positions, influences, limbs, sides)
    if not ((found >= 0) & ~has_ancestor(skeleton, influences.moving_bones(count))).any():
        return skeleton, np.arange(count, dtype=np.int32)
    parents, rest = skeleton.joined_parents(found), skeleton.rest.copy()
    along = limbs.joined(parents).rest[limbs.by_skin, :3, 1]
    across, other = two_across(along)
    rest[limbs.by_skin, :3, :3] = np.stack((other, along, across), axis=2)
    place = Ancestry.of(parents).enter.astype(np.int32)
    order = np.argsort(place)
    above = np.where(parents >= 0, place[parents], -1)[order].astype(np.int32)
    names = tuple(skeleton.names[bone] for bone in order.tolist())
    return Skeleton(names, above, rest[order], limbs.skeleton.tails[order]), place

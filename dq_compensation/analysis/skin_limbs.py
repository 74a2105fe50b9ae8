"""Finds where limbs run by the skin that bones move, where the tails of bones say nothing.

The bones of glTF have no tails. Where bones have no parents either, as the hands of headsets, an
importer cannot tell where they point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.measured_joints import TINY
from ..core.skeleton import LimbAxis, Skeleton
from ..core.vectors import dots, unit_or

# Cosine of the angle from a tail to the skin, 30 degrees: within it are four of five bones of a
# character whose tails are at the ends of its limbs, and one of fifteen that point anywhere.
_ALONG_SKIN = 0.87
# Tails are as long as their limbs within this factor. An importer's may be ten times as long.
_AS_LONG = 4.0
# The share of bones that end with their skin where tails tell. Where all point one way, that is
# right for most fingers of a hand at times.
_MOST, _NEARLY_ALL = 0.5, 0.9
# The length of the mean of unit vectors that all point one way.
_ONE_WAY = 0.99
# From this weight on skin is a bone's own. What it shares lies about its ends only.
_OWN = 0.5


@dataclass(frozen=True, eq=False)
class Limbs:
    """The limbs of bones, as the skin shows them.

    Attributes:
        skeleton: with the tails, and the Y axes, of its bones along their limbs.
        by_skin: shape (B,), bool; the bones whose limb the skin tells, and not the tail.
    """

    skeleton: Skeleton
    by_skin: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        positions: NDArray[np.floating],
        influences: Influences,
        skeleton: Skeleton,
        limb_axis: LimbAxis = "AUTO",
    ) -> Limbs:
        """The limbs of a skeleton.

        Along the axis that the user has named. AUTO: along the bones, but for bones that stand
        alone: none above or below them moves vertices. Where most of these that have skin of their
        own do not end with it, the limbs of all go through the middle of their skin, and as far
        again.

        Args:
            positions: shape (n, 3), armature space, at rest.
        """
        by_tails = np.zeros(skeleton.bone_count, np.bool_)
        if limb_axis != "AUTO":
            lengths = np.linalg.norm(skeleton.tails - skeleton.heads, axis=1)[:, None]
            tails = skeleton.heads + lengths * skeleton.limb_directions(limb_axis)
            return cls(replace(skeleton, tails=tails), by_tails)
        own = by_tails.copy()
        own[influences.bones[:, :1][influences.weights[:, :1] > _OWN]] = True
        if np.count_nonzero(_alone(skeleton, own)) < 2:  # most characters: this costs nothing
            return cls(skeleton, by_tails)
        alone = _alone(skeleton, influences.moving_bones(skeleton.bone_count))
        telling = alone & own
        if np.count_nonzero(telling) < 2:
            return cls(skeleton, by_tails)
        skin = _to_skin(positions, influences, skeleton)
        if _tails_tell(skeleton.tails[telling] - skeleton.heads[telling], skin[telling]):
            return cls(skeleton, by_tails)
        tails, rest = skeleton.tails.copy(), skeleton.rest.copy()
        tails[alone] = skeleton.heads[alone] + 2.0 * skin[alone]
        rest[alone, :3, 1] = unit_or(skin[alone], rest[alone, :3, 1])
        return cls(replace(skeleton, tails=tails, rest=rest), alone)

    def joined(self, parents: NDArray[np.int32]) -> Skeleton:
        """The skeleton with limbs that the skin shows along the heads of the bones.

        A limb leads to the bones that continue it. An end goes on between the way to it and the
        middle of its skin, which lies beside the bone where the finger has its pad.

        Args:
            parents: shape (B,), the bone that each bone continues; -1 for none.
        """
        skeleton, rest = self.skeleton, self.skeleton.rest.copy()
        behind = np.flatnonzero(self.by_skin & (parents >= 0))
        ways = unit_or(skeleton.heads[behind] - skeleton.heads[parents[behind]], 0.0)
        rest[behind, :3, 1] = unit_or(rest[behind, :3, 1] + ways, ways)
        directions = replace(skeleton, rest=rest).limb_directions("AUTO", parents)
        rest[self.by_skin, :3, 1] = directions[self.by_skin]
        return replace(skeleton, rest=rest)


def _alone(skeleton: Skeleton, moves: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Shape (B,): those of the bones that move vertices with none above or below them that does."""
    found, above = moves.copy(), skeleton.parents
    while (related := above >= 0).any():
        related &= moves & moves[above]
        found[related] = found[above[related]] = False
        above = np.where(above >= 0, skeleton.parents[above], -1)
    return found


def _tails_tell(tails: NDArray[np.floating], middles: NDArray[np.floating]) -> bool:
    """Whether tails are where limbs end, by the middles of their skin; both (k, 3), from heads."""
    ways = unit_or(tails, 0.0)
    parts = np.linalg.norm(tails, axis=1) / np.linalg.norm(2.0 * middles, axis=1).clip(TINY)
    fits = (parts > 1.0 / _AS_LONG) & (parts < _AS_LONG)
    fits &= dots(unit_or(middles, 0.0), ways) > _ALONG_SKIN
    one_way = np.linalg.norm(ways.mean(axis=0)) > _ONE_WAY
    return bool(np.mean(fits) >= (_NEARLY_ALL if one_way else _MOST))


def _to_skin(
    positions: NDArray[np.floating], influences: Influences, skeleton: Skeleton
) -> NDArray[np.float64]:
    """Shape (B, 3): from the head of each bone to the middle of its skin; 0 without any."""
    sums = np.zeros((skeleton.bone_count, 4))
    points = np.column_stack((positions, np.ones(len(positions))))
    for rows, bones, weights in influences.slots():
        for column in range(4):
            weighted = weights * points[rows, column]
            sums[:, column] += np.bincount(bones, weighted, skeleton.bone_count)
    amounts = sums[:, 3:]
    return np.where(amounts > 0.0, sums[:, :3] / np.maximum(amounts, TINY) - skeleton.heads, 0.0)

"""Axes of bones: compared with their limbs, turned at rest, and posed without Blender."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Booleans, Float64s, Indices, Int32s
from ..core.skeleton import LIMB_AXES, LimbAxis, Skeleton
from ..core.vectors import dots, extent

# Beyond this an axis is not along the limb; several children tell only roughly where it runs.
LARGEST_ANGLE = np.radians(30.0)
_LARGEST_ANGLE_TO_SEVERAL = np.radians(60.0)
# An armature has an axis of its own when it fits this part of the bones that tell, and so many.
_CLEAR_SHARE, _CLEAR_COUNT = 0.75, 3
# Where the directions to the children cancel out by more than this, the bone does not tell: a
# pelvis between spine and legs. A hand with its fingers does.
_CLEAR_MEAN = 0.5


@dataclass(frozen=True, eq=False)
class LimbAxes:
    """The axes of bones against their limbs.

    Attributes:
        concerned: shape (B,), bool; the bones that deform the mesh.
        telling: shape (B,), bool; those whose children show where the limb runs.
        branching: shape (B,), bool; those with several children.
        ends: shape (B,), bool; those without children: AUTO has only their own Y to go by.
        limbs: shape (B, 3), unit, armature space; where the limbs run.
        own_axis: the axis that clearly fits most bones; None without such an axis.
    """

    skeleton: Skeleton
    concerned: Booleans
    telling: Booleans
    branching: Booleans
    ends: Booleans
    limbs: Float64s
    own_axis: LimbAxis | None

    @classmethod
    def of(cls, skeleton: Skeleton, concerned: Booleans) -> LimbAxes:
        """Measure a skeleton.

        Args:
            concerned: shape (B,), bool; the bones that deform the mesh.
        """
        counts, telling = _tellers(skeleton)
        limbs = skeleton.limb_directions("AUTO")
        every = telling if (telling & concerned).sum() < _CLEAR_COUNT else telling & concerned
        own_axis = None
        if every.sum() >= _CLEAR_COUNT:
            along = [_fits(skeleton, limbs, counts > 1, axis)[every] for axis in LIMB_AXES[1:]]
            shares = [float(fits.mean()) for fits in along]
            best = int(np.argmax(shares))
            own_axis = LIMB_AXES[1:][best] if shares[best] >= _CLEAR_SHARE else None
        return cls(skeleton, concerned, telling, counts > 1, counts == 0, limbs, own_axis)

    def off(self, axis: LimbAxis) -> Booleans:
        """Shape (B,): the telling bones whose limb this axis does not follow; none for AUTO."""
        if axis == "AUTO":
            return np.zeros_like(self.telling)
        fits = _fits(self.skeleton, self.limbs, self.branching, axis)
        return self.concerned & self.telling & ~fits

    def ends_off(self, axis: LimbAxis) -> Booleans:
        """Shape (B,): the end bones whose limb this axis is unlikely to follow.

        Their limb is taken to run along the axis that clearly fits the rest. Where the rest has
        none, and Y is wrong for most of it, the Y of the ends is not to be trusted either.
        """
        used = "Y" if axis == "AUTO" else axis
        ends = self.concerned & self.ends
        if self.own_axis is not None:
            return ends if used != self.own_axis else np.zeros_like(ends)
        mostly_off = self.off(used).sum() * 2 > (self.concerned & self.telling).sum()
        return ends if mostly_off else np.zeros_like(ends)

    def y_off(self) -> Booleans:
        """Shape (B,): the bones that do not point along their limbs, whatever axis is in use.

        Where another axis than Y clearly fits, bones that do not tell count with the rest.
        """
        off = self.off("Y") | self.ends_off("Y")
        if self.own_axis in {None, "Y"}:
            return off
        return off | (self.concerned & ~self.telling)

    def best_axis(self) -> LimbAxis:
        """The setting that is wrong for the fewest limbs."""
        return min(LIMB_AXES, key=lambda axis: int((self.off(axis) | self.ends_off(axis)).sum()))

    def wanted(self) -> Float64s:
        """Shape (B, 3), unit, armature space: where each bone should point.

        A bone with one child: to that. Any other: along the axis that clearly fits the rest; where
        there is none, amid its children, and an end bone on from its parent's limb.
        """
        directions = self.limbs.copy()
        if self.own_axis is not None:
            own = self.skeleton.limb_directions(self.own_axis)
            others = ~self.telling | self.branching
            directions[others] = own[others]
        else:
            inner_end = self.ends & (self.skeleton.parents >= 0)
            directions[inner_end] = self.limbs[self.skeleton.parents[inner_end]]
        return directions


def only_child_distances(skeleton: Skeleton) -> Float64s:
    """Shape (B,): how far the head of a bone's child is; 0 unless exactly one lies elsewhere."""
    parents, ways = _to_children(skeleton)
    lengths = np.linalg.norm(ways, axis=1)
    sums = np.bincount(parents, weights=lengths, minlength=skeleton.bone_count)
    counts = np.bincount(parents, minlength=skeleton.bone_count)
    return np.where(counts == 1, sums, 0.0)


def _tellers(skeleton: Skeleton) -> tuple[Indices, Booleans]:
    """How many children lie elsewhere, and the bones whose children agree where the limb runs."""
    parents, ways = _to_children(skeleton)
    directions = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    sums = np.zeros((skeleton.bone_count, 3))
    np.add.at(sums, parents, directions)
    counts = np.bincount(parents, minlength=skeleton.bone_count)
    means = np.linalg.norm(sums, axis=1) / np.maximum(counts, 1)
    return counts, (counts > 0) & (means >= _CLEAR_MEAN)


def _to_children(skeleton: Skeleton) -> tuple[Int32s, Float64s]:
    """The parents (m,) of the bones that lie elsewhere, and the ways (m, 3) to their heads."""
    children = np.flatnonzero(skeleton.parents >= 0)
    parents = skeleton.parents[children]
    ways = skeleton.heads[children] - skeleton.heads[parents]
    apart = np.linalg.norm(ways, axis=1) > 1e-5 * extent(skeleton.heads)
    return parents[apart], ways[apart]


def _fits(skeleton: Skeleton, limbs: Float64s, branching: Booleans, axis: LimbAxis) -> Booleans:
    """Shape (B,): whether an axis of the bones runs along the limbs."""
    along = dots(skeleton.limb_directions(axis), limbs)
    largest = np.where(branching, _LARGEST_ANGLE_TO_SEVERAL, LARGEST_ANGLE)
    return np.arccos(np.clip(along, -1.0, 1.0)) <= largest

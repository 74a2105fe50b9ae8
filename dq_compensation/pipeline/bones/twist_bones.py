"""A rig with twist bones, where *Spread Twist* turns the skin of limbs that have none."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...analysis.ranges_of_motion import shared_pairs
from ...arrays import Booleans, Float64s, Floats, Indices, Int32s, Integers
from ...core.dual_quaternion import matrices_from_quaternions, quaternions_from_axis_angle
from ...core.influences import Influences
from ...core.pose import Pose
from ...core.skeleton import Skeleton
from ...core.twist_limbs import TwistLimbs
from ...core.vectors import dots, unit_or
from .helper_bones import Helper, HelperSkinning

# So many places along a limb have a bone: of one that twists at one end, and at both.
_PLACES = {1: 3, 2: 4}
# A point is on the axis of a bone within this part of its limb.
_ON_AXIS = 1e-5


@dataclass(frozen=True, eq=False)
class TwistedRig:
    """Bones, and twist bones among them: each after its limb, the next bone of the limb below it.

    Attributes:
        plain: the skeleton without them, of B bones; its axes are those of the bones.
        skeleton: with the T twist bones; its axes and tails are those of limbs.
        influences: of the n vertices: skin along a limb follows the nearest two of its twist bones.
        twists: the T twist bones, in the order of the skeleton.
        origin: shape (B + T,), the bone of `plain` of each bone; of a twist bone the limb.
        is_twist: shape (B + T,).
    """

    plain: Skeleton
    skeleton: Skeleton
    influences: Influences
    twists: tuple[TwistHelper, ...]
    origin: Int32s
    is_twist: Booleans

    @classmethod
    def of(
        cls,
        skeleton: Skeleton,
        influences: Influences,
        rest: Floats,
        spreads: Sequence[tuple[TwistLimbs, float, Indices]],
        chosen: Collection[int],
    ) -> TwistedRig:
        """Give limbs twist bones.

        Args:
            skeleton: whose axes and tails are those of limbs.
            influences: of the skeleton's bones.
            rest: shape (n, 3), armature space.
            spreads: of meshes that spread twists: their limbs, how much of it, 0 to 1, and the
                vertices that follow twist bones. A limb of several meshes twists as the first one
                says.
            chosen: the bones that may get any.
        """
        chains: dict[int, _Chain] = {}
        for limbs, spread, _ in spreads:
            for row, limb in enumerate(limbs.bones.tolist()):
                if limb in chosen and limb not in chains:
                    chains[limb] = _Chain.of(limbs, row, spread)
        counts = np.ones(skeleton.bone_count, np.int32)
        for limb, chain in chains.items():
            counts[limb] += sum(helper is not None for helper in chain.helpers)
        origin = np.repeat(np.arange(skeleton.bone_count, dtype=np.int32), counts)
        first = np.cumsum(counts) - counts
        is_twist = np.ones(len(origin), np.bool_)
        is_twist[first] = False
        twists = tuple(each for limb in sorted(chains) for each in chains[limb].helpers if each)
        influences = _shared_out(influences, rest, first.astype(np.int32), chains, spreads)
        longer = _longer(skeleton, twists, origin, is_twist, first + counts - 1)
        return cls(skeleton, longer, influences, twists, origin, is_twist)

    def pairs(self, plain: Integers) -> Int32s:
        """The pairs of bones that may get helpers, shape (J, 2): see `shared_pairs`.

        Args:
            plain: those of the bones of `plain`, in the order that theirs have.
        """
        if not self.twists:
            return plain.astype(np.int32)
        known = {(above, below) for above, below in plain.tolist()}
        limbs = {twist.limb for twist in self.twists}
        found = []
        for first, second in shared_pairs(self.influences, self.skeleton).tolist():
            one, other = int(self.origin[first]), int(self.origin[second])
            if (one, other) in known or (one == other and one in limbs):
                found.append((first, second))
            elif (other, one) in known:
                found.append((second, first))
        return np.array(found, np.int32).reshape(-1, 2)

    def mirrored(self, plain: Integers) -> Int32s:
        """The other side's row of each; `plain`, shape (B,), has those of the plain bones."""
        first = np.searchsorted(self.origin, np.arange(len(plain)))
        counts = np.bincount(self.origin, minlength=len(plain))
        rows, others = np.arange(len(self.origin)), plain[self.origin]
        alike = counts[others] == counts[self.origin]
        found = first[others] + rows - first[self.origin]
        return np.where(alike, found, rows).astype(np.int32)

    def used(self, skinning: HelperSkinning) -> list[tuple[int, TwistHelper]]:
        """The twist bones that vertices or helpers of a result follow, with their rows."""
        bones = np.zeros(len(self.origin), np.bool_)
        followed = skinning.indices[skinning.weights > 0.0]
        bones[followed[followed < len(bones)]] = True
        for helper in skinning.helpers:
            bones[[helper.parent, helper.child]] = True
        rows = np.flatnonzero(self.is_twist).tolist()
        return [(row, twist) for row, twist in zip(rows, self.twists, strict=True) if bones[row]]

    def anchor(self, helper: Helper) -> tuple[int, float | None]:
        """The plain bone that takes the head of an anchored helper along, and where on its axis.

        Returns:
            the bone, and 0 at its head to 1 at its tail; None where its limb runs elsewhere. A
            twist bone turns about its limb, which takes the point along as well.
        """
        bone = int(self.origin[helper.anchor])
        axis = self.plain.tails[bone] - self.plain.heads[bone]
        limb = self.skeleton.tails[helper.anchor] - self.skeleton.heads[helper.anchor]
        way = helper.along * limb
        along = float(way @ axis / np.maximum(axis @ axis, 1e-30))
        beside = np.linalg.norm(way - min(max(along, 0.0), 1.0) * axis)
        return bone, None if beside > _ON_AXIS * np.linalg.norm(limb) else min(max(along, 0.0), 1.0)

    def matrices(self, plain: Float64s) -> Float64s:
        """The matrices of all bones, shape (P, B + T, 4, 4), for (P, B, 4, 4) of the plain ones."""
        found = plain[:, self.origin]
        if self.twists:
            for place, matrices in enumerate(plain):
                pose = Pose.from_matrices(matrices, self.plain)
                found[place, self.is_twist] = twist_transforms(self.twists, pose, self.plain)
        return found

    def poses(self, plain: Float64s) -> list[Pose]:
        """The poses of all bones for matrices (P, B, 4, 4) of the plain ones."""
        # Blender sees along its own axes how a bone is scaled.
        own = np.where(
            self.is_twist[:, None, None], self.skeleton.rest, self.plain.rest[self.origin]
        )
        skeleton = replace(self.skeleton, rest=own)
        return [Pose.from_matrices(matrices, skeleton) for matrices in self.matrices(plain)]


@dataclass(frozen=True, eq=False)
class _Chain:
    """The twist bones of a limb.

    Attributes:
        helpers: at equal distances from its beginning to its end; None where it turns not: there
            the limb itself is.
        head: shape (3,).
        way: shape (3,), along the limb, one over its length.
    """

    helpers: tuple[TwistHelper | None, ...]
    head: Float64s
    way: Float64s

    @classmethod
    def of(cls, limbs: TwistLimbs, row: int, spread: float) -> _Chain:
        """The chain of a row of these limbs."""
        bone, before, behind = (int(of[row]) for of in (limbs.bones, limbs.before, limbs.behind))
        count = _PLACES[(before != bone) + (behind != bone)]
        x, y, z = limbs.axes[row].tolist()
        found: list[TwistHelper | None] = []
        for place in np.linspace(0.0, 1.0, count).tolist():
            turns = (spread * (place - 1.0) * (before != bone), spread * place * (behind != bone))
            helper = TwistHelper(bone, before, behind, (x, y, z), *turns)
            found.append(helper if any(turns) else None)
        return cls(tuple(found), limbs.heads[row], limbs.axes[row] / limbs.lengths[row])


def _longer(
    skeleton: Skeleton,
    twists: Sequence[TwistHelper],
    origin: Int32s,
    is_twist: Booleans,
    last: Integers,
) -> Skeleton:
    """The skeleton with twist bones; `last`, shape (B,), is the end of each bone's chain."""
    parents = np.where(skeleton.parents >= 0, last[skeleton.parents], -1)[origin]
    rows = np.flatnonzero(is_twist)
    parents[rows] = rows - 1
    rest, tails = skeleton.rest[origin], skeleton.tails[origin]
    names = [skeleton.names[bone] for bone in origin.tolist()]
    for number, (row, helper) in enumerate(zip(rows.tolist(), twists, strict=True)):
        rest[row, :3, :3] = twist_axes(helper, skeleton)
        length = np.linalg.norm(tails[row] - rest[row, :3, 3])
        tails[row] = rest[row, :3, 3] + length * rest[row, :3, 1]
        names[row] = f"{names[row]} twist {number}"
    return Skeleton(tuple(names), parents.astype(np.int32), rest, tails)


def _shared_out(
    influences: Influences,
    rest: Floats,
    first: Int32s,
    chains: dict[int, _Chain],
    spreads: Sequence[tuple[TwistLimbs, float, Indices]],
) -> Influences:
    """The influences with the weights of limbs on their twist bones; `first` of each bone."""
    count, bones = len(rest), len(first)
    heads, axes, lasts = np.zeros((bones, 3)), np.zeros((bones, 3)), np.zeros(bones, np.intp)
    rows = np.tile(first[:, None], (1, max(_PLACES.values())))
    for limb, chain in chains.items():
        heads[limb], axes[limb] = chain.head, chain.way
        lasts[limb] = len(chain.helpers) - 1
        turning = np.array([helper is not None for helper in chain.helpers])
        rows[limb, : len(turning)] += np.cumsum(turning) * turning
    twisted = np.zeros(count, np.bool_)
    for _, _, part in spreads:
        twisted[part] = True
    vertices, slots = np.nonzero(influences.weights)
    of, weights = influences.bones[vertices, slots], influences.weights[vertices, slots]
    along = dots(rest[vertices] - heads[of], axes[of]).clip(0.0, 1.0) * lasts[of]
    low = np.floor(along).astype(np.intp)
    shares = along - low
    high = np.minimum(low + 1, lasts[of])
    taken = twisted[vertices]
    lower = np.where(taken, rows[of, low], first[of])
    upper = np.where(taken, rows[of, high], first[of])
    return Influences.from_triples(
        np.tile(vertices, 2),
        np.concatenate((lower, upper)),
        np.concatenate((weights * (1.0 - shares), weights * shares)),
        count,
    )


@dataclass(frozen=True)
class TwistHelper:
    """A bone that turns about a limb as *Spread Twist* turns its skin: a twist bone.

    It follows the limb and turns about it by x b + y e, with b and e the twists at the limb's
    beginning and end; see `TwistLimbs`. In Blender: an Armature constraint with the limb alone,
    then a Transformation for each of the two twists, from the Y of Swing and Y Twist of a gauge in
    Local Space to a turn about the bone's own Y, After Original. The gauge hangs on the one bone of
    the twist and goes where the other one goes.

    Attributes:
        limb, before, behind: bones of the skeleton; see `TwistLimbs`.
        axis: unit, armature space, along the limb at rest.
        at_beginning, at_end: how much of the twists there it has.
    """

    limb: int
    before: int
    behind: int
    axis: tuple[float, float, float]
    at_beginning: float
    at_end: float

    @property
    def turns(self) -> list[tuple[int, int, float]]:
        """The twists with which it turns: bones above and below, and the part of the angle."""
        both = (self.before, self.limb, self.at_beginning), (self.limb, self.behind, self.at_end)
        return [turn for turn in both if turn[2]]


def twist_axes(helper: TwistHelper, skeleton: Skeleton) -> Float64s:
    """The axes of a helper at rest, shape (3, 3): the limb's, turned until Y is along its axis."""
    rest, axis = skeleton.rest[helper.limb, :3, :3], np.array(helper.axis)
    # Half of the turn from one unit vector to another: (1 + a . b, a x b), up to its length.
    half = np.append(1.0 + rest[:, 1] @ axis, np.cross(rest[:, 1], axis))
    if np.linalg.norm(half) < 1e-6:
        half = np.append(0.0, rest[:, 0])
    return matrices_from_quaternions(unit_or(half, 0.0)) @ rest


def twist_transforms(helpers: Sequence[TwistHelper], pose: Pose, skeleton: Skeleton) -> Float64s:
    """The skinning matrices of helpers, shape (H, 4, 4): from rest to the pose, armature space."""
    if not helpers:
        return np.zeros((0, 4, 4))
    bones, before, behind = np.array(
        [(helper.limb, helper.before, helper.behind) for helper in helpers], np.int32
    ).T
    axes = np.array([helper.axis for helper in helpers])
    heads = skeleton.heads[bones]
    no_skin = np.zeros((0, 1), np.int32), np.zeros((0, 1, 2))
    line = heads, axes, np.ones(len(bones))
    limbs = TwistLimbs(skeleton, bones, before, behind, *line, *no_skin, {})
    _, _, twists = limbs.posed(pose)
    factors = np.array([(helper.at_beginning, helper.at_end) for helper in helpers])
    angles = (factors * twists).sum(axis=1)
    turns = np.tile(np.eye(4), (len(helpers), 1, 1))
    turns[:, :3, :3] = matrices_from_quaternions(quaternions_from_axis_angle(axes, angles))
    turns[:, :3, 3] = heads - np.einsum("hij,hj->hi", turns[:, :3, :3], heads)
    return pose.matrices[bones] @ turns

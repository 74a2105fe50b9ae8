"""The proof of soft weights: that they are no worse than the painted weights, joint by joint.

Joints turn by the range of *Test Motion*, each alone, and with those whose skin goes over into its
own, once with the painted weights and once with the soft ones, both by COMPENSATED. Where an edge
of a mesh gets longer with the soft ones than any of it does with the painted ones, where more skin
crosses or a seam opens wider, the weights act less softly at that joint: half, or as painted.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Int32s, Integers
from ..core.influences import Influences
from ..core.skeleton import Ancestry, Skeleton
from ..core.skin_at_rest import SkinAtRest
from ..core.vectors import extent
from ..steps import part_of
from .joint_softness import less_soft, parents_at_joints, softness_between
from .joint_tests import MOST, Finding, JointTest, JointTests, Measure, Turn, Weights
from .limbs import joined_skeleton, with_limbs
from .mirror_map import mirrored_bones
from .posed_bones import Quaternion, swing, twist
from .ranges_of_motion import (
    BACK,
    BEND,
    LEAST_REST_BEND,
    TWIST,
    limb_bend,
    ranges_of_motion,
    shared_pairs,
)
from .surface.rigid_pieces import islands
from .surface.seams import SEAM_APART, pairs_in_one_place
from .surface.skin_crossings import CrossingSkin, Overlaps

# Shares of what a joint turns below which a vertex is on one side of the joint; changes of shares
# that move no vertex visibly.
_ON_ONE_SIDE, _SAME = 1e-3, 1e-2
# Likewise of what a joint turns, in which the change of one weight counts once.
_SHARE = 0.5 * _SAME
# A joint that takes some skin along chords by more than this, of 1/4, is a ball: it is bent to
# eight sides.
_BALL, _OBLIQUE = 0.1, 8
# Skin is looked at that is as near to what soft weights change, in sizes of the character.
_REACH = 0.06
# Two joints turn together, too, where soft weights change so much of the same skin of both.
_SHARED = 0.5
# What is worse than this is tested again at once when weights have changed.
_NEARLY = 1.0
# The joint above bends with it by this part of its range, and twists by all of it.
_ABOVE = 0.5
# How softly a joint acts after so many steps. The last is as painted.
_LEVELS = (1.0, 0.5, 0.0)
_MOST_STEPS = len(_LEVELS) - 1
# A further step helps that makes it better by this factor.
_HELPS = 1.02
# So often at most the weights are tested.
_ROUNDS = 16


@dataclass(frozen=True)
class LessSoft:
    """A joint at which the weights act less softly.

    Attributes:
        bone: at whose head it is.
        softness: how softly they act there, 0 to 1.
        soft, painted: the measure in the pose in which they differ most: with more softness, and
            with the painted weights.
        measure: of what these are.
    """

    bone: int
    softness: float
    soft: float
    painted: float
    measure: Measure = "EDGE"

    @property
    def worse(self) -> str:
        """What is worse with more softness, in a rigger's words."""
        if self.measure == "CROSSINGS":
            return f"{self.soft:.0f} pairs of faces cross, {self.painted:.0f} as painted"
        if self.measure == "GAP":
            soft, painted = (f"{100.0 * each:.2g} %" for each in (self.soft, self.painted))
            return f"a seam opens by {soft} of the character's size, {painted} as painted"
        longest = f"{self.soft:.1f} times as long as at rest, {self.painted:.1f} times as painted"
        return f"an edge gets {longest}"


@dataclass(frozen=True, eq=False)
class ProvedSkin:
    """The skin of a character whose soft weights are to be proved.

    Attributes:
        skin: n points at rest, with the painted weights. Its `sides` are known.
        edges: shape (e, 2), of points.
        meshes: shape (e,), the mesh that each edge is of, rising; meshes with seams are one.
        triangles: shape (t, 3), of points: what may cross.
        seamless: shape (n,), points whose gaps do not count: of copies.
        overlaps: finds what crosses.
    """

    skin: SkinAtRest
    edges: Integers
    meshes: Integers
    triangles: Integers
    seamless: Booleans
    overlaps: Overlaps

    @cached_property
    def _joined(self) -> tuple[Skeleton, Int32s, Indices]:
        """The skeleton in which joints turn, the place of each bone in it, and the bones in it.

        Its axes are those of `joined_skeleton`.
        """
        joined, there = joined_skeleton(self.skin)
        place = Ancestry.of(self._parents).enter.astype(np.int32)
        bones = np.argsort(place)
        above = np.where(self._parents >= 0, place[self._parents], -1)[bones].astype(np.int32)
        names = tuple(self.skin.skeleton.names[bone] for bone in bones.tolist())
        ends = joined.rest[there[bones]], joined.tails[there[bones]]
        return Skeleton(names, above, *ends), place, bones

    @cached_property
    def _parents(self) -> Int32s:
        return parents_at_joints(self._limbs)

    @cached_property
    def _ranges(self) -> dict[int, float]:
        """How far the joint at each bone's head turns, in parts of the largest range."""
        joined, place, bone_at = self._joined
        influences = self.skin.influences
        pairs = place[shared_pairs(influences, self.skin.skeleton)]
        moved = replace(influences, bones=place[influences.bones])
        found = ranges_of_motion(moved, self.skin.positions, joined, pairs)
        return {int(bone_at[joint]): part for joint, part in found.items()}

    @cached_property
    def _limbs(self) -> SkinAtRest:
        return with_limbs(self.skin, use_mesh_joints=True)

    def proof(self, soft: Influences) -> Generator[float, None, list[LessSoft]]:
        """Where soft weights have to act less, joint by joint, alike on both sides of the body.

        Args:
            soft: of the points.

        Yields:
            how much is done, 0 to 1.
        """
        painted = Weights.of(self._limbs, self.skin.influences)
        weights = Weights.of(self._limbs, soft)
        yield 0.1
        tests = self._tests(painted, weights)
        bones = frozenset(bone for test in tests.tests for bone in test.blamed)
        search, done = _Search(self._parents, self._mirrored, bones), 0.2
        found, stale = dict[int, Finding](), np.ones(len(tests.tests), np.bool_)
        yield done
        for _ in range(_ROUNDS):
            # How many rounds it takes is not known: each takes half of what is left.
            part = 0.5 * (1.0 - done)
            # What was well is tested again once all others are.
            bad = np.array(
                [row not in found or found[row].ratio > _NEARLY for row in range(len(stale))],
                np.bool_,
            )
            chosen = stale & bad if (stale & bad).any() else stale
            rows = np.flatnonzero(chosen)
            found |= yield from part_of(tests.findings(weights, rows), done, part)
            stale &= ~chosen
            done += part
            if not search.goes_on(_by_bones(tests, found), is_known=not stale.any()):
                if not stale.any():
                    break
                continue
            softness = tuple(search.softness().items())
            between = softness_between(softness, self._parents)
            before, influences = weights, less_soft(self.skin.influences, soft, between)
            weights = Weights.of(self._limbs, influences)
            changed = _changed(before.influences, influences)
            stale |= [_is_stale(test, changed, before, weights) for test in tests.tests]
        return [
            LessSoft(bone, level, finding.soft, finding.painted, finding.measure)
            for bone, (level, finding) in search.found().items()
        ]

    @cached_property
    def _size(self) -> float:
        return extent(self.skin.positions)

    @cached_property
    def _mirrored(self) -> Indices:
        skeleton = self.skin.skeleton
        return mirrored_bones(skeleton.heads, skeleton.tails)

    def _tests(self, painted: Weights, soft: Weights) -> JointTests:
        """The tests of the joints where soft weights change anything."""
        one, other = pairs_in_one_place(self.skin.positions, SEAM_APART * self._size)
        in_one_place = np.stack((one, other), axis=1)
        places = islands(in_one_place, len(self.skin.positions))
        crossing = CrossingSkin.of(self.skin.positions, self.triangles, places, self.overlaps)
        seams = in_one_place[~self.seamless[in_one_place].any(axis=1)]
        joints, tests = self._joints(painted, soft), list[JointTest]()
        for turned, blamed in self._turned_together(joints):
            chosen = [joints[turn.bone] for turn in turned]
            crossed = np.logical_or.reduce([each.crossed for each in chosen])
            changed = np.logical_or.reduce([each.changed for each in chosen])
            aside = np.logical_and.reduce([each.low | each.high for each in chosen])
            starts = np.unique(self.meshes[crossed], return_index=True)[1]
            edges, opened = self.edges[crossed], seams[changed[seams].any(axis=1)]
            reach = min(_REACH * self._size, 0.5 * extent(self.skin.positions[changed]))
            triangles = crossing.near(changed, reach)
            bent = np.zeros(len(changed), np.bool_)
            bent[self.triangles[triangles]] = True
            bent &= ~aside
            bent[edges] = bent[opened] = True
            looked = _crossing_poses(len(turned[0].moves), is_single=len(turned) == 1)
            skin = edges, starts, opened, triangles, changed, bent
            tests.append(JointTest(turned, looked, blamed, *skin))
        return JointTests(tests, self.skin, painted, crossing)

    def _joints(self, painted: Weights, soft: Weights) -> dict[int, _Joint]:
        """The joints where soft weights change anything, by their bones."""
        joined, place, _ = self._joined
        ancestry, balls, found = Ancestry.of(joined.parents), _balls(painted), dict[int, _Joint]()
        for bone, part in sorted(self._ranges.items()):
            joint = int(place[bone])
            behind = ancestry.enter[place] >= ancestry.enter[joint]
            behind &= ancestry.enter[place] < ancestry.leave[joint]
            shares = [each.shares(behind) for each in (painted, soft)]
            changed = np.abs(shares[0] - shares[1]) >= _SAME
            if not changed.any():
                continue
            low = np.maximum(*shares) < _ON_ONE_SIDE
            high = np.minimum(*shares) > 1.0 - _ON_ONE_SIDE
            first, second = self.edges.T
            crossed = ~((low[first] & low[second]) | (high[first] & high[second]))
            if not crossed.any():
                continue  # no face is there
            turns = _turns(joined, joint, part, is_ball=bone in balls)
            rest, there = joined.rest[joint], self.skin.positions[changed]
            box = np.array((there.min(axis=0), there.max(axis=0)), np.float64)
            found[bone] = _Joint(bone, part, behind, rest, turns, changed, crossed, low, high, box)
        return found

    def _turned_together(
        self, joints: dict[int, _Joint]
    ) -> Iterator[tuple[tuple[Turn, ...], tuple[int, ...]]]:
        """What turns in each test, and what is blamed.

        Each joint; both of a pair of alike ones; each with the one above.
        """
        for bone, joint in joints.items():
            yield (joint.turn(joint.turns),), (bone,)
        for bone, joint in joints.items():
            main, other = joint.main_turns, joints.get(int(self._mirrored[bone]))
            if (
                other is not None
                and bone < other.bone
                and joint.is_beside(other, _REACH * self._size)
            ):
                # The mirror image of a rotation about an axis in X, Y, Z.
                turned = joint.turn(main), other.turn(main * (1.0, -1.0, -1.0))
                yield turned, (bone, other.bone)
        for bone, joint in joints.items():
            above = joints.get(int(self._parents[bone]))
            if above is not None and above.behind[bone] and joint.shares(above):
                main = joint.main_turns
                share = np.full((len(main), 1), above.part / joint.part)
                share[:-2] *= _ABOVE  # the last two are twists
                turned = above.turn(main * share), joint.turn(main)
                yield turned, (bone,)


class _Search:
    """How softly the weights act at each joint.

    A joint at which they are worse acts half, then as painted. Weights that go from a limb to the
    next but one are changed by both joints between, so then those beside it follow. Where acting
    less does not help, they act as before; else as little as helped most.

    Args:
        parents: shape (B,), of `parents_at_joints`.
        mirrored: shape (B,), of `mirrored_bones`.
        bones: the joints that may act less.
    """

    def __init__(self, parents: Int32s, mirrored: Indices, bones: frozenset[int]) -> None:
        self._parents, self._mirrored, self._bones = parents, mirrored, bones
        # By one of two alike joints: how many steps less it acts, those for the joints beside it
        # with them; and how bad it was at each step.
        self._steps: dict[int, int] = {}
        self._tried: dict[int, dict[int, float]] = {}
        self._given_up: set[int] = set()
        # The worst that was found at each joint.
        self._worst: dict[int, Finding] = {}
        # The least that was found of all joints together, and what for.
        self._least, self._best = np.inf, dict[int, int]()

    def goes_on(self, found: Mapping[int, Finding], *, is_known: bool) -> bool:
        """Take a further step, or end.

        Args:
            found: what is worst at each joint with `softness`.
            is_known: whether all of that was found with this softness, not some before.
        """
        ratios: dict[int, float] = {}
        for bone, finding in found.items():
            one = self._one_of(bone)
            ratios[one] = max(ratios.get(one, 0.0), finding.ratio)
            known = self._worst.get(bone, finding)
            self._worst[bone] = max(known, finding, key=lambda each: each.ratio)
        worse = sum(max(ratio - MOST, 0.0) for ratio in ratios.values())
        if is_known and worse < self._least:
            self._least, self._best = worse, dict(self._steps)
        steps = dict(self._steps)
        for one, ratio in ratios.items():
            if ratio <= MOST or one in self._given_up:
                continue
            tried, count = self._tried.setdefault(one, {}), self._steps.get(one, 0)
            tried[count] = ratio
            is_no_better = count >= _MOST_STEPS and ratio >= tried[0]
            if count == 2 * _MOST_STEPS or is_no_better:
                self._given_up.add(one)
                enough = max(MOST, _HELPS * min(tried.values()))
                steps[one] = min(each for each, ratio in tried.items() if ratio <= enough)
            else:
                steps[one] = count + 1
        is_changed, self._steps = steps != self._steps, steps
        return is_changed

    def softness(self) -> dict[int, float]:
        """How softly the weights act at joints that act less, by their bones."""
        return {bone: level for bone, (level, _) in self._levels(self._steps).items()}

    def found(self) -> dict[int, tuple[float, Finding]]:
        """What was best: how softly they act, and what was worse with more."""
        found = {}
        for bone, (level, cause) in self._levels(self._best).items():
            own = self._worst[bone]
            because = [self._worst[each] for each in self._both(cause)]
            found[bone] = level, max([own, *because], key=lambda each: each.ratio)
        return found

    def _levels(self, steps: Mapping[int, int]) -> dict[int, tuple[float, int]]:
        """How softly joints act that act less, and for which joint."""
        found: dict[int, tuple[float, int]] = {}
        for one, count in steps.items():
            levels = {one: count}
            if count > _MOST_STEPS:
                levels |= dict.fromkeys(self._beside(one), count - _MOST_STEPS)
            for bone, taken in levels.items():
                for each in self._both(bone) if taken else ():
                    level = _LEVELS[min(taken, _MOST_STEPS)]
                    if level < found.get(each, (1.0, one))[0]:
                        found[each] = level, one
        return dict(sorted(found.items()))

    def _both(self, bone: int) -> list[int]:
        """A joint and that on the other side of the body, where they may act less."""
        both = dict.fromkeys((bone, int(self._mirrored[bone])))
        return [each for each in both if each in self._bones]

    def _one_of(self, bone: int) -> int:
        """The same of a bone and of the one on the other side of the body."""
        return min(self._both(bone))

    def _beside(self, bone: int) -> list[int]:
        """The bones behind the joints before and after that of a bone."""
        return [int(self._parents[bone]), *np.flatnonzero(self._parents == bone).tolist()]


@dataclass(frozen=True, eq=False)
class _Joint:
    """A joint where soft weights change something.

    Attributes:
        bone: at whose head it is.
        part: of the largest range.
        behind: shape (B,), the bones that it turns.
        rest: shape (4, 4), of its bone in the skeleton in which it turns.
        turns: shape (p, 3), at the ends of its range: rotation vectors, armature space.
        changed: shape (n,), the points whose shares soft weights change.
        crossed: shape (e,), the edges that it may stretch.
        low, high: shape (n,), the points that it does not turn, and those that it does.
        box: shape (2, 3), of the points that are changed.
    """

    bone: int
    part: float
    behind: Booleans
    rest: Float64s
    turns: Float64s
    changed: Booleans
    crossed: Booleans
    low: Booleans
    high: Booleans
    box: Float64s

    def turn(self, turns: Floats) -> Turn:
        """It turns by rotation vectors (p, 3)."""
        points = self.behind, self.high, self.low
        return Turn.about(self.bone, points, self.rest[:3, 3], turns)

    @property
    def main_turns(self) -> Float64s:
        """Of the turns of a ball joint those to four sides, and the twists; else all."""
        return (
            np.concatenate((self.turns[:-2:2], self.turns[-2:]))
            if len(self.turns) == _OBLIQUE + 2
            else self.turns
        )

    def shares(self, above: _Joint) -> bool:
        """Whether soft weights change much of the same skin of both."""
        least = min(np.count_nonzero(each.changed) for each in (self, above))
        return bool(np.count_nonzero(self.changed & above.changed) >= _SHARED * least)

    def is_beside(self, other: _Joint, reach: float) -> bool:
        """Whether what soft weights change of both is as near to each other."""
        low, high = np.maximum(self.box[0], other.box[0]), np.minimum(self.box[1], other.box[1])
        return bool((low - reach < high).all())


def _crossing_poses(count: int, *, is_single: bool) -> Booleans:
    """Shape (p,), the poses in which is looked what crosses: to four sides, and twisted.

    Args:
        count: of the poses.
        is_single: whether one joint turns, to all its sides.
    """
    found = np.ones(count, np.bool_)
    if is_single and count == _OBLIQUE + 2:
        found[1:_OBLIQUE:2] = False
    return found


def _by_bones(tests: JointTests, found: dict[int, Finding]) -> dict[int, Finding]:
    """What is worst at each joint, in all tests in which it turns."""
    worst: dict[int, Finding] = {}
    for number, finding in found.items():
        for bone in tests.tests[number].blamed:
            if bone not in worst or finding.ratio > worst[bone].ratio:
                worst[bone] = finding
    return worst


def _is_stale(test: JointTest, changed: Booleans, before: Weights, after: Weights) -> bool:
    """Whether the joints of a test move skin visibly otherwise than before.

    Args:
        changed: shape (n,), the points with other influences.
    """
    rows = np.flatnonzero(test.changed & changed)
    if not len(rows):
        return False
    for turn in test.turns:
        one, other = (weights.turned(turn.behind, rows) for weights in (before, after))
        if (np.abs(one - other) > _SHARE).any():
            return True
    return False


def _changed(before: Influences, after: Influences) -> Booleans:
    """Shape (n,), the points with influences that move them visibly elsewhere."""
    width = min(before.width, after.width)
    found = np.zeros(len(before.weights), np.bool_)
    for each in (before, after):
        found |= (each.weights[:, width:] > 0.0).any(axis=1)
    one, other = before.weights[:, :width], after.weights[:, :width]
    apart = (before.bones[:, :width] != after.bones[:, :width]) & (one > 0.0)
    found |= apart.any(axis=1) | (np.abs(one - other).sum(axis=1) > _SAME)
    return found


def _balls(weights: Weights) -> frozenset[int]:
    """The bones behind joints that take skin along chords."""
    swings = weights.compensation.swings
    if swings is None:
        return frozenset()
    joints = np.unique(swings.joints[swings.amounts > _BALL])
    return frozenset(swings.children[joints].tolist())


def _turns(skeleton: Skeleton, joint: int, part: float, *, is_ball: bool) -> Float64s:
    """The rotation vectors (p, 3) of a joint at the ends of its range, armature space."""
    limb = limb_bend(skeleton, joint)
    back = BACK if limb.at_rest >= LEAST_REST_BEND else 1.0
    bends: list[Quaternion]
    if is_ball:
        quarters = np.arange(_OBLIQUE) * 2.0 * np.pi / _OBLIQUE
        bends = [swing(part * BEND, limb.azimuth + float(each)) for each in quarters]
    else:
        bends = [swing(each * part * BEND, limb.azimuth) for each in (1.0, -back)]
    turns = np.array([*bends, twist(part * TWIST), twist(-part * TWIST)])
    sines = np.linalg.norm(turns[:, 1:], axis=1)
    angles = 2.0 * np.arctan2(sines, turns[:, 0])
    own = turns[:, 1:] * (angles / np.maximum(sines, 1e-30))[:, None]
    return own @ skeleton.rest[joint, :3, :3].T

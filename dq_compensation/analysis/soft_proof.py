"""The proof of soft weights: that they stretch the skin no more than the painted weights do.

Each joint turns alone, by the range of *Test Motion*, once with the painted weights and once with
the soft ones, both by COMPENSATED. Where an edge of a mesh gets longer with the soft ones than
any of it does with the painted ones, the weights act less softly at that joint: half, or as
painted.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Booleans, Float32s, Float64s, Indices, Int32s, Integers
from ..core.deform import Deformation, deform
from ..core.dual_quaternion import matrices_from_quaternions
from ..core.influences import Influences
from ..core.limb_joints import SkinAtRest
from ..core.measured_joints import MeasuredJoints
from ..core.pose import Pose
from ..core.skeleton import Ancestry, Skeleton
from ..steps import part_of
from .bone_axes import Quaternion, swing, twist
from .joint_softness import less_soft, parents_at_joints, softness_between
from .limbs import joined_skeleton, with_limbs
from .mirror_map import mirrored_bones
from .ranges_of_motion import (
    BACK,
    BEND,
    LEAST_REST_BEND,
    TWIST,
    limb_bend,
    ranges_of_motion,
    shared_pairs,
)

MOST = 1.05
"""How much longer the longest edge may be with soft weights, in parts of that with painted ones."""
# Stretches below this are not seen: no joint acts less for them.
_SEEN = 1.3
# Shares of what a joint turns below which a vertex is on one side of the joint; changes of shares
# that move no vertex visibly.
_ON_ONE_SIDE, _SAME = 1e-3, 1e-2
# Edges shorter than this, in parts of the median at their joint, count as so long.
_SHORTEST = 0.1
# A joint that takes some skin along chords by more than this, of 1/4, is a ball: it is bent to
# eight sides.
_BALL, _OBLIQUE = 0.1, 8
# How softly a joint acts after so many steps. The last is as painted.
_LEVELS = (1.0, 0.5, 0.0)
_MOST_STEPS = len(_LEVELS) - 1
# So often at most the weights are tested.
_ROUNDS = 8


@dataclass(frozen=True)
class LessSoft:
    """A joint at which the weights act less softly.

    Attributes:
        bone: at whose head it is.
        softness: how softly they act there, 0 to 1.
        soft, painted: the longest edge in the pose in which they differ most, in its lengths at
            rest: with all softness, and with the painted weights.
    """

    bone: int
    softness: float
    soft: float
    painted: float


@dataclass(frozen=True, eq=False)
class ProvedSkin:
    """The skin of a character whose soft weights are to be proved.

    Attributes:
        skin: n points at rest, with the painted weights. Its `sides` are known.
        edges: shape (e, 2), of points.
        meshes: shape (e,), the mesh that each edge is of, rising; meshes with seams are one.
    """

    skin: SkinAtRest
    edges: Integers
    meshes: Integers

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
        painted = _Weights.of(self._limbs, self.skin.influences)
        weights = _Weights.of(self._limbs, soft)
        yield 0.1
        joints = self._tested(painted, weights)
        groups = _Group.all_of(joints, self.skin)
        before = yield from part_of(_stretches(groups, painted), 0.1, 0.3)
        search, done = _Search(self._parents, self._mirrored, before), 0.4
        for _ in range(_ROUNDS):
            # How many rounds it takes is not known: each takes half of what is left.
            part = 0.5 * (1.0 - done)
            after = yield from part_of(_stretches(groups, weights), done, part)
            done += part
            if not search.goes_on(after):
                break
            softness = tuple(search.softness().items())
            between = softness_between(softness, self._parents)
            influences = less_soft(self.skin.influences, soft, between)
            weights = _Weights.of(self._limbs, influences)
        return search.found()

    @cached_property
    def _mirrored(self) -> Indices:
        skeleton = self.skin.skeleton
        return mirrored_bones(skeleton.heads, skeleton.tails)

    def _tested(self, painted: _Weights, soft: _Weights) -> list[_Joint]:
        """The joints where soft weights change anything, with the edges that they may change."""
        joined, place, _ = self._joined
        ancestry, found = Ancestry.of(joined.parents), []
        balls = painted.balls
        for bone, part in sorted(self._ranges.items()):
            joint = place[bone]
            behind = ancestry.enter[place] >= ancestry.enter[joint]
            behind &= ancestry.enter[place] < ancestry.leave[joint]
            shares = [each.shares(behind) for each in (painted, soft)]
            if np.abs(shares[0] - shares[1]).max(initial=0.0) < _SAME:
                continue
            crossed = np.zeros(len(self.edges), np.bool_)
            for share in shares:
                low, high = share < _ON_ONE_SIDE, share > 1.0 - _ON_ONE_SIDE
                first, second = self.edges.T
                crossed |= ~((low[first] & low[second]) | (high[first] & high[second]))
            if not crossed.any():
                continue  # no face is there
            is_ball = bone in balls
            turns = _turns(joined, int(joint), part, is_ball=is_ball)
            edges = self.edges[crossed], self.meshes[crossed]
            found.append(_Joint.of(bone, behind, turns, joined.rest[joint], edges))
        return found


class _Search:
    """The search for how softly the weights act at each joint, alike on both sides of the body.

    A joint that stretches the skin too much acts half, then as painted. Weights that go from a limb
    to the next but one are changed by both joints between, so then those beside it follow. Where
    acting less does not help, they act as before.

    Args:
        parents: shape (B,), of `parents_at_joints`.
        mirrored: shape (B,), of `mirrored_bones`.
        before: the longest edges at each joint with the painted weights, `_Group.stretches`.
    """

    def __init__(self, parents: Int32s, mirrored: Indices, before: dict[int, Float64s]) -> None:
        self._parents, self._mirrored, self._before = parents, mirrored, before
        # By one of two alike joints: how many steps less it acts, those for the joints beside it
        # with them; and how much longer an edge was before the first.
        self._steps: dict[int, int] = {}
        self._ratios: dict[int, float] = {}
        self._given_up: set[int] = set()
        # Of each joint at first, and of all of them: the least that was found, and what for.
        self._firsts: dict[int, tuple[float, float]] = {}
        self._least, self._best = np.inf, dict[int, float]()

    def goes_on(self, after: dict[int, Float64s]) -> bool:
        """Take a further step, or end.

        Args:
            after: the longest edges at each joint with `softness`.
        """
        ratios: dict[int, float] = {}
        for bone, stretches in after.items():
            worst, ratio = _worst(self._before[bone], stretches)
            one = self._one_of(bone)
            ratios[one] = max(ratios.get(one, 0.0), ratio)
            pair = float(stretches.flat[worst]), float(self._before[bone].flat[worst])
            self._firsts.setdefault(bone, pair)
        if (worst_of_all := max(ratios.values(), default=0.0)) < self._least:
            self._least, self._best = worst_of_all, self.softness()
        steps = dict(self._steps)
        for one, ratio in ratios.items():
            if ratio <= MOST or one in self._given_up:
                continue
            count, first = self._steps.get(one, 0), self._ratios.setdefault(one, ratio)
            if count == 2 * _MOST_STEPS or (count >= _MOST_STEPS and ratio >= first):
                self._given_up.add(one)
                steps.pop(one, None)
            else:
                steps[one] = count + 1
        is_changed, self._steps = steps != self._steps, steps
        return is_changed

    def softness(self) -> dict[int, float]:
        """How softly the weights act at joints that act less, by their bones."""
        found: dict[int, float] = {}
        for one, count in self._steps.items():
            levels = {one: count}
            levels |= (
                dict.fromkeys(self._beside(one), count - _MOST_STEPS) if count > _MOST_STEPS else {}
            )
            for bone, steps in levels.items():
                for each in (bone, int(self._mirrored[bone])):
                    if each in self._before:
                        level = _LEVELS[min(steps, _MOST_STEPS)]
                        found[each] = min(found.get(each, 1.0), level)
        return dict(sorted(found.items()))

    def found(self) -> list[LessSoft]:
        """What was best."""
        return [LessSoft(bone, level, *self._firsts[bone]) for bone, level in self._best.items()]

    def _one_of(self, bone: int) -> int:
        """The same of a bone and of the one on the other side of the body."""
        other = int(self._mirrored[bone])
        return min(bone, other) if other in self._before else bone

    def _beside(self, bone: int) -> list[int]:
        """The bones behind the joints before and after that of a bone."""
        return [int(self._parents[bone]), *np.flatnonzero(self._parents == bone).tolist()]


def _worst(painted: Float64s, soft: Float64s) -> tuple[int, float]:
    """Where soft weights stretch an edge most, in parts of what painted ones do.

    Args:
        painted, soft: the longest edge of each mesh in each pose.

    Returns:
        a place in these arrays, flat; and how much longer it is there.
    """
    ratios = soft / np.maximum(painted, _SEEN / MOST)
    worst = int(np.argmax(ratios))
    return worst, float(ratios.flat[worst])


@dataclass(frozen=True, eq=False)
class _Joint:
    """A joint that is tested.

    Attributes:
        behind: shape (B,), the bones that it turns.
        edges: shape (e, 2), of points: those that it may stretch.
        starts: shape (m,), where the edges of each mesh begin.
        moves: shape (p, 4, 4), what it moves them by in each of its poses, armature space.
    """

    bone: int
    behind: Booleans
    edges: Integers
    starts: Indices
    moves: Float64s

    @classmethod
    def of(
        cls,
        bone: int,
        behind: Booleans,
        turns: Sequence[Quaternion],
        rest: Float64s,
        edges: tuple[Integers, Integers],
    ) -> _Joint:
        """A joint that turns in its rest axes, (4, 4); its edges and their meshes."""
        turned = np.tile(np.eye(4), (len(turns), 1, 1))
        turned[:, :3, :3] = matrices_from_quaternions(np.array(turns))
        starts = np.unique(edges[1], return_index=True)[1]
        return cls(bone, behind, edges[0], starts, rest @ turned @ np.linalg.inv(rest))


@dataclass(frozen=True, eq=False)
class _Group:
    """Joints that turn at the same time: no point is beside two of them.

    The skin around each is as if it turned alone: what others turn is rigid there.

    Attributes:
        joints: those that turn others come first.
        skeleton: of B bones.
        rows: shape (m,), the points around them.
        positions: shape (m, 3), at rest.
        edges: shape (e, 2), rows of these, joint by joint.
        squares: shape (e,), of the lengths of edges at rest.
    """

    joints: list[_Joint]
    skeleton: Skeleton
    rows: Indices
    positions: Float32s
    edges: Integers
    squares: Float64s

    @classmethod
    def all_of(cls, joints: Sequence[_Joint], skin: SkinAtRest) -> list[_Group]:
        """Joints in as few groups as come about when each joins the first that it can."""
        groups: list[tuple[list[_Joint], Booleans]] = []
        for joint in sorted(joints, key=lambda each: -np.count_nonzero(each.behind)):
            points = np.zeros(len(skin.positions), np.bool_)
            points[joint.edges] = True
            members, taken = next(
                (group for group in groups if not (group[1] & points).any()), ([], points.copy())
            )
            if not members:
                groups.append((members, taken))
            members.append(joint)
            taken |= points
        return [cls._of(members, taken, skin) for members, taken in groups]

    @classmethod
    def _of(cls, joints: list[_Joint], points: Booleans, skin: SkinAtRest) -> _Group:
        rows, place = np.flatnonzero(points), np.cumsum(points) - 1
        squares = []
        for joint in joints:
            ends = skin.positions[joint.edges].astype(np.float64)
            lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
            squares.append(np.maximum(lengths, _SHORTEST * np.median(lengths) + 1e-30) ** 2)
        edges = place[np.concatenate([joint.edges for joint in joints])]
        positions = skin.positions[rows].astype(np.float32)
        return cls(joints, skin.skeleton, rows, positions, edges, np.concatenate(squares))

    def stretches(self, weights: _Weights) -> Generator[float, None, dict[int, Float64s]]:
        """The longest edges by the bones of the joints, in their lengths at rest.

        Of each mesh in each pose of the joint, shape (m, p).

        Yields:
            how much is done, 0 to 1.
        """
        deformation = weights.at(self.rows)
        counts = np.array([len(joint.edges) for joint in self.joints])
        firsts = np.cumsum(counts) - counts
        pairs = zip(self.joints, firsts.tolist(), strict=True)
        starts = np.concatenate([joint.starts + first for joint, first in pairs])
        poses = max(len(joint.moves) for joint in self.joints)
        longest = np.zeros((len(starts), poses))
        for number in range(poses):
            matrices = np.tile(np.eye(4), (self.skeleton.bone_count, 1, 1))
            for joint in self.joints:
                if number < len(joint.moves):
                    matrices[joint.behind] = matrices[joint.behind] @ joint.moves[number]
            pose = Pose.from_matrices(matrices, self.skeleton)
            posed, _ = deform(deformation, self.positions, None, pose)
            ways = posed[self.edges[:, 0]] - posed[self.edges[:, 1]]
            squares = np.einsum("ei,ei->e", ways, ways) / self.squares
            longest[:, number] = np.sqrt(np.maximum.reduceat(squares, starts))
            yield (number + 1) / poses
        ends = np.cumsum([len(joint.starts) for joint in self.joints])
        parts = np.split(longest, ends[:-1])
        return {
            joint.bone: part[:, : len(joint.moves)]
            for joint, part in zip(self.joints, parts, strict=True)
        }


def _stretches(
    groups: Sequence[_Group], weights: _Weights
) -> Generator[float, None, dict[int, Float64s]]:
    """`_Group.stretches` of all groups together."""
    found: dict[int, Float64s] = {}
    for number, group in enumerate(groups):
        steps = group.stretches(weights)
        found |= yield from part_of(steps, number / len(groups), 1.0 / len(groups))
    return found


def _turns(skeleton: Skeleton, joint: int, part: float, *, is_ball: bool) -> list[Quaternion]:
    """The rotations of a joint at the ends of its range, in the rest axes of its bone."""
    limb = limb_bend(skeleton, joint)
    back = BACK if limb.at_rest >= LEAST_REST_BEND else 1.0
    if is_ball:
        quarters = np.arange(_OBLIQUE) * 2.0 * np.pi / _OBLIQUE
        bends = [swing(part * BEND, limb.azimuth + float(each)) for each in quarters]
    else:
        bends = [swing(each * part * BEND, limb.azimuth) for each in (1.0, -back)]
    return [*bends, twist(part * TWIST), twist(-part * TWIST)]


@dataclass(frozen=True, eq=False)
class _Weights:
    """Weights of the points, and what compensates them."""

    influences: Influences
    compensation: MeasuredJoints

    @classmethod
    def of(cls, limbs: SkinAtRest, influences: Influences) -> _Weights:
        """Weights of a skin with limbs; painted ones are its own."""
        if influences is not limbs.influences:
            limbs = replace(limbs, influences=influences, painted=limbs.influences)
        return cls(influences, MeasuredJoints.of(limbs.with_whole_limbs, ball_joints=True))

    @property
    def balls(self) -> frozenset[int]:
        """The bones behind joints that take skin along chords."""
        swings = self.compensation.swings
        if swings is None:
            return frozenset()
        joints = np.unique(swings.joints[swings.amounts > _BALL])
        return frozenset(swings.children[joints].tolist())

    def shares(self, bones: Booleans) -> Float64s:
        """Shape (n,), what some bones, (B,), have of the weights."""
        return np.where(bones[self.influences.bones], self.influences.weights, 0.0).sum(axis=1)

    def at(self, rows: Indices) -> Deformation:
        """The deformation of some points."""
        return Deformation("COMPENSATED", self.influences.at(rows), self.compensation.at(rows))

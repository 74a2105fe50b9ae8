"""Tests of joints: how far weights stretch edges, part seams and let skin cross."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Integers
from ..core.deform import Deformation, deform
from ..core.dual_quaternion import matrices_from_quaternions
from ..core.influences import Influences
from ..core.measured_joints import MeasuredJoints
from ..core.pose import Pose
from ..core.skin_at_rest import SkinAtRest
from ..core.vectors import extent, transformed_points
from ..steps import part_of
from .surface.skin_crossings import CrossingSkin

Measure = Literal["EDGE", "CROSSINGS", "GAP"]
"""The longest edge, in its lengths at rest; pairs of triangles that cross; how far points that are
in one place at rest get apart, in sizes of the character."""

MOST = 1.05
"""How much more soft weights may have of lengths and gaps, in parts of what painted ones have."""
# Likewise of pairs that cross: at the ends of their ranges limbs meet the body, whatever the
# weights, and how many triangles that takes is chance.
MOST_PAIRS = 1.15
# What nobody sees: so long an edge, so many pairs, so wide a gap.
UNSEEN: dict[Measure, float] = {"EDGE": 1.3, "CROSSINGS": 12.0, "GAP": 1e-4}
# Where edges and gaps are better than this, in parts of what they may be, nothing crosses more.
_SUSPECT = 0.9
# What soft weights take elsewhere by less than this, in sizes of the character, crosses as before.
_ELSEWHERE = 5e-4
# Edges shorter than this, in parts of the median at their joint, count as so long.
_SHORTEST = 0.1


@dataclass(frozen=True)
class Finding:
    """The measure of a test in which soft weights are worst beside painted ones.

    Attributes:
        ratio: to the most that they may have, times `MOST`: they are worse above that.
        soft, painted: what both have, in the pose where that is.
    """

    ratio: float
    measure: Measure
    soft: float
    painted: float

    @classmethod
    def of(cls, measure: Measure, soft: float, painted: float) -> Finding:
        """Compare."""
        if measure == "CROSSINGS":
            limit = MOST_PAIRS * painted + UNSEEN[measure]
        else:
            limit = max(MOST * painted, UNSEEN[measure])
        return cls(MOST * soft / limit, measure, soft, painted)


@dataclass(frozen=True, eq=False)
class Turn:
    """What a joint does in the poses of a test.

    Attributes:
        bone: at whose head it is.
        behind: shape (B,), the bones that it turns.
        turned, unturned: shape (n,), the points that it turns as a whole, and not at all.
        moves: shape (p, 4, 4), what it moves them by in each pose, armature space.
    """

    bone: int
    behind: Booleans
    turned: Booleans
    unturned: Booleans
    moves: Float64s

    @classmethod
    def about(
        cls, bone: int, points: tuple[Booleans, Booleans, Booleans], head: Floats, turns: Floats
    ) -> Turn:
        """A joint that turns about its head by rotation vectors (p, 3), radians.

        Args:
            points: `behind`, `turned` and `unturned`.
        """
        angles = np.linalg.norm(turns, axis=1, keepdims=True)
        axes = turns / np.maximum(angles, 1e-30)
        quaternions = np.hstack((np.cos(angles / 2.0), np.sin(angles / 2.0) * axes))
        moves = np.tile(np.eye(4), (len(turns), 1, 1))
        moves[:, :3, :3] = matrices_from_quaternions(quaternions)
        moves[:, :3, 3] = head - moves[:, :3, :3] @ head
        return cls(bone, *points, moves)


@dataclass(frozen=True, eq=False)
class JointTest:
    """Joints that turn together, and the skin that soft weights may change there.

    Attributes:
        turns: of the joints, those that turn others first; all have as many poses.
        crossing_poses: shape (p,), the poses in which is looked what crosses.
        blamed: the bones of the joints that act less where the soft weights are worse.
        edges, starts: shapes (e, 2), of points, and (m,), where those of each mesh begin.
        seams: shape (s, 2), points in one place.
        triangles: shape (r,), rows of those of the skin, around the joints.
        changed: shape (n,), the points that soft weights change.
        bent: shape (n,), the points of all these that are no rigid parts of what is on one side.
    """

    turns: tuple[Turn, ...]
    crossing_poses: Booleans
    blamed: tuple[int, ...]
    edges: Integers
    starts: Indices
    seams: Integers
    triangles: Indices
    changed: Booleans
    bent: Booleans

    @property
    def pose_count(self) -> int:
        """The number of poses."""
        return len(self.turns[0].moves)

    @property
    def bones(self) -> list[int]:
        """The bones at whose heads the joints are."""
        return [turn.bone for turn in self.turns]

    @property
    def is_alone(self) -> bool:
        """Whether no joint above turns with it."""
        return len(self.blamed) == len(self.turns)


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the points, and what compensates them."""

    influences: Influences
    compensation: MeasuredJoints

    @classmethod
    def of(cls, limbs: SkinAtRest, influences: Influences) -> Weights:
        """Weights of a skin with limbs; painted ones are its own."""
        if influences is not limbs.influences:
            limbs = replace(limbs, influences=influences, painted=limbs.influences)
        return cls(influences, MeasuredJoints.of(limbs.with_whole_limbs, ball_joints=True))

    def shares(self, bones: Booleans) -> Float64s:
        """Shape (n,), what some bones, (B,), have of the weights."""
        return np.where(bones[self.influences.bones], self.influences.weights, 0.0).sum(axis=1)

    def at(self, rows: Indices) -> Deformation:
        """The deformation of some points."""
        return Deformation("COMPENSATED", self.influences.at(rows), self.compensation.at(rows))


class JointTests:
    """The tests of a character.

    Args:
        tests: all of them.
        skin: of the points.
        painted: its weights.
        crossing: the skin as it may cross.
    """

    def __init__(
        self,
        tests: Sequence[JointTest],
        skin: SkinAtRest,
        painted: Weights,
        crossing: CrossingSkin,
    ) -> None:
        self.tests = tests
        self._skin, self._painted, self._crossing = skin, painted, crossing
        # The bones of joints that let skin cross when they turn alone.
        self._crosses: set[int] = set()
        # Whether what bends in a test is on one side of a joint, which may turn at the same time.
        joints = {turn.bone: turn for test in tests for turn in test.turns}
        self._alone = np.zeros((len(tests), skin.skeleton.bone_count), np.bool_)
        for bone, turn in joints.items():
            for row, test in enumerate(tests):
                sides = turn.turned[test.bent], turn.unturned[test.bent]
                self._alone[row, bone] = any(each.all() for each in sides)

    def findings(
        self, soft: Weights, chosen: Indices
    ) -> Generator[float, None, dict[int, Finding]]:
        """What is worst in some of the tests, with soft weights.

        Yields:
            how much is done, 0 to 1.
        """
        found = dict[int, Finding]()
        alone = [self.tests[each].is_alone for each in chosen]
        # Where nothing crosses when joints turn alone, it is not looked for with the one above.
        parts = chosen[np.array(alone, np.bool_)], chosen[~np.array(alone, np.bool_)]
        for begin, rows in zip((0.0, 0.5), parts, strict=True):
            groups = self._groups(rows)
            for number, numbers in enumerate(groups):
                tests = [self.tests[each] for each in numbers]
                group = _Group(tests, self._skin, self._crossing, self._crosses)
                steps = group.findings(soft, self._painted)
                share = 0.5 / len(groups)
                worst = yield from part_of(steps, begin + number * share, share)
                found |= zip(numbers, worst, strict=True)
        return found

    def _groups(self, chosen: Indices) -> list[list[int]]:
        """Tests in as few groups as come about when each joins the first that it can."""
        groups: list[list[int]] = []
        bones = [test.bones for test in self.tests]
        for number in chosen.tolist():
            for members in groups:
                others = [bone for each in members for bone in bones[each]]
                alone = self._alone[number, others].all()
                if alone and self._alone[members][:, bones[number]].all():
                    members.append(number)
                    break
            else:
                groups.append([number])
        return groups


class _Group:
    """Tests that are made at the same time: the skin around each is as if it were made alone.

    What the joints of others turn is rigid there.
    """

    def __init__(
        self,
        tests: Sequence[JointTest],
        skin: SkinAtRest,
        crossing: CrossingSkin,
        crosses: set[int],
    ) -> None:
        self._crosses = crosses
        bent = np.logical_or.reduce([test.bent for test in tests])
        self._rows, place = np.flatnonzero(bent), np.cumsum(bent) - 1
        self._positions = skin.positions[self._rows].astype(np.float32)
        self._skeleton = skin.skeleton
        self._tests = [_PlacedTest(test, place, skin, crossing) for test in tests]
        # Joints that turn others come first.
        turns = [turn for test in tests for turn in test.turns]
        self._turns = sorted(turns, key=lambda each: -np.count_nonzero(each.behind))

    def findings(self, soft: Weights, painted: Weights) -> Generator[float, None, list[Finding]]:
        """What is worst in each of the tests.

        Yields:
            how much is done, 0 to 1.
        """
        weights = [each.at(self._rows) for each in (soft, painted)]
        poses = max(each.test.pose_count for each in self._tests)
        worst = [Finding.of("EDGE", 0.0, 0.0) for _ in self._tests]
        for number in range(poses):
            pose = self._pose(number)
            after, before = (deform(w, self._positions, None, pose)[0] for w in weights)
            for row, each in enumerate(self._tests):
                if number < each.test.pose_count:
                    test, found = each.test, list(each.lengths(after, before))
                    is_suspect = test.is_alone or self._crosses.intersection(test.bones)
                    is_suspect = is_suspect and test.crossing_poses[number]
                    if is_suspect and any(some.ratio > _SUSPECT for some in found):
                        carried = self._carried(test, number)
                        crossing = each.crossings(number, after, before, carried)
                        if crossing.soft and test.is_alone:
                            self._crosses.update(test.blamed)
                        found.append(crossing)
                    worst[row] = max([worst[row], *found], key=lambda some: some.ratio)
            yield (number + 1) / poses
        return worst

    def _pose(self, number: int) -> Pose:
        matrices = np.tile(np.eye(4), (self._skeleton.bone_count, 1, 1))
        for turn in self._turns:
            if number < len(turn.moves):
                matrices[turn.behind] = matrices[turn.behind] @ turn.moves[number]
        return Pose.from_matrices(matrices, self._skeleton)

    def _carried(self, test: JointTest, number: int) -> Float64s:
        """What the joints of other tests carry the skin of this one by, (4, 4)."""
        found, bone = np.eye(4), test.turns[0].bone
        for turn in self._turns:
            is_other = all(turn is not own for own in test.turns)
            if is_other and turn.behind[bone] and number < len(turn.moves):
                found = found @ turn.moves[number]
        return found


class _PlacedTest:
    """A test among those of a group.

    Args:
        place: shape (n,), the row of each point that bends among those of the group.
    """

    def __init__(
        self, test: JointTest, place: Indices, skin: SkinAtRest, crossing: CrossingSkin
    ) -> None:
        self.test, self._crossing = test, crossing
        self._size = extent(skin.positions)
        self._edges, self._seams = place[test.edges], place[test.seams]
        ends = skin.positions[test.edges].astype(np.float64)
        lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        shortest = _SHORTEST * np.median(lengths) + 1e-30 if len(lengths) else 0.0
        self._squares = np.maximum(lengths, shortest) ** 2
        corners = crossing.triangles[test.triangles]
        region, local = np.unique(corners, return_inverse=True)
        self._corners, self._rest = local.reshape(-1, 3), skin.positions[region].astype(np.float64)
        self._bent = np.flatnonzero(test.bent[region])
        self._rows = place[region[self._bent]]
        self._turned = [np.flatnonzero(turn.turned[region]) for turn in test.turns]

    def lengths(self, soft: Floats, painted: Floats) -> Iterator[Finding]:
        """What soft and painted weights make of edges and seams in a pose.

        Args:
            soft, painted: shape (m, 3), the points of the group, posed.
        """
        if len(self._edges):
            one, other = (self._longest(each) for each in (soft, painted))
            worst = int((one / np.maximum(other, UNSEEN["EDGE"] / MOST)).argmax())
            yield Finding.of("EDGE", float(one[worst]), float(other[worst]))
        if len(self._seams):
            yield Finding.of("GAP", *(self._widest(each) for each in (soft, painted)))

    def crossings(self, number: int, soft: Floats, painted: Floats, carried: Float64s) -> Finding:
        """Likewise, what crosses.

        Args:
            carried: shape (4, 4), what others carry it by.
        """
        one, other = (self._around(number, each, carried) for each in (soft, painted))
        apart = np.linalg.norm(one - other, axis=1) > _ELSEWHERE * self._size
        inner = apart[self._corners].any(axis=1)
        rows = self._corners, self.test.triangles, inner
        count = self._crossing.count(one, *rows) if inner.any() else 0
        before = self._crossing.count(other, *rows) if count > UNSEEN["CROSSINGS"] else 0
        return Finding.of("CROSSINGS", float(count), float(before))

    def _longest(self, posed: Floats) -> Float64s:
        """The longest edge of each mesh, in its lengths at rest."""
        ways = posed[self._edges[:, 0]] - posed[self._edges[:, 1]]
        squares = np.einsum("ei,ei->e", ways, ways) / self._squares
        return np.sqrt(np.maximum.reduceat(squares, self.test.starts))

    def _widest(self, posed: Floats) -> float:
        """The widest gap, in sizes of the character."""
        ways = posed[self._seams[:, 0]] - posed[self._seams[:, 1]]
        return float(np.linalg.norm(ways, axis=1).max()) / self._size

    def _around(self, number: int, posed: Floats, carried: Float64s) -> Float64s:
        """The points of the triangles, as if the joints turned alone."""
        places = self._rest.copy()
        for turn, rows in zip(reversed(self.test.turns), reversed(self._turned), strict=True):
            places[rows] = transformed_points(turn.moves[number], places[rows])
        back = np.linalg.inv(carried)
        places[self._bent] = transformed_points(back, posed[self._rows].astype(np.float64))
        return places

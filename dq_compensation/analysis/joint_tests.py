"""Tests of joints: how far weights stretch edges, part seams and let skin cross."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
# Points around a joint are kept from round to round, each in some hundred poses, up to so many.
_MOST_KEPT = 4000
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

    def turned(self, bones: Booleans, rows: Indices) -> Float64s:
        """What turning some bones does to some points, shape (3, m).

        Their shares of the weights, and how much of MEASURED and of its swings acts at joints
        between them and the others.

        Args:
            bones: shape (B,), those that turn.
        """
        measured, swings = self.compensation.at(rows), self.compensation.swings
        limbs = measured.limbs
        acts = (bones[limbs.children] != bones[limbs.parents])[measured.joints]
        swung = np.zeros(len(rows))
        if swings is not None and len(swings.children):
            swinging = (bones[swings.children] != bones[swings.parents])[swings.joints[rows]]
            swung = np.where(swinging, swings.amounts[rows], 0.0).sum(axis=1)
        own = self.influences.at(rows)
        shares = np.where(bones[own.bones], own.weights, 0.0).sum(axis=1)
        return np.stack((shares, np.where(acts, measured.amounts, 0.0), swung))

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
        # By tests and poses.
        self._as_painted: dict[tuple[int, int], _AsPainted] = {}
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
                tests = {each: self.tests[each] for each in numbers}
                found_before = self._crosses, self._as_painted
                group = _Group(tests, self._skin, self._crossing, *found_before)
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


@dataclass(eq=False)
class _AsPainted:
    """What painted weights make of a test in a pose.

    Attributes:
        longest: shape (m,), the longest edge of each mesh; None without edges.
        widest: the widest gap; None without seams.
        around: shape (r, 3), of `_PlacedTest.around`; None where it is not kept.
    """

    longest: Float64s | None
    widest: float | None
    around: Float64s | None = None


class _Group:
    """Tests that are made at the same time: the skin around each is as if it were made alone.

    What the joints of others turn is rigid there.

    Args:
        tests: by their numbers.
        crosses: the bones of joints that let skin cross when they turn alone.
        as_painted: what painted weights make of tests and poses that were made before.
    """

    def __init__(
        self,
        tests: Mapping[int, JointTest],
        skin: SkinAtRest,
        crossing: CrossingSkin,
        crosses: set[int],
        as_painted: dict[tuple[int, int], _AsPainted],
    ) -> None:
        self._crosses, self._as_painted = crosses, as_painted
        bent = np.logical_or.reduce([test.bent for test in tests.values()])
        self._rows, place = np.flatnonzero(bent), np.cumsum(bent) - 1
        self._positions = skin.positions[self._rows].astype(np.float32)
        self._skeleton = skin.skeleton
        self._tests = {
            number: _PlacedTest(test, place, skin, crossing) for number, test in tests.items()
        }
        # Joints that turn others come first.
        turns = [turn for test in tests.values() for turn in test.turns]
        self._turns = sorted(turns, key=lambda each: -np.count_nonzero(each.behind))

    def findings(self, soft: Weights, painted: Weights) -> Generator[float, None, list[Finding]]:
        """What is worst in each of the tests.

        Yields:
            how much is done, 0 to 1.
        """
        worst = {number: Finding.of("EDGE", 0.0, 0.0) for number in self._tests}
        done, counts = 0, sorted({each.test.pose_count for each in self._tests.values()})
        for count in counts:
            # Tests of fewer poses are through: only the skin of the others is posed.
            tests = {n: each for n, each in self._tests.items() if each.test.pose_count >= count}
            bent = np.logical_or.reduce([each.test.bent for each in tests.values()])
            both = [
                _Posed(self._positions, bent[self._rows], self._rows, w) for w in (soft, painted)
            ]
            for number in range(done, count):
                pose = self._pose(number)
                for each in both:
                    each.take(pose)
                for row, test in tests.items():
                    found = self._findings(row, test, number, *both)
                    worst[row] = max([worst[row], *found], key=lambda some: some.ratio)
                yield (number + 1) / counts[-1]
            done = count
        return list(worst.values())

    def _findings(
        self, row: int, placed: _PlacedTest, number: int, soft: _Posed, painted: _Posed
    ) -> list[Finding]:
        """What is found in a pose of a test."""
        test, known = placed.test, self._as_painted.get((row, number))
        if known is None:
            known = placed.as_painted(painted.places)
            self._as_painted[row, number] = known
        found = list(placed.lengths(soft.places, known))
        is_suspect = test.is_alone or self._crosses.intersection(test.bones)
        if not (is_suspect and test.crossing_poses[number]):
            return found
        if any(some.ratio > _SUSPECT for some in found):
            carried = self._carried(test, number)
            before = known.around
            if before is None:
                before = placed.around(number, painted.places, carried)
                known.around = before if len(before) <= _MOST_KEPT else None
            crossing = placed.crossings(placed.around(number, soft.places, carried), before)
            if crossing.soft and test.is_alone:
                self._crosses.update(test.blamed)
            found.append(crossing)
        return found

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


class _Posed:
    """The points of a group as weights pose some of them, when somebody asks.

    Args:
        positions: shape (m, 3), of the points at rest.
        chosen: shape (m,), which of them are posed: the others mean nothing.
        rows: shape (m,), the points.
    """

    def __init__(
        self, positions: Floats, chosen: Booleans, rows: Indices, weights: Weights
    ) -> None:
        self._chosen, self._rest = np.flatnonzero(chosen), positions[chosen]
        self._weights, self._rows, self._places = weights, rows, positions.copy()
        self._pose: Pose | None = None
        self._is_posed = False

    @cached_property
    def _deformation(self) -> Deformation:
        return self._weights.at(self._rows[self._chosen])

    def take(self, pose: Pose) -> None:
        """Take a pose."""
        self._pose, self._is_posed = pose, False

    @property
    def places(self) -> Floats:
        """Shape (m, 3), in the pose."""
        assert self._pose is not None
        if not self._is_posed:
            posed, _ = deform(self._deformation, self._rest, None, self._pose)
            self._places[self._chosen], self._is_posed = posed, True
        return self._places


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

    def as_painted(self, posed: Floats) -> _AsPainted:
        """What painted weights make of it; (m, 3), the points of the group as they pose them."""
        return _AsPainted(
            self._longest(posed) if len(self._edges) else None,
            self._widest(posed) if len(self._seams) else None,
        )

    def lengths(self, soft: Floats, painted: _AsPainted) -> Iterator[Finding]:
        """What soft and painted weights make of edges and seams in a pose.

        Args:
            soft: shape (m, 3), the points of the group, posed.
        """
        if painted.longest is not None:
            one, other = self._longest(soft), painted.longest
            worst = int((one / np.maximum(other, UNSEEN["EDGE"] / MOST)).argmax())
            yield Finding.of("EDGE", float(one[worst]), float(other[worst]))
        if painted.widest is not None:
            yield Finding.of("GAP", self._widest(soft), painted.widest)

    def crossings(self, soft: Float64s, painted: Float64s) -> Finding:
        """Likewise, what crosses, of what is `around`."""
        apart = np.linalg.norm(soft - painted, axis=1) > _ELSEWHERE * self._size
        inner = apart[self._corners].any(axis=1)
        rows = self._corners, self.test.triangles, inner
        count = self._crossing.count(soft, *rows) if inner.any() else 0
        before = self._crossing.count(painted, *rows) if count > UNSEEN["CROSSINGS"] else 0
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

    def around(self, number: int, posed: Floats, carried: Float64s) -> Float64s:
        """The points of the triangles, (r, 3), as if the joints turned alone.

        Args:
            posed: shape (m, 3), the points of the group in that pose.
            carried: shape (4, 4), what the joints of others carry them by.
        """
        places = self._rest.copy()
        for turn, rows in zip(reversed(self.test.turns), reversed(self._turned), strict=True):
            places[rows] = transformed_points(turn.moves[number], places[rows])
        back = np.linalg.inv(carried)
        places[self._bent] = transformed_points(back, posed[self._rows].astype(np.float64))
        return places

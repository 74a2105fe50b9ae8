"""Shapes of joints that a solver has made, and the weight of each in the current pose.

A joint lies between two bones that move skin: the one before it and the one behind it. It has a
list of poses. A shape belongs to one listed pose, or to a combination of listed poses of up to
`MOST_JOINTS` joints, and keeps what the deformer lacks there, after all shapes of fewer joints:

    v' = v + sum over shapes of w R o

with the deformed vertex v, the offset o of the shape, the product w of the weights of its poses,
and the turn R of its joints. At a listed pose its weight is 1, and all others of the joint are 0:
so each shape comes back exactly where it was made, and gives nothing where one of its joints rests.

**The weight of a pose.** The direction d of the limb behind the joint, as the bone before it sees
it, has an angle from the direction at rest, and an azimuth, the way to which it points. Let

    hat(x; a, b, c) = clip(min((x - a) / (b - a), (c - x) / (c - b)), 0, 1)

A *hinge* has one plane of bending: d is projected on it, the angle has a sign, and the weight of a
pose is the hat of its neighbours, rest among them. A *ball* has poses along spokes: the weight is
the hat of the angle along the spoke times a hat of the azimuth between the neighbouring spokes, at
most `WIDEST` wide. Beyond the last pose of a hinge or of a spoke the last shape stays. So weights
are never negative, and with that of rest those of a joint sum to 1.

They fade where the measure has a jump: to 0 where the two bones are turned by 180 degrees against
each other, from 165 degrees on; of a hinge also where its angle is 180 degrees, from 165 on, and
where the limb stands along its axis, from 60 degrees off the plane on.

**The turn of a joint** is half way between the rotations of its two bones: the normalised sum of
their quaternions, times their mean size (the cube root of the determinant). That of several joints
is the normalised sum of theirs. On solved shapes of knee, hip, elbow and shoulder it leaves as much
between the poses as a rotation for each vertex does (to 0.03 of the base's distance).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Booleans, Float32s, Float64s, Floats, Indices, Int32s, Integers
from .dual_quaternion import (
    concatenate_quaternions,
    matrices_from_quaternions,
    quaternion_conjugate,
    rotate_vectors,
)
from .pose import Pose
from .vectors import dots, smooth_step, unit_or

MOST_JOINTS = 4
# Radians, the widest hat of an azimuth.
WIDEST = np.radians(90.0)
# Stands for the neighbour of a last pose: it has none.
FAR = 1e9
# Radians before 180 degrees over which a joint fades.
FADE = np.radians(15.0)
# |q_before . q_behind| up to which a joint fades: the cosine of half of 165 degrees.
TURNED_ROUND = float(np.sin(FADE / 2.0))
# How evaluators know the kinds of joints.
BALL, HINGE, ROTATES = 1, 2, 3
# Of a hinge, the squared part of the limb's direction in the plane of bending: 60 degrees off it.
OFF_PLANE = 0.25


@dataclass(frozen=True)
class SolvedJoint:
    """A joint and its listed poses.

    Attributes:
        before, behind: the bones on either side, indices in the skeleton.
        limb: unit, armature space at rest; where the limb behind the joint points.
        toward: unit, at right angles to `limb`; azimuth 0. A hinge bends from `limb` to it.
        hinge: whether it bends in one plane; else it is a ball.
        poses: azimuth and angle of each, radians. Of a hinge azimuths are 0 and angles have signs;
            of a ball angles are above 0.
        rotates: of a hinge, whether its angle is that of the rotation about the third direction of
            `frame`, wherever the limb points; so a bone can be listed that twists.
    """

    before: int
    behind: int
    limb: tuple[float, float, float]
    toward: tuple[float, float, float]
    hinge: bool
    poses: tuple[tuple[float, float], ...]
    rotates: bool = False

    @property
    def frame(self) -> Float64s:
        """Shape (3, 3), rows: the limb, `toward`, and the third direction of a right-handed frame.

        `toward` is made exactly normal to the limb; a turn by a positive angle about the third one
        takes the limb to it.
        """
        limb = unit_or(np.array(self.limb, np.float64), 0.0)
        toward = np.array(self.toward, np.float64)
        toward = unit_or(toward - (toward @ limb) * limb, 0.0)
        return np.stack((limb, toward, np.cross(limb, toward)))


@dataclass(frozen=True, eq=False)
class PoseHats:
    """The hats of P listed poses of J joints, laid out so that a pose takes few calls.

    Attributes:
        before, behind: shape (J,), int32, the bones on either side; -1 before the root stands for
            the armature. Whole bones, also where they are bendy: automatic handles spread a bend
            over the segments of both, which point the same way where they meet.
        frames: shape (J, 3, 3), `SolvedJoint.frame`.
        hinges: shape (J,), bool.
        rotates: shape (J,), bool, `SolvedJoint.rotates`.
        joints: shape (P,), int32, whose pose each is.
        angles: shape (P, 3), radians: of the pose before, of the pose itself, of the pose behind;
            rising. Rest counts as a pose, +-FAR stands for none.
        azimuths: shape (P,), radians; 0 of hinges.
        widths: shape (P, 2), radians: how far below and above its azimuth its hat ends; FAR for
            hinges.
    """

    before: Int32s
    behind: Int32s
    frames: Float64s
    hinges: Booleans
    rotates: Booleans
    joints: Int32s
    angles: Float64s
    azimuths: Float64s
    widths: Float64s

    @classmethod
    def of(cls, joints: Sequence[SolvedJoint], beside: float = 0.0) -> PoseHats:
        """The hats of joints, pose after pose, joint after joint.

        Args:
            beside: radians; azimuths of a ball that are no farther from the next one are on one
                spoke. Each hat has its own azimuth and ends where the next spoke begins, so
                weights stay exact at their poses and convex.

        Raises:
            ValueError: two poses of a joint, or a pose and rest, are one.
        """
        counts = [len(each.poses) for each in joints]
        angles, azimuths = [np.zeros((0, 3))], [np.zeros(0)]
        widths: list[Float64s] = [np.zeros((0, 2))]
        for each in joints:
            poses = np.array(each.poses, np.float64).reshape(-1, 2)
            ways = np.zeros(len(poses)) if each.hinge else poses[:, 0]
            numbers, gaps = spokes(ways, beside)
            angles.append(_neighbours(numbers, poses[:, 1]))
            azimuths.append(ways)
            widths.append(np.full((len(ways), 2), FAR) if each.hinge else gaps)
        before = np.array([each.before for each in joints], np.int32)
        behind = np.array([each.behind for each in joints], np.int32)
        return cls(
            before,
            behind,
            np.array([each.frame for each in joints]).reshape(-1, 3, 3),
            np.array([each.hinge for each in joints], np.bool_),
            np.array([each.rotates for each in joints], np.bool_),
            np.repeat(np.arange(len(joints), dtype=np.int32), counts),
            np.concatenate(angles),
            np.concatenate(azimuths),
            np.concatenate(widths),
        )

    @property
    def count(self) -> int:
        """The number of listed poses, P."""
        return len(self.joints)

    @property
    def kinds(self) -> Int32s:
        """The kind of each joint for tables, shape (J,): `BALL`, `HINGE` or `ROTATES`."""
        kinds = np.where(self.rotates, ROTATES, np.where(self.hinges, HINGE, BALL))
        return kinds.astype(np.int32)

    def _rotations(self, pose: Pose) -> tuple[Float64s, Float64s]:
        """The rotations of the bones before and behind the joints, each of shape (J, 4)."""
        before = pose.rotations[self.before]
        before[self.before < 0] = (1.0, 0.0, 0.0, 0.0)
        return before, pose.rotations[self.behind]

    def measured(self, pose: Pose) -> tuple[Float64s, Float64s, Float64s]:
        """The angle, the azimuth and the fade of each joint in a pose, each of shape (J,)."""
        return self._measured(*self._rotations(pose))

    def _measured(self, before: Floats, behind: Floats) -> tuple[Float64s, Float64s, Float64s]:
        """The angle, the azimuth and the fade of each joint, each of shape (J,).

        With d the direction of the limb as the bone before the joint sees it, and x, y, z its parts
        along the frame: of a hinge the angle of (x, y), of a ball that between (1, 0, 0) and d, and
        the azimuth of (y, z). Where rotations count, (x, y) = (w^2 - s^2, 2 w s), with s the part
        of conj(q_before) q_behind along the third direction.

        Args:
            before, behind: unit quaternions, shape (J, 4).
        """
        seen = rotate_vectors(behind, self.frames[:, 0])
        seen = rotate_vectors(quaternion_conjugate(before), seen)
        x, y, z = np.einsum("jki,ji->kj", self.frames, seen)
        if self.rotates.any():
            between = concatenate_quaternions(quaternion_conjugate(before), behind)
            w, s = between[:, 0], dots(between[:, 1:], self.frames[:, 2])
            x, y = np.where(self.rotates, w * w - s * s, x), np.where(self.rotates, 2.0 * w * s, y)
        bent, swung = np.arctan2(y, x), np.arctan2(np.hypot(y, z), x)
        fades = smooth_step(np.abs(dots(before, behind)), 0.0, TURNED_ROUND)
        in_plane = smooth_step(x * x + y * y, 0.0, OFF_PLANE)
        in_plane *= smooth_step(np.pi - np.abs(bent), 0.0, FADE)
        return (
            np.where(self.hinges, bent, swung),
            np.where(self.hinges, 0.0, np.arctan2(z, y)),
            np.where(self.hinges, fades * in_plane, fades),
        )

    def weights(self, pose: Pose) -> Float64s:
        """The weight of each listed pose in a pose, shape (P,), 0 to 1."""
        return self.weights_between(*self._rotations(pose))

    def weights_between(self, before: Floats, behind: Floats) -> Float64s:
        """The weight of each listed pose, shape (P,), for bones turned by quaternions (J, 4)."""
        angles, azimuths, fades = (each[self.joints] for each in self._measured(before, behind))
        low, own, high = self.angles.T
        hats = np.minimum((angles - low) / (own - low), (high - angles) / (high - own))
        apart = azimuths - self.azimuths
        apart -= 2.0 * np.pi * np.round(apart / (2.0 * np.pi))
        beside = 1.0 - np.maximum(apart / self.widths[:, 1], -apart / self.widths[:, 0])
        return np.clip(hats, 0.0, 1.0) * np.clip(beside, 0.0, 1.0) * fades

    def acting_together(self, joint: int) -> Booleans:
        """The sets of listed poses of a joint that act at once, shape (c, P).

        Each pose acts in a box of angles and azimuths. Half way between the ends of boxes that
        follow each other every set appears.
        """
        own = np.flatnonzero(self.joints == joint)
        low, high = self.angles[own, 0], self.angles[own, 2]
        angles = _half_ways(np.concatenate((low, high)))
        acts = (angles[:, None] > low) & (angles[:, None] < high)
        if not self.hinges[joint]:
            ways, widths = self.azimuths[own], self.widths[own]
            ends = np.mod(np.concatenate((ways - widths[:, 0], ways + widths[:, 1])), 2.0 * np.pi)
            halves = _half_ways(np.append(ends, ends + 2.0 * np.pi))
            apart = np.mod(halves[:, None] - ways + np.pi, 2.0 * np.pi) - np.pi
            beside = (apart < widths[:, 1]) & (apart > -widths[:, 0])
            acts = (acts[:, None] & beside[None]).reshape(-1, len(own))
        found = np.zeros((len(acts), self.count), np.bool_)
        found[:, own] = acts
        return np.unique(found, axis=0)

    def turns(self, pose: Pose) -> tuple[Float64s, Float64s]:
        """The turn of each joint: unit quaternions (J, 4) and sizes (J,)."""
        before, behind = pose.rotations[self.before], pose.rotations[self.behind]
        sizes = np.ones(len(before))
        if pose.any_scaled:
            both = pose.matrices[np.stack((self.before, self.behind)), :3, :3]
            sizes = np.cbrt(np.abs(np.linalg.det(both))).mean(axis=0)
        return _sum_of_rotations(before, behind), sizes


def _neighbours(numbers: Integers, angles: Float64s) -> Float64s:
    """The angles before, at and behind each of k poses on these spokes: shape (k, 3)."""
    found = np.stack((np.full(len(angles), -FAR), angles, np.full(len(angles), FAR)), axis=1)
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        stops = np.unique(np.append(angles[rows], 0.0))
        if len(stops) != len(rows) + 1:
            raise ValueError("PoseHats: two poses of a joint, or a pose and rest, are one")
        stops = np.concatenate(([-FAR], stops, [FAR]))
        place = np.searchsorted(stops, angles[rows])
        found[rows, 0], found[rows, 2] = stops[place - 1], stops[place + 1]
    return found


def spokes(ways: Floats, beside: float = 0.0) -> tuple[Indices, Float64s]:
    """The spoke of each of k poses by its azimuth, and how far the spokes beside it are.

    Args:
        ways: shape (k,), radians.
        beside: poses no farther than this from the next one are on one spoke.

    Returns:
        the numbers of the spokes, shape (k,), and how far below and above each azimuth the hat of
        the pose ends, shape (k, 2): at the next spoke's, at most `WIDEST`.
    """
    if not len(ways):
        return np.zeros(0, np.intp), np.zeros((0, 2))
    round_once = np.mod(ways, 2.0 * np.pi)
    ordered = np.sort(round_once)
    first = ordered[np.argmax(np.diff(ordered, prepend=ordered[-1] - 2.0 * np.pi))]
    along = np.mod(round_once - first, 2.0 * np.pi)
    order = np.argsort(along, kind="stable")
    begins = np.diff(along[order], prepend=along[order[:1]]) > beside
    numbers = np.empty(len(ways), np.intp)
    numbers[order] = np.cumsum(begins)
    count = int(numbers.max()) + 1
    ends = np.array([(along[numbers == n].min(), along[numbers == n].max()) for n in range(count)])
    below = np.concatenate((ends[-1:, 1] - 2.0 * np.pi, ends[:-1, 1]))[numbers]
    above = np.concatenate((ends[1:, 0], ends[:1, 0] + 2.0 * np.pi))[numbers]
    return numbers, np.minimum(np.stack((along - below, above - along), axis=1), WIDEST)


def _half_ways(numbers: Float64s) -> Float64s:
    """Half way between numbers that follow each other, without equal ones."""
    ordered = np.unique(np.round(numbers, 9))
    return 0.5 * (ordered[1:] + ordered[:-1])


def _sum_of_rotations(first: Float64s, second: Float64s) -> Float64s:
    """The rotations half way between two, unit quaternions (m, 4) all."""
    signs = np.where(dots(first, second) < 0.0, -1.0, 1.0)
    return unit_or(first + signs[:, None] * second, first)


def mean_turn(joints: Int32s, rotations: Float64s, sizes: Float64s) -> Float64s:
    """The turn of several joints, shape (3, 3): a rotation times a size.

    Args:
        joints: shape (c,), rising.
        rotations, sizes: of `PoseHats.turns`.
    """
    each = rotations[joints]
    each = np.where((each @ each[0] < 0.0)[:, None], -each, each)
    mean = unit_or(each.sum(axis=0), each[0])
    return np.asarray(matrices_from_quaternions(mean) * sizes[joints].mean(), np.float64)


@dataclass(frozen=True, eq=False)
class ShapeBlock:
    """The K shapes of one combination of joints, dense: each has an offset for each of m vertices.

    Attributes:
        joints: shape (c,), int32, rising; c is 1 to `MOST_JOINTS`.
        poses: shape (K, c), int32, rows of `PoseHats`: the listed pose of each joint.
        vertices: shape (m,), rising.
        offsets: shape (K, m, 3), float32, along the axes of the armature where the turn is none.
    """

    joints: Int32s
    poses: Int32s
    vertices: Indices
    offsets: Float32s

    def most_acting(self, hats: PoseHats) -> int:
        """How many of its shapes act at once, at most, in any pose."""
        together = np.ones((1, len(self.poses)), np.bool_)
        for joint, rows in zip(self.joints.tolist(), self.poses.T, strict=True):
            of_joint = hats.acting_together(joint)[:, rows]
            both = together[:, None] & of_joint[None]
            together = np.unique(both.reshape(-1, len(rows)), axis=0)
        return max(1, int(together.sum(axis=1).max(initial=0)))


@dataclass(frozen=True, eq=False)
class SolvedShapes:
    """The solved shapes of one mesh; they do not change with the pose.

    Attributes:
        hats: of the listed poses of all joints.
        blocks: one for each combination of joints.
        vertex_count: of the mesh, n.

    Raises:
        ValueError: shapes of arrays do not agree.
    """

    hats: PoseHats
    blocks: tuple[ShapeBlock, ...]
    vertex_count: int

    def __post_init__(self) -> None:
        for block in self.blocks:
            expected = (len(block.poses), len(block.vertices), 3)
            fits = block.offsets.shape == expected and 1 <= len(block.joints) <= MOST_JOINTS
            fits = fits and np.array_equal(
                self.hats.joints[block.poses], np.broadcast_to(block.joints, block.poses.shape)
            )
            if not fits or (len(block.vertices) and block.vertices[-1] >= self.vertex_count):
                raise ValueError(
                    f"SolvedShapes: offsets of shape {block.offsets.shape}, expected {expected}; "
                    f"or poses of other joints than {block.joints}; or more vertices than "
                    f"{self.vertex_count}"
                )

    def of_joints(self, acting: Booleans) -> SolvedShapes:
        """The same with the blocks all of whose joints act; shape (J,)."""
        blocks = tuple(each for each in self.blocks if acting[each.joints].all())
        return self if len(blocks) == len(self.blocks) else replace(self, blocks=blocks)

    def of_joint(self, behind: int) -> SolvedShapes:
        """The same with the shapes of one joint alone, that before this bone."""
        blocks = (each for each in self.blocks if len(each.joints) == 1)
        own = tuple(each for each in blocks if self.hats.behind[each.joints[0]] == behind)
        return replace(self, blocks=own)

    def without(self, vertices: Booleans) -> SolvedShapes:
        """The same without some vertices; shape (n,), True for those."""
        blocks = []
        for each in self.blocks:
            stays = ~vertices[each.vertices]
            kept = each.vertices[stays], np.ascontiguousarray(each.offsets[:, stays])
            blocks.append(replace(each, vertices=kept[0], offsets=kept[1]))
        return replace(self, blocks=tuple(blocks)) if vertices.any() else self

    @cached_property
    def vertices(self) -> Indices:
        """The vertices that any shape may move, rising."""
        each = [block.vertices for block in self.blocks]
        return np.unique(np.concatenate(each)) if each else np.zeros(0, np.intp)

    @cached_property
    def reach(self) -> Float64s:
        """How far any pose may move each vertex, shape (n,), without scaled bones."""
        found = np.zeros(self.vertex_count)
        for block in self.blocks:
            # The weights of a block never add up to more than 1.
            found[block.vertices] += np.linalg.norm(block.offsets, axis=2).max(axis=0, initial=0.0)
        return found

    def shape_weights(self, pose: Pose) -> list[Float64s]:
        """The weight of each shape, block by block, each of shape (K,)."""
        weights = self.hats.weights(pose)
        return [weights[block.poses].prod(axis=1) for block in self.blocks]

    def block_turns(self, pose: Pose) -> Float64s:
        """The turn of each block, shape (B, 3, 3): a rotation times a size."""
        turns = self.hats.turns(pose)
        found = [mean_turn(block.joints, *turns) for block in self.blocks]
        return np.array(found).reshape(-1, 3, 3)

    def displacements(self, pose: Pose) -> tuple[Indices, Float64s]:
        """What is added to deformed vertices.

        Returns:
            the vertices, shape (m,), rising, and how far they go, shape (m, 3), armature space.
        """
        weights, places = self.shape_weights(pose), np.zeros((self.vertex_count, 3))
        acting = [row for row, each in enumerate(weights) if each.any()]
        if not acting:
            return np.zeros(0, np.intp), np.zeros((0, 3))
        turns = self.block_turns(pose)
        for row in acting:
            block = self.blocks[row]
            on = np.flatnonzero(weights[row])
            blended = np.tensordot(weights[row][on], block.offsets[on], 1)
            places[block.vertices] += blended @ turns[row].T
        moved = np.unique(np.concatenate([self.blocks[row].vertices for row in acting]))
        return moved, places[moved]


def turned_back(turn: Floats, offsets: Floats) -> Float64s:
    """Offsets (m, 3) of a pose, as `ShapeBlock` keeps them: R^-1 o; the turn has shape (3, 3)."""
    return np.linalg.solve(turn, np.asarray(offsets, np.float64).T).T

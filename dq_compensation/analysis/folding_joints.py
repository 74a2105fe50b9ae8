"""Which joints of a character fold, which way, and how far: found from limbs, not from names.

A limb begins at the first joint off the trunk that turns fully (`ranges_of_motion`), has a bone of
the same kind on the other side, and ends at a hand, which has digits, or at a foot, which points
aside. Its hinge is the joint nearest to the middle. Limbs that hang lowest on the trunk are legs,
others are arms. Bones in the middle of the body, as of spine, neck and tail, swing. A skeleton that
is one row of bones has hinges alone. A joint whose limits allow two axes swings, wherever it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ..arrays import Float64s, Floats, Indices, Int32s
from ..core.limb_joints import LimbJoints
from ..core.skin_at_rest import SkinAtRest
from ..core.vectors import unit_or
from .joint_softness import parents_at_joints
from .mirror_map import mirrored_bones
from .posed_bones import Quaternion, posed_matrices, twist
from .ranges_of_motion import LEAST_HINGE, LEAST_REST_BEND, ranges_of_motion, shared_pairs

# How far limbs bend, degrees between them: knee, elbow, digit, and a joint that is none of these.
_KNEE, _ELBOW, _DIGIT, _OTHER = 135.0, 140.0, 100.0, 90.0
_WRIST = 70.0
# How far a bone in the middle of the body bends to each side, degrees; and how far from X = 0 it
# is, in parts of the size of the skeleton.
_MIDDLE, _IN_MIDDLE = 40.0, 1e-3
# The limits of a bone without any, degrees.
_WHOLE_TURN = 180.0
# How far legs and arms swing from hanging: to which side, degrees from forward to outward, and how
# far. Diagonals are those of ellipses.
_LEG = ((0.0, 120.0), (45.0, 60.0), (90.0, 45.0), (135.0, 31.0), (180.0, 25.0))
_ARM = ((0.0, 120.0), (45.0, 120.0), (90.0, 120.0), (135.0, 76.0), (180.0, 60.0))
_MOST_WAYS = len(_ARM) + 1
# Of four-legged characters all limbs are legs, which swing by this part of that. Their legs stand
# across the trunk by more than this, degrees.
_OF_FOUR, _ACROSS = 0.5, 45.0
# Arms that are farther from hanging at rest are let down, too, degrees.
_RAISED = 30.0
# Poses are no farther apart than this, and a way has no turn that is smaller, degrees.
_STEP, _LEAST_TURN = 45.0, 10.0
# A limb begins at a joint with this part of the full range.
_FULL = 0.8
# Limits of one side that are wider by this than those of the other show where a joint bends.
_ONE_SIDED = 20.0
# Cosine of the angle from the bone's own axis up to which a small bend at rest is one about that.
_SNAP = float(np.cos(np.radians(30.0)))
# A limb ends at a bone that points aside by more than this, degrees.
_FOOT = 45.0

NO_DIRECTION = (
    "{bone} does not show which way it bends. Bend it once the way it bends, then press Solve Folds"
)
NO_SKIN = "{bone} moves no skin. Select the bone that deforms the mesh"
NO_JOINT = "{bone}: no bone moves skin before it, so there is no joint at its head"


@dataclass(frozen=True)
class FoldWay:
    """A way on which a joint folds, from rest.

    Attributes:
        axis: unit, armature space at rest: the bone turns about it, by the right-hand rule.
        degrees: of the poses, above 0, rising evenly from rest to the end.
        at_rest: by how much limbs are bent at rest already, degrees; 0 of joints that swing.
    """

    axis: tuple[float, float, float]
    degrees: tuple[float, ...]
    at_rest: float = 0.0

    @property
    def half_way(self) -> float:
        """Half way to the last pose, degrees."""
        return 0.5 * sum((0.0, *self.degrees)[-2:])


@dataclass(frozen=True)
class FoldingJoint:
    """A joint that folds.

    Attributes:
        bone: behind the joint, at whose head it is.
        hinge: whether it bends in one plane; else it swings.
        ways: at least one.
    """

    bone: int
    hinge: bool
    ways: tuple[FoldWay, ...]

    @property
    def longest(self) -> FoldWay:
        """The first of the longest ways."""
        return max(self.ways, key=lambda way: way.degrees[-1])


@dataclass(frozen=True)
class JointsTogether:
    """Joints that may bend at the same time, each on one of its ways.

    Attributes:
        bones: behind them, two to four.
        ways: of each.
    """

    bones: tuple[int, ...]
    ways: tuple[FoldWay, ...]


@dataclass(frozen=True)
class KnownMotion:
    """What a rig shows of the motion of its bones, by their indices.

    Attributes:
        limits: shape (2, 2), degrees: the least and the largest turn about the bone's own X and Z.
        animated: shape (k, 4), the bone's rotations in actions, unit quaternions in its rest axes.
        posed: shape (1, 4), likewise, its current rotation.
    """

    limits: Mapping[int, Floats] = field(default_factory=dict)
    animated: Mapping[int, Floats] = field(default_factory=dict)
    posed: Mapping[int, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class FoundJoints:
    """The joints that fold, parents first.

    Attributes:
        joints: that can be solved.
        left_out: the reason why another one cannot, by its bone.
        together: those of the joints whose skin may meet when they bend together, fewer of them
            first.
    """

    joints: tuple[FoldingJoint, ...]
    left_out: dict[int, str]
    together: tuple[JointsTogether, ...]


def folding_joints(
    skin: SkinAtRest, known: KnownMotion, bones: Sequence[int] | None = None
) -> FoundJoints:
    """The joints of a character that fold.

    Args:
        skin: with limbs; of any mesh of the character.
        bones: at whose heads joints are wanted; None: all that fold.
    """
    limbs = _Limbs(skin, known)
    wanted = sorted(limbs.ends) if bones is None else sorted(set(bones))
    joints, left_out = list[FoldingJoint](), dict[int, str]()
    for bone in wanted:
        name = skin.skeleton.names[bone]
        if not limbs.moves[bone]:
            left_out[bone] = NO_SKIN.format(bone=name)
            continue
        if limbs.parents[bone] < 0:
            left_out[bone] = NO_JOINT.format(bone=name)
            continue
        hinge = limbs.is_hinge(bone) is not False
        ways = limbs.hinge_ways(bone) if hinge else limbs.ball_ways(bone)
        if ways:
            joints.append(FoldingJoint(bone, hinge, ways))
        else:
            left_out[bone] = NO_DIRECTION.format(bone=name)
    return FoundJoints(tuple(joints), left_out, tuple(limbs.together(joints)))


def is_hinge(skin: SkinAtRest, known: KnownMotion, bone: int) -> bool | None:
    """Whether the joint at the head of a bone bends in one plane; None where limbs do not tell."""
    return _Limbs(skin, known).is_hinge(bone)


def way_matrices(skin: SkinAtRest, bone: int, way: FoldWay, degrees: float) -> Float64s:
    """D of all bones where one is turned on a way, shape (B, 4, 4), armature space.

    Bones with skin follow those that they turn with, whatever controls they hang on.
    """
    return _posed(skin, {bone: _turn(skin, bone, way, degrees)})


def together_matrices(
    skin: SkinAtRest, joints: JointsTogether, degrees: Sequence[float]
) -> Float64s:
    """The same where joints are turned together, each by its own angle."""
    each = zip(joints.bones, joints.ways, degrees, strict=True)
    turns = {bone: _turn(skin, bone, way, angle) for bone, way, angle in each}
    return _posed(skin, turns)


def _posed(skin: SkinAtRest, turns: Mapping[int, Quaternion]) -> Float64s:
    parents = np.where(skin.moves, parents_at_joints(skin), skin.skeleton.parents)
    return posed_matrices(skin.skeleton, turns, parents.astype(np.int32))


def _turn(skin: SkinAtRest, bone: int, way: FoldWay, degrees: float) -> Quaternion:
    x, y, z = (skin.skeleton.rest[bone, :3, :3].T @ np.array(way.axis)).tolist()
    return twist(degrees, (x, y, z))


def mirrored_way(way: FoldWay) -> FoldWay:
    """The way of the joint on the other side of X = 0: M R M turns about (x, -y, -z)."""
    x, y, z = way.axis
    return replace(way, axis=(x, -y, -z))


class _Limbs:
    """The limbs of a character.

    Attributes:
        parents: shape (B,), of `parents_at_joints`.
        moves: shape (B,), bool; the bones with skin, or with leaves that have some.
        ends: how far the joint at the head of each bone that folds bends, degrees.
        swinging: the first bones of limbs, which swing; True: of legs.
    """

    def __init__(self, skin: SkinAtRest, known: KnownMotion) -> None:
        self.skin, self.known = skin, known
        self.skeleton = skin.skeleton
        self.parents: Int32s = parents_at_joints(skin)
        self.partners: Indices = mirrored_bones(self.skeleton.heads, self.skeleton.tails)
        self.forth = LimbJoints.by_parents(self.skeleton, skin.limb_axis, self.parents).forth
        # Controls of a rig hang on bones with skin, too, and leaves lie on limbs.
        self.moves = skin.with_whole_limbs.moves
        is_limb = skin.limbs_of_bones == np.arange(len(self.parents))
        self._own = np.flatnonzero((self.parents >= 0) & self.moves & is_limb).tolist()
        self.children: dict[int, list[int]] = {}
        for bone in self._own:
            self.children.setdefault(int(self.parents[bone]), []).append(bone)
        self.ends: dict[int, float] = {}
        self.swinging: dict[int, bool] = {}
        self.hands: dict[int, list[int]] = {}
        self._before: dict[int, Float64s] = {}
        self._behind: dict[int, Float64s] = {}
        self._digit_of: dict[int, list[int]] = {}
        # The first bone, the hinge and the end of each limb, and the bones of each digit.
        self._chains, self._rows = list[tuple[int, int, int]](), list[list[int]]()
        self._feet: list[int] = []
        self._is_row = all(len(each) == 1 for each in self.children.values()) and self._roots == 1
        if self._is_row:
            self.ends = dict.fromkeys(self._own, _ELBOW)
            self._rows = [self._own]
            return
        self._firsts = self._first_bones()
        for first in self._firsts:
            self._find(first)

    @property
    def _roots(self) -> int:
        """How many bones with others on them hang on none."""
        return sum(1 for bone in self.children if self.parents[bone] < 0)

    def _first_bones(self) -> list[int]:
        body, skeleton = self.skin.body.as_painted, self.skeleton
        pairs = shared_pairs(body.influences, skeleton)
        ranges = ranges_of_motion(body.influences, body.positions, skeleton, pairs)
        found = list[int]()
        for bone in self._own:
            if self.partners[bone] < 0 or ranges.get(bone, 0.0) < _FULL:
                continue
            above = self._above(bone)
            if not any(self.partners[b] >= 0 and ranges.get(b, 0.0) >= _FULL for b in above):
                found.append(bone)
        return found

    def _above(self, bone: int) -> list[int]:
        found = list[int]()
        while (bone := int(self.parents[bone])) >= 0:
            found.append(bone)
        return found

    def _find(self, first: int) -> None:
        """Follow a limb from its first bone to the hand or the foot."""
        chain, is_foot = [first], False
        while len(behind := self.children.get(chain[-1], [])) in (1, 2):
            heads = self.skeleton.heads[behind]
            far = np.linalg.norm(heads - self.skeleton.heads[chain[-1]], axis=1)
            following = behind[int(far.argmax())]
            before = self.skeleton.heads[following] - self.skeleton.heads[chain[-1]]
            aside = _angle(before, self.forth[following])
            if len(chain) > 1 and len(behind) == 2 and far.min() > 0.3 * far.max():
                break  # a hand with a thumb and one more digit
            chain.append(following)
            if len(chain) > 2 and aside > _FOOT and self._is_leg(first):
                is_foot = True
                break
        if not self.children.get(chain[-1]) and self._is_leg(first) and not is_foot:
            # A foot below a bone of a toe counts as a leaf on the shin.
            on_it = np.flatnonzero((self.skin.limbs_of_bones == chain[-1]) & self.skin.moves)
            way = self.forth[chain[-1]]
            feet = [bone for bone in on_it.tolist() if _angle(way, self.forth[bone]) > _FOOT]
            far = np.linalg.norm(self.skeleton.heads[feet] - self.skeleton.heads[chain[-1]], axis=1)
            chain += [feet[int(far.argmin())]] if feet else []
            is_foot = bool(feet)
        if len(chain) < 3:
            return
        points = self.skeleton.heads[chain]
        # Without a hand and a foot, a limb ends where its last bone does.
        is_open = not is_foot and not self.children.get(chain[-1])
        if is_open:
            points = np.vstack((points, self.skeleton.tails[chain[-1]]))
        along = np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))
        middle = 1 + int(np.abs(along[:-1] - 0.5 * along[-1]).argmin())
        hinge, end, is_leg = chain[middle], chain[-1], self._is_leg(first)
        self.swinging[first], self.ends[first] = is_leg, 0.0
        self._chains.append((first, hinge, end))
        self.ends[hinge] = _KNEE if is_leg else _ELBOW
        self._before[hinge] = points[middle] - points[0]
        self._behind[hinge] = points[-1] - points[middle]
        if is_foot:
            self._feet.append(end)
        if not is_leg and not is_open:
            self._before[end] = self._behind[hinge]
            self._digits(end)

    def _digits(self, hand: int) -> None:
        digits = list[list[int]]()
        for bone in self.children.get(hand, []):
            digit = [bone]
            while len(behind := self.children.get(digit[-1], [])) == 1:
                digit.append(behind[0])
            digits.append(digit)
        digits = [found for digit in digits if (found := self._out_of_palm(digit))]
        self._rows += digits
        for digit in digits:
            for bone in digit:
                self.ends[bone], self._digit_of[bone] = _DIGIT, digit
        if digits:
            self.hands[hand], self.ends[hand] = [bone for each in digits for bone in each], _WRIST

    def _out_of_palm(self, digit: list[int]) -> list[int]:
        """The last three bones of a digit at most, but for one that is bent against the others."""
        found = digit[-3:]
        normals = {bone: n for bone in found if (n := self._normal(bone)) is not None}
        if not normals:
            return found
        last = normals[max(normals, key=found.index)]
        return [bone for bone in found if normals.get(bone, last) @ last > 0.0]

    def _is_leg(self, first: int) -> bool:
        """Whether a limb hangs on the trunk's first bone, or lower on it than others."""
        depths = {bone: self._depth(bone) for bone in self._firsts}
        least = min(depths.values())
        return depths[first] == least and (least == 1 or len(set(depths.values())) > 1)

    def _depth(self, first: int) -> int:
        """On how many bones of the trunk a limb hangs, one on the other."""
        return sum(1 for bone in self._above(first) if self.partners[bone] < 0)

    def together(self, joints: Sequence[FoldingJoint]) -> Iterator[JointsTogether]:
        """Those of some joints that may bend together, fewer of them first."""
        ways = {joint.bone: joint.ways for joint in joints}
        for bones, numbers in self._together:
            each = list(zip(bones, numbers, strict=True))
            if all(number < len(ways.get(bone, ())) for bone, number in each):
                yield JointsTogether(bones, tuple(ways[bone][number] for bone, number in each))

    @property
    def _together(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Bones and which way of each: neighbours and both sides, then digits, then both legs.

        The first joint of a limb with the hinge, the hinge with the hand, the first joints of both
        sides on the same way, two neighbours of a digit; a whole digit; the first joints and the
        hinges of both sides on their first way.
        """
        hinges = {first: hinge for first, hinge, _ in self._chains}
        partners = {first: int(self.partners[first]) for first in hinges}
        both = [(first, other) for first, other in partners.items() if first < other]
        both = [pair for pair in both if pair[1] in hinges]
        for first, hinge, end in self._chains:
            yield from (((first, hinge), (number, 0)) for number in range(_MOST_WAYS))
            yield from (((hinge, end), (0, number)) for number in range(2))
        for pair in both:
            yield from ((pair, (number, number)) for number in range(_MOST_WAYS))
        yield from ((pair, (0, 0)) for digit in self._rows for pair in pairwise(digit))
        yield from ((tuple(digit), (0, 0, 0)) for digit in self._rows if len(digit) == 3)
        for one, other in both:
            yield (one, other, hinges[one], hinges[other]), (0, 0, 0, 0)

    def is_hinge(self, bone: int) -> bool | None:
        """Whether a joint bends in one plane; None where neither limbs nor limits tell."""
        if bone in self.swinging or self._has_two_axes(bone) or self._is_in_middle(bone):
            return False
        return True if bone in self.ends else None

    def _limits(self, bone: int) -> Float64s:
        """How far a bone may turn about -X, X, -Z and Z, shape (2, 2), degrees, by its limits."""
        whole = ((-_WHOLE_TURN, _WHOLE_TURN),) * 2
        limits = np.asarray(self.known.limits.get(bone, whole), np.float64)
        return np.maximum(limits * (-1.0, 1.0), 0.0)

    def _has_two_axes(self, bone: int) -> bool:
        """Whether the limits of a bone name two axes, and let it turn about both."""
        limits = self._limits(bone)
        return bool((limits < _WHOLE_TURN).all() and (limits.max(axis=1) >= _LEAST_TURN).all())

    def _is_in_middle(self, bone: int) -> bool:
        ends = np.array((self.skeleton.heads[bone, 0], self.skeleton.tails[bone, 0]))
        size = float(np.ptp(self.skeleton.heads, axis=0).max())
        return not self._is_row and bool(np.abs(ends).max() <= _IN_MIDDLE * size)

    def ball_ways(self, bone: int) -> tuple[FoldWay, ...]:
        """The ways of a joint that swings; none where nothing shows where the front is."""
        if bone in self.swinging:
            return self.swing_ways(bone)
        axes, limits = self.skeleton.rest[bone, :3, [0, 2]], self._limits(bone)
        end = _WRIST if bone in self.hands else _MIDDLE if self._is_in_middle(bone) else _OTHER
        ways = [
            _way(sign * axis, min(end, most))
            for axis, of_axis in zip(axes, limits.tolist(), strict=True)
            for sign, most in zip((-1.0, 1.0), of_axis, strict=True)
        ]
        return tuple(way for way in ways if way is not None)

    def _within_limits(self, bone: int, axis: Float64s, degrees: float) -> float:
        """How far a bone turns about an axis at most: limits of two axes are ellipses."""
        parts = self.skeleton.rest[bone, :3, [0, 2]] @ axis
        limits = self._limits(bone)[[0, 1], (parts > 0.0).astype(int)]
        limited = limits < _WHOLE_TURN
        beyond = float(np.hypot(*np.where(limited, parts / np.maximum(limits, 1e-6), 0.0)))
        return min(degrees, 1.0 / beyond) if beyond > 0.0 else degrees

    def hinge_ways(self, bone: int) -> tuple[FoldWay, ...]:
        """The ways of a hinge; none where nothing shows its direction."""
        end = self.ends.get(bone, _OTHER)
        both = bone in self.hands
        found = self._own_axis(bone)
        if found is None and (other := int(self.partners[bone])) >= 0:
            found = self._own_axis(other)
            found = None if found is None else (found[0] * (1.0, -1.0, -1.0), found[1])
        if found is None:
            return ()
        axis, most = found
        at_rest = self._bend_about(bone, axis)
        ways = [_way(axis, min(most, end - at_rest), at_rest)]
        if both:
            ways.append(_way(-axis, end + at_rest, -at_rest))
        return tuple(way for way in ways if way is not None)

    def _own_axis(self, bone: int) -> tuple[Float64s, float] | None:
        """About which axis a hinge bends, and how far from rest at most, by its own side."""
        axes = self.skeleton.rest[bone, :3, :3]
        if bone in self.known.limits:
            least, largest = np.asarray(self.known.limits[bone], np.float64).T
            sizes = np.stack((-least, largest))
            row, column = np.unravel_index(sizes.argmax(), sizes.shape)
            if sizes[row, column] > sizes[1 - row, column] + _ONE_SIDED:
                axis = axes[:, 2 * int(column)] * (1.0 if row else -1.0)
                return axis, float(sizes[row, column])
        if bone in self.hands:
            of_digits = [
                axis for each in self.hands[bone] if (axis := self._rest_axis(each)) is not None
            ]
            if of_digits:
                return unit_or(np.sum(of_digits, axis=0), 0.0), 180.0
        elif (axis := self._rest_axis(bone)) is not None:
            return axis, 180.0
        for seen in (self.known.animated, self.known.posed):
            if bone in seen and (local := _swing_axis(seen[bone])) is not None:
                return axes @ local, 180.0
        return None

    def _rest_axis(self, bone: int) -> Float64s | None:
        """About which axis a bend at rest goes on; of a digit that of the whole digit."""
        normal, digit = self._normal(bone), self._digit_of.get(bone, [])
        # The first bone of a digit is bent against the palm, and spread: others tell more.
        if normal is None or bone in digit[:1]:
            bent = {each: n for each in digit if (n := self._normal(each)) is not None}
            known = [self._snapped(each, bent[each]) for each in bent if each != bone]
            normal = np.sum(known, axis=0) if known else normal
        return None if normal is None else self._snapped(bone, unit_or(normal, 0.0))

    def _snapped(self, bone: int, normal: Float64s) -> Float64s:
        """The bone's own X or Z where a limb that is nearly straight bends about nearly that."""
        if _angle(*self._limbs_at(bone)) >= LEAST_HINGE:
            return normal
        axes = self.skeleton.rest[bone, :3, [0, 2]]
        along = axes @ normal
        row = int(np.abs(along).argmax())
        near = abs(along[row]) > _SNAP
        return axes[row] * float(np.sign(along[row])) if near else normal

    def _normal(self, bone: int) -> Float64s | None:
        before, behind = self._limbs_at(bone)
        if _angle(before, behind) < LEAST_REST_BEND:
            return None
        return unit_or(np.cross(before, behind), 0.0)

    def _limbs_at(self, bone: int) -> tuple[Float64s, Float64s]:
        heads, parent = self.skeleton.heads, int(self.parents[bone])
        before: Float64s = heads[bone] - heads[parent]
        behind: Float64s = self.forth[bone]
        return self._before.get(bone, before), self._behind.get(bone, behind)

    def _bend_about(self, bone: int, axis: Float64s) -> float:
        """The angle between the limbs at rest, seen along an axis, degrees; with a sign."""
        before, behind = (each - (each @ axis) * axis for each in self._limbs_at(bone))
        return float(np.degrees(np.arctan2(np.cross(before, behind) @ axis, before @ behind)))

    def swing_ways(self, bone: int) -> tuple[FoldWay, ...]:
        """The ways of a limb's first joint; none where nothing shows where the front is."""
        forward = self._forward
        if forward is None:
            return ()
        heads, down = self.skeleton.heads, self._down
        out = heads[bone] - heads[int(self.partners[bone])]
        out = unit_or(out - (out @ down) * down, 0.0)
        forward = unit_or(forward - (forward @ down) * down - (forward @ out) * out, 0.0)
        is_leg = self.swinging[bone] or self._is_four_legged
        at_rest, part = self.forth[bone], _OF_FOUR if self._is_four_legged else 1.0
        sides = [(side, part * degrees) for side, degrees in (_LEG if is_leg else _ARM)]
        if not is_leg and _angle(down, at_rest) > _RAISED:
            sides.append((90.0, 5.0))
        ways = list[FoldWay]()
        for side, degrees in np.radians(sides).tolist():
            toward = np.cos(side) * forward + np.sin(side) * out
            target = np.cos(degrees) * down + np.sin(degrees) * toward
            axis = unit_or(np.cross(at_rest, target), 0.0)
            angle = self._within_limits(bone, axis, _angle(at_rest, target))
            if (way := _way(axis, angle)) is not None:
                ways.append(way)
        return tuple(ways)

    def _hinge_of(self, first: int) -> int:
        heads = self.skeleton.heads
        hinges = [bone for bone in self._before if bone in self._behind]
        return next(b for b in hinges if np.allclose(heads[b] - self._before[b], heads[first]))

    @cached_property
    def _down(self) -> Float64s:
        """Unit: from the arms to the legs; of four legs, and without both, down."""
        if self._is_four_legged or not self._along_trunk.any():
            return np.array((0.0, 0.0, -1.0))
        return self._along_trunk

    @cached_property
    def _along_trunk(self) -> Float64s:
        """From the arms to the legs, unit; 0 where there are no both."""
        heads = self.skeleton.heads
        legs = [heads[bone] for bone, is_leg in self.swinging.items() if is_leg]
        arms = [heads[bone] for bone, is_leg in self.swinging.items() if not is_leg]
        if not legs or not arms:
            return np.zeros(3)
        down = np.mean(legs, axis=0) - np.mean(arms, axis=0)
        return unit_or(down * (0.0, 1.0, 1.0), 0.0)

    @cached_property
    def _is_four_legged(self) -> bool:
        """Whether all limbs, from their first bones to their ends, lead across the trunk."""
        heads, trunk = self.skeleton.heads, self._along_trunk
        ways = [heads[end] - heads[first] for first, _, end in self._chains]
        return bool(trunk.any()) and all(
            _ACROSS < _angle(trunk, way * (0.0, 1.0, 1.0)) < 180.0 - _ACROSS for way in ways
        )

    @cached_property
    def _forward(self) -> Float64s | None:
        """Where feet point; without feet where thighs go when knees bend; None without either.

        Of four legs from the hind ones to the others.
        """
        if self._is_four_legged:
            return -self._along_trunk
        if self._feet:
            return unit_or(np.sum([self.forth[foot] for foot in self._feet], axis=0), 0.0)
        legs = [bone for bone, is_leg in self.swinging.items() if is_leg]
        axes = [self._own_axis(self._hinge_of(bone)) for bone in legs]
        ways = [np.cross(self._down, each[0]) for each in axes if each is not None]
        return unit_or(np.sum(ways, axis=0), 0.0) if ways else None


def _way(axis: Float64s, degrees: float, at_rest: float = 0.0) -> FoldWay | None:
    """A way with evenly spaced poses; None where it is too short for one."""
    if degrees < _LEAST_TURN or not axis.any():
        return None
    count = max(1, int(np.ceil(degrees / _STEP - 1e-6)))
    x, y, z = axis.tolist()
    each = tuple((degrees * np.arange(1, count + 1) / count).tolist())
    return FoldWay((x, y, z), each, at_rest)


def _swing_axis(rotations: Floats) -> Float64s | None:
    """The axis in rest axes, across the bone, of the largest swing; None below `_LEAST_TURN`."""
    q = np.asarray(rotations, np.float64).reshape(-1, 4)
    q = np.where(q[:, :1] < 0.0, -q, q)
    w, x, y, z = q.T
    axes = np.stack((w * x - y * z, w * z + x * y), axis=1)  # of the swing that follows the twist
    sizes = 2.0 * np.arctan2(np.hypot(x, z), np.hypot(w, y))
    row = int(sizes.argmax())
    if np.degrees(sizes[row]) < _LEAST_TURN:
        return None
    across = unit_or(axes[row], 0.0)
    return np.array((across[0], 0.0, across[1]))


def _angle(one: Floats, other: Floats) -> float:
    """The angle between two vectors, degrees."""
    sine = float(np.linalg.norm(np.cross(one, other)))
    return float(np.degrees(np.arctan2(sine, float(np.dot(one, other)))))

"""Check: weights change at the joint, not too fast, over the length that the curve is made for.

The model is a straight, round limb that is as thick on both sides of the joint: a finger, an arm, a
leg. Joints at which a bone branches off (shoulder blades, hips) are not measured, nor are those of
bones that are short for the thickness of the body (spines, palms), nor those of ropes and tails.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

import bpy
import numpy as np

from ...analysis.transitions import (
    BEST_WIDTH,
    Reshaped,
    TransitionJoints,
    Transitions,
    measure_transitions,
    quantile_of_share,
    reshape_transition,
)
from ...arrays import Booleans, Float64s, Indices, Int32s
from ...core.limb_joints import LimbJoints
from ...core.ropes import rope_joints
from ...core.skeleton import Skeleton
from ...errors import UserError, raise_refusal
from ...scene.binding.soft_copy import acting_soft_copy
from ...scene.blender.bone_names import flipped_name
from ...scene.blender.scenes import length_words, object_millimetres
from ...scene.settings.object_settings import Settings, setting_label
from ...scene.vertex_groups import write_rows
from ...softness.options import SofteningOptions
from ...softness.softening import soften_weights, softening_refusal
from ...steps import run_through
from ...wording import counted, listed, listed_bones
from ..fixes.weight_writing import require_writable, sharing_question
from ..issue import Check, Fix, FixError, Issue, Repair
from ..subject import Subject

# A joint that is off brings in that of the other side when it is nearly so, so that a symmetric
# character stays symmetric: limits are wider by this factor, and distances up to it are one.
_WIDER = 1.2
# The fewest vertices that make a measurement.
_FEWEST = 8
# How far a joint reaches, in radii: both bones of a limb are as long, and where weights cross over
# farther along it, or skin lies farther beside it, the joint and not the weights is in the wrong
# place. Joints of the human with four rigs lie up to 1.3 beside the middle of their skin, but for
# those of breasts, inside of the chest.
_REACH = 1.5
# What spoils the shape where a joint outside of the skin is bent by 90 degrees: it lies farther out
# than `_REACH`, see `MeasuredTransitions.away`, or the limb goes aside by this part of the
# character.
_FAR_ASIDE = 0.03
# How much the vertices may scatter about the model, in radii.
_SCATTERED = 0.22
# How far the plane in which they cross over may be tilted: 0.4 is 22 degrees. Necks and chins have
# more; fingers, elbows and knees up to 0.35.
_TILTED = 0.4
# What is right for the published curves, and what a fix has to come to: the width, and the distance
# from the joint. Beyond it the outside of a bend by 90 degrees is 3 to 6 % of the radius off.
_RIGHT_WIDTHS, _RIGHT_SHIFT = (0.45, 0.8), 0.15
# The measured curve minds only how far from the joint weights change, their width and the distance
# together: beyond these sums the outside bulges by about 3 and 10 %.
_MEASURED_REACH, _MEASURED_FAR = 1.5, 1.75
# Weights that change over less of the radius than this fold the skin, whatever curve there is.
_NARROW = 1.0 / 3.0
# Up to this part of the radius no length is told: weights are hard, places are at the joint.
_TOLD = 0.1
# How much skin has to go round the limb (`Transitions.rounds`): of a strip the radius is not known.
_ROUND = 0.05
# How far from a joint its weights are softened, in radii, and how often at most: where vertices lie
# far apart, once moves them little.
_AROUND = 2.5
_MOST_ROUNDS = 8
# The names of bones that share out a twist along a limb, and do not bend it.
_TWIST_BONE = re.compile(r"[Tt]wist|TWIST|((?<![A-Za-z])roll|Roll)(?![a-z])")
# Names of the pieces of one limb differ in these.
_NUMBERS = re.compile(r"[\W\d_]")
# What pieces of one limb, as long as each other and in line, may differ by, in parts of the length.
_IN_LINE = 0.01


@dataclass(frozen=True, eq=False)
class MeasuredTransitions:
    """The transitions of a character.

    Attributes:
        positions: shape (n, 3), armature space, at rest.
        twists: shape (B,), whether a bone only shares out a twist: see `_twist_bones`.
        away: shape (B,), how far the joint lies from where its skin bends; 1 is outside.
    """

    subject: Subject
    names: tuple[str, ...]
    positions: Float64s
    joints: TransitionJoints
    transitions: Transitions
    twists: Booleans
    away: Float64s

    @classmethod
    def of(cls, subject: Subject) -> MeasuredTransitions | None:
        """None where nothing can be measured."""
        positions = subject.rest_in_armature
        if positions is None or not subject.deforming_bones:
            return None
        skeleton = subject.skeleton
        deforms = np.array([name in subject.deforming_bones for name in skeleton.names])
        axis = Settings.of(subject.obj).limb_axis
        # Leaves on limbs share out a twist: their weights do not change at a joint.
        joints = TransitionJoints.of(subject.skin.with_whole_limbs.skeleton, deforms, axis)
        measured = measure_transitions(*subject.skin_with_hard_edges, joints)
        # Of hard weights nothing says how they rise.
        hard = (measured.counts >= _FEWEST) & (np.abs(measured.widths) < _TOLD)
        measured = replace(measured, widths=np.where(hard, _TOLD, measured.widths))
        twists = _twist_bones(skeleton, joints.parents)
        shifts = np.where(twists, 0.0, np.abs(measured.shifts))
        away = np.maximum(shifts / _REACH, measured.offsets)
        away = _alike_on_both_sides(away, subject.mirrored_bones)
        return cls(subject, skeleton.names, positions, joints, measured, twists, away)

    @property
    def outside(self) -> Booleans:
        """Shape (B,), whether the joint lies outside of the limb that it bends."""
        return self.away > 1.0

    def sound(self, wider: float = 1.0) -> Booleans:
        """Shape (B,): where the model fits; the limits are wider by this factor."""
        joints, measured = self.joints, self.transitions
        sound = joints.continues & (measured.counts >= _FEWEST) & (measured.widths > 0.0)
        sound &= wider * joints.lengths >= _REACH * measured.radii
        sound &= measured.spreads <= wider * _SCATTERED
        sound &= measured.rounds >= _ROUND / wider
        return sound & (measured.tilts <= wider * _TILTED)

    @cached_property
    def _ropes(self) -> Booleans:
        """Shape (B,), whether the joint is one of a tail or another rope."""
        whole = self.subject.skin.with_whole_limbs
        return rope_joints(whole, LimbJoints.of(whole.skeleton, whole.limb_axis)) > 0.5

    def beside_skin(self) -> Iterator[int]:
        """The joints so far beside their skin that their bones run across the limb.

        Where skin runs on from one bone to the other, and the joint is outside of both.
        """
        skinned, measured = self.subject.skinned_joints, self.transitions
        distances = np.zeros(len(self.names))
        distances[skinned.bones] = skinned.distances(np.eye(4))
        distances = _alike_on_both_sides(distances, self.subject.mirrored_bones)
        beside = (distances > _REACH) & ~self.joints.continues & (self.joints.parents >= 0)
        beside &= (measured.counts >= _FEWEST) & (measured.rounds >= _ROUND)
        for joint in np.flatnonzero(beside & (measured.spreads <= _SCATTERED)).tolist():
            head, centre = self.joints.heads[joint], skinned.centres[skinned.bones == joint][0]
            before, reach = self._skin_of(int(self.joints.parents[joint]))
            back, forth = centre - before, self._skin_of(joint)[0] - centre
            runs_on = back @ forth > 0.5 * np.linalg.norm(back) * np.linalg.norm(forth)
            if runs_on and np.linalg.norm(head - before) > reach:
                yield joint

    def _skin_of(self, bone: int) -> tuple[Float64s, float]:
        """The middle of the skin that a bone moves, and the root mean square distance from it."""
        influences = self.subject.influences
        rows, slots = np.nonzero((influences.bones == bone) & (influences.weights > 0.0))
        shares = influences.weights[rows, slots].astype(np.float64)
        middle = shares @ self.positions[rows] / shares.sum()
        away = np.sum((self.positions[rows] - middle) ** 2, axis=1)
        return middle, float(np.sqrt(shares @ away / shares.sum()))

    def of_limbs(self, joints: Iterable[int]) -> list[int]:
        """The joints without those of ropes, where wide weights are right."""
        widths = self.transitions.widths
        return [
            each for each in joints if widths[each] <= _RIGHT_WIDTHS[1] or not self._ropes[each]
        ]

    def pair(self, joint: int) -> tuple[str, str]:
        """The names of the two bones of a joint, the parent first."""
        return self.names[int(self.joints.parents[joint])], self.names[joint]

    def offenders(self, *, compensated: bool) -> list[Offender]:
        """The joints where the curve leaves too much, and those where weights change too fast.

        By pairs of left and right, worst first.

        Args:
            compensated: whether a curve acts at all.
        """
        inside, widths = ~self.outside, self.transitions.widths
        sound = self.sound() & inside
        narrow = sound & (widths < _NARROW)
        off = sound & self._off() & compensated
        nearly_off = self.sound(_WIDER) & inside & self._off(_WIDER) & compensated
        places = {name: joint for joint, name in enumerate(self.names)}
        for joint in np.flatnonzero(off | narrow).tolist():
            other = places.get(self._other_side(joint), joint)
            off[other] |= nearly_off[other] and not narrow[other]
        pairs: dict[str, list[int]] = {}
        for joint in self.of_limbs(np.flatnonzero(off | narrow).tolist()):
            key = min(self.names[joint], self._other_side(joint))
            pairs.setdefault(key, []).append(joint)
        offenders = [
            Offender(key, tuple(joints), bool(off[joints].any()), bool(narrow[joints].any()))
            for key, joints in pairs.items()
        ]
        radii = self.transitions.radii

        def order(each: Offender) -> tuple[bool, float]:
            # A little off shows on a leg, and hardly on a finger.
            return not each.is_off, -self.amount(each) * float(radii[list(each.joints)].max())

        return sorted(offenders, key=order)

    def amount(self, offender: Offender) -> float:
        """How far from right a joint is: its width by the logarithm, its place in radii."""
        joints = list(offender.joints)
        widths, shifts = self.transitions.widths[joints], self.transitions.shifts[joints]
        return float((np.abs(np.log(widths / BEST_WIDTH)) + np.abs(shifts)).max())

    def is_far_off(self, offender: Offender) -> bool:
        """Whether it spoils the shape, and does not only show."""
        joints = list(offender.joints)
        reaches = self.transitions.widths[joints] + np.abs(self.transitions.shifts[joints])
        is_measured = self.subject.settings.curve == "MEASURED"
        return offender.is_off and not (is_measured and (reaches <= _MEASURED_FAR).all())

    def bulges(self, offender: Offender) -> bool:
        """Whether the outside of a bend bulges, and is not pressed in."""
        joints = list(offender.joints)
        is_at_joint = np.abs(self.transitions.shifts[joints]) <= _RIGHT_SHIFT
        return not (is_at_joint & (self.transitions.widths[joints] < _RIGHT_WIDTHS[0])).all()

    def _off(self, stricter: float = 1.0) -> Booleans:
        """Shape (B,), where the curve leaves too much; the limits are narrower by this factor."""
        widths, shifts = self.transitions.widths, np.abs(self.transitions.shifts)
        if self.subject.settings.curve == "MEASURED":
            off = widths + shifts > _MEASURED_REACH / stricter
        else:
            (low, high), most = _RIGHT_WIDTHS, _RIGHT_SHIFT / stricter
            off = (widths < stricter * low) | (widths > high / stricter) | (shifts > most)
        return off & ~self.twists

    def _other_side(self, joint: int) -> str:
        """The name of the bone that mirrors a joint's, by its place, or else by its name."""
        other = int(self.subject.mirrored_bones[joint])
        return self.names[other] if other >= 0 else flipped_name(self.names[joint])

    def around(self, joints: Iterable[int]) -> Indices:
        """The vertices that weights between the bones of these joints may be spread to."""
        found = np.zeros(len(self.positions), np.bool_)
        bones, weights = self.subject.influences.bones, self.subject.influences.weights
        for joint in joints:
            pair = (joint, int(self.joints.parents[joint]))
            apart = np.linalg.norm(self.positions - self.joints.heads[joint], axis=1)
            near = apart < _AROUND * self.transitions.radii[joint]
            found |= near & (np.isin(bones, pair) & (weights > 0.0)).any(axis=1)
        return np.flatnonzero(found)

    def too_narrow(self, offender: Offender) -> bool:
        """Whether weights change too fast at its joints: they can be softened."""
        return bool((self.transitions.widths[list(offender.joints)] < _RIGHT_WIDTHS[0]).all())

    def is_sparse(self, joint: int) -> bool:
        """Whether vertices lie too far apart along the limb at a joint for a right width."""
        widest, radius = _RIGHT_WIDTHS[1], self.transitions.radii[joint]
        rows = self.around([joint])
        along = (self.positions[rows] - self.joints.heads[joint]) @ self.joints.along[joint]
        near = np.sort(along[np.abs(along) < 2.0 * widest * radius]) / radius
        return len(near) < 2 or float(np.diff(near).max()) > widest

    def length(self, joint: int, radii: float) -> str:
        """A length that is given in radii of the limb, in the units of the scene."""
        scene = bpy.context.scene
        unit = object_millimetres(self.subject.rig, scene)
        return length_words(float(radii * self.transitions.radii[joint]) * unit, scene)

    def reach(self, joint: int, width: float) -> str:
        """The way along the limb on which the child's share rises from 0.1 to 0.9."""
        told = self.length(joint, 2.0 * float(quantile_of_share(np.array(0.9))) * max(width, _TOLD))
        return told if width > _TOLD else f"less than {told}"

    def place(self, joint: int, shift: float) -> str:
        """Where both bones weigh the same: ``2 cm from the joint``."""
        away = abs(shift)
        return f"{self.length(joint, away)} from the joint" if away >= _TOLD else "at the joint"


@dataclass(frozen=True)
class Offender:
    """A joint, or the same joint on both sides.

    Attributes:
        key: tells it from others.
        is_off: whether the curve leaves a bulge or a dent.
        is_narrow: whether the weights change over less than a third of the radius.
    """

    key: str
    joints: tuple[int, ...]
    is_off: bool
    is_narrow: bool

    def plan(self, measured: MeasuredTransitions) -> dict[int, Reshaped] | None:
        """Better weights by joint; None where other bones have to change as well."""
        plan: dict[int, Reshaped] = {}
        read = (measured.positions, measured.subject.influences)
        for joint in self.joints:
            reshaped = reshape_transition(*read, measured.joints, measured.transitions, joint)
            low, high = _RIGHT_WIDTHS
            is_right = low <= reshaped.width <= high and abs(reshaped.shift) <= _RIGHT_SHIFT
            if not is_right or not len(reshaped.vertices):
                return None
            plan[joint] = reshaped
        return plan


def _twist_bones(skeleton: Skeleton, parents: Int32s) -> Booleans:
    """Shape (B,): the bones that share out the twist of a limb along it. Wide weights are right.

    Those that are called so, and the second half of a limb that was subdivided.
    """
    ways, found = skeleton.tails - skeleton.heads, np.zeros(skeleton.bone_count, np.bool_)
    for bone, parent in enumerate(parents.tolist()):
        one, other = (_NUMBERS.sub("", skeleton.names[each]) for each in (bone, parent))
        apart = np.linalg.norm(ways[bone] - ways[parent])
        is_half = one == other and apart < _IN_LINE * np.linalg.norm(ways[bone])
        is_called_so = _TWIST_BONE.search(skeleton.names[bone]) is not None
        found[bone] = parent >= 0 and (is_called_so or is_half)
    return found


def _alike_on_both_sides(values: Float64s, mirrored_bones: Indices) -> Float64s:
    """Values (B,) with the mean of what is nearly alike: found on both sides, or on neither."""
    others = values[np.where(mirrored_bones >= 0, mirrored_bones, np.arange(len(values)))]
    alike = np.minimum(values, others) > np.maximum(values, others) / _WIDER
    return np.where(alike, 0.5 * (values + others), values)


# More pairs of joints than this are counted, not listed.
_MOST_LISTED = 6


def find(subject: Subject) -> Iterator[Issue]:
    """One issue for each joint, left and right in one, and one for joints outside of the skin."""
    measured = MeasuredTransitions.of(subject)
    if measured is None or subject.misplacement is not None:
        return
    yield from _outside(subject, measured)
    compensated = Settings.of(subject.obj).compensates
    offenders = measured.offenders(compensated=compensated)
    if compensated and acting_soft_copy(subject) is not None:
        # Softness does already what Soften would do.
        offenders = [each for each in offenders if each.is_off]
    for offender in offenders[:_MOST_LISTED]:
        yield _issue(subject, measured, offender)
    more = [joint for offender in offenders[_MOST_LISTED:] for joint in offender.joints]
    if more:
        bones = tuple(measured.names[joint] for joint in more)
        message = (
            f"{counted(len(more), 'more joint')} of {subject.obj.name} with weights that do "
            f"not fit: {listed_bones(bones)}. They are listed when the worse ones are fixed."
        )
        yield Issue("more", "INFORMATION", message, bones)


def reshape(subject: Subject, issue: Issue) -> Repair:
    """Let the weights at the joints of an issue change at the joint, over the best length."""
    require_writable(subject.obj, issue.bones)
    yield
    measured = MeasuredTransitions.of(subject)
    assert measured is not None  # a joint was found just now
    plan = _offender(measured, subject, issue).plan(measured)
    assert plan is not None  # for it the fix is offered
    for joint, reshaped in plan.items():
        parent, child = (subject.group_names.index(name) for name in measured.pair(joint))
        of_parent, of_child = subject.weights.of_group(parent), subject.weights.of_group(child)
        together = np.clip(of_parent + of_child, 0.0, None)[reshaped.vertices].astype(np.float64)
        of_child_now = np.minimum(together * reshaped.shares, 1.0)
        of_parent_now = np.clip(together - of_child_now, 0.0, 1.0)
        groups = np.repeat((parent, child), len(reshaped.vertices))
        weights = np.concatenate((of_parent_now, of_child_now))
        write_rows(subject.obj, np.tile(reshaped.vertices, 2), groups, weights)
    changed = sum(len(reshaped.vertices) for reshaped in plan.values())
    joints = [
        f"from {' to '.join(measured.pair(joint))} over {measured.reach(joint, new.width)}"
        for joint, new in plan.items()
    ]
    vertices = counted(changed, "vertex")
    return f"Changed the weights of {vertices} of {subject.obj.name}: {' and '.join(joints)} now."


def _issue(subject: Subject, measured: MeasuredTransitions, offender: Offender) -> Issue:
    obj = subject.obj
    plan = offender.plan(measured)
    children = listed([measured.names[joint] for joint in offender.joints])
    around = measured.around(offender.joints)
    soften = Fix(
        "soften",
        "Soften",
        "The right one where the skin folds, or twists in a narrow ring, with any method. Spread "
        "the weights around the joint over half of the limb's radius; Put Weights Back, in Paint "
        "Weights, gives these back",
        f"Changes the weights of {obj.name} around {children}. The "
        "look changes in every pose that bends or twists there.",
    )
    fit = Fix(
        "reshape",
        "Fit Weights to Joint",
        "The right one where the outside bulges or is pressed in. Let the weights change from one "
        "bone to the other at the joint, over the length that the curve is made for. The sum of "
        "the two bones' weights stays at every vertex, and so do all other groups",
        _question(subject, measured, plan or {}),
    )
    joints = list(offender.joints)
    fits = () if plan is None or measured.twists[joints].any() else (fit,)
    # It makes every change of weights longer.
    widths = measured.transitions.widths[joints]
    softens = (soften,) if measured.too_narrow(offender) else ()
    fixes = (*fits, *softens) if offender.is_off else (*softens, *fits)
    effects = []
    if (widths <= _TOLD).any():
        effects.append("These weights are hard: skin folds there.")
    elif offender.is_narrow:
        effects.append("That is faster than a third of the limb's radius: skin folds there.")
    if offender.is_off:
        result = "bulges" if measured.bulges(offender) else "is pressed in"
        effects.append(
            f"The outside of a bend {result} with the curve {setting_label(obj, 'curve')}. Ignore "
            "this where bones only twist."
        )
    if plan is None and any(map(measured.is_sparse, joints)):
        effects.append("Too few vertices lie along the limb there for weights that fit.")
    elif plan is None:
        effects.append("Other bones have weights there, too.")
    message = (
        f"The weights of {obj.name} change "
        f"{' and '.join(_described(measured, joint) for joint in offender.joints)}. "
        + " ".join(effects)
    )
    severity = "WARNING" if measured.is_far_off(offender) else "INFORMATION"
    bones = tuple(dict.fromkeys(name for joint in offender.joints for name in measured.pair(joint)))
    changed = [around, *(reshaped.vertices for reshaped in (plan or {}).values())]
    vertices = np.unique(np.concatenate(changed)).astype(np.int32)
    amount = measured.amount(offender)
    return Issue(offender.key, severity, message, bones, vertices, fixes, amount)


def soften(subject: Subject, issue: Issue) -> Repair:
    """Spread the weights around the joints of an issue until they change slowly enough."""
    require_writable(subject.obj, issue.bones)
    raise_refusal(softening_refusal(subject.obj), FixError)
    yield
    measured = MeasuredTransitions.of(subject)
    assert measured is not None  # a joint was found just now
    around = measured.around(_offender(measured, subject, issue).joints)
    reports = []
    for _ in range(_MOST_ROUNDS):
        try:
            reports += run_through(soften_weights([subject.obj], SofteningOptions(), around))
        except UserError as error:
            raise FixError(str(error)) from error
        now = Subject(subject.obj, bpy.context.evaluated_depsgraph_get())
        measured = MeasuredTransitions.of(now)
        left = _left_of(measured, now, issue) if measured is not None else None
        if left is None or not measured.too_narrow(left) or not reports[-1].changed:
            break
    return max(reports, key=attrgetter("changed")).sentence()


def _left_of(measured: MeasuredTransitions, subject: Subject, issue: Issue) -> Offender | None:
    found = measured.offenders(compensated=Settings.of(subject.obj).compensates)
    return next((each for each in found if each.key == issue.key), None)


def _offender(measured: MeasuredTransitions, subject: Subject, issue: Issue) -> Offender:
    left = _left_of(measured, subject, issue)
    assert left is not None  # it was found just now
    return left


def _question(subject: Subject, measured: MeasuredTransitions, plan: dict[int, Reshaped]) -> str:
    changed = sum(len(reshaped.vertices) for reshaped in plan.values())
    widths, shifts = measured.transitions.widths, measured.transitions.shifts
    steps = [
        f"{measured.names[joint]}: over {measured.reach(joint, widths[joint])} -> "
        f"{measured.reach(joint, new.width)}, middle {measured.place(joint, shifts[joint])} "
        f"-> {measured.place(joint, new.shift)}"
        for joint, new in plan.items()
    ]
    return sharing_question(
        subject.obj,
        f"Changes the weights of {counted(changed, 'vertex')} of {subject.obj.name}. "
        f"{'; '.join(steps)}. The look changes in every pose that bends there.",
    )


def _described(measured: MeasuredTransitions, joint: int) -> str:
    """``from arm to hand over 9 cm (5 cm would fit), 2 cm from the joint towards arm``."""
    pair = measured.pair(joint)
    width, shift = measured.transitions.widths[joint], measured.transitions.shifts[joint]
    text = (
        f"from {' to '.join(pair)} over {measured.reach(joint, width)} "
        f"({measured.reach(joint, BEST_WIDTH)} would fit)"
    )
    towards = f" towards {pair[int(shift > 0.0)]}" if abs(shift) >= _TOLD else ""
    return f"{text}, {measured.place(joint, shift)}{towards}"


def _outside(subject: Subject, measured: MeasuredTransitions) -> Iterator[Issue]:
    """One issue for all joints outside of the skin that they bend."""
    others = measured.subject.mirrored_bones
    sound = measured.sound() | ((others >= 0) & measured.sound(_WIDER) & measured.sound()[others])
    found = measured.of_limbs(np.flatnonzero(sound & measured.outside).tolist())
    joints = np.array([*found, *measured.beside_skin()], np.intp)
    # A coat has some skin on one side of the neck: the body shows whether that is in its limb.
    elsewhere = subject.joints_in_character if len(joints) else frozenset()
    joints = joints[[measured.names[joint] not in elsewhere for joint in joints]]
    if not len(joints):
        return
    distances = np.hypot(measured.transitions.offsets, measured.transitions.shifts)
    aside = np.sqrt(2.0) * distances * measured.transitions.radii
    joints = joints[np.argsort(-aside[joints], kind="stable")]
    names = tuple(measured.names[joint] for joint in joints)
    places = [
        f"{name} ({measured.length(joint, float(distances[joint]))})"
        for name, joint in zip(names, joints.tolist(), strict=True)
    ]
    way = measured.length(joints[0], float(np.sqrt(2.0) * distances[joints[0]]))
    lies = "joint lies" if len(joints) == 1 else "joints lie"
    message = (
        f"{len(joints)} {lies} outside of the limb of {subject.obj.name}, far "
        f"from where the weights of {subject.rig.name} change: {listed_bones(names, places)}. "
        f"Bent by 90 degrees, the limb goes aside by up to {way}. "
        "Move the heads of these bones into the middle of the limb, at the crease."
    )
    far = (measured.away > _REACH) | (aside > _FAR_ASIDE * subject.character_size)
    severity = "WARNING" if far[joints].any() else "INFORMATION"
    yield Issue("outside", severity, message, names, amount=float(measured.away[joints].max()))


WEIGHT_TRANSITION = Check("weight_transition", find, {"soften": soften, "reshape": reshape})

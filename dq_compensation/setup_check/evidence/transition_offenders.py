"""Joints at which the weights change so that compensation falls short, and better weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.transitions.transition_errors import expected_error
from ...analysis.transitions.transition_measurement import (
    TransitionJoints,
    Transitions,
    measure_transitions,
    quantile_of_share,
    thickness_ratio,
)
from ...analysis.transitions.transition_reshaping import Reshaped, reshape_transition
from ...scene.blender.bone_names import flipped_name
from ...scene.blender.units import length_words, object_millimetres
from ...scene.settings.object_settings import settings_of
from ..subject import Subject

# Errors up to here, in % of the limb's radius, are not worth a warning.
_UNSEEN = 3.0
# A joint with an error brings in that of the other side when it is nearly as bad, so that a
# symmetric character stays symmetric: limits are wider by this factor, half of the error counts.
_WIDER = 1.2
# The fewest vertices that make a measurement.
_FEWEST = 8
# The length of the shorter bone, in radii, from which on a limb is long enough for the model.
_LONG = 1.5
# The distance of the joint from the middle of the limb, in radii: beyond it is outside the skin.
_OUTSIDE = 1.0
# How far along the limb the weights may cross over from the joint before the joint itself, and not
# the weights, must be in the wrong place; in radii.
_FAR = 1.5
# How much the vertices may scatter about the model, in radii.
_SCATTERED = 0.22
# How far the plane in which they cross over may be tilted: 0.4 is 22 degrees. Necks and chins have
# more; fingers, elbows and knees up to 0.35.
_TILTED = 0.4
# What is right, and what a fix has to come to: the width, and the distance from the joint.
_RIGHT_WIDTHS, _RIGHT_SHIFT = (0.5, 0.8), 0.15
# Weights that change over less of the radius than this fold the skin, whatever curve there is.
_NARROW = 1.0 / 3.0
# How far from a joint its weights are softened, in radii.
_AROUND = 2.5
# How much thicker one side of the joint may be than the other.
_EVEN = 1.5


@dataclass(frozen=True, eq=False)
class MeasuredTransitions:
    """The transitions of a character.

    Attributes:
        positions: shape (n, 3), armature space, at rest.
    """

    subject: Subject
    names: tuple[str, ...]
    positions: NDArray[np.float64]
    joints: TransitionJoints
    transitions: Transitions

    @classmethod
    def of(cls, subject: Subject) -> MeasuredTransitions | None:
        """None where nothing can be measured."""
        positions = subject.rest_in_armature
        if positions is None or not subject.deforming_bones:
            return None
        skeleton = subject.skeleton
        deforms = np.array([name in subject.deforming_bones for name in skeleton.names])
        axis = settings_of(subject.obj).limb_axis
        joints = TransitionJoints.of(skeleton, deforms, axis)
        measured = measure_transitions(positions, subject.influences, joints)
        return cls(subject, skeleton.names, positions, joints, measured)

    @property
    def misplaced(self) -> NDArray[np.bool_]:
        """Shape (B,): where the joint lies outside of the limb that it bends."""
        return self._sound() & self._outside

    @property
    def _outside(self) -> NDArray[np.bool_]:
        far = np.abs(self.transitions.shifts) > _FAR
        return far | (self.transitions.offsets > _OUTSIDE)

    def _sound(self, wider: float = 1.0) -> NDArray[np.bool_]:
        """Shape (B,): where the model fits; the limits are wider by this factor."""
        joints, measured = self.joints, self.transitions
        sound = joints.continues & (measured.counts >= _FEWEST) & (measured.widths > 0.0)
        sound &= wider * joints.lengths >= _LONG * measured.radii
        sound &= measured.spreads <= wider * _SCATTERED
        return sound & (measured.tilts <= wider * _TILTED)

    def pair(self, joint: int) -> tuple[str, str]:
        """The names of the two bones of a joint, the parent first."""
        return self.names[int(self.joints.parents[joint])], self.names[joint]

    def offenders(self, *, compensated: bool) -> list[Offender]:
        """The joints where the curve leaves too much, and those where weights change too fast.

        By pairs of left and right, worst first.

        Args:
            compensated: whether a curve acts at all.
        """
        inside = ~self._outside
        nearly_sound = inside & self._sound(_WIDER) & compensated
        sound = np.flatnonzero(self._sound() & inside).tolist()
        narrow = {joint for joint in sound if self.transitions.widths[joint] < _NARROW}
        errors = dict.fromkeys(sorted(narrow), 0.0)
        for joint in sound if compensated else ():
            if error := self._error(joint, 1.0, _UNSEEN):
                errors[joint] = error
        places = {name: joint for joint, name in enumerate(self.names)}
        for joint in list(errors):
            other = places.get(flipped_name(self.names[joint]), joint)
            near = other not in errors and nearly_sound[other]
            if near and (error := self._error(other, _WIDER, 0.5 * _UNSEEN)):
                errors[other] = error
        pairs: dict[str, list[int]] = {}
        for joint in sorted(errors):
            name = self.names[joint]
            pairs.setdefault(min(name, flipped_name(name)), []).append(joint)
        offenders = [
            Offender(
                key,
                tuple(joints),
                max((errors[joint] for joint in joints), key=abs),
                is_narrow=not narrow.isdisjoint(joints),
            )
            for key, joints in pairs.items()
        ]
        return sorted(offenders, key=lambda each: (-abs(each.error), not each.is_narrow))

    def around(self, joints: Iterable[int]) -> NDArray[np.intp]:
        """The vertices that weights between the bones of these joints may be spread to."""
        found = np.zeros(len(self.positions), np.bool_)
        bones, weights = self.subject.influences.bones, self.subject.influences.weights
        for joint in joints:
            pair = (joint, int(self.joints.parents[joint]))
            apart = np.linalg.norm(self.positions - self.joints.heads[joint], axis=1)
            near = apart < _AROUND * self.transitions.radii[joint]
            found |= near & (np.isin(bones, pair) & (weights > 0.0)).any(axis=1)
        return np.flatnonzero(found)

    def length(self, joint: int, radii: float) -> str:
        """A length that is given in radii of the limb, in the units of the scene."""
        scene = bpy.context.scene
        unit = object_millimetres(self.subject.rig, scene)
        return length_words(float(radii * self.transitions.radii[joint]) * unit, scene)

    def reach(self, joint: int, width: float) -> str:
        """The way along the limb on which the child's share rises from 0.1 to 0.9."""
        return self.length(joint, 2.0 * float(quantile_of_share(np.array(0.9))) * width)

    def _error(self, joint: int, wider: float, unseen: float) -> float:
        """The error that the object's curve leaves, in % of the radius; 0 if it is negligible.

        Negative where the surface is pressed in. The limits are wider by this factor.
        """
        width, shift = float(self.transitions.widths[joint]), float(self.transitions.shifts[joint])
        if is_right(width, shift, wider):
            return 0.0
        error = expected_error(settings_of(self.subject.obj).curve, width, shift)
        if abs(error) <= unseen:
            return 0.0
        influences, most = self.subject.influences, wider * _EVEN
        ratio = thickness_ratio(self.positions, influences, self.joints, self.transitions, joint)
        return error if 1.0 / most < ratio < most else 0.0


@dataclass(frozen=True)
class Offender:
    """A joint, or the same joint on both sides.

    Attributes:
        key: tells it from others.
        error: the worse one, % of the radius; negative where the surface is pressed in; 0 where
            the curve leaves little or none acts.
        is_narrow: whether the weights change over less than a third of the radius.
    """

    key: str
    joints: tuple[int, ...]
    error: float
    is_narrow: bool

    def plan(self, measured: MeasuredTransitions) -> dict[int, Reshaped] | None:
        """Better weights by joint; None where other bones have to change as well."""
        plan: dict[int, Reshaped] = {}
        read = (measured.positions, measured.subject.influences)
        for joint in self.joints:
            reshaped = reshape_transition(*read, measured.joints, measured.transitions, joint)
            if not is_right(reshaped.width, reshaped.shift) or not len(reshaped.vertices):
                return None
            plan[joint] = reshaped
        return plan


def is_right(width: float, shift: float, narrower: float = 1.0) -> bool:
    """Whether a transition is as the curves want it; the limits are narrower by this factor."""
    low, high = _RIGHT_WIDTHS
    return narrower * low <= width <= high / narrower and narrower * abs(shift) <= _RIGHT_SHIFT

"""Where the weights of a character cross over so that compensation falls short, and better ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.transition_errors import expected_error
from ..core.transition_reshaping import Reshaped, reshape_transition
from ..core.weight_transition import (
    TransitionJoints,
    Transitions,
    measure_transitions,
    thickness_ratio,
)
from ..scene.bone_names import flipped_name
from ..scene.object_settings import settings_of
from .subject import Subject

# Errors up to here, in % of the limb's radius, are not worth a warning.
_UNSEEN = 3.0
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
# How much thicker one side of the joint may be than the other.
_EVEN = 1.5


@dataclass(frozen=True, eq=False)
class MeasuredTransitions:
    """The transitions of a character.

    Attributes:
        names: of the bones.
        positions: shape (n, 3), armature space, at rest.
        joints: between the bones.
        transitions: what was measured there.
        sound: shape (B,), bool; whether enough was measured for the model.
    """

    names: tuple[str, ...]
    positions: NDArray[np.float64]
    joints: TransitionJoints
    transitions: Transitions
    sound: NDArray[np.bool_]

    @classmethod
    def of(cls, subject: Subject) -> MeasuredTransitions | None:
        """None where nothing can be measured."""
        skeleton, influences = subject.skeleton, subject.influences
        if skeleton is None or influences is None or not subject.deforming_bones:
            return None
        positions = subject.rest_in_armature
        if positions is None:
            return None
        deforms = np.array([name in subject.deforming_bones for name in skeleton.names])
        axis = settings_of(subject.obj).limb_axis
        joints = TransitionJoints.of(skeleton, deforms, axis)
        measured = measure_transitions(positions, influences, joints)
        sound = joints.continues & (measured.counts >= _FEWEST) & (measured.widths > 0.0)
        sound &= joints.lengths >= _LONG * measured.radii
        sound &= (measured.spreads <= _SCATTERED) & (measured.tilts <= _TILTED)
        return cls(skeleton.names, positions, joints, measured, sound)

    @property
    def misplaced(self) -> NDArray[np.bool_]:
        """Shape (B,): where the joint lies outside of the limb that it bends."""
        transitions = self.transitions
        far = np.abs(transitions.shifts) > _FAR
        return self.sound & (far | (transitions.offsets > _OUTSIDE))

    def pair(self, joint: int) -> tuple[str, str]:
        """The names of the two bones of a joint, the parent first."""
        return self.names[int(self.joints.parents[joint])], self.names[joint]

    def error(self, subject: Subject, joint: int) -> float:
        """What the curve that the object has leaves, in % of the radius; 0 where all is right."""
        width = float(self.transitions.widths[joint])
        shift = float(self.transitions.shifts[joint])
        if is_right(width, shift):
            return 0.0
        return expected_error(settings_of(subject.obj).curve, width, shift)

    def is_even(self, subject: Subject, joint: int) -> bool:
        """Whether the limb is about as thick on both sides of a joint."""
        if subject.influences is None:
            return False
        ratio = thickness_ratio(
            self.positions, subject.influences, self.joints, self.transitions, joint
        )
        return 1.0 / _EVEN < ratio < _EVEN

    def culprits(self, subject: Subject) -> list[Culprit]:
        """The joints where the curve leaves too much, by pairs of left and right, worst first."""
        pairs: dict[str, list[int]] = {}
        errors: dict[int, float] = {}
        for joint in np.flatnonzero(self.sound & ~self.misplaced).tolist():
            error = self.error(subject, joint)
            if abs(error) > _UNSEEN and self.is_even(subject, joint):
                errors[joint] = error
                name = self.names[joint]
                pairs.setdefault(min(name, flipped_name(name)), []).append(joint)
        culprits = []
        for key, joints in pairs.items():
            worst = max((errors[joint] for joint in joints), key=abs)
            culprits.append(Culprit(key, tuple(joints), worst))
        return sorted(culprits, key=lambda culprit: -abs(culprit.error))


@dataclass(frozen=True)
class Culprit:
    """A joint, or the same joint on both sides.

    Attributes:
        key: tells it from others.
        joints: the child bones.
        error: the worse one, % of the radius; negative where the surface is pressed in.
    """

    key: str
    joints: tuple[int, ...]
    error: float

    def plan(self, subject: Subject, measured: MeasuredTransitions) -> dict[int, Reshaped] | None:
        """Better weights by joint; None where they cannot be had by changing two groups."""
        if subject.influences is None:
            return None
        plan: dict[int, Reshaped] = {}
        for joint in self.joints:
            reshaped = reshape_transition(
                measured.positions,
                subject.influences,
                measured.joints,
                measured.transitions,
                joint,
            )
            if not is_right(reshaped.width, reshaped.shift) or not len(reshaped.vertices):
                return None
            plan[joint] = reshaped
        return plan


def is_right(width: float, shift: float) -> bool:
    """Whether a transition is as the curves want it, as well as that can be measured."""
    low, high = _RIGHT_WIDTHS
    return low <= width <= high and abs(shift) <= _RIGHT_SHIFT

"""Check: weights change at the joint, not too fast, over the length that the curve is made for.

The model is a straight, round limb that is as thick on both sides of the joint: a finger, an arm, a
leg. Joints at which a bone branches off (shoulder blades, hips) are not measured, nor are those of
bones that are short for the thickness of the body (spines, palms).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.transitions.transition_reshaping import BEST_WIDTH, Reshaped
from ...errors import UserError
from ...scene.binding.soft_copy import acting_soft_copy
from ...scene.settings.object_settings import Settings, setting_label, settings_of
from ...scene.weights.softening import SofteningOptions, soften_weights
from ...scene.weights.weights_writing import write_rows
from ...steps import run_through
from ...wording import counted, listed
from ..evidence.transition_offenders import MeasuredTransitions, Offender
from ..fixes.weight_changes import require_writable, sharing_question
from ..issue import Check, Fix, FixError, Issue
from ..subject import Subject

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
    if compensated and acting_soft_copy(subject.obj) is not None:
        # Softness does already what Soften would do.
        offenders = [each for each in offenders if each.error or not each.is_narrow]
    for offender in offenders[:_MOST_LISTED]:
        yield _issue(subject, measured, offender)
    more = [joint for offender in offenders[_MOST_LISTED:] for joint in offender.joints]
    if more:
        bones = tuple(measured.names[joint] for joint in more)
        message = (
            f"{counted(len(more), 'more joint')} of {subject.obj.name} with weights that do "
            f"not fit: {listed(bones)}. They are listed when the worse ones are fixed."
        )
        yield Issue("more", "INFORMATION", message, bones)


def reshape(subject: Subject, issue: Issue) -> str:
    """Let the weights at the joints of an issue change at the joint, over the best length."""
    measured = MeasuredTransitions.of(subject)
    assert measured is not None  # a joint was found just now
    plan = _offender(measured, subject, issue).plan(measured)
    assert plan is not None  # for it the fix is offered
    require_writable(subject.obj, [name for joint in plan for name in measured.pair(joint)])
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
    fits = () if plan is None else (fit,)
    fixes = (*fits, soften) if offender.error else (soften, *fits)
    effects = []
    if offender.is_narrow:
        effects.append("That is faster than a third of the limb's radius: skin folds there.")
    if offender.error:
        result = "bulges" if offender.error > 0.0 else "is pressed in"
        effects.append(
            f"Bent by 90 degrees, the outside {result} by about {abs(offender.error):.0f} % of the "
            f"limb's radius with the curve {setting_label(obj, 'curve')}. Ignore this where bones "
            "only twist."
        )
    if plan is None:
        effects.append("Other bones have weights there, too.")
    message = (
        f"The weights of {obj.name} change "
        f"{' and '.join(_described(measured, joint) for joint in offender.joints)}. "
        + " ".join(effects)
    )
    known = not offender.error or settings_of(obj).curve == "MEASURED"
    severity = "INFORMATION" if known else "WARNING"
    bones = tuple(dict.fromkeys(name for joint in offender.joints for name in measured.pair(joint)))
    changed = [around, *(reshaped.vertices for reshaped in (plan or {}).values())]
    vertices = np.unique(np.concatenate(changed)).astype(np.int32)
    return Issue(offender.key, severity, message, bones, vertices, fixes)


def soften(subject: Subject, issue: Issue) -> str:
    """Spread the weights around the joints of an issue over half of the limb's radius."""
    measured = MeasuredTransitions.of(subject)
    assert measured is not None  # a joint was found just now
    around = measured.around(_offender(measured, subject, issue).joints)
    try:
        (report,) = run_through(soften_weights([subject.obj], SofteningOptions(), around))
    except UserError as error:
        raise FixError(str(error)) from error
    return report.sentence()


def _offender(measured: MeasuredTransitions, subject: Subject, issue: Issue) -> Offender:
    found = measured.offenders(compensated=Settings.of(subject.obj).compensates)
    return next(each for each in found if each.key == issue.key)


def _question(subject: Subject, measured: MeasuredTransitions, plan: dict[int, Reshaped]) -> str:
    changed = sum(len(reshaped.vertices) for reshaped in plan.values())
    widths, shifts = measured.transitions.widths, measured.transitions.shifts
    steps = [
        f"{measured.names[joint]}: over {measured.reach(joint, widths[joint])} -> "
        f"{measured.reach(joint, new.width)}, middle {measured.length(joint, abs(shifts[joint]))} "
        f"-> {measured.length(joint, abs(new.shift))} from the joint"
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
    if abs(shift) < 0.1:
        return f"{text}, at the joint"
    away = measured.length(joint, abs(shift))
    return f"{text}, {away} from the joint towards {pair[int(shift > 0.0)]}"


def _outside(subject: Subject, measured: MeasuredTransitions) -> Iterator[Issue]:
    """One issue for all joints that lie outside of the skin that they bend."""
    joints = np.flatnonzero(measured.misplaced)
    if not len(joints):
        return
    distances = np.hypot(measured.transitions.offsets, measured.transitions.shifts)
    joints = joints[np.argsort(-distances[joints], kind="stable")]
    names = tuple(measured.names[joint] for joint in joints)
    places = [
        f"{name} ({measured.length(joint, float(distances[joint]))})"
        for name, joint in zip(names, joints.tolist(), strict=True)
    ]
    lies = "joint lies" if len(joints) == 1 else "joints lie"
    message = (
        f"{len(joints)} {lies} outside of the limb of {subject.obj.name}, far "
        f"from where the weights of {subject.rig.name} change: {listed(places)}. "
        "Move the heads of these bones into the middle of the limb, at the crease."
    )
    yield Issue("outside", "INFORMATION", message, names)


CHECK = Check("weight_transition", find, {"soften": soften, "reshape": reshape})

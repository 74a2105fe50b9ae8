"""Weights that cross over too narrow, too wide or beside the joint for the compensation curve.

The model is a straight limb, round and as thick on both sides: fingers, arms, legs, necks. Joints
at which a bone branches off (shoulder blades, hips), and those of bones that are short for how
thick the body is there (spines, palms), are not measured.
"""

from __future__ import annotations

import numpy as np

from ..core.transition_reshaping import Reshaped
from ..core.weight_transition import Transitions
from ..scene.object_settings import settings_of
from ..scene.weights_writing import write_rows
from .issue import Check, Fix, FixError, Issue, listed
from .subject import Subject
from .transition_culprits import Culprit, MeasuredTransitions
from .weight_changes import require_writable, sharing_question
from .wording import counted

# More pairs of joints than this are counted, not listed.
_MOST_LISTED = 6


def find(subject: Subject) -> list[Issue]:
    """One issue for each joint, left and right in one, and one for joints outside of the skin."""
    measured = MeasuredTransitions.of(subject)
    if measured is None:
        return []
    found = _outside(subject, measured)
    compensates = settings_of(subject.obj).method == "COMPENSATED"
    culprits = measured.culprits(subject) if compensates else []
    found.extend(_issue(subject, measured, culprit) for culprit in culprits[:_MOST_LISTED])
    more = [joint for culprit in culprits[_MOST_LISTED:] for joint in culprit.joints]
    if more:
        bones = tuple(measured.names[joint] for joint in more)
        found.append(
            Issue(
                CHECK.name,
                "more",
                "INFORMATION",
                f"The weights of {counted(len(more), 'more joint')} of {subject.obj.name} cross "
                f"over badly: {listed(bones)}. They are listed when the worse ones are mended.",
                bones,
            )
        )
    return found


def reshape(subject: Subject, issue: Issue) -> str:
    """Bring the weights at the joints of an issue to the joint and to the best width."""
    measured = MeasuredTransitions.of(subject)
    culprits = measured.culprits(subject) if measured is not None else []
    culprit = next((culprit for culprit in culprits if culprit.key == issue.key), None)
    plan = culprit.plan(subject, measured) if culprit is not None and measured is not None else None
    if plan is None or measured is None:
        raise FixError(
            f"The weights of {subject.obj.name} have changed since it was checked. Check again."
        )
    groups = subject.group_names
    places = {name: index for index, name in enumerate(groups)}
    require_writable(subject.obj, [name for joint in plan for name in measured.pair(joint)])
    for joint, reshaped in plan.items():
        parent, child = (places[name] for name in measured.pair(joint))
        of_parent, of_child = subject.weights.of_group(parent), subject.weights.of_group(child)
        together = np.clip(of_parent + of_child, 0.0, None)[reshaped.vertices].astype(np.float64)
        of_child_now = np.minimum(together * reshaped.shares, 1.0)
        of_parent_now = np.clip(together - of_child_now, 0.0, 1.0)
        count = len(reshaped.vertices)
        write_rows(
            subject.obj,
            np.tile(reshaped.vertices, 2),
            np.repeat((parent, child), count),
            np.concatenate((of_parent_now, of_child_now)),
        )
    changed = sum(len(reshaped.vertices) for reshaped in plan.values())
    widths = " and ".join(f"{reshaped.width:.2f}" for reshaped in plan.values())
    joints = listed([" to ".join(measured.pair(joint)) for joint in plan])
    return (
        f"Changed the weights of {counted(changed, 'vertex')} of {subject.obj.name} from {joints}: "
        f"{widths} radii wide now."
    )


def _issue(subject: Subject, measured: MeasuredTransitions, culprit: Culprit) -> Issue:
    obj, curve = subject.obj, settings_of(subject.obj).curve
    plan = culprit.plan(subject, measured)
    pairs = [measured.pair(joint) for joint in culprit.joints]
    joints = " and ".join(f"{parent} to {child}" for parent, child in pairs)
    described = [_described(measured.transitions, joint) for joint in culprit.joints]
    now = " and ".join(dict.fromkeys(described))
    result = (
        f"bulges by about {culprit.error:.0f} %"
        if culprit.error > 0.0
        else f"is pressed in by about {-culprit.error:.0f} %"
    )
    fixes: tuple[Fix, ...] = ()
    advice = " Paint them there: changing these two groups alone would not do."
    vertices = np.zeros(0, np.int32)
    if plan is not None:
        advice = ""
        changed = [reshaped.vertices for reshaped in plan.values()]
        vertices = np.unique(np.concatenate(changed)).astype(np.int32)
        fixes = (
            Fix(
                "reshape",
                "Reshape Transition",
                "Lets the weights of these bones cross over at the joint, about 0.63 radii wide. "
                "What two bones have together stays at every vertex, and so do all other groups",
                _question(subject, measured, plan),
            ),
        )
    return Issue(
        check=CHECK.name,
        key=culprit.key,
        severity="INFORMATION" if curve == "MEASURED" else "WARNING",
        message=f"The weights of {obj.name} from {joints} cross over {now}. Bent by 90 degrees, "
        f"the outside {result} of the limb's radius with the curve {curve.capitalize()}.{advice} "
        "Ignore it where bones only twist.",
        bones=tuple(dict.fromkeys(name for pair in pairs for name in pair)),
        vertices=vertices,
        fixes=fixes,
    )


def _question(subject: Subject, measured: MeasuredTransitions, plan: dict[int, Reshaped]) -> str:
    changed = sum(len(reshaped.vertices) for reshaped in plan.values())
    transitions = measured.transitions
    steps = "; ".join(
        f"{measured.names[joint]}: width {transitions.widths[joint]:.2f} -> {new.width:.2f} radii, "
        f"middle {transitions.shifts[joint]:+.2f} -> {new.shift:+.2f} radii from the joint"
        for joint, new in plan.items()
    )
    asked = (
        f"Changes the weights of {counted(changed, 'vertex')} of {subject.obj.name}. {steps}. "
        "The look changes in every pose that bends there."
    )
    sharing = sharing_question(subject.obj)
    return f"{asked} {sharing}" if sharing else asked


def _described(transitions: Transitions, joint: int) -> str:
    """``0.21 radii wide, 0.90 radii up the limb from the joint``."""
    width, shift = float(transitions.widths[joint]), float(transitions.shifts[joint])
    if abs(shift) < 0.1:
        place = "at the joint"
    else:
        way = "down" if shift > 0.0 else "up"
        place = f"{abs(shift):.2f} radii {way} the limb from the joint"
    return f"{width:.2f} radii wide, {place}"


def _outside(subject: Subject, measured: MeasuredTransitions) -> list[Issue]:
    """One issue for all joints that lie outside of the skin that they bend."""
    joints = np.flatnonzero(measured.misplaced)
    if not len(joints) or subject.armature is None:
        return []
    transitions = measured.transitions
    distances = np.hypot(transitions.offsets, transitions.shifts)[joints]
    worst = np.argsort(-distances, kind="stable")
    names = [measured.names[joint] for joint in joints[worst]]
    said = [f"{n} ({d:.1f} radii)" for n, d in zip(names, distances[worst], strict=True)]
    lies = "joint lies" if len(joints) == 1 else "joints lie"
    return [
        Issue(
            check=CHECK.name,
            key="outside",
            severity="INFORMATION",
            message=f"{len(joints)} {lies} outside of the limb that {subject.armature.name} bends "
            f"there, far from where the weights of {subject.obj.name} cross over: {listed(said)}. "
            "Move the heads of these bones into the middle of the limb, at the crease.",
            bones=tuple(names),
        )
    ]


CHECK = Check("weight_transition", find, {"reshape": reshape})

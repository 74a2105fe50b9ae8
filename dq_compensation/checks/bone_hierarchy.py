"""Check: bones that continue one another on the mesh do so in the hierarchy.

Compensation works between a bone and its descendants. Where a limb's parent is missing, in flat
skeletons, or where all joints of a finger hang on the hand, it is off.
"""

from __future__ import annotations

import numpy as np

from ..core.skeleton_gaps import Gap, find_gaps
from ..wording import listed
from .fixes.parent_bones import parent_bones
from .issue import Check, Fix, FixError, Issue
from .subject import Subject

_ENDS_MEET, _BY_WEIGHTS, _CONTROLLED = "ends_meet", "by_weights", "controlled"
_KEEPS = (
    "Every bone moves as it did on every frame, but the bones are keyed on every frame in the "
    "actions of {armature} and between frames they may differ a little. From now on they follow "
    "their new parents."
)


def find(subject: Subject) -> list[Issue]:
    """Bones that lack their parent, by how it was found."""
    gaps = gaps_of(subject)
    issues = []
    for key in (_ENDS_MEET, _BY_WEIGHTS, _CONTROLLED):
        of_key = [gap for gap in gaps if _key_of(subject, gap) == key]
        if of_key:
            issues.append(_issue(subject, key, of_key))
    return issues


def gaps_of(subject: Subject) -> list[Gap]:
    """Where the hierarchy has gaps; empty without an armature, or where an object is flat."""
    skeleton, influences = subject.skeleton, subject.influences
    positions = subject.rest_in_armature
    if skeleton is None or influences is None or positions is None:
        return []
    return find_gaps(positions, influences, skeleton)


def _key_of(subject: Subject, gap: Gap) -> str:
    """A bone with constraints belongs to a control rig, which has its reasons for its parent."""
    if subject.armature is not None and subject.skeleton is not None:
        bone = subject.armature.pose.bones.get(subject.skeleton.names[gap.child])
        if bone is not None and len(bone.constraints):
            return _CONTROLLED
    return _ENDS_MEET if gap.touches else _BY_WEIGHTS


def _issue(subject: Subject, key: str, gaps: list[Gap]) -> Issue:
    names = subject.skeleton.names if subject.skeleton is not None else ()
    armature = subject.armature.name if subject.armature is not None else ""
    pairs = [f"{names[gap.child]} to {names[gap.parent]}" for gap in gaps]
    vertices = np.unique(np.concatenate([gap.vertices for gap in gaps]))
    between = listed([f"{names[gap.parent]} and {names[gap.child]}" for gap in gaps])
    message = (
        f"No compensation between {between}: they share {len(vertices)} vertices, and "
        f"{_REASONS[key]}, but neither is above the other in {armature}."
    )
    question = f"{_QUESTIONS[key]} {listed(pairs, 6)}. {_KEEPS.format(armature=armature)}"
    return Issue(
        check="bone_hierarchy",
        key=key,
        severity="INFORMATION" if key == _CONTROLLED else "WARNING",
        message=message,
        bones=tuple(names[gap.child] for gap in gaps),
        vertices=vertices.astype(np.int32),
        fixes=(Fix("parent_bones", "Parent Bones", _TOOLTIP, question),),
    )


_TOOLTIP = "Parent each bone to the one that it continues, keeping pose and animation"
_REASONS = {
    _ENDS_MEET: "one starts where the other ends",
    _BY_WEIGHTS: "their weights meet at the head of one",
    _CONTROLLED: "one starts where the other ends; constraints move them together",
}
_QUESTIONS = {
    _ENDS_MEET: "Bones get new parents:",
    _BY_WEIGHTS: "The weights suggest new parents, so look whether they are right:",
    _CONTROLLED: "Bones of a control rig get new parents until it is generated again:",
}


def _parent_bones(subject: Subject, issue: Issue) -> str:
    """Parent the bones of this issue."""
    if subject.armature is None or subject.skeleton is None:
        raise FixError(f"{subject.obj.name} has no armature any more.")
    names = subject.skeleton.names
    parents = {
        names[gap.child]: names[gap.parent]
        for gap in gaps_of(subject)
        if _key_of(subject, gap) == issue.key
    }
    return parent_bones(subject.armature, parents)


CHECK = Check("bone_hierarchy", find, {"parent_bones": _parent_bones})

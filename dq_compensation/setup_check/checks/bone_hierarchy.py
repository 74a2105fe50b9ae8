"""Check: bones that continue one another on the mesh do so in the hierarchy.

Compensation acts between a bone and its descendants. Where a bone has no parent, as in flat
skeletons, and where all bones of a finger hang on the hand, joints are found from the mesh, unless
that is switched off.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.limbs import Gap, Limbs, find_gaps, joints_of
from ...scene.blender.armature import armature_of, is_helper_bone
from ...scene.settings.object_settings import Settings
from ...wording import listed
from ..fixes.parent_bones import parent_bones, require_parentable
from ..issue import Check, Fix, Issue, Repair
from ..subject import Subject

_ENDS_MEET, _BY_WEIGHTS = "ends_meet", "by_weights"
# Bones of a control rig: constraints place the first kind, control bones carry the second kind.
_CONTROLLED, _CARRIED = "controlled", "carried"


def find(subject: Subject) -> Iterator[Issue]:
    """Bones without their parent, by the evidence for it; compensation needs the parent."""
    settings = Settings.of(subject.obj)
    if (
        subject.rest_in_armature is None
        or not settings.compensates
        or subject.misplacement is not None
    ):
        return
    gaps, limbs = _gaps(subject)
    closes = settings.use_mesh_joints and settings.acts("use_mesh_joints")
    for key in _REASONS:
        if key in gaps:
            joints = joints_of(gaps[key], limbs) if closes else []
            yield _issue(subject, key, gaps[key], len(joints))


def _gaps(subject: Subject) -> tuple[dict[str, list[Gap]], Limbs]:
    """The gaps of the hierarchy by how they were found, without helper bones of a bake."""
    names, bones = subject.skeleton.names, armature_of(subject.rig).bones
    limbs, found = Limbs.of(subject.skin.with_whole_limbs), dict[str, list[Gap]]()
    for gap in find_gaps(limbs):
        if not any(is_helper_bone(bones[names[bone]]) for bone in (gap.parent, gap.child)):
            found.setdefault(_key_of(subject, gap), []).append(gap)
    return found, limbs


def _key_of(subject: Subject, gap: Gap) -> str:
    """How the gap was found. A control rig has its own reasons for the parents of its bones."""
    bone = subject.rig.pose.bones.get(subject.skeleton.names[gap.child])
    if bone is not None and len(bone.constraints):
        return _CONTROLLED
    while bone is not None and bone.parent is not None and not bone.parent.bone.use_deform:
        bone = bone.parent
        if len(bone.constraints):
            return _CARRIED
    return _ENDS_MEET if gap.touches else _BY_WEIGHTS


def _issue(subject: Subject, key: str, gaps: list[Gap], joints: int) -> Issue:
    """The issue of gaps, of which compensation closes so many by joints of the mesh."""
    names, armature = subject.skeleton.names, subject.rig.name
    pairs = [f"{names[gap.child]} to {names[gap.parent]}" for gap in gaps]
    vertices = np.unique(np.concatenate([gap.vertices for gap in gaps]))
    between = listed([f"{names[gap.parent]} and {names[gap.child]}" for gap in gaps])
    message = (
        f"{'Between' if joints else 'No compensation between'} {between}: they share "
        f"{len(vertices)} vertices, but neither is above the other in {armature}. {_REASONS[key]}"
    )
    if joints:
        where = "" if joints == len(gaps) else f" at {joints} of these {len(gaps)}"
        message += f" Joints are found from the mesh{where}: new parents are optional."
    fixes: tuple[Fix, ...] = ()
    if key in _QUESTIONS:
        question = (
            f"{_QUESTIONS[key]} {listed(pairs, 6)}. Every bone moves as it did on every frame, but "
            f"the bones are keyed on every frame in the actions of {armature} and between frames "
            "they may differ a little. Afterwards they follow their new parents."
        )
        tooltip = "Parent each bone to the one that it continues, keeping pose and animation"
        fixes = (Fix("parent_bones", "Parent Bones", tooltip, question),)
    severity = "INFORMATION" if joints or key in {_CONTROLLED, _CARRIED} else "WARNING"
    bones = tuple(names[gap.child] for gap in gaps)
    return Issue(key, severity, message, bones, vertices, fixes)


_REASONS = {
    _ENDS_MEET: "One starts where the other ends.",
    _BY_WEIGHTS: "Their weights meet at the head of one.",
    _CONTROLLED: "Constraints of a control rig move them together.",
    _CARRIED: "Control bones carry them: parent them in the control rig, if it allows that.",
}
_QUESTIONS = {
    _ENDS_MEET: "Bones get new parents:",
    _BY_WEIGHTS: "The weights suggest new parents; check that they are right:",
    _CONTROLLED: "Bones of a control rig get new parents until it is generated again:",
}


def _parents(subject: Subject, issue: Issue) -> dict[str, str]:
    names = subject.skeleton.names
    gaps = _gaps(subject)[0][issue.key]
    return {names[gap.child]: names[gap.parent] for gap in gaps}


def _parent_bones(subject: Subject, issue: Issue) -> Repair:
    parents = _parents(subject, issue)
    require_parentable(subject.rig, parents)
    yield
    return parent_bones(subject.rig, parents)


CHECK = Check(
    "bone_hierarchy",
    find,
    {"parent_bones": _parent_bones},
    about_bones=True,
)

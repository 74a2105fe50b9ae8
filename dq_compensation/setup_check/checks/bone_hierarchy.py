"""Check: bones that continue one another on the mesh do so in the hierarchy.

Compensation acts between a bone and its descendants. Where a bone has no parent, as in flat
skeletons, and where all bones of a finger hang on the hand, joints are found from the mesh, unless
that is switched off.
"""

from __future__ import annotations

import numpy as np

from ...analysis.mesh_joints import joints_of
from ...analysis.skeleton_gaps import Gap, find_gaps
from ...analysis.skin_limbs import Limbs
from ...scene.armature import armature_of, is_helper_bone
from ...scene.bone_names import bone_side
from ...scene.object_settings import Settings
from ...wording import listed
from ..fixes.parent_bones import parent_bones
from ..fixes.requirements import require_armature
from ..issue import Check, Fix, Issue
from ..subject import Subject

_ENDS_MEET, _BY_WEIGHTS = "ends_meet", "by_weights"
# Bones of a control rig: constraints place the first kind, control bones carry the second kind.
_CONTROLLED, _CARRIED = "controlled", "carried"
_KEEPS = (
    "Every bone moves as it did on every frame, but the bones are keyed on every frame in the "
    "actions of {armature} and between frames they may differ a little. Afterwards they follow "
    "their new parents."
)


def find(subject: Subject) -> list[Issue]:
    """Bones that lack their parent, by how it was found; methods that compensate need it."""
    if not Settings.of(subject.obj).compensates or subject.misplacement is not None:
        return []
    by_key: dict[str, list[Gap]] = {}
    for gap in gaps_of(subject):
        by_key.setdefault(_key_of(subject, gap), []).append(gap)
    return [_issue(subject, key, by_key[key]) for key in _REASONS if key in by_key]


def gaps_of(subject: Subject) -> list[Gap]:
    """The gaps of the hierarchy; empty without an armature, or if an object is flat."""
    skeleton, influences = subject.skeleton, subject.influences
    positions = subject.rest_in_armature
    if skeleton is None or influences is None or positions is None:
        return []
    sides = np.array([bone_side(name) for name in skeleton.names], np.int8)
    limbs = Limbs.of(positions, influences, skeleton, Settings.of(subject.obj).limb_axis)
    found = find_gaps(positions, influences, limbs, sides)
    return [gap for gap in found if not _has_helper(subject, gap)]


def _has_helper(subject: Subject, gap: Gap) -> bool:
    """Whether one of the bones is a helper of a bake, which follows by constraints."""
    assert subject.armature is not None
    assert subject.skeleton is not None
    names, bones = subject.skeleton.names, armature_of(subject.armature).bones
    return any(is_helper_bone(bones[names[bone]]) for bone in (gap.parent, gap.child))


def _key_of(subject: Subject, gap: Gap) -> str:
    """How the gap was found. A control rig has its own reasons for the parents of its bones."""
    if subject.armature is not None and subject.skeleton is not None:
        bone = subject.armature.pose.bones.get(subject.skeleton.names[gap.child])
        if bone is not None and len(bone.constraints):
            return _CONTROLLED
        while bone is not None and bone.parent is not None and not bone.parent.bone.use_deform:
            bone = bone.parent
            if len(bone.constraints):
                return _CARRIED
    return _ENDS_MEET if gap.touches else _BY_WEIGHTS


def _issue(subject: Subject, key: str, gaps: list[Gap]) -> Issue:
    names = subject.skeleton.names if subject.skeleton is not None else ()
    armature = subject.armature.name if subject.armature is not None else ""
    pairs = [f"{names[gap.child]} to {names[gap.parent]}" for gap in gaps]
    vertices = np.unique(np.concatenate([gap.vertices for gap in gaps]))
    between = listed([f"{names[gap.parent]} and {names[gap.child]}" for gap in gaps])
    joints = _joints(subject, gaps)
    message = (
        f"{'Between' if joints else 'No compensation between'} {between}: they share "
        f"{len(vertices)} vertices, but neither is above the other in {armature}. {_REASONS[key]}"
    )
    if joints:
        where = "" if len(joints) == len(gaps) else f" at {len(joints)} of these {len(gaps)}"
        message += f" Joints are found from the mesh{where}: new parents are optional."
    fixes: tuple[Fix, ...] = ()
    if key in _QUESTIONS:
        question = f"{_QUESTIONS[key]} {listed(pairs, 6)}. {_KEEPS.format(armature=armature)}"
        fixes = (Fix("parent_bones", "Parent Bones", _TOOLTIP, question),)
    return Issue(
        check="bone_hierarchy",
        key=key,
        severity="INFORMATION" if joints or key in {_CONTROLLED, _CARRIED} else "WARNING",
        message=message,
        bones=tuple(names[gap.child] for gap in gaps),
        vertices=vertices.astype(np.int32),
        fixes=fixes,
    )


def _joints(subject: Subject, gaps: list[Gap]) -> list[Gap]:
    """The gaps that compensation closes without the hierarchy."""
    settings = Settings.of(subject.obj)
    positions, skeleton = subject.rest_in_armature, subject.skeleton
    influences = subject.influences
    if not settings.use_mesh_joints or not settings.acts("use_mesh_joints"):
        return []
    if positions is None or skeleton is None or influences is None:
        return []
    limbs = Limbs.of(positions, influences, skeleton, settings.limb_axis)
    return joints_of(gaps, positions, limbs)


_TOOLTIP = "Parent each bone to the one that it continues, keeping pose and animation"
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


def _parent_bones(subject: Subject, issue: Issue) -> str:
    armature = require_armature(subject)
    names = subject.skeleton.names if subject.skeleton is not None else ()
    parents = {
        names[gap.child]: names[gap.parent]
        for gap in gaps_of(subject)
        if _key_of(subject, gap) == issue.key
    }
    return parent_bones(armature, parents)


CHECK = Check("bone_hierarchy", find, {"parent_bones": _parent_bones})

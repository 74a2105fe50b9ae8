"""Check: the number of Armature modifiers, their armatures, and which of them acts.

Their place among the other modifiers is another check's: topology_modifiers.
"""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np

from ...scene.armature import armature_of, deforming_bones
from ...scene.attributes import read_property
from ...scene.modifiers_before import acts
from ...wording import counted, listed
from ..evidence.armature_modifier_display import DISPLAY_FIXES, find_in_display
from ..issue import Check, Fix, FixError, Issue
from ..subject import Subject

NAME = "armature_modifier"

# What two modifiers have in common when the second is a double of the first.
_SAME_IN_DOUBLES = ("object", "vertex_group", "invert_vertex_group", "use_vertex_groups")
# How far a bone's matrix may be from the identity at rest: the rounding of 32 bits.
_AT_REST = 1e-5


def find(subject: Subject) -> list[Issue]:
    """The problems of a character's Armature modifiers."""
    modifiers = _armature_modifiers(subject.obj)
    found: list[Issue | None] = []
    if subject.modifier is None:
        found.append(_missing(subject))
    elif subject.armature is None:
        found.append(_without_armature(subject, subject.modifier))
    else:
        found.append(_other_armature(subject, subject.modifier, subject.armature))
        found.append(_idle(subject, modifiers))
        found.extend(_several(subject, modifiers))
        found.extend(find_in_display(subject, subject.modifier))
    return [issue for issue in found if issue is not None]


def _armature_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    return [
        cast("bpy.types.ArmatureModifier", modifier)
        for modifier in obj.modifiers
        if modifier.type == "ARMATURE"
    ]


def _right_armature(subject: Subject) -> bpy.types.Object | None:
    """The one armature that can be meant: the parent, or the only one with bones for the groups."""
    groups = set(subject.group_names)
    parent = subject.obj.parent
    matching = [
        obj
        for obj in subject.depsgraph.scene.objects
        if obj.type == "ARMATURE" and not groups.isdisjoint(deforming_bones(obj))
    ]
    if parent is not None and parent.type == "ARMATURE" and (parent in matching or not matching):
        return parent
    return matching[0] if len(matching) == 1 else None


def _question_of_new_armature(subject: Subject, armature: bpy.types.Object) -> str:
    """The question before an armature begins to move a mesh; empty if it moves nothing."""
    animation = armature.animation_data
    animated = animation is not None and (
        animation.action is not None or len(animation.nla_tracks) > 0 or len(animation.drivers) > 0
    )
    if not animated and not _is_posed(armature):
        return ""
    return (
        f"{armature.name} is posed or animated: {subject.obj.name} will follow it from now on, "
        "and its look changes."
    )


def _is_posed(armature: bpy.types.Object) -> bool:
    if armature.pose is None or armature_of(armature).pose_position == "REST":
        return False
    matrices = read_property(armature.pose.bones, "matrix_channel", np.float32, (4, 4))
    return not bool(np.all(np.abs(matrices - np.eye(4, dtype=np.float32)) <= _AT_REST))


def _missing(subject: Subject) -> Issue:
    obj, armature = subject.obj, _right_armature(subject)
    message = f"{obj.name} has no Armature modifier, so that no armature deforms it."
    fixes: tuple[Fix, ...] = ()
    if _is_deformed_by_parent(obj):
        message = (
            f"{obj.name} has no Armature modifier: its parent {obj.parent.name} deforms it by the "
            "parent type Armature, which DQ Compensation and most exporters do not know."
        )
    if armature is None:
        message += " Parent it to its armature (Ctrl P, Armature Deform)."
    else:
        question = _question_of_new_armature(subject, armature)
        fixes = (
            Fix(
                "add_modifier",
                f"Add Modifier for {armature.name}",
                f"Add an Armature modifier with {armature.name} at the top of the stack",
                question,
            ),
        )
    return Issue(NAME, "missing", "ERROR", message, fixes=fixes)


def _is_deformed_by_parent(obj: bpy.types.Object) -> bool:
    parent = obj.parent
    return parent is not None and parent.type == "ARMATURE" and obj.parent_type == "ARMATURE"


def _add_modifier(subject: Subject, _issue: Issue) -> str:
    obj, armature = subject.obj, _the_right_armature(subject)
    modifier = cast("bpy.types.ArmatureModifier", obj.modifiers.new("Armature", "ARMATURE"))
    modifier.object = armature
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    if _is_deformed_by_parent(obj):
        # Else the armature would deform it twice.
        obj.parent_type = "OBJECT"
    return f"{obj.name} has an Armature modifier with {armature.name} now"


def _without_armature(subject: Subject, modifier: bpy.types.ArmatureModifier) -> Issue:
    obj, armature = subject.obj, _right_armature(subject)
    message = f"The modifier {modifier.name} of {obj.name} has no armature and does nothing."
    fixes: tuple[Fix, ...] = ()
    if armature is None:
        message += " Choose one in its Object field."
    else:
        fixes = (_set_armature_fix(subject, modifier, armature),)
    return Issue(NAME, "no_armature", "ERROR", message, fixes=fixes)


def _set_armature_fix(
    subject: Subject, modifier: bpy.types.ArmatureModifier, armature: bpy.types.Object
) -> Fix:
    return Fix(
        "set_armature",
        f"Use {armature.name}",
        f"Let the modifier {modifier.name} follow {armature.name}",
        _question_of_new_armature(subject, armature),
    )


def _set_armature(subject: Subject, _issue: Issue) -> str:
    armature = _the_right_armature(subject)
    if subject.modifier is None:
        raise FixError(f"{subject.obj.name} has no Armature modifier any more.")
    subject.modifier.object = armature
    return f"{subject.modifier.name} of {subject.obj.name} follows {armature.name} now"


def _the_right_armature(subject: Subject) -> bpy.types.Object:
    armature = _right_armature(subject)
    if armature is None:
        raise FixError(f"More than one armature, or none, has bones for {subject.obj.name}.")
    return armature


def _other_armature(
    subject: Subject, modifier: bpy.types.ArmatureModifier, armature: bpy.types.Object
) -> Issue | None:
    """None of the groups belongs to this armature, but they do to another one."""
    groups = set(subject.group_names)
    if not groups or not groups.isdisjoint(subject.deforming_bones):
        return None
    right = _right_armature(subject)
    if right is None or right == armature or groups.isdisjoint(deforming_bones(right)):
        return None
    message = (
        f"The modifier {modifier.name} of {subject.obj.name} follows {armature.name}, but the "
        f"vertex groups have the names of bones of {right.name}."
    )
    fix = _set_armature_fix(subject, modifier, right)
    return Issue(NAME, "other_armature", "ERROR", message, fixes=(fix,))


def _idle(subject: Subject, modifiers: list[bpy.types.ArmatureModifier]) -> Issue | None:
    names = [modifier.name for modifier in modifiers if modifier.object is None]
    if not names:
        return None
    verb = "has no armature and does" if len(names) == 1 else "have no armature and do"
    message = f"{listed(names)} of {subject.obj.name} {verb} nothing."
    fix = Fix("remove_idle", "Remove", f"Remove {listed(names)}: nothing changes by that")
    return Issue(NAME, "idle", "INFORMATION", message, fixes=(fix,))


def _remove_idle(subject: Subject, _issue: Issue) -> str:
    idle = [m for m in _armature_modifiers(subject.obj) if m.object is None]
    for modifier in idle:
        subject.obj.modifiers.remove(modifier)
    modifiers = counted(len(idle), "Armature modifier")
    return f"Removed {modifiers} without an armature from {subject.obj.name}"


def _several(subject: Subject, modifiers: list[bpy.types.ArmatureModifier]) -> list[Issue]:
    obj, first = subject.obj, subject.modifier
    assert first is not None  # `find` has seen to it
    more = [m for m in modifiers if m.object is not None and m != first and acts(m)]
    doubles = [m for m in more if _is_double(first, m)]
    # A modifier with Multi Modifier on does not deform the result of the one before it again.
    others = [m for m in more if m not in doubles and not m.use_multi_modifier]
    found = []
    if doubles:
        names = listed([m.name for m in doubles])
        message = f"{obj.name} is deformed more than once: {names} does what {first.name} does."
        fix = Fix(
            "remove_doubles",
            "Remove Double",
            f"Remove {names}",
            f"Removes {names}: {first.object.name} then moves {obj.name} once instead of "
            f"{len(doubles) + 1} times, and its look changes where it is posed.",
        )
        found.append(Issue(NAME, "double", "ERROR", message, fixes=(fix,)))
    if others:
        names = listed([f"{m.name} ({m.object.name})" for m in others])
        message = (
            f"DQ Compensation stands in for {first.name} alone. More Armature modifiers deform "
            f"{obj.name} again after it: {names}."
        )
        found.append(Issue(NAME, "several", "INFORMATION", message))
    return found


def _is_double(one: bpy.types.ArmatureModifier, other: bpy.types.ArmatureModifier) -> bool:
    return not other.use_multi_modifier and all(
        getattr(one, name) == getattr(other, name) for name in _SAME_IN_DOUBLES
    )


def _remove_doubles(subject: Subject, _issue: Issue) -> str:
    first = subject.modifier
    assert first is not None  # it was found just now
    doubles = [
        m
        for m in _armature_modifiers(subject.obj)
        if m != first and m.object is not None and acts(m) and _is_double(first, m)
    ]
    names = listed([m.name for m in doubles])
    for modifier in doubles:
        subject.obj.modifiers.remove(modifier)
    return f"Removed {names} from {subject.obj.name}: {first.name} deforms it alone now"


CHECK = Check(
    NAME,
    find,
    {
        "add_modifier": _add_modifier,
        "set_armature": _set_armature,
        "remove_idle": _remove_idle,
        "remove_doubles": _remove_doubles,
        **DISPLAY_FIXES,
    },
)

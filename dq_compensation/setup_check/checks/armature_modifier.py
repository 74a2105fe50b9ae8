"""Checks on Armature modifiers: how many, with which armatures, which act, and which are mixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import bpy
import numpy as np

from ...holding import look_again
from ...modifier.base import base_of, choose_preserve_volume, preserves_volume
from ...modifier.users_settings import replaced_modifier
from ...scene.binding.modifiers_before import acts, other_renders_warning
from ...scene.blender.animation_curves import animated_paths
from ...scene.blender.armature import armature_of, deforming_bones
from ...scene.blender.bulk_arrays import read_property
from ...scene.blender.own_objects import name_in_sentences, remove_modifier
from ...scene.blender.rigging import VISIBILITY, what_animates
from ...scene.stack import add_modifier, drop_modifier, is_own_modifier
from ...wording import counted, listed
from ..issue import Check, Fix, Issue, Repair
from ..subject import Subject

# What two modifiers have in common when the second is a double of the first.
_SAME_IN_DOUBLES = ("object", "vertex_group", "invert_vertex_group", "use_vertex_groups")
# How far a bone's matrix may be from the identity at rest: the rounding of 32 bits.
_AT_REST = 1e-5


def _find_in_armature_modifier(subject: Subject) -> Iterator[Issue]:
    """The problems of a character's Armature modifiers."""
    modifier = subject.find_modifier()
    if modifier is None:
        yield _missing(subject)
    elif modifier.object is None:
        yield _without_armature(subject, modifier)
    else:
        yield from _other_armature(subject, modifier, modifier.object)
        if idle := _idle(subject.obj):
            names = listed([modifier.name for modifier in idle])
            verb = "has no armature and does" if len(idle) == 1 else "have no armature and do"
            message = f"{names} of {subject.obj.name} {verb} nothing."
            fix = Fix("remove_idle", "Remove", f"Remove {names}: nothing changes by that")
            yield Issue("idle", "INFORMATION", message, fixes=(fix,))
        yield from _several(subject, modifier)
        yield from _find_in_display(subject, modifier)


def _idle(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    return [m for m in _armature_modifiers(obj) if m.object is None]


def _armature_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    found = (m for m in obj.modifiers if isinstance(m, bpy.types.ArmatureModifier))
    return [m for m in found if not is_own_modifier(m)]


def _further(
    obj: bpy.types.Object, first: bpy.types.ArmatureModifier
) -> tuple[list[bpy.types.ArmatureModifier], list[bpy.types.ArmatureModifier]]:
    """The doubles of the first Armature modifier, and other ones that deform its result again.

    Without those of Multi Modifier, which do not take its result.
    """
    doubles, others = [], []
    for m in _armature_modifiers(obj):
        if m == first or m.object is None:
            continue
        if acts(m) and not m.use_multi_modifier:
            is_double = all(getattr(first, name) == getattr(m, name) for name in _SAME_IN_DOUBLES)
            (doubles if is_double else others).append(m)
    return doubles, others


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
    if not animated_paths(armature) and not _is_posed(armature):
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
    if _is_deformed_by_parent(obj):
        message = (
            f"{obj.name} has no Armature modifier: its parent {obj.parent.name} deforms it by the "
            "parent type Armature, which DQ Compensation and most exporters do not know."
        )
    if armature is None:
        advice = "Parent it to its armature (Ctrl P, Armature Deform)."
        return Issue("missing", "ERROR", f"{message} {advice}")
    fix = Fix(
        "add_modifier",
        f"Add Modifier for {armature.name}",
        f"Add an Armature modifier with {armature.name} at the top of the stack",
        _question_of_new_armature(subject, armature),
    )
    return Issue("missing", "ERROR", message, fixes=(fix,))


def _is_deformed_by_parent(obj: bpy.types.Object) -> bool:
    parent = obj.parent
    return parent is not None and parent.type == "ARMATURE" and obj.parent_type == "ARMATURE"


def _add_modifier(subject: Subject, _issue: Issue) -> Repair:
    obj, armature = subject.obj, _right_armature(subject)
    assert armature is not None  # it was found just now
    yield
    modifier = cast("bpy.types.ArmatureModifier", add_modifier(obj, "Armature", "ARMATURE"))
    modifier.object = armature
    obj.modifiers.move(obj.modifiers.find(modifier.name), 0)  # pinned ones are behind it
    look_again()
    if _is_deformed_by_parent(obj):
        # Else the armature would deform it twice.
        obj.parent_type = "OBJECT"
    return f"{obj.name} has an Armature modifier with {armature.name} now"


def _without_armature(subject: Subject, modifier: bpy.types.ArmatureModifier) -> Issue:
    obj, armature = subject.obj, _right_armature(subject)
    message = f"The modifier {modifier.name} of {obj.name} has no armature and does nothing."
    if armature is None:
        return Issue("no_armature", "ERROR", f"{message} Choose one in its Object field.")
    fix = _set_armature_fix(subject, modifier, armature)
    return Issue("no_armature", "ERROR", message, fixes=(fix,))


def _set_armature_fix(
    subject: Subject, modifier: bpy.types.ArmatureModifier, armature: bpy.types.Object
) -> Fix:
    return Fix(
        "set_armature",
        f"Use {armature.name}",
        f"Let the modifier {modifier.name} follow {armature.name}",
        _question_of_new_armature(subject, armature),
    )


def _set_armature(subject: Subject, _issue: Issue) -> Repair:
    modifier, armature = subject.modifier, _right_armature(subject)
    assert armature is not None  # it was found just now
    yield
    modifier.object = armature
    look_again()
    return f"{modifier.name} of {subject.obj.name} follows {armature.name} now"


def _other_armature(
    subject: Subject, modifier: bpy.types.ArmatureModifier, armature: bpy.types.Object
) -> Iterator[Issue]:
    """None of the groups belongs to this armature, but they do to another one."""
    groups = set(subject.group_names)
    if not groups.isdisjoint(subject.deforming_bones):
        return
    right = _right_armature(subject)
    if right is None or right == armature or groups.isdisjoint(deforming_bones(right)):
        return
    message = (
        f"The modifier {modifier.name} of {subject.obj.name} follows {armature.name}, but the "
        f"vertex groups have the names of bones of {right.name}."
    )
    fix = _set_armature_fix(subject, modifier, right)
    yield Issue("other_armature", "ERROR", message, fixes=(fix,))


def _remove_idle(subject: Subject, _issue: Issue) -> Repair:
    idle = _idle(subject.obj)
    yield
    for modifier in idle:
        drop_modifier(subject.obj, modifier)
    modifiers = counted(len(idle), "Armature modifier")
    return f"Removed {modifiers} without an armature from {subject.obj.name}"


def _several(subject: Subject, first: bpy.types.ArmatureModifier) -> Iterator[Issue]:
    obj = subject.obj
    doubles, others = _further(obj, first)
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
        yield Issue("double", "ERROR", message, fixes=(fix,))
    if others:
        names = listed([f"{m.name} ({m.object.name})" for m in others])
        message = (
            f"DQ Compensation stands in for {first.name} alone. More Armature modifiers deform "
            f"{obj.name} again after it: {names}."
        )
        yield Issue("several", "INFORMATION", message)


def _remove_doubles(subject: Subject, _issue: Issue) -> Repair:
    doubles, _ = _further(subject.obj, subject.modifier)
    names = listed([m.name for m in doubles])
    yield
    for modifier in doubles:
        remove_modifier(subject.obj, modifier)
    name = subject.obj.name
    overrides = subject.obj.override_library is not None
    done = f"Turned off {names} of {name}" if overrides else f"Removed {names} from {name}"
    return f"{done}: {subject.modifier.name} deforms it alone now"


# By whether it is about the viewport, and about renders.
_PLACES = {
    (True, True): "in the viewport and in renders",
    (True, False): "in the viewport",
    (False, True): "in renders",
}


def _find_in_display(subject: Subject, modifier: bpy.types.ArmatureModifier) -> Iterator[Issue]:
    """The problems of the visibility of the deforming modifiers.

    Args:
        modifier: its Armature modifier, with an armature.
    """
    replaced = _replaced(subject)
    native = subject.before_enable
    meant = native.base_left_on or native.passing or native.passing_in_renders
    meant |= native.softness_blended
    if replaced is not None and not meant and acts(replaced):
        yield _twice(subject.obj.name, replaced)
    if replaced is not None and (said := other_renders_warning(subject.obj)) is not None:
        yield Issue("other_in_renders", "WARNING", said)
    off = _first_turned_off(subject)
    # What is animated is turned off by intention.
    if off is not None and not what_animates(subject.obj, off, VISIBILITY):
        yield _turned_off(subject, off)
    animated = what_animates(subject.obj, modifier, ["use_deform_preserve_volume"])
    if replaced is not None and not animated and preserves_volume(subject):
        yield _preserve_volume(subject.obj.name, modifier)


def _replaced(subject: Subject) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier that ours works with; None where ours is not there."""
    modifier = subject.find_modifier()
    is_there = subject.settings.is_enabled and subject.ours is not None
    return modifier if is_there and replaced_modifier(subject.obj) == modifier else None


def _twice(name: str, replaced: bpy.types.ArmatureModifier) -> Issue:
    where = _PLACES[replaced.show_viewport, replaced.show_render]
    message = (
        f"{name} is deformed twice {where}: by DQ Compensation and by "
        f"{replaced.name}, which is turned on as well."
    )
    fix = Fix(
        "turn_off",
        f"Turn Off {replaced.name}",
        f"Turn {replaced.name} off in the viewport and in renders; exporters still find it",
        f"Turns {replaced.name} off: DQ Compensation alone deforms {name}, and its look changes "
        "where it is posed.",
    )
    return Issue("twice", "ERROR", message, fixes=(fix,))


def _turn_off(subject: Subject, _issue: Issue) -> Repair:
    replaced = _replaced(subject)
    assert replaced is not None  # it was found just now
    yield
    replaced.show_viewport = replaced.show_render = False
    return f"{replaced.name} of {subject.obj.name} is off: DQ Compensation alone deforms it"


def _turned_off(subject: Subject, deforming: bpy.types.Modifier) -> Issue:
    """The deforming modifier is on in the viewport and off in renders, or the reverse."""
    obj, where = subject.obj, _PLACES[not deforming.show_viewport, not deforming.show_render]
    name = name_in_sentences(deforming)
    on_base = deforming == subject.ours and subject.before_enable.base_left_on
    message = (
        f"{name} is turned off {where}: {obj.name} is not "
        f"{'compensated' if on_base else 'deformed'} there."
    )
    fix = Fix(
        "turn_on",
        f"Turn On {name}",
        f"Turn {name} on {where}",
        f"Turns {name} on: {obj.name} is deformed {where}, too, and looks otherwise there.",
    )
    return Issue("turned_off", "WARNING", message, fixes=(fix,))


def _first_turned_off(subject: Subject) -> bpy.types.Modifier | None:
    """The first deforming modifier that is off in viewports or renders; None without one."""
    armature, ours, settings = subject.find_modifier(), subject.ours, subject.settings
    deforming: list[bpy.types.Modifier | None] = [armature]
    if settings.is_enabled:
        # With the GPU display it is hidden in the viewport for as long as we draw.
        if ours is None or settings.display == "GPU" or settings.native.passing_in_renders:
            return None
        if settings.native.replaced_modifier:  # else ours does not fit, and is off for that
            deforming = [armature, ours] if settings.native.base_left_on else [ours]
    elif ours is not None and base_of(ours) != "ARMATURE" and ours.show_viewport:
        return None  # a clean-up has removed its settings, and ours alone deforms it
    off = (m for m in deforming if m is not None and not (m.show_viewport and m.show_render))
    return next(off, None)


def _turn_on(subject: Subject, _issue: Issue) -> Repair:
    modifier = _first_turned_off(subject)
    assert modifier is not None  # it was found just now
    yield
    modifier.show_viewport = modifier.show_render = True
    return f"{modifier.name} of {subject.obj.name} is on in the viewport and in renders"


def _preserve_volume(name: str, modifier: bpy.types.ArmatureModifier) -> Issue:
    message = (
        f"Preserve Volume of {modifier.name} makes no difference while DQ Compensation deforms "
        f"{name}. It counts again after Disable; game engines and exported files know the plain "
        "deformation only, and shape keys are best baked for that."
    )
    fix = Fix(
        "preserve_volume_off",
        "Turn Off Preserve Volume",
        f"Turn Preserve Volume of {modifier.name} off",
        f"{name} looks as it does now, but after Disable {modifier.name} will deform it without "
        "Preserve Volume.",
    )
    return Issue("preserve_volume", "INFORMATION", message, fixes=(fix,))


def _preserve_volume_off(subject: Subject, _issue: Issue) -> Repair:
    yield
    choose_preserve_volume(subject, preserved=False)
    return f"Preserve Volume of {subject.modifier.name} is off; {subject.obj.name} looks the same"


_DISPLAY_FIXES: dict[str, Callable[[Subject, Issue], Repair]] = {
    "turn_off": _turn_off,
    "turn_on": _turn_on,
    "preserve_volume_off": _preserve_volume_off,
}
"""The functions that carry out the fixes of these issues."""


ARMATURE_MODIFIER = Check(
    "armature_modifier",
    _find_in_armature_modifier,
    {
        "add_modifier": _add_modifier,
        "set_armature": _set_armature,
        "remove_idle": _remove_idle,
        "remove_doubles": _remove_doubles,
        **_DISPLAY_FIXES,
    },
)


def _find_multi_modifier(subject: Subject) -> Iterator[Issue]:
    """One issue that names the modifiers."""
    if not subject.before_enable.base_hidden:
        return
    replaced = subject.find_modifier()
    names = [
        modifier.name
        for modifier in subject.obj.modifiers
        if isinstance(modifier, bpy.types.ArmatureModifier)
        and modifier != replaced
        and modifier.use_multi_modifier
        and modifier.show_viewport
    ]
    if names:
        message = (
            f"{listed(names)} of {subject.obj.name} mixes its result with the Armature modifier "
            "before it (Multi Modifier). That one is replaced here, so it deforms the result a "
            "second time instead. Merge the two armatures, or turn it off."
        )
        yield Issue("mixed", "WARNING", message)


MULTI_MODIFIER = Check("multi_modifier", _find_multi_modifier)

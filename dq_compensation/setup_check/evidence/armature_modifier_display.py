"""Part of the check armature_modifier: where our modifier and the Armature modifier act."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import bpy

from ...modifier.armature_base import is_replaced, preserves_volume
from ...modifier.modifier_stack import our_modifier
from ...scene.binding.modifiers_before import acts
from ...scene.settings.object_settings import settings_of
from ..issue import Fix, Issue
from ..subject import Subject

# By whether it is about the viewport, and about renders.
_PLACES = {
    (True, True): "in the viewport and in renders",
    (True, False): "in the viewport",
    (False, True): "in renders",
}


def find_in_display(subject: Subject, modifier: bpy.types.ArmatureModifier) -> Iterator[Issue]:
    """The problems of the visibility of the deforming modifiers.

    Args:
        modifier: its Armature modifier, with an armature.
    """
    replaced = _replaced(subject)
    native = settings_of(subject.obj).native
    meant = native.base_left_on or native.passing or native.passing_in_renders
    if replaced is not None and not meant and acts(replaced):
        yield _twice(subject.obj.name, replaced)
    if (off := _first_turned_off(subject.obj, modifier)) is not None:
        yield _turned_off(subject.obj, off)
    if replaced is not None and preserves_volume(subject.obj, modifier):
        yield _preserve_volume(subject.obj.name, modifier)


def _replaced(subject: Subject) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier that ours works with; None where ours is not there."""
    obj, modifier = subject.obj, subject.modifier
    settings = settings_of(obj)
    if not settings.is_enabled or modifier is None or our_modifier(obj) is None:
        return None
    return modifier if is_replaced(settings.native, modifier) else None


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


def _turn_off(subject: Subject, _issue: Issue) -> str:
    replaced = _replaced(subject)
    assert replaced is not None  # it was found just now
    replaced.show_viewport = replaced.show_render = False
    return f"{replaced.name} of {subject.obj.name} is off: DQ Compensation alone deforms it"


def _turned_off(obj: bpy.types.Object, deforming: bpy.types.Modifier) -> Issue:
    """The deforming modifier is on in the viewport and off in renders, or the reverse."""
    where = _PLACES[not deforming.show_viewport, not deforming.show_render]
    on_base = deforming == our_modifier(obj) and settings_of(obj).native.base_left_on
    message = (
        f"{deforming.name} is turned off {where}: {obj.name} is not "
        f"{'compensated' if on_base else 'deformed'} there."
    )
    fix = Fix(
        "turn_on",
        f"Turn On {deforming.name}",
        f"Turn {deforming.name} on {where}",
        f"Turns {deforming.name} on: {obj.name} is deformed {where}, too, and looks otherwise "
        "there.",
    )
    return Issue("turned_off", "WARNING", message, fixes=(fix,))


def _first_turned_off(
    obj: bpy.types.Object, armature: bpy.types.ArmatureModifier | None
) -> bpy.types.Modifier | None:
    """The first of the modifiers that deform an object that is off somewhere; None without one."""
    settings, ours = settings_of(obj), our_modifier(obj)
    deforming: list[bpy.types.Modifier | None] = [armature]
    if settings.is_enabled:
        # With the GPU display it is hidden in the viewport for as long as we draw.
        if ours is None or settings.display == "GPU" or settings.native.passing_in_renders:
            return None
        deforming = [armature, ours] if settings.native.base_left_on else [ours]
    off = (m for m in deforming if m is not None and not (m.show_viewport and m.show_render))
    return next(off, None)


def _turn_on(subject: Subject, _issue: Issue) -> str:
    obj = subject.obj
    modifier = _first_turned_off(obj, subject.modifier)
    assert modifier is not None  # it was found just now
    modifier.show_viewport = modifier.show_render = True
    return f"{modifier.name} of {obj.name} is on in the viewport and in renders"


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


def _preserve_volume_off(subject: Subject, _issue: Issue) -> str:
    assert subject.modifier is not None  # it was found just now
    native = settings_of(subject.obj).native
    if native.base_left_on:
        native.replaced_preserve_volume = False
    else:
        subject.modifier.use_deform_preserve_volume = False
    return f"Preserve Volume of {subject.modifier.name} is off; {subject.obj.name} looks the same"


DISPLAY_FIXES: dict[str, Callable[[Subject, Issue], str]] = {
    "turn_off": _turn_off,
    "turn_on": _turn_on,
    "preserve_volume_off": _preserve_volume_off,
}
"""The functions that carry out the fixes of these issues."""

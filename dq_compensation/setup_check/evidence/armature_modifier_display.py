"""Part of the check armature_modifier: where our modifier and the Armature modifier act."""

from __future__ import annotations

from collections.abc import Callable

import bpy

from ...modifier.stack import our_modifier
from ...scene.modifiers_before import acts
from ...scene.object_settings import settings_of
from ..issue import Fix, Issue
from ..subject import Subject

_CHECK = "armature_modifier"
# By whether it is about the viewport, and about renders.
_PLACES = {
    (True, True): "in the viewport and in renders",
    (True, False): "in the viewport",
    (False, True): "in renders",
}


def find_in_display(subject: Subject, modifier: bpy.types.ArmatureModifier) -> list[Issue]:
    """The problems of the visibility of the deforming modifiers.

    Args:
        modifier: its Armature modifier, with an armature.
    """
    found = (_twice(subject), _turned_off(subject, modifier), _preserve_volume(subject, modifier))
    return [issue for issue in found if issue is not None]


def _replaced(subject: Subject) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier that ours has taken the place of; None where ours is not there."""
    obj, modifier = subject.obj, subject.modifier
    settings = settings_of(obj)
    if not settings.is_enabled or modifier is None or our_modifier(obj) is None:
        return None
    return modifier if settings.native.replaced_modifier == modifier.name else None


def _twice(subject: Subject) -> Issue | None:
    replaced = _replaced(subject)
    if replaced is None or not acts(replaced):
        return None
    name = subject.obj.name
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
    return Issue(_CHECK, "twice", "ERROR", message, fixes=(fix,))


def _turn_off(subject: Subject, _issue: Issue) -> str:
    replaced = _replaced(subject)
    assert replaced is not None  # it was found just now
    replaced.show_viewport = replaced.show_render = False
    return f"{replaced.name} of {subject.obj.name} is off: DQ Compensation alone deforms it"


def _turned_off(subject: Subject, modifier: bpy.types.ArmatureModifier) -> Issue | None:
    """The deforming modifier is on in the viewport and off in renders, or the reverse."""
    obj = subject.obj
    deforming: bpy.types.Modifier = modifier
    if settings_of(obj).is_enabled:
        ours = our_modifier(obj)
        # With the GPU display it is hidden in the viewport for as long as we draw.
        if ours is None or settings_of(obj).display == "GPU":
            return None
        deforming = ours
    if deforming.show_viewport and deforming.show_render:
        return None
    where = _PLACES[not deforming.show_viewport, not deforming.show_render]
    message = f"{deforming.name} is turned off {where}: {obj.name} is not deformed there."
    fix = Fix(
        "turn_on",
        f"Turn On {deforming.name}",
        f"Turn {deforming.name} on {where}",
        f"Turns {deforming.name} on: {obj.name} is deformed {where}, too, and looks otherwise "
        "there.",
    )
    return Issue(_CHECK, "turned_off", "WARNING", message, fixes=(fix,))


def _turn_on(subject: Subject, _issue: Issue) -> str:
    obj, deforming = subject.obj, subject.modifier
    ours = our_modifier(obj) if settings_of(obj).is_enabled else None
    modifier: bpy.types.Modifier | None = ours or deforming
    assert modifier is not None  # it was found just now
    modifier.show_viewport = modifier.show_render = True
    return f"{modifier.name} of {obj.name} is on in the viewport and in renders"


def _preserve_volume(subject: Subject, modifier: bpy.types.ArmatureModifier) -> Issue | None:
    if not modifier.use_deform_preserve_volume or _replaced(subject) is None:
        return None
    name = subject.obj.name
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
    return Issue(_CHECK, "preserve_volume", "INFORMATION", message, fixes=(fix,))


def _preserve_volume_off(subject: Subject, _issue: Issue) -> str:
    assert subject.modifier is not None  # it was found just now
    subject.modifier.use_deform_preserve_volume = False
    return f"Preserve Volume of {subject.modifier.name} is off; {subject.obj.name} looks the same"


DISPLAY_FIXES: dict[str, Callable[[Subject, Issue], str]] = {
    "turn_off": _turn_off,
    "turn_on": _turn_on,
    "preserve_volume_off": _preserve_volume_off,
}
"""What carries the fixes of these issues out."""

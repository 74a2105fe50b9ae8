"""Enables and disables objects, and gives the panel's sentences on them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import bpy

from ..errors import BindingError
from ..modifier.modifier_stack import installation_refusal, our_modifier
from ..scene.binding.binding import Binding
from ..scene.blender import own_objects
from ..scene.blender.rigging import deformation_refusal
from ..scene.copies import show_again
from ..scene.settings.addon_preferences import UNLIKE_OLD_CHARACTERS, settings_of_new_characters
from ..scene.settings.object_settings import Display, settings_of
from ..session.changes import are_settings_being_written, writing_settings
from ..session.known_objects import enabled
from ..session.status import current_binding, discard_binding, forget_status, status_of
from ..viewport.gpu_objects import drawing_refusal
from .following import flush, reconcile_now
from .reconcile import State, look, reconcile
from .replacement import is_fixed, put_armature_modifier_back, replace_armature_modifier, restore

# Gives characters that are enabled for the first time the settings of new characters.


def coming_settings(obj: bpy.types.Object, *, by_script: bool = False) -> dict[str, Any]:
    """The settings that *Enable* gives to an object: those that it has no value of its own for.

    None if it was enabled before: it looked as it did by its defaults, too.

    Args:
        by_script: the preferences do not act: a script does the same on every computer.
    """
    settings: Any = settings_of(obj)
    if settings.is_property_set("is_enabled"):
        return {}
    wanted = UNLIKE_OLD_CHARACTERS if by_script else settings_of_new_characters()
    return {name: wanted[name] for name in wanted if not settings.is_property_set(name)}


def coming_display(obj: bpy.types.Object) -> Display:
    """The display that an object has, or gets when it is enabled."""
    return coming_settings(obj).get("display", settings_of(obj).display)


@contextmanager
def settings_of_a_new_character(
    obj: bpy.types.Object, *, by_script: bool = False
) -> Generator[None]:
    """Give an object its `coming_settings`; it is as new as before where it cannot be enabled."""
    settings: Any = settings_of(obj)
    is_new = not settings.is_property_set("is_enabled")
    coming = coming_settings(obj, by_script=by_script)
    with writing_settings():
        for name, value in coming.items():
            setattr(settings, name, value)
    try:
        yield
    except BaseException:
        for name in (*coming, "is_enabled") if is_new else ():
            settings.property_unset(name)
        raise


# Enables and disables objects, and gives the panel's sentences on them.


def linked_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot be enabled or changed in this file, or None."""
    advice = (
        "Make a library override of it and of its armature (Object, Library Override, Make)."
        if settings_of(obj).is_enabled
        # An override would not help: its mesh is still linked.
        else "Enable it in that file, or make it and its armature local (Object, Relations, Make "
        "Local, Selected Objects and Data)."
    )
    return own_objects.linked_refusal(obj.name, [obj], advice)


def refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot be enabled with its present settings, or None; cheap."""
    reason = deformation_refusal(obj)
    if reason is None and coming_display(obj) == "MODIFIER" and not is_fixed(obj):
        reason = installation_refusal(obj)
        if reason is not None:
            reason = f"{reason} Or choose the display GPU."
    return reason


def copied_modifier_warning(obj: bpy.types.Object) -> str | None:
    """The warning for an object that is not enabled but has our modifier, or None."""
    if settings_of(obj).is_enabled or obj.library is not None or our_modifier(obj) is None:
        return None
    return (
        f"The modifier DQ Compensation of {obj.name} was copied from another object and does not "
        "fit. Press Enable to use it here, or Disable to remove it."
    )


def problem_of(obj: bpy.types.Object) -> str | None:
    """Why an enabled object is not deformed, or not shown right, as of the last check."""
    status = status_of(obj)
    refusal = drawing_refusal() if settings_of(obj).display == "GPU" else None
    return status.failure or status.problem or refusal or status.pose_problem


def notes_of(obj: bpy.types.Object) -> list[str]:
    """The features that the deformation of an enabled object leaves out, as of the last check."""
    return status_of(obj).notes


def enable(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """Deform an object from now on; harmless when it is enabled already.

    Raises:
        BindingError: it cannot be deformed; nothing has changed then.
    """
    _begin(obj, depsgraph)
    flush([obj])


def enable_all(
    objects: Iterable[bpy.types.Object], depsgraph: bpy.types.Depsgraph
) -> tuple[list[bpy.types.Object], list[str]]:
    """Deform objects from now on; Blender evaluates them once, after the last.

    New ones get the settings that the preferences have for them.

    Returns:
        those that are enabled now, and why the others cannot be deformed.
    """
    enabled: list[bpy.types.Object] = []
    refused: list[str] = []
    for obj in objects:
        try:
            with settings_of_a_new_character(obj):
                _begin(obj, depsgraph)
        except BindingError as error:
            refused.append(str(error))
        else:
            enabled.append(obj)
    flush(enabled)
    return enabled, refused


def _begin(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    discard_binding(obj)
    if copied_modifier_warning(obj) and not is_fixed(obj):
        put_armature_modifier_back(obj)
    binding = current_binding(obj, depsgraph)
    if settings_of(obj).display == "MODIFIER":
        replace_armature_modifier(obj, binding)
    settings_of(obj).is_enabled = True
    enabled.forget()
    forget_status(obj)
    status = status_of(obj)
    status.binding, status.compared = binding, True
    reconcile(obj, depsgraph)


def disable(obj: bpy.types.Object) -> None:
    """Give an object back to its Armature modifier, every setting as it was."""
    restore(obj)
    # What an enabled object keeps goes with its modifier.
    settings_of(obj).is_enabled = False
    put_armature_modifier_back(obj)
    # A posed copy that is open stays, beside it.
    show_again(obj)
    forget_status(obj)
    discard_binding(obj)
    enabled.forget()


def refresh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Binding:
    """Read everything of an enabled object again and forget its failures.

    Raises:
        BindingError: it cannot be deformed as it is now; its native display is back then.
    """
    forget_status(obj)
    if look(obj, depsgraph).state is State.MISSING:
        put_armature_modifier_back(obj)
    reconcile_now(obj, depsgraph, edited=True)
    status = status_of(obj)
    if status.binding is None:
        raise BindingError(status.problem or f"{obj.name} cannot be deformed.")
    return status.binding


def settings_changed(obj: bpy.types.Object) -> None:
    """Follow a change of an object's settings at once, unless more settings follow."""
    if are_settings_being_written() or obj.library is not None:
        return
    if settings_of(obj).is_enabled:
        reconcile_now(obj, bpy.context.evaluated_depsgraph_get())

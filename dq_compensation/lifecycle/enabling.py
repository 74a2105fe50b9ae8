"""Enables and disables objects, and keeps the enabled ones up to date.

Everything that changes an object goes through here: the operators, the handlers of Blender's events
and the check that runs a moment after something has changed. Drawing itself changes nothing.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..scene.binding import Binding, BindingCache
from ..scene.enabled_objects import enabled_objects, forget
from ..scene.errors import BindingError
from ..scene.object_settings import settings_of
from ..scene.setup import armature_modifier, notes
from ..scene.status import (
    forget_status,
    forget_statuses,
    is_drawn,
    status_of,
    statuses,
    tag_redraw,
)
from ..viewport.camera_rays import hidden_from_camera_rays
from ..viewport.capability import drawing_refusal
from .native_display import hide, restore, show_to_camera

# Seconds until a shape key's slider that was moving is looked at again.
CHECK_AGAIN_AFTER = 0.3

LINKED = (
    "{name} is linked from another file and shows its Armature modifier's result. "
    "Make a library override of it to see DQ Compensation."
)

_bindings = BindingCache()


def problem_of(obj: bpy.types.Object) -> str | None:
    """Why the picture of an enabled object is not there or not right, as of the last check."""
    status = status_of(obj)
    return status.failure or status.problem or drawing_refusal() or status.pose_problem


def notes_of(obj: bpy.types.Object) -> list[str]:
    """What the picture of an enabled object leaves out, as of the last check."""
    return status_of(obj).notes


def enable(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Binding:
    """Deform an object from now on; harmless when it is enabled already.

    Raises:
        BindingError: it cannot be deformed; nothing has changed then.
    """
    binding = _bindings.get(obj, depsgraph)
    settings_of(obj).is_enabled = True
    forget()
    forget_status(obj)
    check(obj, depsgraph)
    return binding


def disable(obj: bpy.types.Object) -> None:
    """Give an object back to its Armature modifier, every setting as it was."""
    restore(obj)
    settings_of(obj).is_enabled = False
    forget_status(obj)
    _bindings.discard(obj.session_uid)
    forget()


def refresh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Binding:
    """Read everything of an enabled object again and forget its failures.

    Raises:
        BindingError: it cannot be deformed as it is now; its native display is back then.
    """
    _bindings.discard(obj.session_uid)
    forget_status(obj)
    check(obj, depsgraph)
    status = status_of(obj)
    if status.binding is None:
        raise BindingError(status.problem or f"{obj.name} cannot be deformed.")
    return status.binding


def check(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """Bring the status and the native display of an enabled object up to date."""
    status = status_of(obj)
    try:
        status.binding = _bindings.get(obj, depsgraph)
        status.problem = None
    except BindingError as error:
        status.binding = None
        status.problem = str(error)
    status.notes = notes(obj, hidden_modifier=settings_of(obj).native.hidden_modifier)
    group = settings_of(obj).vertex_group
    if group and group not in obj.vertex_groups:
        status.notes.append(f"{obj.name} has no vertex group {group}; the compensation acts fully.")
    rig = armature_modifier(obj)
    if rig and rig.object and rig.object.show_in_front:
        status.notes.append(
            f"{rig.object.name} is set to In Front, but the picture covers it. Turn on X-ray "
            "(Alt Z) to see its bones through the surface."
        )
    if obj.library is not None:
        status.problem = LINKED.format(name=obj.name)
    else:
        follow_native_display(obj)


def follow_native_display(obj: bpy.types.Object) -> None:
    """Hide the native surface of an enabled object where we draw it, and only there."""
    if drawing_refusal() is None and is_drawn(obj):
        hide(obj, from_camera_rays=hidden_from_camera_rays())
    else:
        restore(obj)


def check_all(depsgraph: bpy.types.Depsgraph) -> bool:
    """Check every enabled object.

    Returns:
        whether one of them is still on the move and should be checked again.
    """
    moving = False
    for obj in enabled_objects():
        if _sliding(obj, depsgraph):
            moving = True
        else:
            check(obj, depsgraph)
    return moving


def _sliding(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> bool:
    """Whether a shape key's slider has moved since the last check.

    Blender reports that as an edit of the mesh. Its values are read in every frame anyway: binding
    again, which may take a tenth of a second, waits until the slider rests.
    """
    status = status_of(obj)
    keys = status.binding.shape_keys if status.binding else None
    if keys is None:
        return False
    try:
        values = keys.values(obj.evaluated_get(depsgraph))
    except BindingError:
        return False
    before, status.key_values = status.key_values, values
    return before is not None and not np.array_equal(before, values)


def follow_modes() -> None:
    """Bring the native display of every enabled object in line with its mode."""
    for obj in enabled_objects():
        hidden = settings_of(obj).native.hidden
        if obj.library is None and (obj.mode != "OBJECT" if hidden else is_drawn(obj)):
            follow_native_display(obj)


def mesh_edited(uid: int) -> None:
    """A mesh or an armature has been edited: bind its objects again at the next check."""
    _bindings.mark_dirty(uid)


def distrust_all() -> None:
    """Bind everything again at the next check, for anything may have changed.

    Until then what was known is drawn.
    """
    for status in statuses():
        if status.binding is not None:
            _bindings.mark_dirty(status.binding.object_uid)
    forget()


def restore_all() -> None:
    """Put back the native display of every enabled object."""
    for obj in enabled_objects():
        if obj.library is None:
            restore(obj)


def show_all_to_camera() -> None:
    """Let final renders see every enabled object."""
    for obj in enabled_objects():
        if obj.library is None:
            show_to_camera(obj)


def check_now() -> float | None:
    """Check every enabled object, redraw, and say after how many seconds to come again."""
    if not enabled_objects():
        return None
    moving = check_all(bpy.context.evaluated_depsgraph_get())
    tag_redraw()
    return CHECK_AGAIN_AFTER if moving else None


def forget_all() -> None:
    """Drop everything that was learned from the file: another file is loaded."""
    forget_statuses()
    _bindings.clear()
    forget()

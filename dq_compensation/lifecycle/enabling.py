"""Enables and disables objects, and keeps the enabled ones up to date.

Everything that changes an object goes through here: the operators, the handlers of Blender's events
and the check that runs a moment after something has changed. Drawing itself changes nothing.
"""

from __future__ import annotations

import bpy

from ..core.deform import BLENDED_METHODS
from ..modifier.installation import has_moved, installation_problem, our_modifier
from ..scene.binding import Binding, BindingCache
from ..scene.enabled_objects import enabled_objects, forget
from ..scene.errors import BindingError
from ..scene.evaluation import Settings
from ..scene.object_settings import settings_of
from ..scene.posed_copies import show_again
from ..scene.setup import armature_modifier, notes, pose_problem, problem
from ..scene.status import (
    Status,
    fail,
    forget_status,
    forget_statuses,
    is_drawn,
    keep_statuses,
    status_of,
    tag_redraw,
)
from ..viewport.camera_rays import hidden_from_camera_rays
from ..viewport.capability import drawing_refusal
from .movement import is_being_painted, is_carried, is_sliding, key_values, needs_measuring
from .native_display import hide, restore, show_to_camera
from .replacement import (
    is_fixed,
    keep_factor,
    put_armature_modifier_back,
    reads_the_same,
    replace_armature_modifier,
    replaces_truly,
    was_taken_away,
)

# Seconds until a shape key's slider that was moving is looked at again.
CHECK_AGAIN_AFTER = 0.3

TAKEN_AWAY = (
    "The modifier DQ Compensation of {obj} was applied or removed. Press Refresh to add it again, "
    "or Disable to go back to the Armature modifier."
)

_bindings = BindingCache()
# The session_uid of every mesh that was edited since the last check.
_edited: set[int] = set()
_own_edit = False


def refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot be enabled with its present settings, or None; cheap."""
    reason = problem(obj)
    if reason is None and settings_of(obj).display == "MODIFIER" and not is_fixed(obj):
        reason = installation_problem(obj)
    return reason


def has_examples(obj: bpy.types.Object) -> bool:
    """Whether an object is deformed by example, and has any."""
    settings = settings_of(obj)
    return settings.method == "SPHERICAL_JOINT_BY_EXAMPLE" and len(settings.examples) > 0


def problem_of(obj: bpy.types.Object) -> str | None:
    """Why an enabled object is not deformed, or not shown right, as of the last check."""
    status = status_of(obj)
    refusal = drawing_refusal() if settings_of(obj).display == "GPU" else None
    return status.failure or status.problem or refusal or status.pose_problem


def notes_of(obj: bpy.types.Object) -> list[str]:
    """What the deformation of an enabled object leaves out, as of the last check."""
    return status_of(obj).notes


def enable(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """Deform an object from now on; harmless when it is enabled already.

    Raises:
        BindingError: it cannot be deformed; nothing has changed then.
    """
    binding = _bindings.get(obj, depsgraph)
    if settings_of(obj).display == "MODIFIER":
        replace_armature_modifier(obj, binding)
    settings_of(obj).is_enabled = True
    forget()
    forget_status(obj)
    status_of(obj).installed = binding
    check(obj, depsgraph, edited=True)
    _flush_own_edit()


def disable(obj: bpy.types.Object) -> None:
    """Give an object back to its Armature modifier, every setting as it was."""
    restore(obj)
    put_armature_modifier_back(obj)
    settings_of(obj).is_enabled = False
    # A posed copy that is open stays, beside it.
    show_again(obj)
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
    if was_taken_away(obj):
        put_armature_modifier_back(obj)
    check(obj, depsgraph, edited=True)
    status = status_of(obj)
    if status.binding is None:
        raise BindingError(status.problem or f"{obj.name} cannot be deformed.")
    return status.binding


def check(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, *, edited: bool = False) -> None:
    """Bring the status, the node modifier and the native display of an enabled object up to date.

    Args:
        obj: the object.
        depsgraph: evaluated.
        edited: its mesh or weights may have changed.
    """
    status = status_of(obj)
    extra: list[str] = []
    status.problem = problem(obj)
    status.pose_problem = pose_problem(obj) if status.problem is None else None
    if status.problem is None and was_taken_away(obj):
        status.problem = TAKEN_AWAY.format(obj=obj.name)
        status.binding = None
        return
    if status.problem is None:
        try:
            moved = needs_measuring(obj)
            if moved:
                _bindings.discard(obj.session_uid)
            settings = settings_of(obj)
            drawn = settings.display == "GPU" or settings.overlay != "NONE" or has_examples(obj)
            if moved or edited or drawn or not replaces_truly(obj):
                status.binding = _bindings.get(obj, depsgraph)
            if obj.library is None and status.binding is not None:
                extra = _follow_replacement(obj, status, status.binding)
        except BindingError as error:
            status.problem = str(error)
    if status.problem is not None:
        status.binding = None
        # In Edit Mode nothing is bound; the modifier stays as it was when it began.
        if obj.library is None and obj.mode != "EDIT":
            put_armature_modifier_back(obj)
            status.installed = None
    status.notes = _notes(obj) + extra
    status.key_values = key_values(obj)
    if obj.library is None:
        follow_native_display(obj)


def settings_changed(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """The user has chosen something else for an object: follow at once."""
    if settings_of(obj).is_enabled and obj.library is None:
        check(obj, depsgraph)


def _follow_replacement(obj: bpy.types.Object, status: Status, binding: Binding) -> list[str]:
    """Bring the node modifier up to date; what to note where that cannot be.

    Raises:
        BindingError: it cannot be, and the object is to be shown by it.
    """
    known = status.installed
    same = known is binding or (known is not None and reads_the_same(known, binding))
    if same and replaces_truly(obj):
        status.installed = binding
        return []
    if not settings_of(obj).native.replaced_modifier:
        # What is hidden now is not how the user had it.
        restore(obj)
    try:
        replace_armature_modifier(obj, binding)
    except BindingError as error:
        if settings_of(obj).display == "MODIFIER":
            raise
        put_armature_modifier_back(obj)
        return [f"Renders show the Armature modifier's result. {error}"]
    status.installed = binding
    _flush_own_edit()
    return []


def _flush_own_edit() -> None:
    """Let Blender notice what was just written to a mesh, without taking it for a user's edit."""
    global _own_edit
    _own_edit = True
    try:
        bpy.context.view_layer.update()
    finally:
        _own_edit = False


def _notes(obj: bpy.types.Object) -> list[str]:
    settings = settings_of(obj)
    # In the other modes, as while painting, the modifier's own result shows.
    drawn = settings.display == "GPU" and obj.mode == "OBJECT"
    ours = our_modifier(obj)
    found = notes(
        obj,
        replaced_modifier=settings.native.replaced_modifier,
        own_modifier=ours.name if ours is not None else "",
        drawn=drawn,
    )
    if is_fixed(obj) and has_moved(obj, Settings.of(obj)):
        found.append(
            f"{obj.name} has moved by its armature, but its mesh is linked: the compensation stays "
            "what it was where it came from."
        )
    binding = status_of(obj).binding
    if has_examples(obj) and binding is not None:
        found.extend(binding.examples(settings.limb_axis).problems)
    group = settings.vertex_group
    if group and group not in obj.vertex_groups:
        found.append(f"{obj.name} has no vertex group {group}; the compensation acts fully.")
    group = settings.blend_group
    if group and group not in obj.vertex_groups and settings.method in BLENDED_METHODS:
        found.append(f"{obj.name} has no vertex group {group}; nothing is blended to linear.")
    rig = armature_modifier(obj)
    if drawn and rig and rig.object and rig.object.show_in_front:
        found.append(
            f"{rig.object.name} is set to In Front, but the picture covers it. Turn on X-ray "
            "(Alt Z) to see its bones through the surface."
        )
    return found


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
    edited = set(_edited)
    enabled = enabled_objects()
    for obj in enabled:
        mesh = obj.data
        was_edited = mesh is not None and mesh.session_uid in edited
        try:
            if is_carried(obj) or (was_edited and (is_sliding(obj) or is_being_painted(obj))):
                moving = True
                edited.discard(mesh.session_uid)
            else:
                check(obj, depsgraph, edited=was_edited)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are still checked
            fail(obj, error)
    _edited.difference_update(edited)
    uids = {obj.session_uid for obj in enabled}
    keep_statuses(uids)
    _bindings.keep_only(uids)
    return moving


def follow_modes() -> None:
    """Bring the native display of every enabled object in line with its mode."""
    for obj in enabled_objects():
        hidden = settings_of(obj).native.hidden
        if obj.library is None and (obj.mode != "OBJECT" if hidden else is_drawn(obj)):
            follow_native_display(obj)


def mesh_edited(uid: int) -> None:
    """A mesh has been edited: bind its objects again at the next check."""
    if _own_edit:
        return
    _edited.add(uid)
    _bindings.mark_dirty(uid)


def distrust_all() -> None:
    """Bind everything again at the next check, for anything may have changed.

    Until then what was known is drawn.
    """
    forget()
    for obj in enabled_objects():
        status_of(obj).installed = None
        if obj.data is not None:
            mesh_edited(obj.data.session_uid)


def restore_all() -> None:
    """Put back the native display of every enabled object, and leave it right without us."""
    for obj in enabled_objects():
        if obj.library is None:
            restore(obj)
            keep_factor(obj)


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
    _edited.clear()
    forget()

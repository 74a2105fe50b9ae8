"""Which objects the viewport draws, what is wrong with those it cannot, and their native display.

Everything that changes an object goes through here: the operators, the handlers of Blender's events
and the check that runs a moment after something has changed. Drawing itself changes nothing.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import bpy
import gpu
import numpy as np
from numpy.typing import NDArray

from ..scene.binding import Binding, BindingCache
from ..scene.errors import BindingError
from ..scene.object_settings import settings_of
from ..scene.setup import armature_modifier, notes
from .enabled_objects import enabled_objects, forget
from .native_display import hide, rendering_viewport_open, restore, show_to_camera

_log = logging.getLogger(__name__)

# Seconds from a change to the check: long enough to check once for a burst of changes, and short
# enough to look immediate.
CHECK_AFTER = 0.1
CHECK_AGAIN_AFTER = 0.3

NO_WINDOW = "Blender runs without a window: nothing is drawn."
NO_COMPUTE = (
    "This graphics driver cannot run compute shaders, which drawing needs. Update the driver; "
    "until then the Armature modifier's own result is shown."
)
LINKED = (
    "{name} is linked from another file and shows its Armature modifier's result. "
    "Make a library override of it to see DQ Compensation."
)
FAILED = "Drawing {name} failed: {error}. Press Refresh to try again; the system console says more."


@dataclass
class Status:
    """What is known of one enabled object; by session_uid, so that no reference outlives an undo.

    Attributes:
        binding: the last one that was true; None before the first and after a failure.
        problem: why the object is not drawn, a sentence for the panel.
        failure: an error of drawing it; it is not tried again before a refresh.
        pose_problem: why the picture does not follow the pose.
        notes: what does not show in our picture.
    """

    binding: Binding | None = None
    problem: str | None = None
    failure: str | None = None
    pose_problem: str | None = None
    notes: list[str] = field(default_factory=list)
    key_values: NDArray[np.float32] | None = None


_statuses: dict[int, Status] = {}
_bindings = BindingCache()
_final_render_runs = False


def status_of(obj: bpy.types.Object) -> Status:
    """What is known of an object; empty where nothing is."""
    return _statuses.setdefault(obj.session_uid, Status())


def problem_of(obj: bpy.types.Object) -> str | None:
    """Why the picture of an enabled object is not there or not right, as of the last check."""
    status = status_of(obj)
    return status.failure or status.problem or drawing_refusal() or status.pose_problem


def notes_of(obj: bpy.types.Object) -> list[str]:
    """What the picture of an enabled object leaves out, as of the last check."""
    return status_of(obj).notes


def drawing_refusal() -> str | None:
    """Why nothing can be drawn in this session, or None."""
    if bpy.app.background:
        return NO_WINDOW
    if gpu.platform.backend_type_get() == "NONE" or not _has_compute():
        return NO_COMPUTE
    return None


def _has_compute() -> bool:
    # Gone from the versions that cannot run without compute shaders.
    ask = getattr(gpu.capabilities, "compute_shader_support_get", None)
    return ask is None or bool(ask())


def enable(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Binding:
    """Deform an object from now on; harmless when it is enabled already.

    Raises:
        BindingError: it cannot be deformed; nothing has changed then.
    """
    binding = _bindings.get(obj, depsgraph)
    settings_of(obj).is_enabled = True
    forget()
    _statuses[obj.session_uid] = Status(binding)
    check(obj, depsgraph)
    return binding


def disable(obj: bpy.types.Object) -> None:
    """Give an object back to its Armature modifier, every setting as it was."""
    restore(obj)
    settings_of(obj).is_enabled = False
    _statuses.pop(obj.session_uid, None)
    _bindings.discard(obj.session_uid)
    forget()


def refresh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Binding:
    """Read everything of an enabled object again and forget its failures.

    Raises:
        BindingError: it cannot be deformed as it is now; its native display is back then.
    """
    _bindings.discard(obj.session_uid)
    _statuses.pop(obj.session_uid, None)
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


def is_drawn(obj: bpy.types.Object) -> bool:
    """Whether the picture of an enabled object comes from us: in Object Mode, nothing wrong."""
    status = status_of(obj)
    return (
        obj.mode == "OBJECT"
        and status.binding is not None
        and status.failure is None
        and status.problem is None
    )


def follow_native_display(obj: bpy.types.Object) -> None:
    """Hide the native surface of an enabled object where we draw it, and only there."""
    if drawing_refusal() is None and is_drawn(obj):
        hide(obj, from_camera_rays=_hidden_from_camera_rays())
    else:
        restore(obj)


def follows_viewports(obj: bpy.types.Object) -> bool:
    """Whether camera rays see an object that we draw only where they should."""
    if _hidden_from_camera_rays():
        return not obj.visible_camera
    return not settings_of(obj).native.hidden_from_camera


def _hidden_from_camera_rays() -> bool:
    return not _final_render_runs and rendering_viewport_open()


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
    for status in _statuses.values():
        if status.binding is not None:
            _bindings.mark_dirty(status.binding.object_uid)
    forget()


def fail(obj: bpy.types.Object, error: Exception) -> None:
    """Stop drawing an object after an error; the panel says so."""
    _log.exception("Drawing %s failed", obj.name)
    status_of(obj).failure = FAILED.format(name=obj.name, error=str(error).rstrip("."))


def check_soon(seconds: float = CHECK_AFTER) -> None:
    """Check every enabled object a moment from now; calls in between cost nothing."""
    if not bpy.app.background and not bpy.app.timers.is_registered(_check_now):
        bpy.app.timers.register(_check_now, first_interval=seconds)


def cancel_check() -> None:
    """Forget a check that `check_soon` has asked for."""
    if bpy.app.timers.is_registered(_check_now):
        bpy.app.timers.unregister(_check_now)


def _check_now() -> float | None:
    """Check, redraw, and say after how many seconds to come again, as a timer does."""
    if not enabled_objects():
        return None
    moving = check_all(bpy.context.evaluated_depsgraph_get())
    tag_redraw()
    return CHECK_AGAIN_AFTER if moving else None


def tag_redraw() -> None:
    """Ask every 3D viewport and its sidebar to draw again."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


def restore_all() -> None:
    """Put back the native display of every enabled object."""
    for obj in enabled_objects():
        if obj.library is None:
            restore(obj)


def final_render_begins() -> None:
    """Let final renders see every enabled object; until `final_render_ends`."""
    global _final_render_runs
    _final_render_runs = True
    for obj in enabled_objects():
        if obj.library is None:
            show_to_camera(obj)


def final_render_ends() -> None:
    """Let the viewports have their way again."""
    global _final_render_runs
    _final_render_runs = False
    check_soon()


def forget_all() -> None:
    """Drop everything that was learned from the file: another file is loaded."""
    _statuses.clear()
    _bindings.clear()
    forget()

"""Notices what makes the findings outdated, and checks again where that is quick.

The handlers only set flags. In a session with a window a timer checks again when nothing has
changed for a moment; a character whose check takes long waits for the Check button.
"""

from __future__ import annotations

import time

import bpy
from bpy.app.handlers import persistent

from ..scene.gestures import is_in_a_gesture
from ..scene.setup import armature_modifier
from ..scene.status import tag_redraw
from ..viewport.camera_rays import final_render_runs
from . import findings

# Seconds without a change until a character is checked again.
CHECK_AFTER = 0.5
# Seconds that the last check may have taken for it to be made again without being asked for.
QUICK = 0.3

_changed_at = 0.0


def check_outdated() -> bool:
    """Check the characters again whose results are outdated, where that is quick.

    Returns:
        whether anything was checked.
    """
    # Evaluating may report changes: they belong to what is looked at next.
    depsgraph = bpy.context.evaluated_depsgraph_get()
    due = [
        obj
        for obj, found in findings.outdated_objects()
        if found.seconds < QUICK and not _is_being_edited(obj)
    ]
    for obj in due:
        findings.run(obj, depsgraph)
    return bool(due)


@persistent
def _on_depsgraph_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    if not findings.any_known() or final_render_runs() or _is_playing():
        return
    if findings.mark_outdated(update.id.original.session_uid for update in depsgraph.updates):
        _check_soon()


@persistent
def _on_any_change(*_args: object) -> None:
    if findings.mark_all_outdated():
        _check_soon()


@persistent
def _on_load(*_args: object) -> None:
    findings.forget()


def _check_soon() -> None:
    global _changed_at
    _changed_at = time.monotonic()
    if not bpy.app.background and not bpy.app.timers.is_registered(_when_at_rest):
        bpy.app.timers.register(_when_at_rest, first_interval=CHECK_AFTER)
        # So that the panel can say that its results are outdated.
        tag_redraw()


def _when_at_rest() -> float | None:
    still_to_wait = CHECK_AFTER - (time.monotonic() - _changed_at)
    if still_to_wait > 0.0:
        return still_to_wait
    if _is_playing() or is_in_a_gesture():
        return CHECK_AFTER
    check_outdated()
    tag_redraw()
    return None


def _is_playing() -> bool:
    screen = bpy.context.screen
    return screen is not None and screen.is_animation_playing


def _is_being_edited(obj: bpy.types.Object) -> bool:
    """Whether an object is painted on or edited: its weights and bones are read afterwards."""
    modifier = armature_modifier(obj)
    armature = modifier.object if modifier is not None else None
    return obj.mode != "OBJECT" or (armature is not None and armature.mode == "EDIT")


_HANDLERS = (
    ("depsgraph_update_post", _on_depsgraph_update),
    ("undo_post", _on_any_change),
    ("redo_post", _on_any_change),
    ("animation_playback_post", _on_any_change),
    ("load_pre", _on_load),
    ("load_post", _on_load),
)


def register() -> None:
    """Start watching."""
    for event, handler in _HANDLERS:
        getattr(bpy.app.handlers, event).append(handler)


def unregister() -> None:
    """Stop watching and forget what was found."""
    if bpy.app.timers.is_registered(_when_at_rest):
        bpy.app.timers.unregister(_when_at_rest)
    for event, handler in reversed(_HANDLERS):
        getattr(bpy.app.handlers, event).remove(handler)
    findings.forget()

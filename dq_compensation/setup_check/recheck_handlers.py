"""Notices changes that outdate the findings, and checks again if that is quick.

The handlers only note what was touched. In a session with a window a timer looks at it when nothing
has changed for a moment: whether anything has that the checks depend on. A character whose check
takes long waits for the Check button then.
"""

from __future__ import annotations

import bpy

from ..scene.addon_preferences import check_follows_edits
from ..scene.setup import find_rig
from ..session.delayed_call import DelayedCall
from ..session.gestures import is_playing
from ..session.status import tag_redraw
from ..viewport.camera_rays import final_render_runs
from . import findings

# Seconds without a change until a character is checked again.
CHECK_AFTER = 0.5
# Seconds that the last check may have taken for it to be made again without being asked for.
QUICK = 0.3


def check_outdated() -> bool:
    """Find out which results are outdated, and check those characters again where that is quick.

    Returns:
        whether anything was checked.
    """
    wanted = check_follows_edits()
    # Evaluating may report changes: they belong to what is looked at next.
    depsgraph = bpy.context.evaluated_depsgraph_get()
    due = []
    for obj, found in findings.touched_objects():
        if _is_being_edited(obj):
            continue
        findings.compare(obj, found, depsgraph)
        if wanted and found.outdated and found.seconds < QUICK:
            due.append(obj)
    for obj in due:
        findings.run(obj, depsgraph)
    return bool(due)


def _on_depsgraph_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    if not findings.any_known() or final_render_runs() or is_playing():
        return
    if findings.mark_touched(update.id.original.session_uid for update in depsgraph.updates):
        _delayed_check.request()


def _on_any_change(*_args: object) -> None:
    if findings.mark_all_touched():
        _delayed_check.request()


def _on_load(*_args: object) -> None:
    findings.forget()


def _check_and_redraw() -> None:
    check_outdated()
    tag_redraw()


_delayed_check = DelayedCall(_check_and_redraw, CHECK_AFTER, "REST")


def _is_being_edited(obj: bpy.types.Object) -> bool:
    """Whether an object is painted on or edited: its weights and bones are read afterwards."""
    armature = find_rig(obj)
    return obj.mode != "OBJECT" or (armature is not None and armature.mode == "EDIT")


HANDLERS = (
    ("depsgraph_update_post", _on_depsgraph_update),
    ("undo_post", _on_any_change),
    ("redo_post", _on_any_change),
    ("animation_playback_post", _on_any_change),
    ("load_pre", _on_load),
    ("load_post", _on_load),
)


def unregister() -> None:
    """Stop watching and forget what was found."""
    _delayed_check.cancel()
    findings.forget()

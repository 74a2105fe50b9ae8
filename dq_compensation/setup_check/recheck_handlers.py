"""Notices changes that outdate the findings, and checks again if that is quick.

What was touched is only noted. In a session with a window a timer looks at it when nothing
has changed for a moment: whether anything has that the checks depend on. A character whose check
takes long waits for the Check button then.
"""

from __future__ import annotations

import bpy

from ..scene.blender.rigging import find_rig
from ..scene.settings.addon_preferences import check_follows_edits
from ..session.activity import final_render_runs
from ..session.changes import EDIT, PLAYED, RESTORED, Changes
from ..session.delayed_call import DelayedCall
from ..session.status import tag_redraw
from . import findings

# Seconds without a change until a character is checked again.
CHECK_AFTER = 0.5
# Seconds that the last check may have taken for it to be made again without being asked for.
QUICK = 0.3


def check_outdated() -> bool:
    """Check outdated characters again where that is quick; returns whether there were any."""
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


def _on_edit(changes: Changes) -> None:
    if not findings.any_known() or final_render_runs() or changes.is_playing:
        return
    if findings.mark_touched(changes.uids):
        _delayed_check.request()


def _on_any_change() -> None:
    if findings.mark_all_touched():
        _delayed_check.request()


def _check_and_redraw() -> None:
    check_outdated()
    tag_redraw()


_delayed_check = DelayedCall(_check_and_redraw, CHECK_AFTER, "REST")


def _is_being_edited(obj: bpy.types.Object) -> bool:
    """Whether an object is painted on or edited: its weights and bones are read afterwards."""
    armature = find_rig(obj)
    return obj.mode != "OBJECT" or (armature is not None and armature.mode == "EDIT")


FOLLOWS = ((EDIT, _on_edit), (RESTORED, _on_any_change), (PLAYED, _on_any_change))

unregister = _delayed_check.cancel

"""Notices that takes are out of date: what they were sampled from has changed.

The handlers only note that something was touched. In a session with a window a timer compares the
digests when nothing has changed for a moment.
"""

from __future__ import annotations

import json

import bpy

from ..scene.motion_state import constraint_targets, motion_digests
from ..scene.object_settings import settings_of
from ..scene.take_settings import takes_of
from ..session.delayed_call import DelayedCall
from ..session.gestures import is_playing
from ..session.known_takes import forget_takes, note_changed
from ..session.status import tag_redraw

# Seconds without a change until takes are compared.
CHECK_AFTER = 0.5

# The session_uid of all armature objects with takes and of what they follow, as found last; None
# before the first look.
_watched: set[int] | None = None


def armatures_with_takes() -> list[bpy.types.Object]:
    """The armature objects of the file that have takes."""
    return [
        obj for obj in bpy.data.objects if obj.type == "ARMATURE" and len(settings_of(obj).takes)
    ]


def check_takes() -> None:
    """Compare every take of the file with what it was sampled from."""
    global _watched
    _watched, stored = set(), set()
    for armature in armatures_with_takes():
        check_takes_of(armature)
        followed = (armature, armature.data, *constraint_targets(armature))
        _watched.update(each.session_uid for each in followed if each is not None)
        stored.update(item.stored.session_uid for item in takes_of(armature) if item.stored)
    forget_takes(stored)


def check_takes_of(armature: bpy.types.Object) -> None:
    """Compare the takes of one armature object with what they were sampled from."""
    now = motion_digests(armature)
    for item in takes_of(armature):
        if not item.is_copied:
            made_from = json.loads(item.made_from)
            note_changed(item, tuple(name for name in now if now[name] != made_from.get(name)))


def watch_takes() -> None:
    """Look at all takes soon, as after one was cached."""
    _delayed_check.request()


def _on_depsgraph_update(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    if is_playing():
        return
    if _watched is None or any(_concerns_motion(update.id) for update in depsgraph.updates):
        _delayed_check.request()


def _concerns_motion(touched: bpy.types.ID | None) -> bool:
    if touched is None:
        return False
    if isinstance(touched, (bpy.types.Action, bpy.types.Key)):
        return bool(_watched)
    if touched.original.session_uid in (_watched or ()):
        return True
    # One that was appended or linked.
    return (
        isinstance(touched, bpy.types.Object)
        and touched.type == "ARMATURE"
        and len(settings_of(touched).takes) > 0
    )


def _on_any_change(*_args: object) -> None:
    _delayed_check.request()


def _on_load(*_args: object) -> None:
    global _watched
    _watched = None
    forget_takes()


def _after_load(*_args: object) -> None:
    _on_load()
    _delayed_check.request()


def _check_and_redraw() -> None:
    check_takes()
    tag_redraw()


_delayed_check = DelayedCall(_check_and_redraw, CHECK_AFTER, "REST")

HANDLERS = (
    ("depsgraph_update_post", _on_depsgraph_update),
    ("undo_post", _on_any_change),
    ("redo_post", _on_any_change),
    ("load_pre", _on_load),
    ("load_post", _after_load),
)


def unregister() -> None:
    """Stop watching and forget what was found."""
    _delayed_check.cancel()
    _on_load()

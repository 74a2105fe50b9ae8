"""Notices that takes are out of date: what they were sampled from has changed.

Edits are only noted. In a session with a window a timer compares the
digests when nothing has changed for a moment.
"""

from __future__ import annotations

import bpy

from ..scene.binding.motion_state import constraint_targets, motion_digests
from ..scene.blender.records import parsed_record
from ..scene.settings.object_settings import settings_of
from ..scene.settings.take_settings import takes_of
from ..session.changes import EDIT, LOADED, RESTORED, Changes, Update
from ..session.delayed_call import DelayedCall
from ..session.known_takes import keep_takes, note_changed
from ..session.status import tag_redraw

# Seconds without a change until takes are compared.
CHECK_AFTER = 0.5

# The session_uid of all armature objects with takes and of what they follow, as found last; None
# before the first look.
_watched: set[int] | None = None


def check_takes() -> None:
    """Compare every take of the file with what it was sampled from."""
    global _watched
    _watched, stored = set(), set()
    for armature in bpy.data.objects:
        if armature.type != "ARMATURE" or not len(settings_of(armature).takes):
            continue
        check_takes_of(armature)
        followed = (armature, armature.data, *constraint_targets(armature))
        _watched.update(each.session_uid for each in followed if each is not None)
        stored.update(item.stored.session_uid for item in takes_of(armature) if item.stored)
    keep_takes(stored)


def check_takes_of(armature: bpy.types.Object) -> None:
    """Compare the takes of one armature object with what they were sampled from."""
    now = motion_digests(armature)
    for item in takes_of(armature):
        if not item.is_copied:
            made_from = parsed_record(item.made_from)
            note_changed(item, tuple(name for name in now if now[name] != made_from.get(name)))


def watch_takes() -> None:
    """Look at all takes soon, as after one was cached."""
    _delayed_check.request()


def _on_edit(changes: Changes) -> None:
    if not changes.is_playing and (_watched is None or any(map(_concerns_motion, changes.updates))):
        _delayed_check.request()


def _concerns_motion(update: Update) -> bool:
    touched = update.data
    if isinstance(touched, (bpy.types.Action, bpy.types.Key)):
        return bool(_watched)
    if update.uid in (_watched or ()):
        return True
    # One that was appended or linked.
    return (
        isinstance(touched, bpy.types.Object)
        and touched.type == "ARMATURE"
        and len(settings_of(touched).takes) > 0
    )


def _on_load() -> None:
    global _watched
    _watched = None
    watch_takes()


def _check_and_redraw() -> None:
    check_takes()
    tag_redraw()


_delayed_check = DelayedCall(_check_and_redraw, CHECK_AFTER, "REST")

FOLLOWS = ((EDIT, _on_edit), (RESTORED, watch_takes), (LOADED, _on_load))

unregister = _delayed_check.cancel

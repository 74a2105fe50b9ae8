"""Notices that takes are out of date: what they were sampled from has changed.

Edits are only noted. In a session with a window a timer compares the
digests when nothing has changed for a moment.
"""

from __future__ import annotations

import bpy

from ...scene.binding.facts import changed_since
from ...scene.blender.own_objects import parsed_record
from ...scene.settings.setting_events import only_with
from ...session.changes import EDIT, LOADED, RESTORED, Changes, Update
from ...session.delayed_calls import DelayedCall
from ...session.status import tag_redraw
from .known_takes import has_takes, keep_takes, note_changed, with_takes
from .motion_facts import constraint_targets, motion_facts
from .settings import takes_of

# Seconds without a change until takes are compared.
_CHECK_TAKES_AFTER = 0.5

# The session_uid of all armature objects with takes and of what they follow, as found last; None
# before the first look.
_watched: set[int] | None = None


def check_takes() -> None:
    """Compare every take of the file with what it was sampled from."""
    global _watched
    _watched, stored = set(), set()
    for armature in bpy.data.objects:
        if not has_takes(armature):
            continue
        _check_takes_of(armature)
        followed = (armature, armature.data, *constraint_targets(armature))
        _watched.update(each.session_uid for each in followed if each is not None)
        stored.update(item.stored.session_uid for item in takes_of(armature) if item.stored)
    keep_takes(stored)


def _check_takes_of(armature: bpy.types.Object) -> None:
    """Compare the takes of one armature object with what they were sampled from."""
    now = motion_facts(armature)
    for item in takes_of(armature):
        if not item.is_copied:
            note_changed(item, changed_since(parsed_record(item.made_from), now))


def watch_takes() -> None:
    """Look at all takes soon, as after one was cached."""
    _delayed_check.request()


@only_with(with_takes)
def _on_edit(changes: Changes) -> None:
    if changes.is_playing:
        return
    if _watched is None or any(map(_concerns_motion, changes.edits)):
        _delayed_check.request()


def _concerns_motion(update: Update) -> bool:
    touched = update.data
    if isinstance(touched, (bpy.types.Action, bpy.types.Key)):
        return bool(_watched)
    if update.uid in (_watched or ()):
        return True
    # One that was appended or linked.
    return isinstance(touched, bpy.types.Object) and has_takes(touched)


def _on_load() -> None:
    global _watched
    _watched = None
    watch_takes()


def _check_and_redraw() -> None:
    check_takes()
    tag_redraw()


_delayed_check = DelayedCall(_check_and_redraw, _CHECK_TAKES_AFTER, "REST")

FOLLOWS = ((EDIT, _on_edit), (RESTORED, watch_takes), (LOADED, _on_load))

unregister = _delayed_check.cancel

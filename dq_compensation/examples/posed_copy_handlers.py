"""Follows posed copies: leaving the mode applies the shape, and a lost one shows its character.

Changes are only noted. A moment later a timer applies what was left, with an undo step of
its own. A shape that cannot be applied stays in its copy, and the panel says why; it is not tried
again by itself. After an undo nothing is applied by itself either: the user wanted to go back.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import bpy

from ..errors import UserError
from ..scene.blender.own_objects import is_posed_copy
from ..scene.copies.posed_copies import posed_copy_of, show_again
from ..scene.settings.object_settings import settings_of
from ..session.changes import EDIT, LOADED, RESTORED, Changes
from ..session.delayed_call import DelayedCall
from ..session.known_objects import enabled_objects
from ..session.memory import memory_of
from ..session.status import status_of, tag_redraw
from .apply_shape import apply_copy

# Seconds from leaving the mode to applying.
APPLY_AFTER = 0.1
_MODES = frozenset({"SCULPT", "EDIT"})

# The session_uid and the name of the copy that is being shaped.
_shaped: tuple[int, str] | None = None
# The session_uid of the copies whose mode was left.
_left: set[int] = set()


@dataclass
class _Copy:
    """The reason why the shape of a posed copy could not be applied."""

    failure: UserError | None = None


def failure_of(copy: bpy.types.Object) -> UserError | None:
    """Why the shape of a posed copy could not be applied, or None."""
    return memory_of(copy, _Copy).failure


def note_failure(copy: bpy.types.Object, error: UserError) -> None:
    """Keep for the panel why the shape of a posed copy could not be applied."""
    memory_of(copy, _Copy).failure = error


def observe() -> None:
    """Note which copy is being shaped, and whether that has ended; quick."""
    global _shaped
    if _shaped is not None:
        copy = bpy.data.objects.get(_shaped[1])
        if copy is None or copy.session_uid != _shaped[0]:
            _shaped = None
        elif copy.mode == "OBJECT":
            _left.add(_shaped[0])
            _shaped = None
    active = bpy.context.view_layer.objects.active
    if active is not None and active.mode in _MODES and is_posed_copy(active):
        _shaped = (active.session_uid, active.name)
        memory_of(active, _Copy).failure = None


def follow() -> None:
    """Apply the copies whose mode was left; show the characters whose copies are gone."""
    left = [obj for obj in bpy.data.objects if obj.session_uid in _left] if _left else []
    _left.clear()
    for copy in left:
        if copy.mode == "OBJECT":
            _apply(copy)
    for obj in _characters_with_copies():
        if posed_copy_of(obj) is None:
            show_again(obj)


def _apply(copy: bpy.types.Object) -> None:
    known = memory_of(copy, _Copy)
    known.failure = None
    windows = bpy.context.window_manager.windows
    showing = (each for each in windows if each.view_layer.objects.get(copy.name) == copy)
    window = next(showing, None)
    try:
        with bpy.context.temp_override(window=window) if window is not None else nullcontext():
            apply_copy(copy)
            bpy.ops.ed.undo_push(message="Apply Example")
    except UserError as error:
        known.failure = error


def _characters_with_copies() -> list[bpy.types.Object]:
    own = (obj for obj in enabled_objects() if obj.library is None)
    return [obj for obj in own if settings_of(obj).native.hidden_for_copy]


def _on_edit(changes: Changes) -> None:
    observe()
    if _left or changes.enabled:
        _delayed_follow.request()


def _after_undo() -> None:
    for obj in enabled_objects():
        # What was applied last may not be there any more.
        status_of(obj).example_result = None
    _after_load()


def _after_load() -> None:
    take_for_granted()
    if _characters_with_copies():
        _delayed_follow.request()


def take_for_granted() -> None:
    """Take the current state as the reference: no mode was left."""
    global _shaped
    _shaped = None
    observe()
    _left.clear()


def _follow_and_redraw() -> None:
    if _left or _characters_with_copies():
        follow()
        tag_redraw()


_delayed_follow = DelayedCall(_follow_and_redraw, APPLY_AFTER, "REST")


FOLLOWS = ((EDIT, _on_edit), (RESTORED, _after_undo), (LOADED, _after_load))


def unregister() -> None:
    """Stop following; an open copy stays open."""
    global _shaped
    _delayed_follow.cancel()
    _shaped = None
    _left.clear()

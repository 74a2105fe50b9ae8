"""Looks at everything that changes in Blender once, and reports it to all who follow.

The only place where the add-on asks Blender what was evaluated. A module that follows an event
names it in `FOLLOWS`, with a function:

- EDIT: something was edited or posed outside of a frame, with `Changes`. A setting that drivers
  read is no edit: `FOLLOWED_SETTING_CHANGED` of `scene.settings.setting_events` tells of it.
- FRAME: a new frame was evaluated, with `Changes`.
- RESTORED: an undo or a redo has ended.
- LOADED: another file was loaded; what was remembered of the one before is forgotten.
- PLAYED: a playback has ended.

A follower of a few objects says so (`only_with`), and is not called for a file without them. The
others note what concerns them, or act at once where the next picture depends on it; what takes
long is left to a `DelayedCall`.

What the add-on itself does is told apart: settings that it writes (`writing_settings`), data-blocks
that it has just made or removed (`remember_new`, `note_removed`), and what it changes for a moment
and puts back (`unfollowed`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cached_property
from itertools import compress
from operator import attrgetter
from typing import Any, NamedTuple

import bpy
import numpy as np

from ..holding import look_again, operation
from ..scene.binding.edited_facts import facts_of_object, facts_of_pose, facts_with_keys
from ..scene.binding.facts import Facts
from ..scene.blender.bulk_arrays import read_properties
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import is_palette
from ..scene.selected_characters import forget_sentences, forget_skins
from ..scene.settings.object_settings import armature_with_settings
from ..scene.settings.setting_events import FOLLOWED
from ..scene.stack import find_rig
from .activity import is_playing, is_posing
from .known_objects import KnownObjects, enabled_objects
from .memory import forget_everything, memories, memory_of
from .status import status_of

_log = logging.getLogger(__name__)

_writing = False


@contextmanager
def writing_settings() -> Generator[None]:
    """Write several settings, which nobody follows one by one.

    The caller lets the object follow them, or nobody needs to.
    """
    global _writing
    before, _writing = _writing, True
    try:
        yield
    finally:
        _writing = before


def are_settings_being_written() -> bool:
    """Whether a setting changes as one of several."""
    return _writing


class _New:
    """Marks a tree or a hidden object that was made since the last undo, redo or load.

    Undo keeps an object in memory as it is where two steps have it alike; but it frees every
    data-block that the older step does not have. What is made between two steps, as when weights
    were painted and a check follows, would leave the object with a pointer to nothing: Blender
    crashes.
    """


def remember_new(data: bpy.types.ID) -> None:
    """Note a data-block that was made just now."""
    memory_of(data, _New)


def is_new(data: bpy.types.ID | None) -> bool:
    """Whether a data-block was made since the last undo, redo or load."""
    return data is not None and data.session_uid in memories(_New)


def forget_new() -> None:
    """Forget all of them: the restored step has the data-blocks, or they are gone."""
    memories(_New).clear()


_removed = False


def note_removed() -> None:
    """Note that data-blocks which Blender evaluates were removed.

    They stay in the list of what was evaluated, as pointers to nothing, until Blender evaluates
    again: a handler that comes later, of another add-on, would crash.
    """
    global _removed
    _removed = True


def clear_own_keys(obj: bpy.types.Object) -> None:
    """Remove all shape keys of an object of ours."""
    if obj.data.shape_keys is not None:  # type: ignore[union-attr]
        obj.shape_key_clear()
        note_removed()


def forget_removed() -> bool:
    """Whether data-blocks were removed since the last call."""
    global _removed
    was, _removed = _removed, False
    return was


_is_unfollowed = False


@contextmanager
def unfollowed() -> Generator[None]:
    """Let nobody follow what happens: temporary objects, and what exporters are not to see.

    All that was there before has to be as it was at the end.
    """
    global _is_unfollowed
    bpy.context.view_layer.update()
    _is_unfollowed = True
    try:
        yield
        bpy.context.view_layer.update()
    finally:
        _is_unfollowed = False


# The types of data-blocks that a script may edit before a frame so that it concerns us; their
# objects come with them.
_EDITED_IN_FRAMES = ("MESH", "ARMATURE", "LATTICE", "CURVE", "NODETREE", "SCENE")


_FLAGS = tuple(
    (f"is_updated_{name}", np.bool_, ()) for name in ("geometry", "shading", "transform")
)


class Update(NamedTuple):
    """A data-block that was evaluated.

    Attributes:
        data: the original data-block.
        uid: its session_uid.
        geometry, shading, transform: Blender's flags of what has changed of it.
    """

    data: bpy.types.ID
    uid: int
    geometry: bool
    shading: bool
    transform: bool


class _Adjusted:
    """Marks an object whose changed setting needs no other look."""


class _Posed:
    """The pose of an armature object when we looked last, so that a setting alone is told from it.

    Attributes:
        facts: of the pose, the bones and the object; empty before the first look.
    """

    facts: Facts = {}  # noqa: RUF012 - never changed


def note_adjusted(*objects: bpy.types.Object) -> None:
    """Note a changed setting of meshes with which their modifiers are right.

    Blender names the objects, their meshes, and the armatures with their settings next, as if all
    had been edited.
    """
    for obj in objects:
        memory_of(obj, _Adjusted)
        armature = armature_with_settings(obj)
        if armature is not None:
            memory_of(armature, _Adjusted)


def was_edited_before(obj: bpy.types.Object) -> bool:
    """Whether the mesh of an adjusted object was edited, which Blender has not evaluated yet.

    It gets another look.
    """
    memories(_Adjusted).pop(obj.session_uid, None)
    return status_of(obj).facts[1] not in ({}, facts_with_keys(mesh_of(obj)))


def remember_pose(rig: bpy.types.Object) -> bool:
    """Whether an armature object is posed, and its bones are, as at the last call."""
    known, now = memory_of(rig, _Posed), facts_of_pose(rig)
    same, known.facts = known.facts == now, now
    return same


class Changes:
    """The changes in an evaluation. Read when asked for, once for all followers.

    Args:
        depsgraph: as Blender gives it to a handler.
        is_frame: whether a new frame was evaluated.
    """

    def __init__(self, depsgraph: bpy.types.Depsgraph, *, is_frame: bool) -> None:
        self.depsgraph = depsgraph
        self.is_frame = is_frame

    @cached_property
    def is_playing(self) -> bool:
        """Whether an animation plays."""
        return is_playing()

    @cached_property
    def is_dragged(self) -> bool:
        """Whether bones or objects are dragged: nobody edits bones at rest then."""
        return is_posing()

    @cached_property
    def enabled(self) -> list[bpy.types.Object]:
        """The enabled objects."""
        return enabled_objects()

    @cached_property
    def updates(self) -> tuple[Update, ...]:
        """The evaluated data-blocks; of a frame, those that a script has edited before it.

        A new frame names every animated data-block, and animation edits nothing: it changes no
        weights, no groups, no bones at rest, no mesh. Blender's flags tell what a script has edited
        before the frame, so only that is reported. The flags (geometry, shading, transform) of a
        data-block that was edited are all set, or none is, as for one that was renamed or is linked
        anew; animated keys set the first one, animated materials the first two. Objects that are
        moved, posed and animated have all: only their data tell. What looks like animation then, as
        a setting of a modifier, the next check finds.
        """
        if self.is_frame and not any(map(self.depsgraph.id_type_updated, _EDITED_IN_FRAMES)):
            return ()
        every: Any = self.depsgraph.updates
        flags = read_properties(every, _FLAGS)
        if self.is_frame:
            edited = (flags[0] == flags[1]) & (flags[1] == flags[2])
            if not edited.any():
                return ()
            every, flags = compress(every, edited), [each[edited] for each in flags]
        data = [each.id.original for each in every]
        uids = map(attrgetter("session_uid"), data)
        columns = (each.tolist() for each in flags)
        found = tuple(map(Update._make, zip(data, uids, *columns, strict=True)))
        if not self.is_frame:
            return found
        return tuple(
            each
            for each in found
            if not (each.geometry and isinstance(each.data, bpy.types.Object))
        )

    @cached_property
    def edits(self) -> tuple[Update, ...]:
        """The `updates` without what only a setting has named."""
        adjusted = memories(_Adjusted)
        if not (adjusted and self.updates):
            return self.updates
        unedited: set[int] = set()
        palettes: list[bpy.types.Object] = []
        for update in self.depsgraph.updates:
            obj: Any = update.id.original
            if obj.session_uid in adjusted:
                unedited |= {each.session_uid for each in _unedited(obj)}
            elif isinstance(obj, bpy.types.Object) and is_palette(obj):
                # One that was edited itself has this flag, too.
                palettes += [] if update.is_updated_shading else [obj]
        for palette in palettes:
            rig = find_rig(palette)
            if rig is not None and rig.session_uid in unedited:
                unedited.add(palette.session_uid)
        adjusted.clear()
        return tuple(each for each in self.updates if each.uid not in unedited)

    @cached_property
    def uids(self) -> frozenset[int]:
        """The session_uid of all `updates`."""
        return frozenset(map(attrgetter("uid"), self.updates))


def _unedited(obj: bpy.types.Object) -> list[Any]:
    """The data-blocks of an adjusted object that are as we saw them last; all of them, or none."""
    if obj.type == "ARMATURE":
        same = remember_pose(obj) and not any(compares(obj) for compares in COMPARE_OTHER_FRAMES)
        return [obj, obj.data] if same else []
    mesh: Any = obj.data
    if (facts_of_object(obj), facts_with_keys(mesh)) != status_of(obj).facts:
        return []
    return [each for each in (obj, mesh, mesh.shape_keys) if each is not None]


COMPARE_OTHER_FRAMES: list[Callable[[bpy.types.Object], bool]] = []
"""Say whether a feature compares an armature object in other frames, too: its pose tells less."""

Followers = list[Callable[..., None]]
# The events: who follows each, in the order of registration.
EDIT: Followers = []
FRAME: Followers = []
RESTORED: Followers = []
LOADED: Followers = []
PLAYED: Followers = []


def _report(event: Followers, *about: Changes) -> None:
    with KnownObjects.none_comes_or_goes():
        concerned = [each for each in event if FOLLOWED.get(each, True)]
    for follower in concerned:
        try:
            with operation():
                follower(*about)
        except Exception:  # noqa: BLE001 - as Blender does with handlers: the others are called
            _log.exception("%s failed", follower)


def _on_evaluation(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    look_again()
    changes = Changes(depsgraph, is_frame=False)
    if _is_unfollowed or changes.edits:
        forget_skins()
    if not _is_unfollowed and changes.edits:
        _report_changes(EDIT, changes)


def _before_frame(*_args: object) -> None:
    """Make our handlers the last ones, so that they see the edits of others."""
    for event, ours in _LAST:
        handlers = getattr(bpy.app.handlers, event)
        if ours in handlers and handlers[-1] is not ours:
            handlers.remove(ours)
            handlers.append(ours)


def _on_frame(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    look_again()
    forget_sentences()
    if not _is_unfollowed:
        _report_changes(FRAME, Changes(depsgraph, is_frame=True))


def _report_changes(event: Followers, changes: Changes) -> None:
    if changes.depsgraph.id_type_updated("SCENE") and any(
        isinstance(each.data, bpy.types.Scene) for each in changes.updates
    ):
        # Dependencies were sorted out anew: objects may have come or gone.
        KnownObjects.forget_everything()
        forget_skins()
    _report(event, changes)


def _on_undo(*_args: object) -> None:
    look_again()
    memories(_Adjusted).clear()
    KnownObjects.forget_everything()
    forget_skins()
    _report(RESTORED)


def _forget(*_args: object) -> None:
    """Forget everything that was found in the file."""
    look_again()
    KnownObjects.forget_everything()
    forget_skins()
    forget_everything()


def _on_load(*_args: object) -> None:
    _forget()
    _report(LOADED)


def _on_playback_end(*_args: object) -> None:
    _report(PLAYED)


HANDLERS = (
    ("depsgraph_update_post", _on_evaluation),
    ("frame_change_pre", _before_frame),
    ("frame_change_post", _on_frame),
    ("undo_pre", forget_skins),
    ("redo_pre", forget_skins),
    ("undo_post", _on_undo),
    ("redo_post", _on_undo),
    ("load_pre", _forget),
    ("load_post", _on_load),
    ("animation_playback_post", _on_playback_end),
)
_LAST = HANDLERS[0], HANDLERS[2]

unregister = _forget

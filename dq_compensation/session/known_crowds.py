"""The crowds of the file and their characters, without walking through the file every time."""

from __future__ import annotations

import bpy

from ..scene.crowd_settings import is_crowd, roles_of
from .crowd_bakes import is_shown_baked

# The names by the session_uid. Not the objects: a reference to Blender data must not outlive an
# undo or a file load.
_crowds: dict[int, str] = {}
_named_at = -1
# The armatures of all roles.
_characters: set[int] = set()
_object_count = -1
# Counts what may concern a crowd: edits, settings, undo, files.
_change = 0
# The last change at which there was no crowd.
_none_at = -1


def note_change() -> None:
    """Look at every crowd again when it is needed next."""
    global _change
    _change += 1


def change() -> int:
    """A number that is another one after each change that may concern a crowd."""
    return _change


def forget_crowds() -> None:
    """Look through the file again, as after an undo, or when a role has changed."""
    global _object_count
    _object_count = -1
    note_change()


def all_crowds() -> list[bpy.types.Object]:
    """The crowds of the file.

    It is looked through again only when the number of its objects has changed, a known crowd is
    gone, or after `forget_crowds`.
    """
    global _none_at
    # Blender walks through all objects to count them.
    if _none_at == _change:
        return []
    if _object_count == len(bpy.data.objects):
        if not _crowds:
            _none_at = _change
            return []
        found = [obj for obj in bpy.data.objects if obj.session_uid in _crowds]
        if len(found) == len(_crowds):
            return found
    return _look()


def any_crowd() -> bool:
    """Whether the file has any crowd."""
    if _object_count != len(bpy.data.objects):
        _look()
    return bool(_crowds)


def crowds_of_layer(view_layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """The crowds that a view layer shows, in some viewport or other, without those shown baked.

    Cheap enough for every frame, however many objects there are.
    """
    global _named_at
    # Scripts rename objects without an update.
    if _named_at != _change or any(_is_renamed(uid, name) for uid, name in _crowds.items()):
        _crowds.update((obj.session_uid, obj.name) for obj in all_crowds())
        _named_at = _change
    objects = view_layer.objects
    found = [(uid, obj) for uid, name in _crowds.items() if (obj := objects.get(name)) is not None]
    crowds = [obj for _, obj in found]
    if any(obj.session_uid != uid for uid, obj in found):
        # An object of a library has the same name.
        crowds = [obj for obj in objects if obj.session_uid in _crowds]
    shown = (obj for obj in crowds if obj.visible_get(view_layer=view_layer))
    return [obj for obj in shown if not is_shown_baked(obj, view_layer)]


def _is_renamed(uid: int, name: str) -> bool:
    found = bpy.data.objects.get(name)
    return found is None or found.session_uid != uid


def is_in_crowd(armature: bpy.types.Object | None) -> bool:
    """Whether an armature object is the character of a role."""
    if _object_count != len(bpy.data.objects):
        _look()
    return armature is not None and armature.session_uid in _characters


def _look() -> list[bpy.types.Object]:
    global _object_count
    found = [obj for obj in bpy.data.objects if is_crowd(obj)]
    roles = [role for crowd in found for role in roles_of(crowd)]
    _crowds.clear()
    _crowds.update((obj.session_uid, obj.name) for obj in found)
    _characters.clear()
    _characters.update(role.character.session_uid for role in roles if role.character)
    _object_count = len(bpy.data.objects)
    return found

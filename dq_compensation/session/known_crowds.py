"""The crowds of the file, the characters of their roles, and the objects that show them baked."""

from __future__ import annotations

import bpy

from ..scene.blender.own_objects import CROWD_BAKE_PROPERTY
from ..scene.settings.crowd_settings import is_crowd, roles_of
from .known_objects import KnownObjects

# Counts what may concern a crowd: edits, settings, undo, files.
_change = 0


def is_baked_crowd(obj: bpy.types.Object | None) -> bool:
    """Whether an object shows a baked crowd; not the posed meshes that it picks from."""
    return obj is not None and isinstance(obj.get(CROWD_BAKE_PROPERTY), str)


_crowds = KnownObjects(is_crowd)
_baked = KnownObjects(is_baked_crowd)

all_crowds = _crowds.all
any_crowd = _crowds.any
forget_bakes = _baked.forget


def note_change() -> None:
    """Look at every crowd again when it is needed next."""
    global _change
    _change += 1


def change() -> int:
    """A number that is another one after each change that may concern a crowd."""
    return _change


def forget_crowds() -> None:
    """Look through the file again, as when a crowd was made."""
    _crowds.forget()
    note_change()


def crowds_of_layer(view_layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """The crowds that a view layer shows, in some viewport or other, without those shown baked."""
    return [
        crowd
        for crowd in all_crowds()
        if crowd.visible_get(view_layer=view_layer) and not is_shown_baked(crowd, view_layer)
    ]


def is_in_crowd(armature: bpy.types.Object | None) -> bool:
    """Whether an armature object is the character of a role."""
    return armature is not None and any(
        role.character == armature for crowd in all_crowds() for role in roles_of(crowd)
    )


def baked_crowd(crowd: bpy.types.Object) -> bpy.types.Object | None:
    """The object in a scene that shows a crowd baked; None without one. Cheap."""
    shown = (obj for obj in _baked.all() if obj.parent == crowd and obj.users_collection)
    return next(shown, None)


def is_shown_baked(crowd: bpy.types.Object, view_layer: bpy.types.ViewLayer) -> bool:
    """Whether a view layer shows a crowd baked, so that nobody has to draw it."""
    baked = baked_crowd(crowd)
    return baked is not None and baked.visible_get(view_layer=view_layer)

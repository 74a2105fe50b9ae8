"""Finds the posed copy that replaces a character while the artist shapes it.

The copy says whose it is by a custom property, and the character that it is hidden by a flag of
its settings: both are in the file, so that undo, saving and deleting leave nothing behind that only
Python knew.
"""

from __future__ import annotations

import bpy

from ..blender.own_objects import CHARACTER_PROPERTY
from ..settings.object_settings import settings_of


def character_of(copy: bpy.types.Object | None) -> bpy.types.Object | None:
    """The character whose posed copy an object is; None when it is none."""
    found = copy.get(CHARACTER_PROPERTY) if copy is not None else None
    return found if isinstance(found, bpy.types.Object) and found.type == "MESH" else None


def posed_copy_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The current posed copy of a character; None without one.

    A copy that was deleted but is still held in memory by something does not count.
    """
    copies = (other for other in bpy.data.objects if other.get(CHARACTER_PROPERTY) == obj)
    return next((each for each in copies if len(each.users_collection)), None)


def open_copy_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The result of `posed_copy_of`, cheap enough for every redraw of a panel."""
    return posed_copy_of(obj) if settings_of(obj).native.hidden_for_copy else None


def hide_for_copy(obj: bpy.types.Object) -> None:
    """Hide a character while its posed copy stands in for it."""
    obj.hide_set(True)
    settings_of(obj).native.hidden_for_copy = True


def show_again(obj: bpy.types.Object) -> None:
    """Show a character again that `hide_for_copy` has hidden; harmless for any other."""
    native = settings_of(obj).native
    if not native.hidden_for_copy:
        return
    native.hidden_for_copy = False
    for scene in bpy.data.scenes:
        for view_layer in scene.view_layers:
            if view_layer.objects.get(obj.name) == obj:
                obj.hide_set(False, view_layer=view_layer)

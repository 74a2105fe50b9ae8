"""Recognises what belongs to other files, and puts new objects beside others."""

from __future__ import annotations

from collections.abc import Iterable

import bpy


def linked_refusal(
    named: str, blocks: Iterable[bpy.types.ID], advice: str, *, overridden: bool = False
) -> str | None:
    """Why datablocks cannot be changed in this file, or None.

    Args:
        named: what the sentence calls them.
        advice: the sentence that says what to do instead.
        overridden: whether library overrides cannot be changed either.
    """
    for block in blocks:
        if block.library is not None or (overridden and block.override_library is not None):
            return f"{named} is linked from another file. {advice}"
    return None


def link_beside(obj: bpy.types.Object, new: bpy.types.Object) -> None:
    """Put a new object into the collections of another one, those of this file, or the scene's."""
    own = [found for found in obj.users_collection if found.library is None]
    for collection in own or [bpy.context.scene.collection]:
        collection.objects.link(new)

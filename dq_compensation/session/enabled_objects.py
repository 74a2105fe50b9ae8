"""Finds the objects that DQ Compensation deforms, without walking through the file every time."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..scene.object_settings import settings_of

# Names, not objects: a reference to Blender data must not outlive an undo or a file load.
_names: list[tuple[str, str | None]] = []
_object_count = -1


def forget() -> None:
    """Look through the file again at the next call of `enabled_objects`."""
    global _object_count
    _object_count = -1


def enabled_objects() -> list[bpy.types.Object]:
    """The enabled objects of the file, local and linked.

    The file is looked through again only when the number of its objects has changed, a remembered
    one is gone, or after `forget`; whoever enables or disables an object calls that.
    """
    global _object_count
    objects = bpy.data.objects
    if _object_count == len(objects):
        found = list(_remembered())
        if len(found) == len(_names):
            return found
    found = [obj for obj in objects if settings_of(obj).is_enabled]
    _names[:] = [(obj.name, obj.library.filepath if obj.library else None) for obj in found]
    _object_count = len(objects)
    return found


def any_enabled() -> bool:
    """Whether the file has any enabled object; cheap enough for every frame."""
    unchanged = _object_count == len(bpy.data.objects)
    return (unchanged and next(_remembered(), None) is not None) or bool(enabled_objects())


def _remembered() -> Iterator[bpy.types.Object]:
    for name, library in _names:
        obj = bpy.data.objects.get((name, library))
        if obj is not None and settings_of(obj).is_enabled:
            yield obj

"""Finds the objects that DQ Compensation deforms, without walking through the file every time."""

from __future__ import annotations

import bpy

from ..scene.object_settings import settings_of

# Not the objects: a reference to Blender data must not outlive an undo or a file load. Not their
# names either: Blender goes through all objects to find one.
_uids: set[int] = set()
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
        remembered = (obj for obj in objects if obj.session_uid in _uids)
        found = [obj for obj in remembered if settings_of(obj).is_enabled]
        if len(found) == len(_uids):
            return found
    found = [obj for obj in objects if settings_of(obj).is_enabled]
    _uids.clear()
    _uids.update(obj.session_uid for obj in found)
    _object_count = len(objects)
    return found


def any_enabled() -> bool:
    """Whether the file has any enabled object; cheap enough for every frame."""
    if _object_count != len(bpy.data.objects):
        enabled_objects()
    return bool(_uids)

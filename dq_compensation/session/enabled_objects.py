"""Finds the objects that DQ Compensation deforms, without walking through the file every time."""

from __future__ import annotations

import bpy

from ..scene.object_settings import settings_of

# The session_uid of each by its place among the objects of the file. Not the objects: a reference
# to Blender data must not outlive an undo or a file load. Not their names either: those that are
# linked may have the same ones.
_uids: dict[int, int] = {}
_object_count = -1
# So many are sooner found one by one: that takes 5 ns for each object before it, walking through
# all of them 150 ns for each.
_FEW = 40


def forget() -> None:
    """Look through the file again at the next call of `enabled_objects`."""
    global _object_count
    _object_count = -1


def enabled_objects() -> list[bpy.types.Object]:
    """The enabled objects of the file, local and linked.

    The file is looked through again only when the number of its objects has changed, a remembered
    one is at another place, or after `forget`; whoever enables or disables an object calls that.
    Cheap enough for every frame, however many objects there are.
    """
    global _object_count
    objects = bpy.data.objects
    if _object_count == len(objects):
        if len(_uids) <= _FEW:
            found = [objects[place] for place in _uids]
        else:
            found = [obj for place, obj in enumerate(objects) if place in _uids]
        if all(map(_is_remembered, found, _uids.values())):
            return found
    places = {place: obj for place, obj in enumerate(objects) if settings_of(obj).is_enabled}
    _uids.clear()
    _uids.update((place, obj.session_uid) for place, obj in places.items())
    _object_count = len(objects)
    return list(places.values())


def _is_remembered(obj: bpy.types.Object, uid: int) -> bool:
    return obj.session_uid == uid and settings_of(obj).is_enabled


def any_enabled() -> bool:
    """Whether the file has any enabled object; cheap enough for every frame."""
    if _object_count != len(bpy.data.objects):
        enabled_objects()
    return bool(_uids)

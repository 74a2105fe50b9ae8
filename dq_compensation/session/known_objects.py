"""Finds the objects of the file that something is true of, without a walk through it every time."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import bpy

from ..scene.settings.object_settings import settings_of

# So many are sooner found one by one: that takes 5 ns for each object before it, walking through
# all of them 150 ns for each.
_FEW = 40


class KnownObjects:
    """The objects of the file that something is true of, local and linked.

    Args:
        belongs: what has to be true; quick, it is asked of each known object every time. Whoever
            makes it true of an object calls `forget`.
    """

    _all: ClassVar[list[KnownObjects]] = []

    def __init__(self, belongs: Callable[[bpy.types.Object], bool]) -> None:
        self._belongs = belongs
        # The session_uid of each by its place among the objects of the file. Not the objects: a
        # reference to Blender data must not outlive an undo or a file load. Not their names
        # either: those that are linked may have the same ones.
        self._uids: dict[int, int] = {}
        self._object_count = -1
        self._all.append(self)

    def all(self) -> list[bpy.types.Object]:
        """The objects, sorted as the file has them.

        The file is looked through again only when the number of its objects has changed, a known
        one is at another place, or after `forget`.
        """
        objects = bpy.data.objects
        if self._object_count == len(objects):
            if len(self._uids) <= _FEW:
                found = [objects[place] for place in self._uids]
            else:
                found = [obj for place, obj in enumerate(objects) if place in self._uids]
            if all(map(self._is_known, found, self._uids.values())):
                return found
        places = {place: obj for place, obj in enumerate(objects) if self._belongs(obj)}
        self._uids = {place: obj.session_uid for place, obj in places.items()}
        self._object_count = len(objects)
        return list(places.values())

    def any(self) -> bool:
        """Whether there are any; cheaper than `all`."""
        if self._object_count != len(bpy.data.objects):
            self.all()
        return bool(self._uids)

    def forget(self) -> None:
        """Look through the file again at the next call."""
        self._object_count = -1

    @classmethod
    def forget_everything(cls) -> None:
        """Look through the file again for all of them: objects have come or gone."""
        for known in cls._all:
            known.forget()

    def _is_known(self, obj: bpy.types.Object, uid: int) -> bool:
        return obj.session_uid == uid and self._belongs(obj)


enabled = KnownObjects(lambda obj: settings_of(obj).is_enabled)
"""The objects that DQ Compensation deforms."""

enabled_objects = enabled.all

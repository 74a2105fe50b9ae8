"""Finds the objects of the file that something is true of, without a walk through it every time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, ClassVar

import bpy
import numpy as np

from ..arrays import Int32s
from ..holding import held
from ..scene.blender.bulk_arrays import read_properties
from ..scene.blender.own_objects import is_posed_copy
from ..scene.settings.object_settings import is_enabled, settings_of, written_settings
from ..scene.stack import find_rig

# So many are sooner found one by one: that takes 5 ns for each object before it, walking through
# all of them 150 ns for each.
_FEW = 40
_UIDS = (("session_uid", np.int32, ()),)
# No object has this session_uid.
_UNKNOWN = np.zeros(1, np.int32)


class KnownObjects:
    """The objects of the file that something is true of, local and linked.

    Attributes:
        places: those that it is true of, among the objects of the file; another dictionary once
            they were sought anew.

    Args:
        belongs: what has to be true. Whoever makes it true of an object calls `forget`.
        still: the same, of an object of which it was true; quick, it is asked of each known object
            every time.
    """

    _all: ClassVar[list[KnownObjects]] = []
    # The session_uid of all objects of the file when it was asked last: the same array while they
    # are the same.
    _last: ClassVar[Int32s] = _UNKNOWN
    # Whether none of them comes or goes now.
    _is_settled: ClassVar[bool] = False

    def __init__(
        self,
        belongs: Callable[[bpy.types.Object], bool],
        still: Callable[[bpy.types.Object], bool] | None = None,
    ) -> None:
        self._belongs, self._still = belongs, still or belongs
        # Not the objects: a reference to Blender data must not outlive an undo or a file load. Not
        # their names either: those that are linked may have the same ones.
        self.places: dict[int, None] = {}
        # The session_uid of all objects, as the file had them last.
        self._uids: Int32s = _UNKNOWN
        self._all.append(self)

    def all(self) -> list[bpy.types.Object]:
        """The objects, sorted as the file has them.

        Whether they belong is asked of all objects only when objects have come, gone or changed
        their places, or after `forget`.
        """
        objects: Any = bpy.data.objects
        uids = self._all_uids()
        if uids is self._uids:
            if len(self.places) <= _FEW:
                found = [objects[place] for place in self.places]
            else:
                found = [obj for place, obj in enumerate(objects) if place in self.places]
            if all(map(self._still, found)):
                return found
        places = {place: obj for place, obj in enumerate(objects) if self._belongs(obj)}
        self.places, self._uids = dict.fromkeys(places), uids
        return list(places.values())

    def __bool__(self) -> bool:
        """Whether there are any; cheaper than `all`."""
        # It is asked in each pose: no call where nothing comes or goes.
        if (self._last if self._is_settled else self._all_uids()) is not self._uids:
            self.all()
        return bool(self.places)

    def forget(self) -> None:
        """Look through the file again at the next call."""
        self._uids = _UNKNOWN

    @classmethod
    @contextmanager
    def none_comes_or_goes(cls) -> Generator[None]:
        """Ask the file for its objects once in the block, for all questions."""
        cls._all_uids()
        cls._is_settled = True
        try:
            yield
        finally:
            cls._is_settled = False

    @classmethod
    def _all_uids(cls) -> Int32s:
        if not cls._is_settled:
            objects: Any = bpy.data.objects
            # It takes 0.04 ms for 1,000 objects more than counting them.
            (uids,) = read_properties(objects, _UIDS)
            if not np.array_equal(uids, cls._last):
                cls._last = uids
        return cls._last

    @classmethod
    def forget_everything(cls) -> None:
        """Look through the file again for all of them: objects have come or gone."""
        for known in cls._all:
            known.forget()


enabled = KnownObjects(is_enabled, still=lambda obj: settings_of(obj).is_enabled)
"""The objects that DQ Compensation deforms."""

enabled_objects = enabled.all

# The places of enabled objects by the session_uid of their armatures, and the places of which they
# are: of `enabled` when they were sorted.
_by_armature: dict[int, list[int]] = {}
_sorted_places: dict[int, None] | None = None


@held
def enabled_meshes(armature: bpy.types.Object) -> tuple[bpy.types.Object, ...]:
    """The meshes on an armature that DQ Compensation deforms, as the file has them; cheap."""
    global _sorted_places
    if not enabled:  # they are sought anew, too
        return ()
    objects = bpy.data.objects
    if _sorted_places is not enabled.places:
        _by_armature.clear()
        for place in enabled.places:
            rig = find_rig(objects[place])
            if rig is not None:
                _by_armature.setdefault(rig.session_uid, []).append(place)
        _sorted_places = enabled.places
    found = (objects[place] for place in _by_armature.get(armature.session_uid, ()))
    return tuple(obj for obj in found if settings_of(obj).is_enabled and find_rig(obj) == armature)


def forget_characters() -> None:
    """Sort the enabled objects by their armatures again at the next call."""
    global _sorted_places
    _sorted_places = None


def has_examples(obj: bpy.types.Object) -> bool:
    """Whether an object has example poses, whether they act or not."""
    settings = written_settings(obj)
    return settings is not None and len(settings.examples) > 0


with_examples = KnownObjects(has_examples)
"""The meshes that have example poses."""

shaped = KnownObjects(
    lambda obj: is_posed_copy(obj) or (is_enabled(obj) and settings_of(obj).native.hidden_for_copy)
)
"""The posed copies, and the characters that are hidden for one."""

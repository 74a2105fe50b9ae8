"""The bindings of the session: an object without a current binding is bound."""

from __future__ import annotations

from typing import cast

import bpy

from ..scene.bind import bind, renamed
from ..scene.binding import Binding
from ..scene.content import structure_of
from ..scene.mesh import mesh_of
from ..scene.setup import find_rig


class BindingCache:
    """Bindings by the session_uid of their objects."""

    def __init__(self) -> None:
        self._bindings: dict[int, Binding] = {}

    def __len__(self) -> int:
        return len(self._bindings)

    def get(
        self,
        obj: bpy.types.Object,
        depsgraph: bpy.types.Depsgraph | None = None,
        *,
        edited: bool = False,
    ) -> Binding:
        """The binding of an object; a new one if there is none or its structure has changed.

        The same `Binding` object comes back as long as it is true: compare with `is`.

        Args:
            edited: whether its mesh may be another one. Painted weights and moved vertices are not
                seen without.

        Raises:
            BindingError: it cannot be bound (any more); nothing is kept of it.
        """
        obj = cast("bpy.types.Object", obj.original)
        known, found = self._bindings.get(obj.session_uid), None
        if known is not None and not _is_of(known, obj):
            known = None
        if known is not None and not edited:
            structure = structure_of(obj)
            if known.structure == structure:
                return known
            found = renamed(known, obj, structure)
        self.discard(obj.session_uid)
        found = found or bind(obj, depsgraph, known)
        self._bindings[obj.session_uid] = found
        return found

    def discard(self, object_uid: int) -> None:
        """Forget one object."""
        self._bindings.pop(object_uid, None)

    def keep_only(self, object_uids: set[int]) -> None:
        """Forget every other object than these."""
        for uid in self._bindings.keys() - object_uids:
            self.discard(uid)

    def clear(self) -> None:
        """Forget everything."""
        self._bindings.clear()


def _is_of(binding: Binding, obj: bpy.types.Object) -> bool:
    """Whether a binding is of the mesh and the armature of an object."""
    rig = find_rig(obj)
    return (
        rig is not None
        and binding.armature_uid == rig.session_uid
        and binding.mesh_uid == mesh_of(obj).session_uid
    )


bindings = BindingCache()
"""Of the enabled objects."""

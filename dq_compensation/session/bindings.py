"""The bindings of the session: an object without a current binding is bound."""

from __future__ import annotations

from typing import cast

import bpy

from ..scene.binding.bind import bind, renamed
from ..scene.binding.binding import Binding
from ..scene.binding.content import structure_of
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import find_rig
from .memory import memories


def get(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None, *, edited: bool = False
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
    known, found = memories(Binding).get(obj.session_uid), None
    if known is not None and not _is_of(known, obj):
        known = None
    if known is not None and not edited:
        structure = structure_of(obj)
        if known.structure == structure:
            return known
        found = renamed(known, obj, structure)
    discard(obj)
    found = found or bind(obj, depsgraph, known)
    memories(Binding)[obj.session_uid] = found
    return found


def discard(obj: bpy.types.Object) -> None:
    """Forget the binding of an object."""
    memories(Binding).pop(obj.session_uid, None)


def _is_of(binding: Binding, obj: bpy.types.Object) -> bool:
    """Whether a binding is of the mesh and the armature of an object."""
    rig = find_rig(obj)
    return (
        rig is not None
        and binding.armature_uid == rig.session_uid
        and binding.mesh_uid == mesh_of(obj).session_uid
    )

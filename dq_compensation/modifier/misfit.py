"""What our modifier makes of a mesh that has other vertices than it was made for."""

from __future__ import annotations

from typing import Any

import bpy

from ..scene.binding.modifiers_before import acts, followed_modifiers
from ..scene.blender.mesh import mesh_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.stack import is_base_first
from .attribute_names import MISFIT


def vertex_count_difference(skinned: SkinnedObject, depsgraph: bpy.types.Depsgraph) -> int:
    """The number of vertices that arrive beyond those of the binding; below 0 where some lack.

    Our modifier lets such a mesh pass and marks it: modifiers that are followed can do anything.
    Without any, the mesh is not read: where Blender subdivides it on the graphics card, reading
    lets the processor do it, too.
    """
    if is_base_first(skinned.obj):  # most are, and each pose asks
        return 0
    if not (skinned.modifiers_before and followed_modifiers(skinned)):
        return 0
    evaluated, ours = skinned.obj.evaluated_get(depsgraph), skinned.ours
    if depsgraph.mode != "VIEWPORT":
        return 0  # renders have settings of their own
    if ours is None or not ours.show_viewport:
        return 0
    if evaluated == skinned.obj or evaluated.type != "MESH":
        return 0
    mark: Any = mesh_of(evaluated).attributes.get(MISFIT)
    return round(mark.data[0].value) if mark is not None and len(mark.data) else 0


def misfit_problem(skinned: SkinnedObject) -> str:
    """The sentence for a node modifier that gets other vertices than it was made for."""
    modifier, names = skinned.find_modifier(), [m.name for m in skinned.modifiers_before if acts(m)]
    return (
        f"{skinned.obj.name} gets another number of vertices from "
        f"{', '.join(names) or 'Modifiers'} than before, so "
        f"{modifier.name if modifier is not None else ''} alone deforms it. Press Refresh to read "
        "them again."
    )

"""Makes the soft copy of an object, which `scene.binding.content` reads, and puts it in its place.

It is in no collection: the object points to it, and the node modifier refers to it.
"""

from __future__ import annotations

from typing import cast

import bpy

from ..scene.binding.content import soft_copy
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import (
    SOFT_COPY_PROPERTY,
    is_placed_at,
    new_hidden,
    place_at,
    placed_at,
)
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.stack import (
    add_modifier,
)
from ..session.changes import remember_new

_SOFT_COPY_MODIFIER: dict[str, object] = {
    "use_vertex_groups": True,
    "use_bone_envelopes": False,
    "use_deform_preserve_volume": True,
    "show_viewport": True,
    "show_render": True,
}


def ensure_soft_copy(skinned: SkinnedObject) -> bpy.types.Object:
    """The soft copy of an object in its place; a new one where there is none, or it is another's.

    That of another object gives its weights.
    """
    obj, known = skinned.obj, soft_copy(skinned)
    is_own = known is not None and mesh_of(known).library is None
    if is_own and placed_at(known) in {obj, None}:
        copy = known
    else:
        name = f"DQ Compensation soft weights: {obj.name}"
        if known is None:
            copy = new_hidden(name, SOFT_COPY_PROPERTY)
        else:
            copy = cast("bpy.types.Object", known.copy())
            copy.data = mesh_of(known).copy()
            copy.name = copy.data.name = name
        remember_new(copy)
        skinned.before_enable.soft_copy = copy
    if not is_tied(copy, skinned):
        place_at(copy, obj, SOFT_COPY_PROPERTY)
        if not len(copy.modifiers):
            add_modifier(copy, "Armature", "ARMATURE")
        for name, value in _soft_copy_modifier_of(skinned).items():
            setattr(copy.modifiers[0], name, value)
    return copy


def is_tied(copy: bpy.types.Object, skinned: SkinnedObject) -> bool:
    """Whether a soft copy is where its object is, and posed as it is to be."""
    return (
        is_placed_at(copy, skinned.obj, SOFT_COPY_PROPERTY)
        and len(copy.modifiers) == 1
        and all(
            getattr(copy.modifiers[0], name, None) == value
            for name, value in _soft_copy_modifier_of(skinned).items()
        )
    )


def _soft_copy_modifier_of(skinned: SkinnedObject) -> dict[str, object]:
    """The settings of the Armature modifier of an object's soft copy."""
    modifier, mask = skinned.modifier, ""
    if skinned.mixed_modifiers:  # else the node modifier masks what it has compensated
        mask = modifier.vertex_group
    inverted = bool(mask) and modifier.invert_vertex_group
    masked = {"vertex_group": mask, "invert_vertex_group": inverted}
    return {**_SOFT_COPY_MODIFIER, **masked, "object": modifier.object}

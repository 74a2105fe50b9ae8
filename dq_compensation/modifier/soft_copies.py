"""Makes the copies of an object that its soft weights deform, and puts them in its place.

The soft copy is read by `scene.binding.facts`; the linear copy shows its mesh. They are in no
collection: the object points to the first, and the node modifier refers to both.
"""

from __future__ import annotations

from typing import cast

import bpy

from ..scene.binding.soft_copy import soft_copy
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import (
    LINEAR_COPY_PROPERTY,
    SOFT_COPY_PROPERTY,
    is_placed_at,
    new_hidden,
    place_at,
    placed_at,
)
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.stack import add_modifier
from ..session.changes import remember_new
from .attribute_names import LINEAR_COPY, SOFT_SHARE
from .modifier_inputs import get_input, get_inputs, set_input
from .users_settings import set_reasons

_MODIFIER_OF_COPY: dict[str, object] = {
    "use_vertex_groups": True,
    "use_bone_envelopes": False,
    "show_viewport": True,
    "show_render": True,
}
# A blend goes beyond the soft positions by as much as these are off the painted ones, at most.
_MOST_SHARE = 2.0


def ensure_soft_copy(skinned: SkinnedObject) -> bpy.types.Object:
    """The soft copy of an object in its place; a new one where there is none, or it is another's.

    That of another object gives its weights.
    """
    obj, known = skinned.obj, soft_copy(skinned)
    if known is not None and mesh_of(known).library is None and placed_at(known) in {obj, None}:
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
    _tie(copy, skinned, None)
    return copy


def ensure_linear_copy(skinned: SkinnedObject, soft: bpy.types.Object) -> bpy.types.Object:
    """The object that its soft weights deform to LINEAR, in its place; a new one if others use it.

    It shows the mesh of the soft copy, so it has these weights.
    """
    obj, ours = skinned.obj, skinned.ours
    known = None if ours is None else get_input(ours, LINEAR_COPY)
    if known is None or known.override_library or placed_at(known) not in {obj, None}:
        known = bpy.data.objects.new(f"DQ Compensation linear copy: {obj.name}", mesh_of(soft))
        remember_new(known)
    _tie(known, skinned, soft)
    return known


def _tie(
    copy: bpy.types.Object, skinned: SkinnedObject, linear_of: bpy.types.Object | None
) -> None:
    """Put a copy with soft weights where its object is, and let it be posed as it is to be."""
    if is_tied(copy, skinned, linear_of):
        return
    if linear_of is not None and copy.data != linear_of.data:
        copy.data = linear_of.data
    place_at(copy, skinned.obj, _kind_of_copy(linear_of))
    if not len(copy.modifiers):
        add_modifier(copy, "Armature", "ARMATURE")
    for name, value in _modifier_of_copy(skinned, linear_of).items():
        setattr(copy.modifiers[0], name, value)


def is_tied(
    copy: bpy.types.Object, skinned: SkinnedObject, linear_of: bpy.types.Object | None = None
) -> bool:
    """Whether a copy with soft weights is where its object is, and posed as it is to be.

    Args:
        linear_of: the soft copy whose mesh it is to deform to LINEAR; None of a soft copy itself.
    """
    return (
        is_placed_at(copy, skinned.obj, _kind_of_copy(linear_of))
        and (linear_of is None or copy.data == linear_of.data)
        and len(copy.modifiers) == 1
        and all(
            getattr(copy.modifiers[0], name, None) == value
            for name, value in _modifier_of_copy(skinned, linear_of).items()
        )
    )


def _kind_of_copy(linear_of: bpy.types.Object | None) -> str:
    return SOFT_COPY_PROPERTY if linear_of is None else LINEAR_COPY_PROPERTY


def _modifier_of_copy(
    skinned: SkinnedObject, linear_of: bpy.types.Object | None
) -> dict[str, object]:
    """The settings of the Armature modifier of a copy with an object's soft weights."""
    modifier, mask = skinned.modifier, ""
    if skinned.mixed_modifiers:  # else the node modifier masks what it has compensated
        mask = modifier.vertex_group
    return _MODIFIER_OF_COPY | {
        "use_deform_preserve_volume": linear_of is None,
        "vertex_group": mask,
        "invert_vertex_group": bool(mask) and modifier.invert_vertex_group,
        "object": modifier.object,
    }


def blend_softness(skinned: SkinnedObject, share: float = 1.0) -> None:
    """Show a share of the way from where the painted weights take vertices to the soft copy.

    What needs the arriving mesh unposed shows the soft copy. Positions are linear in *Softness*
    only nearly: on a human in a random pose a blend is off from what comes by a quarter of the
    movement (rms) where *Softness* changes by half, by two fifths where it doubles.

    Args:
        share: 0 or more; 1: the soft copy alone.
    """
    obj, ours, before = skinned.obj, skinned.ours, skinned.before_enable
    if obj.library is not None or (share == 1.0 and not before.softness_blended):
        return
    can_blend = ours is not None and SOFT_SHARE in get_inputs(ours)
    share = min(share, _MOST_SHARE)
    set_reasons(obj, softness_blended=can_blend and share != 1.0)
    if ours is not None and can_blend:
        set_input(ours, SOFT_SHARE, share)
        obj.update_tag(refresh={"DATA"})

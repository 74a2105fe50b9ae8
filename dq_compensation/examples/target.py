"""Which character, and which bone of it, the artist has in hand."""

from __future__ import annotations

import bpy

from ..scene.armature import armature_of
from ..scene.errors import BindingError
from ..scene.object_settings import settings_of
from ..scene.posed_copies import CHARACTER_PROPERTY, character_of, open_copy_of
from ..scene.setup import rig_of
from ..scene.targets import deformed_meshes


def character_in_hand(context: bpy.types.Context) -> bpy.types.Object | None:
    """The mesh object that is meant.

    The active mesh; the character of an active posed copy; of the meshes that the active armature
    deforms the first that is enabled, those by example before others.
    """
    active = context.active_object
    if active is None:
        return None
    if active.type == "MESH":
        return character_of(active) if CHARACTER_PROPERTY in active else active
    if active.type != "ARMATURE":
        return None
    meshes = deformed_meshes(active, context.view_layer)
    return min(meshes, key=_rank, default=None)


def _rank(obj: bpy.types.Object) -> tuple[bool, bool]:
    settings = settings_of(obj)
    return (not settings.enabled, settings.method != "SPHERICAL_JOINT_BY_EXAMPLE")


def copy_in_hand(context: bpy.types.Context) -> bpy.types.Object | None:
    """The posed copy that is meant: the active one, or that of the character in hand."""
    active = context.active_object
    if active is not None and CHARACTER_PROPERTY in active:
        return active
    obj = character_in_hand(context)
    return open_copy_of(obj) if obj is not None else None


def bone_in_hand(obj: bpy.types.Object) -> str:
    """The name of the bone that the next example is for; empty when there is none.

    The one that was chosen in the panel, or else the active bone of the armature.
    """
    chosen = settings_of(obj).example_bone
    if chosen:
        return chosen
    try:
        rig = rig_of(obj)
    except BindingError:
        return ""
    bone = armature_of(rig).bones.active
    return bone.name if bone is not None else ""

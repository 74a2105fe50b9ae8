"""Finds the active character and its active bone."""

from __future__ import annotations

import bpy

from ..scene.blender.armature import armature_of
from ..scene.blender.own_objects import is_posed_copy
from ..scene.blender.rigging import find_rig
from ..scene.copies.posed_copies import character_of, open_copy_of
from ..scene.copies.targets import deformed_meshes
from ..scene.settings.object_settings import Settings, settings_of


def active_character(context: bpy.types.Context) -> bpy.types.Object | None:
    """The mesh object of the active character.

    The active mesh; the character of an active posed copy; of the meshes that the active armature
    deforms the first that is enabled, those by example before others.
    """
    active = context.active_object
    if active is None:
        return None
    if active.type == "MESH":
        return character_of(active) if is_posed_copy(active) else active
    if active.type != "ARMATURE":
        return None
    meshes = deformed_meshes(active, context.view_layer)
    return min(meshes, key=_rank, default=None)


def _rank(obj: bpy.types.Object) -> tuple[bool, bool]:
    return (not settings_of(obj).enabled, not Settings.of(obj).by_example)


def active_copy(context: bpy.types.Context) -> bpy.types.Object | None:
    """The active posed copy, or that of the active character."""
    active = context.active_object
    if active is not None and is_posed_copy(active):
        return active
    obj = active_character(context)
    return open_copy_of(obj) if obj is not None else None


def active_bone(obj: bpy.types.Object) -> str:
    """The name of the bone that the next example is for; empty when there is none.

    The one that was chosen in the panel, or else the active bone of the armature.
    """
    rig = find_rig(obj)
    bone = armature_of(rig).bones.active if rig is not None else None
    return settings_of(obj).example_bone or (bone.name if bone is not None else "")

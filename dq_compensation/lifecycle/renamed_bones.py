"""Lets the settings of objects follow bones that the user renames.

Blender renames vertex groups with the bones, those of the palette object too, but not our settings.
"""

from __future__ import annotations

import bpy

from ..modifier.modifier_inputs import get_input
from ..modifier.palette_object import armature_of_palette, remember_names, renamed_bones
from ..scene.blender.mesh import mesh_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import rename_bones
from ..scene.vertex_groups import rename_kept
from ..session.changes import writing_settings


def follow_renamed_bones(modifier: bpy.types.NodesModifier) -> bool:
    """Write the new names of bones into the settings of all objects that share an armature.

    Args:
        modifier: of an enabled one whose palette was written before the bones were renamed.

    Returns:
        whether any were.
    """
    palette = get_input(modifier, "Palette")
    rig = armature_of_palette(palette) if palette is not None else None
    if palette is None or rig is None or palette.library is not None:
        return False
    renamed = renamed_bones(palette, rig)
    if not renamed:
        return False
    with writing_settings():
        for other in bpy.data.objects:
            is_local_mesh = other.type == "MESH" and other.library is None
            if is_local_mesh and SkinnedObject(other).find_rig() == rig:
                rename_bones(other, renamed)
                if mesh_of(other).library is None:
                    rename_kept(other, renamed)
        if rig.library is None:
            rename_bones(rig, renamed)
    remember_names(palette)
    return True

"""Lets the settings of objects follow bones that the user renames.

Blender renames vertex groups with the bones, those of the palette object too, but not our settings.
"""

from __future__ import annotations

import bpy

from ..modifier.modifier_inputs import get_inputs
from ..modifier.modifier_stack import our_modifier
from ..modifier.palette.palette_object import armature_of_palette, remember_names, renamed_bones
from ..scene.blender.named_bones import rename_bones
from ..scene.blender.rigging import find_rig
from ..session.settings_writing import writing_settings


def follow_renamed_bones(obj: bpy.types.Object) -> bool:
    """Write the new names of bones into the settings of all objects that share an armature.

    Args:
        obj: an enabled one whose palette was written before the bones were renamed.

    Returns:
        whether any were.
    """
    modifier = our_modifier(obj)
    palette = get_inputs(modifier).get("Palette") if modifier is not None else None
    rig = armature_of_palette(palette) if palette is not None else None
    if palette is None or rig is None or palette.library is not None:
        return False
    renamed = renamed_bones(palette, rig)
    if not renamed:
        return False
    with writing_settings():
        for other in bpy.data.objects:
            if other.type == "MESH" and other.library is None and find_rig(other) == rig:
                rename_bones(other, renamed)
    remember_names(palette)
    return True

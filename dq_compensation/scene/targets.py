"""Which meshes an operator or a panel means: the selected ones, or those of the selected rigs."""

from __future__ import annotations

import bpy

from .posed_copies import CHARACTER_PROPERTY
from .setup import armature_modifier

NOTHING_SELECTED = "Select a character's mesh, or the armature that deforms it"
"""Why an operator cannot be pressed where there is no target."""


def deformed_meshes(
    armature: bpy.types.Object, view_layer: bpy.types.ViewLayer
) -> list[bpy.types.Object]:
    """The meshes of a view layer whose Armature modifier has this armature, by name."""
    return sorted(
        (
            obj
            for obj in view_layer.objects
            if obj.type == "MESH"
            and (modifier := armature_modifier(obj)) is not None
            and modifier.object == armature
        ),
        key=lambda obj: obj.name,
    )


def target_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected meshes and those that the selected armatures deform, the active one first.

    The active object counts where nothing is selected, as in Pose Mode. Posed copies, which stand
    in for a character while it is shaped, do not count.
    """
    chosen = list(context.selected_objects)
    active = context.active_object
    if active is not None and (not chosen or active in chosen):
        chosen = [active, *(obj for obj in chosen if obj != active)]
    found: dict[bpy.types.Object, None] = {}
    for obj in chosen:
        if obj.type == "MESH" and CHARACTER_PROPERTY not in obj:
            found[obj] = None
        elif obj.type == "ARMATURE":
            found.update(dict.fromkeys(deformed_meshes(obj, context.view_layer)))
    return list(found)

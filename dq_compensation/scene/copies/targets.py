"""Finds the meshes that an operator or a panel acts on, from the selected objects."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..blender.own_objects import is_hidden, is_posed_copy
from ..blender.rigging import armature_modifier, find_rig

NOTHING_SELECTED = "Select a character's mesh, its armature or the Empty above them"
"""Why an operator cannot be pressed where the selection leads to no mesh."""


def deformed_meshes(
    armature: bpy.types.Object, view_layer: bpy.types.ViewLayer
) -> list[bpy.types.Object]:
    """The meshes of a view layer whose Armature modifier has this armature, by name."""
    return sorted(
        (
            obj
            for obj in view_layer.objects
            if obj.type == "MESH" and not is_hidden(obj) and find_rig(obj) == armature
        ),
        key=lambda obj: obj.name,
    )


def target_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The meshes that the selected objects lead to, those of the active object first.

    A mesh leads to itself, an armature to the meshes that it deforms. Any other object, such as the
    Empty above an imported character, leads to the characters below it. The active object counts
    where the selection leads to nothing, as in Pose Mode.
    """
    active = context.active_object
    chosen = sorted(context.selected_objects, key=lambda obj: obj != active)
    found = _meshes_of(chosen, context.view_layer)
    if not found and active is not None:
        found = _meshes_of([active], context.view_layer)
    return found


def _meshes_of(
    chosen: list[bpy.types.Object], view_layer: bpy.types.ViewLayer
) -> list[bpy.types.Object]:
    found: dict[bpy.types.Object, None] = {}
    below: dict[bpy.types.Object, list[bpy.types.Object]] | None = None
    for obj in chosen:
        if is_hidden(obj) or is_posed_copy(obj):
            continue
        meshes: list[bpy.types.Object] = []
        if obj.type == "MESH" and armature_modifier(obj) is not None:
            meshes = [obj]
        elif obj.type == "ARMATURE":
            meshes = deformed_meshes(obj, view_layer)
        if not meshes:
            # The scene is searched once, however many objects need it.
            below = _characters_below(view_layer) if below is None else below
            meshes = below.get(obj, [obj] if obj.type == "MESH" else [])
        found.update(dict.fromkeys(meshes))
    return list(found)


def _characters_below(
    view_layer: bpy.types.ViewLayer,
) -> dict[bpy.types.Object, list[bpy.types.Object]]:
    """The skinned meshes below each object that is a parent of one or of its armature, by name."""
    found: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for obj in sorted(view_layer.objects, key=lambda obj: obj.name):
        modifier = armature_modifier(obj) if obj.type == "MESH" and not is_hidden(obj) else None
        if modifier is None or is_posed_copy(obj):
            continue
        parents = [*_parents(obj), *(_parents(modifier.object) if modifier.object else ())]
        for parent in dict.fromkeys(parents):
            found.setdefault(parent, []).append(obj)
    return found


def _parents(obj: bpy.types.Object) -> Iterator[bpy.types.Object]:
    while (parent := obj.parent) is not None:
        yield parent
        obj = parent

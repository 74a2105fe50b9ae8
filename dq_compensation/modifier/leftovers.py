"""Removes what of ours no modifier uses any more: hidden objects, attributes and node trees."""

from __future__ import annotations

from typing import Any

import bpy

from ..scene.binding.soft_copy import keeps_soft_weights, soft_copy
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import is_hidden, remove_hidden
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.stack import own_modifiers, record_of_tree
from ..session.changes import note_removed
from .attribute_names import LINEAR_COPY, SOFT_COPY, SOLVED_INPUT
from .attributes.attribute_objects import attribute_mesh, attribute_object_of
from .attributes.vertex_attributes import CONTENT_PROPERTY, replace_attributes
from .base import base_of
from .modifier_inputs import get_input
from .nodes.own_trees import remove_tree
from .palette_object import compute_what_is_read, computed_for


def forget_attributes(mesh: bpy.types.Mesh) -> None:
    """Remove what a mesh has for our modifiers, and what that was written from."""
    replace_attributes(mesh, {})
    mesh.pop(CONTENT_PROPERTY, None)


def remove_unused() -> None:
    """Remove the attributes, palettes and trees of this file that no modifier of ours uses.

    Palettes compute bones no longer where no tree reads them.
    """
    meshes = [SkinnedObject(obj) for obj in bpy.data.objects if obj.type == "MESH"]
    users = [each for each in meshes if own_modifiers(each.obj)]
    modifiers = [modifier for user in users for modifier in own_modifiers(user.obj)]
    palettes: dict[Any, set[str]] = {}
    for each in modifiers:
        palettes.setdefault(get_input(each, "Palette"), set()).update(_reads_of(each))
    for palette, reads in palettes.items():
        # An override's points are in its library, for the tree that is there, too.
        if (
            palette is not None
            and mesh_of(palette).library is None
            and computed_for(palette) - reads
        ):
            compute_what_is_read(palette, reads)
    used = palettes.keys() | {attribute_object_of(modifier) for modifier in modifiers}
    # One that something blocks has no modifier meanwhile.
    used |= {soft_copy(each) for each in meshes if keeps_soft_weights(each)}
    read = SOFT_COPY, LINEAR_COPY, SOLVED_INPUT
    used |= {get_input(modifier, name) for modifier in modifiers for name in read}
    for obj in list(bpy.data.objects):
        if is_hidden(obj) and obj.library is None and obj not in used:
            remove_hidden(obj)
            note_removed()
    read = {attribute_mesh(user) for user in users} | {each.data for each in palettes if each}
    for mesh in bpy.data.meshes:
        if mesh.library is None and not mesh.is_editmode and mesh not in read:
            forget_attributes(mesh)
    for tree in [tree for tree in bpy.data.node_groups if record_of_tree(tree)]:
        if not tree.users and tree.library is None:
            remove_tree(tree)
            note_removed()


def _reads_of(modifier: bpy.types.NodesModifier) -> set[str]:
    """What a modifier of ours, or that which keeps the shape for it, reads of bones."""
    found = set(record_of_tree(modifier.node_group).get("reads", ()))
    return found | {"bones"} if base_of(modifier) == "OWN" else found

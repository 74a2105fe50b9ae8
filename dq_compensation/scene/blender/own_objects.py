"""Recognises what the add-on has made by a custom property, never by its name."""

from __future__ import annotations

import bpy

# Of a posed copy: its character.
CHARACTER_PROPERTY = "dq_compensation_example_of"
# Of a palette: True.
PALETTE_PROPERTY = "dq_compensation_palette_of"
# Of an object with the attributes that a node tree reads: True.
ATTRIBUTE_OBJECT_PROPERTY = "dq_compensation_attributes"
# Of the object with the soft weights of another one: True.
SOFT_COPY_PROPERTY = "dq_compensation_soft_copy"
# Of a mesh that no object has: the bytes of a take.
TAKE_PROPERTY = "dq_compensation_take"
# Of all that a baked crowd is made of: True. Of the object that shows it: what it was made for.
CROWD_BAKE_PROPERTY = "dq_compensation_crowd_bake"
# Of a mesh object: True. Its points say which pose a baked crowd shows when.
POSE_TABLE_PROPERTY = "dq_compensation_pose_table"
# Of a node tree: the key of its kind.
TREE_PROPERTY = "dq_compensation_tree"


def is_palette(obj: bpy.types.Object) -> bool:
    """Whether an object is the palette of an armature."""
    return PALETTE_PROPERTY in obj


def is_soft_copy(obj: bpy.types.Object) -> bool:
    """Whether an object is the soft copy of a character."""
    return SOFT_COPY_PROPERTY in obj


def is_hidden(obj: bpy.types.Object) -> bool:
    """Whether an object is one that only node modifiers and settings use, in no collection."""
    return is_palette(obj) or ATTRIBUTE_OBJECT_PROPERTY in obj or is_soft_copy(obj)


def keep_apart() -> None:
    """Take hidden objects out of collections, where appending puts them."""
    for obj in bpy.data.objects:
        if obj.library is None and (is_hidden(obj) or POSE_TABLE_PROPERTY in obj):
            for collection in obj.users_collection:
                if collection.library is None:
                    collection.objects.unlink(obj)


def remove_hidden(obj: bpy.types.Object) -> None:
    """Remove a hidden object and its mesh."""
    mesh = obj.data
    bpy.data.objects.remove(obj)
    if isinstance(mesh, bpy.types.Mesh) and not mesh.users:
        bpy.data.meshes.remove(mesh)


def is_posed_copy(obj: bpy.types.Object) -> bool:
    """Whether an object replaces a character while the artist shapes an example."""
    return CHARACTER_PROPERTY in obj


def is_own_tree(tree: bpy.types.NodeTree | None) -> bool:
    """Whether a node tree is that of a node modifier of ours."""
    return tree is not None and TREE_PROPERTY in tree


def is_own_modifier(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is a node modifier of ours."""
    return is_own_tree(getattr(modifier, "node_group", None))

"""Characters in collections and in other files: collected, loaded, overridden."""

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.types import Collection, Object

from tests.blender.scene_builders import link


def collected(name: str, *objects: Object) -> Collection:
    """A collection in the scene, to which objects have moved from the scene's own."""
    collection = bpy.data.collections.new(name)
    for each in objects:
        bpy.context.scene.collection.objects.unlink(each)
        collection.objects.link(each)
    bpy.context.scene.collection.children.link(collection)
    return collection


def load_objects(path: Path | str, *names: str) -> list[Object]:
    """Objects that are linked from another file, in the scene."""
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = list(names)
    return [link(each) for each in wanted.objects]


def load_collection(path: Path | str, name: str, *, linked: bool = True) -> Collection:
    """A collection that is linked or appended from another file, in the scene."""
    with bpy.data.libraries.load(str(path), link=linked) as (_, wanted):
        wanted.collections = [name]
    (collection,) = wanted.collections
    bpy.context.scene.collection.children.link(collection)
    return collection


def overridden(collection: Collection, *, fully: bool = True) -> tuple[Object, Object]:
    """The mesh object and the armature object of a linked character, as library overrides."""
    override = collection.override_hierarchy_create(
        bpy.context.scene, bpy.context.view_layer, do_fully_editable=fully
    )
    mesh = next(each for each in override.all_objects if each.type == "MESH")
    return mesh, next(each for each in override.all_objects if each.type == "ARMATURE")

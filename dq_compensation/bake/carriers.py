"""What carries a bake: the object itself or a copy, deformed by its own Armature modifier."""

from __future__ import annotations

from typing import Literal, cast

import bpy

from ..core.rest_offsets import Target
from ..scene.mesh import mesh_of
from ..scene.setup import armature_modifier
from .key_animation import own_action

Onto = Literal["THIS", "COPY"]
"""THIS: the object itself. COPY: a duplicate of it, with a mesh of its own."""


def add_copy(obj: bpy.types.Object) -> bpy.types.Object:
    """A copy of an object with its own mesh, shape keys and key action, in the same collections.

    It is where the object is, with the same parent, modifiers and animation; it is not selected.
    """
    copy = cast("bpy.types.Object", obj.copy())
    copy.name = f"{obj.name} Baked"
    copy.data = cast("bpy.types.Mesh", mesh_of(obj).copy())
    copy.data.name = copy.name
    own_action(copy)
    collections = [found for found in obj.users_collection if found.library is None]
    for collection in collections or [bpy.context.scene.collection]:
        collection.objects.link(copy)
    # It comes with the state of the object, also whether that is selected.
    copy.select_set(False)
    return copy


def remove_copy(copy: bpy.types.Object) -> None:
    """Take a copy out of the file again, with what only it has."""
    mesh = mesh_of(copy)
    key = mesh.shape_keys
    animation = key.animation_data if key is not None else None
    action = animation.action if animation is not None else None
    bpy.data.objects.remove(copy)
    bpy.data.meshes.remove(mesh)
    if action is not None and action.users == 0:
        bpy.data.actions.remove(action)


def let_armature_deform(obj: bpy.types.Object, target: Target) -> None:
    """Show the Armature modifier, set as the keys need it.

    Args:
        obj: a mesh object with an Armature modifier.
        target: whether it preserves volume.
    """
    modifier = armature_modifier(obj)
    if modifier is None:
        return
    modifier.use_deform_preserve_volume = target == "DUAL_QUATERNION"
    modifier.show_viewport = True
    modifier.show_render = True

"""The objects that get the result of a bake: the characters themselves, or copies of them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, cast

import bpy

from ..core.rest_offsets import Target
from ..lifecycle.enabling import disable
from ..scene.blender.own_objects import link_beside
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.key_animation import leave_action, own_action
from ..scene.settings.object_settings import is_enabled

BakeOnto = Literal["THIS", "COPY"]
"""THIS: the object itself. COPY: a duplicate of it, with a mesh of its own."""


@contextmanager
def bake_targets(
    objects: Sequence[bpy.types.Object], onto: BakeOnto
) -> Generator[list[bpy.types.Object]]:
    """The objects that get the keys; copies are removed again when the block fails."""
    copies = [add_copy(obj) for obj in objects] if onto == "COPY" else []
    try:
        for copy in copies:
            _disable(copy)
        yield copies or list(objects)
    except BaseException:
        for copy in copies:
            remove_copy(copy)
        raise


def add_copy(obj: bpy.types.Object) -> bpy.types.Object:
    """Copy an object with its mesh, shape keys and key action, or its bones; beside the object.

    The copy has the same place, parent, modifiers and animation; it is not selected.
    """
    copy = cast("bpy.types.Object", obj.copy())
    copy.name = f"{obj.name} Baked"
    data: Any = obj.data
    copy.data = data = data.copy()
    data.name = copy.name
    own_action(getattr(data, "shape_keys", None))
    link_beside(obj, copy)
    # It comes with the state of the object, also whether that is selected.
    copy.select_set(False)
    return copy


def remove_copy(copy: bpy.types.Object) -> None:
    """Remove a copy from the file, with the mesh or bones and the actions that only it has."""
    data = cast("bpy.types.ID", copy.data)
    leave_action(copy)
    leave_action(getattr(data, "shape_keys", None))
    bpy.data.objects.remove(copy)
    bpy.data.batch_remove([data])


def show_copy(obj: bpy.types.Object, copy: bpy.types.Object) -> None:
    """Hide an object in the viewport and give its selection to its copy, which is at its place.

    An armature may be outside of the view layer: deleted, but still used by its meshes.
    """
    layer = bpy.context.view_layer
    if obj not in layer.objects.values():
        return
    copy.select_set(obj.select_get())
    if layer.objects.active == obj and obj.mode == "OBJECT":
        layer.objects.active = copy
    obj.hide_set(True)


def let_armature_deform(obj: bpy.types.Object, target: Target) -> None:
    """Disable an object and show its Armature modifier, set as the keys need it.

    Args:
        obj: a mesh object with an Armature modifier.
        target: whether the modifier preserves volume.
    """
    _disable(obj)
    modifier = SkinnedObject(obj).find_modifier()
    if modifier is None:
        return
    modifier.use_deform_preserve_volume = target == "DUAL_QUATERNION"
    modifier.show_viewport = True
    modifier.show_render = True


def _disable(obj: bpy.types.Object) -> None:
    if is_enabled(obj):
        disable(obj)

"""The node modifier as an evaluator: the deformed vertices, without touching the user's scene."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ..arrays import Float32s
from ..errors import BindingError, raise_refusal
from ..scene.binding.binding import Binding
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import temporary_copy
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings
from ..scene.stack import drop_modifier
from .base import (
    restore_modifier,
)
from .installation import install, installation_refusal, uninstall


def evaluate_by_modifier(obj: bpy.types.Object, binding: Binding, settings: Settings) -> Float32s:
    """Deform an object by the node modifier, in the state of the current view layer.

    A copy of the object and its mesh gets the modifier and is looked at in the current view layer;
    it is gone when this returns. The object itself may have another method, or none.

    Returns:
        shape (n, 3), float32, object space, before the modifiers that follow the Armature modifier.

    Raises:
        BindingError: the node modifier cannot be added, or it found another mesh than was bound.
    """
    with temporary_copy(obj) as copy:
        skinned = SkinnedObject(copy)
        for modifier in _not_ours_to_show(skinned):
            drop_modifier(copy, modifier)
        restore_modifier(skinned)
        skinned.modifier.show_viewport = True
        try:
            raise_refusal(installation_refusal(skinned), BindingError)
            nodes = install(skinned, binding, settings)
            nodes.show_viewport = True
            bpy.context.view_layer.update()
            depsgraph = bpy.context.evaluated_depsgraph_get()
            mesh = mesh_of(copy.evaluated_get(depsgraph))
            if len(mesh.vertices) != binding.vertex_count:
                if binding.followed and binding.shape_keys is not None:
                    raise BindingError(binding.shape_keys.other_count(len(mesh.vertices)))
                raise BindingError(f"The mesh of {obj.name} has changed. Press Refresh.")
            positions = np.empty(3 * len(mesh.vertices), np.float32)
            position: Any = mesh.attributes["position"]
            position.data.foreach_get("vector", positions)
        finally:
            uninstall(skinned)
    return positions.reshape(-1, 3)


def _not_ours_to_show(skinned: SkinnedObject) -> list[bpy.types.Modifier]:
    """The copied node modifiers, and all modifiers after the base."""
    modifiers, mixed, ours = list(skinned.obj.modifiers), skinned.mixed_modifiers, skinned.ours
    after = modifiers[modifiers.index(skinned.modifier) + 1 :]
    after = [each for each in after if each not in mixed]
    return after if ours is None or ours in after else [*after, ours]

"""The node modifier as an evaluator: the deformed vertices, without touching the user's scene."""

from __future__ import annotations

from typing import Any, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import BindingError
from ..scene.binding.binding import Binding
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import armature_modifier, mixed_modifiers
from ..scene.blender.temporary_copy import temporary_copy
from ..scene.settings.object_settings import Settings
from .armature_base import put_back
from .installation import install, uninstall
from .modifier_stack import our_modifier


def evaluate_by_modifier(
    obj: bpy.types.Object, binding: Binding, settings: Settings
) -> NDArray[np.float32]:
    """Deform an object by the node modifier, in the state of the current view layer.

    A copy of the object and its mesh gets the modifier and is looked at in the current view layer;
    it is gone when this returns. The object itself may have another method, or none.

    Returns:
        shape (n, 3), float32, object space, before the modifiers that follow the Armature modifier.

    Raises:
        BindingError: the node modifier cannot be added, or it found another mesh than was bound.
    """
    with temporary_copy(obj) as copy:
        for modifier in _not_ours_to_show(copy):
            copy.modifiers.remove(modifier)
        put_back(copy)
        armature = armature_modifier(copy)
        if armature is not None:
            armature.show_viewport = True
        try:
            nodes = install(copy, binding, settings)
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
            uninstall(copy)
    return positions.reshape(-1, 3)


def _not_ours_to_show(copy: bpy.types.Object) -> list[bpy.types.Modifier]:
    """The copied node modifiers, and all modifiers after the base."""
    armature = armature_modifier(copy)
    modifiers, mixed = list(copy.modifiers), mixed_modifiers(copy)
    after = modifiers[modifiers.index(cast("bpy.types.Modifier", armature)) + 1 :]
    after = [each for each in after if each not in mixed]
    ours = our_modifier(copy)
    return after if ours is None or ours in after else [*after, ours]

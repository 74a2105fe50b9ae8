"""Finds the characters of a scene, enables and disables them."""

from __future__ import annotations

from typing import Any

import bpy

from ..errors import BindingError, raise_refusal
from ..lifecycle import enabling
from ..lifecycle.new_characters import settings_of_a_new_character
from ..scene.blender.own_objects import is_hidden, is_posed_copy
from ..scene.blender.rigging import deformation_refusal, find_rig
from ..scene.settings.object_settings import settings_of
from ..session.status import status_of
from .arguments_of_scripts import mesh_object
from .setting_values import changed_settings
from .steps_of_scripts import interrupts_wait


def skinned_meshes(scene: bpy.types.Scene | None = None) -> list[bpy.types.Object]:
    """The mesh objects of a scene that an armature deforms, by name.

    Args:
        scene: by default the current one.

    Returns:
        every mesh object with an Armature modifier that has an armature; enabled or not, shown or
        hidden, local or linked.
    """
    found = (scene or bpy.context.scene).objects
    return sorted(
        (
            obj
            for obj in found
            if obj.type == "MESH"
            and not (is_hidden(obj) or is_posed_copy(obj))
            and find_rig(obj) is not None
        ),
        key=lambda obj: obj.name,
    )


def enable(obj: bpy.types.Object, **settings: Any) -> None:
    """Deform an object from now on, as the operator *Enable* does; harmless when it is enabled.

    A new character gets *Ball Joints*. The preferences for new characters do not act: a script does
    the same on every computer.

    Args:
        settings: of the object, by their names; see `CharacterSettings`.

    Raises:
        BindingError: it cannot be deformed; the message says why and what to do.
        UserError: it is linked, or a setting cannot have that value.
    """
    obj = mesh_object(obj)
    raise_refusal(enabling.linked_refusal(obj))
    if not obj.users_scene:
        nowhere = f"{obj.name} is in no scene. Link it to a collection of one first."
        raise BindingError(deformation_refusal(obj) or nowhere)
    new = settings_of_a_new_character(obj, by_script=True)
    with interrupts_wait(), changed_settings(obj, settings), new:
        before = settings_of(obj).is_enabled
        depsgraph = bpy.context.evaluated_depsgraph_get()
        if before:
            enabling.settings_changed(obj)
        else:
            enabling.enable(obj, depsgraph)
        if (problem := status_of(obj).problem) is not None:
            if not before:
                enabling.disable(obj)
            raise BindingError(problem)


def disable(obj: bpy.types.Object) -> None:
    """Give an object back to its Armature modifier, every setting as it was before; harmless twice.

    Raises:
        BindingError: it is not a mesh.
        UserError: it is enabled, and linked.
    """
    obj = mesh_object(obj)
    if not (settings_of(obj).is_enabled or enabling.copied_modifier_warning(obj)):
        return
    raise_refusal(enabling.linked_refusal(obj))
    with interrupts_wait():
        enabling.disable(obj)

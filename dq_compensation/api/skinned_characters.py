"""Finds the characters of a scene, enables and disables them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import bpy

from ..errors import BindingError, raise_refusal
from ..lifecycle import enabling
from ..lifecycle.new_characters import settings_of_a_new_character
from ..scene.blender.own_objects import is_hidden, is_posed_copy
from ..scene.blender.rigging import deformation_refusal, find_rig
from ..scene.settings.object_settings import settings_of
from ..session.status import status_of
from .arguments_of_scripts import Objects, mesh_objects, objects_of_scene
from .setting_values import changed_settings
from .steps_of_scripts import interrupts_wait


def skinned_meshes(scene: bpy.types.Scene | None = None) -> list[bpy.types.Object]:
    """The mesh objects of a scene that an armature deforms, by name.

    Args:
        scene: by default the current one.

    Raises:
        UserError: it is no scene, or it was removed.

    Returns:
        every mesh object with an Armature modifier that has an armature; enabled or not, shown or
        hidden, local or linked.
    """
    found = objects_of_scene(scene)
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


def enable(objects: Objects, **settings: Any) -> None:
    """Deform objects from now on, as the operator *Enable* does; harmless when they are enabled.

    A new character gets *Ball Joints*. The preferences for new characters do not act: a script does
    the same on every computer.

    Args:
        objects: a mesh object or several.
        settings: of the objects, by their names; see `CharacterSettings`.

    Raises:
        BindingError: one of them cannot be deformed; the message says why and what to do. All are
            as before then.
        UserError: one of them is linked, or a setting cannot have that value.
    """
    found = mesh_objects(objects)
    for obj in found:
        raise_refusal(enabling.linked_refusal(obj))
        if not obj.users_scene:
            nowhere = f"{obj.name} is in no scene. Link it to a collection of one first."
            raise BindingError(deformation_refusal(obj) or nowhere)
    with interrupts_wait(), changed_settings(found, settings), ExitStack() as enabled:
        for obj in found:
            enabled.enter_context(_enabled(obj))


@contextmanager
def _enabled(obj: bpy.types.Object) -> Generator[None]:
    """Enable an object and run the block; after an error it is as enabled as before."""
    before = settings_of(obj).is_enabled
    with settings_of_a_new_character(obj, by_script=True):
        if before:
            enabling.settings_changed(obj)
        else:
            enabling.enable(obj, bpy.context.evaluated_depsgraph_get())
        try:
            raise_refusal(status_of(obj).problem, BindingError)
            yield
        except BaseException:
            if not before:
                enabling.disable(obj)
            raise


def disable(objects: Objects) -> None:
    """Give objects back to their Armature modifiers, every setting as before; harmless twice.

    Args:
        objects: a mesh object or several.

    Raises:
        BindingError: one of them is not a mesh.
        UserError: one of them is enabled, and linked; nothing has changed then.
    """
    found = [
        obj
        for obj in mesh_objects(objects)
        if settings_of(obj).is_enabled or enabling.copied_modifier_warning(obj)
    ]
    for obj in found:
        raise_refusal(enabling.linked_refusal(obj))
    with interrupts_wait():
        for obj in found:
            enabling.disable(obj)

"""Characters for scripts: listed, enabled, disabled; and the add-on's version."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import bpy

from ..errors import BindingError, raise_refusal
from ..lifecycle import enabling
from ..lifecycle.enabling import settings_changed
from ..scene.blender.own_objects import is_hidden, is_posed_copy
from ..scene.blender.rigging import deformation_refusal
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.addon_preferences import LOOKS, Look
from ..scene.settings.object_settings import (
    is_enabled,
)
from ..scene.stack import find_rig
from ..session.status import status_of
from ..ui_shared.arguments import (
    Objects,
    mesh_objects,
    objects_of_scene,
    require_choice,
)
from ..ui_shared.script_runs import interrupts_wait
from .settings import changed_settings

_MANIFEST = Path(__file__).parents[2] / "blender_manifest.toml"

VERSION: tuple[int, ...] = tuple(
    map(int, tomllib.loads(_MANIFEST.read_text(encoding="utf-8"))["version"].split("."))
)
"""Compares as `bpy.app.version` does: ``api.VERSION >= (0, 2, 0)``."""


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


def enable(objects: Objects, *, look: Look | None = None, **settings: Any) -> None:
    """Deform characters with DQ Compensation.

    What is enabled already gets the settings alone. A new character gets *Ball Joints*. The
    preferences for new characters do not act: a script does the same on every computer.

    Args:
        objects: mesh objects, or armatures for all their meshes.
        look: the settings of a preset: method, factor, curve, ball joints, softness, spread of
            twists.
        settings: of the objects, by their names; see `CharacterSettings`. They count more than the
            look.

    Raises:
        BindingError: one of them cannot be deformed; the message says why and what to do. All are
            as before then.
        UserError: one of them is linked, or a setting cannot have that value.
    """
    if look is not None:
        require_choice("look", look, tuple(LOOKS))
        settings = LOOKS[look] | settings
    found = mesh_objects(objects)
    for obj in found:
        raise_refusal(enabling.linked_refusal(obj))
        if not obj.users_scene:
            nowhere = f"{obj.name} is in no scene. Link it to a collection of one first."
            raise BindingError(deformation_refusal(SkinnedObject(obj)) or nowhere)
    new = [obj for obj in found if not is_enabled(obj)]
    with (
        interrupts_wait(),
        enabling.as_before_after_an_error(new),
        changed_settings(found, settings),
    ):
        depsgraph = bpy.context.evaluated_depsgraph_get()
        _, refused = enabling.enable_all(new, depsgraph, by_script=True)
        raise_refusal(next(iter(refused), None), BindingError)
        settings_changed(*(obj for obj in found if obj not in new))
        for obj in found:
            raise_refusal(status_of(obj).problem, BindingError)


def disable(objects: Objects) -> None:
    """Deform characters by their Armature modifiers again, with every setting as it was before.

    What is not enabled stays as it is.

    Args:
        objects: mesh objects, or armatures for all their meshes.

    Raises:
        BindingError: one of them is not a mesh.
        UserError: one of them is enabled, and linked; nothing has changed then.
    """
    found = [
        obj
        for obj in mesh_objects(objects)
        if is_enabled(obj) or enabling.copied_modifier_warning(obj)
    ]
    for obj in found:
        raise_refusal(enabling.linked_refusal(obj))
    with interrupts_wait():
        enabling.disable(*found)


def disable_all() -> list[str]:
    """Deform all characters of this file by their Armature modifiers again, in all scenes.

    Returns:
        the names of those that still have our modifier: it belongs to another file.
    """
    with interrupts_wait():
        return [obj.name_full for obj in enabling.disable_all()[1]]

"""The settings of a character: its armature has them, and most of its meshes go with them.

What acts on a mesh are its own settings, as scripts, drivers and files know them. The armature
object has the same settings. What is changed there is written to the meshes that go with it. Only
`FOLLOWED_SETTINGS`, which can be animated, are read from the armature itself. A mesh that has the
settings of its character goes with it; another one has settings of its own, without a mark.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any

import bpy

from ..modifier.modifier_inputs import drive_settings
from ..scene.blender.animation_curves import is_played
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import (
    CHARACTER_SETTINGS,
    FOLLOWED_SETTINGS,
    armature_with_settings,
    has_group,
    is_enabled,
    mark_of,
    settings_of,
)
from ..session.changes import note_adjusted, writing_settings
from ..session.known_objects import enabled_meshes
from ..session.status import status_of


def values_of(owner: bpy.types.Object) -> dict[str, Any]:
    """The settings of a character, as an armature or a mesh has them."""
    settings: Any = settings_of(owner)
    return {name: getattr(settings, name) for name in CHARACTER_SETTINGS}


def has_settings(armature: bpy.types.Object | None) -> bool:
    """Whether an armature has the settings of its character."""
    return armature is not None and bool(mark_of(armature))


def meshes_with_settings(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """The enabled meshes that go with the settings of an armature."""
    meshes = enabled_meshes(armature) if has_settings(armature) else []
    return [mesh for mesh in meshes if armature_with_settings(mesh) == armature]


def is_alike(mesh: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether a mesh has the settings of its character, none of them animated or driven."""
    return values_of(mesh) == values_of(armature) and not moving_settings(mesh)


def moving_settings(
    owner: bpy.types.Object, names: Iterable[str] = CHARACTER_SETTINGS
) -> list[str]:
    """The labels of those of some settings that are animated or driven on a mesh or an armature."""
    if owner.animation_data is None:
        return []
    moving = (name for name in names if is_played(owner, f"dq_compensation.{name}"))
    return [settings_of(owner).bl_rna.properties[name].name for name in moving]


def stay_with_character(skinned: SkinnedObject) -> None:
    """Look whether a mesh still goes with its character, before it is compared with its modifier.

    A mesh that was given to another armature, or a setting of which is animated, keeps its look: it
    has its own settings.
    """
    mesh, armature, status = skinned.obj, skinned.find_rig(), status_of(skinned.obj)
    if mesh.library is not None or armature is None:
        return
    before, status.armature_uid = status.armature_uid, armature.session_uid
    if not has_settings(armature) or not skinned.settings.character:
        return
    # A copy of an armature has the same mark.
    stays = before in (0, armature.session_uid) and armature_with_settings(mesh) == armature
    if not stays or moving_settings(mesh):
        _mark(mesh, armature if is_alike(mesh, armature) else None)


def begin_character(skinned: SkinnedObject) -> None:
    """Let an armature without settings take those of its meshes, once one of them is deformed."""
    mesh, armature = skinned.obj, skinned.find_rig()
    if mesh.library is not None or armature is None or status_of(mesh).problem is not None:
        return
    if armature.library is None and not has_settings(armature):
        _take_from_meshes(armature)


def _take_from_meshes(armature: bpy.types.Object) -> None:
    """Give an armature the settings that most of its enabled meshes have, the first by name.

    Keys and drivers stay where they are: such a mesh has settings of its own.
    """
    meshes = [mesh for mesh in enabled_meshes(armature) if mesh.library is None]
    meshes.sort(key=lambda mesh: mesh.name)
    found = [values_of(mesh) for mesh in meshes if not moving_settings(mesh)]
    if not found:
        return
    _write(armature, max(found, key=found.count))
    settings_of(armature).character = uuid.uuid4().hex
    for mesh in meshes:
        if is_alike(mesh, armature):
            _mark(mesh, armature)


def meshes_changed(meshes: Iterable[bpy.types.Object]) -> None:
    """Follow a change of meshes' settings: each goes with its character, or has its own.

    Where all that went with an armature have changed, it takes the settings of the first.
    """
    by_armature: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for mesh in meshes:
        armature = SkinnedObject(mesh).find_rig()
        if armature is not None and has_settings(armature):
            by_armature.setdefault(armature, []).append(mesh)
    for armature, changed in by_armature.items():
        if armature.library is None:
            going = meshes_with_settings(armature)
            is_whole = bool(going) and all(mesh in changed for mesh in going)
            if is_whole and not moving_settings(armature, FOLLOWED_SETTINGS):
                _write(armature, values_of(going[0]))
        for mesh in changed:
            _mark(mesh, armature if is_alike(mesh, armature) else None)


def give_followed(mesh: bpy.types.Object) -> bool:
    """Give an armature the `FOLLOWED_SETTINGS` of its only enabled mesh; whether they agree now.

    They are most often changed by dragging, and the armature is named as edited each time: cheap.
    """
    armature = armature_with_settings(mesh)
    if armature is None or armature.library is not None or enabled_meshes(armature) != [mesh]:
        return False
    if armature.animation_data is not None and moving_settings(armature, FOLLOWED_SETTINGS):
        return False
    settings: Any = settings_of(mesh)
    _write(armature, {name: getattr(settings, name) for name in FOLLOWED_SETTINGS})
    note_adjusted(mesh)
    return True


def leave_character(
    objects: Iterable[bpy.types.Object], names: Iterable[str] = CHARACTER_SETTINGS
) -> None:
    """Let meshes without DQ Compensation keep the settings that were written to them.

    Args:
        names: of the settings that were written.
    """
    for obj in objects:
        armature = armature_with_settings(obj)
        if armature is not None and not is_enabled(obj):
            mine, of_character = values_of(obj), values_of(armature)
            if any(mine[name] != of_character[name] for name in mine.keys() & names):
                _mark(obj, None)


def give_if_alone(mesh: bpy.types.Object) -> None:
    """Give an armature the settings of a mesh that was just enabled, if none goes with them."""
    armature = SkinnedObject(mesh).find_rig()
    if armature is None or armature.library is not None or not has_settings(armature):
        return
    if moving_settings(mesh):
        return
    meshes = (other for other in bpy.data.objects if other.type == "MESH")
    if not any(armature_with_settings(other) == armature for other in meshes):
        _write(armature, values_of(mesh))
        _mark(mesh, armature)


def armature_changed(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Write the settings of an armature to the meshes that go with it; returns these."""
    meshes = [mesh for mesh in meshes_with_settings(armature) if mesh.library is None]
    values = values_of(armature) if meshes else {}
    for mesh in meshes:
        _write(mesh, values)
    return meshes


def use_character_settings(mesh: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Give a mesh the settings of its character."""
    _write(mesh, values_of(armature))
    _mark(mesh, armature)


def use_own_settings(mesh: bpy.types.Object) -> None:
    """Let a mesh keep the settings that it has now while those of its character change."""
    armature = armature_with_settings(mesh)
    if armature is not None:
        _write(mesh, values_of(armature))
    _mark(mesh, None)


def _write(owner: bpy.types.Object, values: dict[str, Any]) -> None:
    settings: Any = settings_of(owner)
    with writing_settings():
        for name, value in values.items():
            if getattr(settings, name) != value:
                setattr(settings, name, value)


def own_values(owner: bpy.types.Object, names: Iterable[str]) -> dict[str, Any]:
    """The settings among these that were set on a mesh or an armature."""
    if not has_group(owner):
        return {}
    settings: Any = settings_of(owner)
    return {name: getattr(settings, name) for name in names if settings.is_property_set(name)}


def put_back(owner: bpy.types.Object, own: dict[str, Any], names: Iterable[str]) -> None:
    """Set those of some settings that were set on a mesh or an armature, and no others."""
    settings: Any = settings_of(owner)
    with writing_settings():
        for name in names:
            if name in own:
                setattr(settings, name, own[name])
            else:
                settings.property_unset(name)


def _mark(mesh: bpy.types.Object, armature: bpy.types.Object | None) -> None:
    """Let a mesh go with an armature, or with none; its modifier reads the right settings then."""
    settings, mark = settings_of(mesh), "" if armature is None else settings_of(armature).character
    if settings.character == mark:
        return
    settings.character = mark
    skinned = SkinnedObject(mesh)
    if mesh.library is None and (ours := skinned.ours) is not None and ours.node_group is not None:
        drive_settings(skinned, ours)

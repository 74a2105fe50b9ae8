"""The settings of a character: its armature has them, and most of its meshes go with them.

`own` says whose settings act. An armature that has it has the settings of its character: it gets
them from the first mesh that is enabled (`begin_character`). A mesh without it goes with such an
armature: `Settings.of` and the drivers read them there. The values of the mesh itself are kept
equal, so that scripts read what acts and a mesh that leaves its armature keeps its look:
`armature_changed` writes them at once, `follow_armature` when the mesh is looked at, and
`keep_in_file` before the file is saved. A mesh gets `own` where something else is written, keyed or
driven there (`meshes_changed`), or where it comes to another armature with other settings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import bpy

from ..holding import look_again
from ..modifier.modifier_inputs import drive_settings
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import (
    CHARACTER_SETTINGS,
    FOLLOWED_SETTINGS,
    armature_with_settings,
    has_settings,
    settings_of,
    was_enabled,
    written_settings,
)
from ..scene.stack import find_rig
from ..session.changes import writing_settings
from ..session.known_objects import enabled_meshes
from ..session.memory import memory_of


class _Followed:
    """The session_uid of the armature with which a mesh went when it was looked at last."""

    armature_uid = 0


def values_of(owner: bpy.types.Object) -> dict[str, Any]:
    """The settings of a character, as an armature or a mesh has them."""
    settings: Any = settings_of(owner)
    return {name: getattr(settings, name) for name in CHARACTER_SETTINGS}


def meshes_with_settings(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """The enabled meshes that go with the settings of an armature."""
    meshes = enabled_meshes(armature) if has_settings(armature) else ()
    return [mesh for mesh in meshes if not settings_of(mesh).own]


def moving_settings(owner: bpy.types.Object) -> set[str]:
    """The settings of a character that are animated or driven on a mesh or an armature."""
    paths = animated_paths(owner) if owner.animation_data is not None else ()
    return {name for name in CHARACTER_SETTINGS if f"dq_compensation.{name}" in paths}


def is_alike(mesh: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether a mesh has the settings of its character, none of them animated or driven."""
    return values_of(mesh) == values_of(armature) and not moving_settings(mesh)


def begin_character(mesh: bpy.types.Object) -> None:
    """Give an armature without settings those that most of its enabled meshes have.

    Of several that are as many it takes those of the first by name. Keys and drivers stay where
    they are: such a mesh has settings of its own.
    """
    armature = find_rig(mesh)
    if mesh.library or armature is None or armature.library or has_settings(armature):
        return
    meshes = sorted(enabled_meshes(armature), key=lambda each: each.name)
    found = [values_of(each) for each in meshes if not (each.library or moving_settings(each))]
    if found:
        _write(armature, max(found, key=found.count))
        settings_of(armature).own = True
        look_again()
        # Those that are disabled keep their values for the time when they are enabled again.
        for each in bpy.data.objects:
            is_mesh = each.type == "MESH" and each.library is None and was_enabled(each)
            if is_mesh and find_rig(each) == armature:
                _let_own(each, not is_alike(each, armature), anew=True)


def give_if_alone(mesh: bpy.types.Object) -> None:
    """Give an armature the settings of a mesh that was just enabled, if none goes with them."""
    armature = find_rig(mesh)
    if not has_settings(armature) or armature.library or moving_settings(mesh):
        return
    meshes = (other for other in bpy.data.objects if other.type == "MESH")
    if settings_of(mesh).own and armature not in map(armature_with_settings, meshes):
        _write(armature, values_of(mesh))
        _let_own(mesh, False)


def armature_changed(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Write the settings of an armature to the meshes that go with it; returns these."""
    meshes = [mesh for mesh in meshes_with_settings(armature) if mesh.library is None]
    keep_in_file(meshes)
    return meshes


def keep_in_file(meshes: Iterable[bpy.types.Object]) -> None:
    """Write the settings that act to meshes that go with their armatures, animated ones too."""
    for mesh in meshes:
        if mesh.library is None and (armature := armature_with_settings(mesh)) is not None:
            _write(mesh, values_of(armature))


def follow_armature(mesh: bpy.types.Object) -> None:
    """Look whether an enabled mesh still goes with its armature, before it is brought up to date.

    With the armature of the last look it takes what animation has changed there. With another one,
    or at the first look at a file, it keeps its look: where anything differs, it has its own
    settings from now on. So it has where one of them is animated.
    """
    armature = armature_with_settings(mesh)
    if armature is None or mesh.library is not None:
        return
    known, override = memory_of(mesh, _Followed), mesh.override_library
    # What is written to an override that is not editable does not come into the file.
    is_same = known.armature_uid == armature.session_uid
    is_same |= override is not None and override.is_system_override
    known.armature_uid = armature.session_uid
    moving, mine = moving_settings(mesh), values_of(mesh)
    others = {name: value for name, value in values_of(armature).items() if name not in moving}
    others = {name: value for name, value in others.items() if mine[name] != value}
    if not (moving or others):
        return
    elsewhere = moving_settings(armature)
    if is_same or others.keys() <= elsewhere:
        # Those that are read in each frame do not count: an evaluation would follow each of them.
        left_out = set() if moving else elsewhere.intersection(FOLLOWED_SETTINGS)
        _write(mesh, {name: value for name, value in others.items() if name not in left_out})
        others = {}
    if moving or others:
        _let_own(mesh, True)


def meshes_changed(
    meshes: Iterable[bpy.types.Object], names: Collection[str] = CHARACTER_SETTINGS
) -> None:
    """Follow what was written to meshes: each goes with its character, or has its own settings.

    Where all enabled meshes that went with an armature have changed, it takes what is written.

    Args:
        names: of the settings that may have been written; the others are as they act.
    """
    by_armature: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for mesh in meshes:
        armature, is_known = find_rig(mesh), was_enabled(mesh)
        if is_known and has_settings(armature):
            by_armature.setdefault(armature, []).append(mesh)
    for armature, changed in by_armature.items():
        acting, moving = values_of(armature), moving_settings(armature)
        going = meshes_with_settings(armature) if armature.library is None else []
        if going and set(going).issubset(changed) and moving.isdisjoint(names):
            mine = values_of(going[0])
            acting |= {name: value for name, value in mine.items() if name in names}
            _write(armature, acting)
        for mesh in changed:
            mine = values_of(mesh)
            if settings_of(mesh).own:
                _let_own(mesh, bool(moving or mine != acting or moving_settings(mesh)))
                continue
            others = {name: value for name, value in acting.items() if name not in names}
            if mine != mine | others:
                _write(mesh, others)
            _let_own(mesh, mine | others != acting)


def use_character_settings(mesh: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Give a mesh the settings of its character."""
    _write(mesh, values_of(armature))
    _let_own(mesh, False)


def use_own_settings(mesh: bpy.types.Object) -> None:
    """Let a mesh keep the settings that it has now while those of its character change."""
    keep_in_file([mesh])
    _let_own(mesh, True)


def own_values(owner: bpy.types.Object, names: Iterable[str]) -> dict[str, Any]:
    """The settings among these that were set on a mesh or an armature."""
    settings = written_settings(owner)
    if settings is None:
        return {}
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
        look_again()


def _write(owner: bpy.types.Object, values: dict[str, Any]) -> None:
    settings: Any = settings_of(owner)
    with writing_settings():
        for name, value in values.items():
            if getattr(settings, name) != value:
                setattr(settings, name, value)


def _let_own(mesh: bpy.types.Object, own: bool, *, anew: bool = False) -> None:
    """Let a mesh have its own settings, or not; its modifier reads the right ones then.

    Args:
        anew: its armature has settings only now.
    """
    settings = settings_of(mesh)
    if settings.own == own and not anew:
        return
    settings.own = own
    look_again()
    skinned = SkinnedObject(mesh)
    if mesh.library is None and (ours := skinned.ours) is not None and ours.node_group is not None:
        drive_settings(skinned, ours)

"""The settings of a character as values, for scripts: read, checked, changed together."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY
from typing import Any, TypedDict, get_type_hints

import bpy

from ..errors import BindingError, UserError, raise_refusal
from ..lifecycle.character_settings import own_values, put_back
from ..lifecycle.enabling import linked_refusal, settings_changed, share_settings
from ..scene.settings.bone_texts import (
    joint_softness_refusal,
    kinds_refusal,
    strengths_refusal,
)
from ..scene.settings.declaration import declared_in, frozen_values
from ..scene.settings.object_settings import (
    CHARACTER_CHOICES,
    GROUP_SETTINGS,
    CharacterChoices,
    armature_with_settings,
    is_enabled,
    settings_of,
    written_settings,
)
from ..scene.stack import find_rig
from ..session.changes import writing_settings
from ..session.status import status_of
from ..ui_shared.arguments import (
    Objects,
    mesh_object,
    mesh_objects,
    of_characters,
)
from ..ui_shared.option_arguments import require_value
from ..ui_shared.script_runs import interrupts_wait

SettingValues: Any = TypedDict("SettingValues", get_type_hints(CharacterChoices), total=False)  # type: ignore[misc]
"""The settings that `enable` and `change_settings` take."""


@frozen_values  # type: ignore[misc]
class CharacterSettings(CharacterChoices):
    """The settings of one object: those of the panel, by the names of `Object.dq_compensation`.

    The factor is that of the current frame where it is animated.

    Attributes:
        enabled: whether DQ Compensation deforms the object.
    """

    _: KW_ONLY
    enabled: bool


@of_characters
def settings(obj: bpy.types.Object) -> CharacterSettings:
    """The settings of an object, enabled or not; of an armature a list for all its meshes.

    Raises:
        BindingError: it is neither a mesh nor an armature that deforms one.
    """
    obj = mesh_object(obj)
    if written_settings(obj) is None:
        return CharacterSettings(enabled=False)
    of_mesh: Any = settings_of(obj)
    acting: Any = settings_of(armature_with_settings(obj) or obj)
    values = {name: getattr(acting, name) for name in CHARACTER_CHOICES}
    values |= {name: getattr(of_mesh, name) for name in GROUP_SETTINGS}
    return CharacterSettings(enabled=of_mesh.is_enabled, **values)


def change_settings(objects: Objects, **settings: Any) -> None:
    """Change settings of objects together; enabled objects follow at once.

    Args:
        objects: mesh objects, or armatures for all their meshes.
        settings: by their names; see `CharacterSettings`.

    Raises:
        BindingError: one of them cannot be deformed with these settings; all are as before then.
        UserError: one of them is linked, or a setting cannot have that value.
    """
    found = mesh_objects(objects)
    for obj in found:
        raise_refusal(linked_refusal(obj))
    with interrupts_wait(), changed_settings(found, settings):
        pass


@contextmanager
def changed_settings(
    objects: Sequence[bpy.types.Object], values: Mapping[str, Any]
) -> Generator[None]:
    """Change settings, run the block, and let enabled objects follow.

    Raises:
        UserError: a setting cannot have that value.
        BindingError: an enabled object cannot be deformed any more. As after any error of the
            block, the settings are as before then.
    """
    for obj in objects:
        _require_values(obj, values)
    before = [own_values(obj, values) for obj in objects]
    known = [status_of(obj).problem for obj in objects]
    try:
        for obj in objects:
            _write(obj, values)
        share_settings(*objects, names=values)
        yield
        settings_changed(*objects, names=values)
        for obj, known_problem in zip(objects, known, strict=True):
            problem = status_of(obj).problem if is_enabled(obj) else None
            if problem not in (None, known_problem):
                raise BindingError(problem)
    except BaseException:
        for obj, own in zip(objects, before, strict=True):
            put_back(obj, own, values)
        settings_changed(*objects)
        raise


def _write(obj: bpy.types.Object, values: Mapping[str, Any]) -> None:
    with writing_settings():
        for name, value in values.items():
            setattr(settings_of(obj), name, value)


_BONE_REFUSALS = {
    "bone_kinds": kinds_refusal,
    "joint_strengths": strengths_refusal,
    "joint_softness": joint_softness_refusal,
}


def _require_values(obj: bpy.types.Object, values: Mapping[str, Any]) -> None:
    """Raise `UserError` where settings cannot have these values."""
    declared = declared_in(CharacterChoices)
    for name, value in values.items():
        if name not in declared:
            names = ", ".join(CHARACTER_CHOICES)
            raise UserError(f"There is no setting {name}. The settings are {names}.")
        if name not in GROUP_SETTINGS:
            require_value(declared[name], value, name)
            refusal = _BONE_REFUSALS.get(name)
            if refusal and value and (rig := find_rig(obj)) is not None:
                raise_refusal(refusal(value, rig))
        elif value not in ("", *obj.vertex_groups.keys()):
            raise UserError(f"{obj.name} has no vertex group {value}.")

"""The settings of a character as values: read, checked, changed together."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, get_type_hints

import bpy

from ..errors import BindingError, UserError, raise_refusal
from ..lifecycle import enabling
from ..scene.settings.declaration import frozen_values
from ..scene.settings.object_settings import CHARACTER_CHOICES, CharacterChoices, settings_of
from ..session.settings_writing import writing_settings
from ..session.status import status_of
from .arguments_of_scripts import Objects, mesh_object, mesh_objects, require_choice, require_number
from .steps_of_scripts import interrupts_wait

SettingValues: Any = TypedDict("SettingValues", get_type_hints(CharacterChoices), total=False)  # type: ignore[misc]
"""The settings that `enable` and `change_settings` take."""


@frozen_values
class CharacterSettings(CharacterChoices):
    """The settings of one object: those of the panel, by the names of `Object.dq_compensation`.

    The factor is that of the current frame where it is animated.

    Attributes:
        enabled: whether DQ Compensation deforms the object.
    """

    enabled: bool


def settings(obj: bpy.types.Object) -> CharacterSettings:
    """The settings of an object, enabled or not.

    Raises:
        BindingError: it is not a mesh.
    """
    chosen: Any = settings_of(mesh_object(obj))
    values = {name: getattr(chosen, name) for name in CHARACTER_CHOICES}
    return CharacterSettings(enabled=chosen.enabled, **values)


def change_settings(objects: Objects, **settings: Any) -> None:
    """Change settings of objects together; those that are enabled follow at once.

    Args:
        objects: a mesh object or several.
        settings: by their names; see `CharacterSettings`.

    Raises:
        BindingError: one of them cannot be deformed with these settings; all are as before then.
        UserError: one of them is linked, or a setting cannot have that value.
    """
    found = mesh_objects(objects)
    for obj in found:
        raise_refusal(enabling.linked_refusal(obj))
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
    before = [_own_values(obj, values) for obj in objects]
    known = [status_of(obj).problem for obj in objects]
    try:
        for obj in objects:
            _write(obj, values)
        yield
        for obj, known_problem in zip(objects, known, strict=True):
            enabling.settings_changed(obj)
            problem = status_of(obj).problem if settings_of(obj).is_enabled else None
            if problem not in (None, known_problem):
                raise BindingError(problem)
    except BaseException:
        for obj, own in zip(objects, before, strict=True):
            _write(obj, own)
            for name in values.keys() - own.keys():
                settings_of(obj).property_unset(name)
            enabling.settings_changed(obj)
        raise


def _own_values(obj: bpy.types.Object, names: Iterable[str]) -> dict[str, Any]:
    """The settings among these that were set on an object."""
    chosen: Any = settings_of(obj)
    return {name: getattr(chosen, name) for name in names if chosen.is_property_set(name)}


def _write(obj: bpy.types.Object, values: Mapping[str, Any]) -> None:
    with writing_settings():
        for name, value in values.items():
            setattr(settings_of(obj), name, value)


def _require_values(obj: bpy.types.Object, values: Mapping[str, Any]) -> None:
    """Raise `UserError` where settings cannot have these values."""
    chosen: Any = settings_of(obj)
    for name, value in values.items():
        if name not in CHARACTER_CHOICES:
            names = ", ".join(CHARACTER_CHOICES)
            raise UserError(f"There is no setting {name}. The settings are {names}.")
        described = chosen.bl_rna.properties[name]
        if described.type == "ENUM":
            require_choice(name, value, described.enum_items.keys())
        elif described.type == "FLOAT":
            require_number(name, value, described.hard_min, described.hard_max)
        elif described.type == "BOOLEAN" and not isinstance(value, bool):
            raise UserError(f"{name} is True or False, not {value!r}.")
        elif described.type == "STRING" and value not in ("", *obj.vertex_groups.keys()):
            raise UserError(f"{obj.name} has no vertex group {value}.")

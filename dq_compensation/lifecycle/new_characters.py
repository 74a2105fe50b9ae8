"""Gives characters that are enabled for the first time the settings of new characters."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import bpy

from ..scene.settings.addon_preferences import UNLIKE_OLD_CHARACTERS, settings_of_new_characters
from ..scene.settings.object_settings import Display, settings_of
from ..session.settings_writing import writing_settings


def coming_settings(obj: bpy.types.Object, *, by_script: bool = False) -> dict[str, Any]:
    """The settings that *Enable* gives to an object: those that it has no value of its own for.

    None if it was enabled before: it looked as it did by its defaults, too.

    Args:
        by_script: the preferences do not act: a script does the same on every computer.
    """
    settings: Any = settings_of(obj)
    if settings.is_property_set("is_enabled"):
        return {}
    wanted = UNLIKE_OLD_CHARACTERS if by_script else settings_of_new_characters()
    return {name: wanted[name] for name in wanted if not settings.is_property_set(name)}


def coming_display(obj: bpy.types.Object) -> Display:
    """The display that an object has, or gets when it is enabled."""
    return coming_settings(obj).get("display", settings_of(obj).display)


@contextmanager
def settings_of_a_new_character(
    obj: bpy.types.Object, *, by_script: bool = False
) -> Generator[None]:
    """Give an object its `coming_settings`; it is as new as before where it cannot be enabled."""
    settings: Any = settings_of(obj)
    is_new = not settings.is_property_set("is_enabled")
    coming = coming_settings(obj, by_script=by_script)
    with writing_settings():
        for name, value in coming.items():
            setattr(settings, name, value)
    try:
        yield
    except BaseException:
        for name in (*coming, "is_enabled") if is_new else ():
            settings.property_unset(name)
        raise

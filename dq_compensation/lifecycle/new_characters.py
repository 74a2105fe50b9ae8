"""Gives characters that are enabled for the first time the settings of the preferences."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import bpy

from ..errors import BindingError
from ..scene.addon_preferences import settings_of_new_characters
from ..scene.object_settings import Display, settings_of
from ..session.settings_writing import writing_settings


def coming_settings(obj: bpy.types.Object) -> dict[str, Any]:
    """The settings that *Enable* gives to an object: those that it has no value of its own for.

    None if it was enabled before: it looked as it did by its defaults, too.
    """
    settings: Any = settings_of(obj)
    if settings.is_property_set("is_enabled"):
        return {}
    wanted = settings_of_new_characters()
    return {name: wanted[name] for name in wanted if not settings.is_property_set(name)}


def coming_display(obj: bpy.types.Object) -> Display:
    """The display that an object has, or gets when it is enabled."""
    return coming_settings(obj).get("display", settings_of(obj).display)


@contextmanager
def settings_of_the_preferences(obj: bpy.types.Object) -> Generator[None]:
    """Give an object its `coming_settings`, and take them away when it cannot be enabled."""
    settings: Any = settings_of(obj)
    coming = coming_settings(obj)
    with writing_settings():
        for name, value in coming.items():
            setattr(settings, name, value)
    try:
        yield
    except BindingError:
        for name in coming:
            settings.property_unset(name)
        raise

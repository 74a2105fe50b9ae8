"""The add-on's preferences as the rest of it sees them; `ui.preferences` defines them."""

from __future__ import annotations

from typing import Protocol, cast

import bpy

# Blender knows an extension by the package above this one, and tests by this one itself.
_PACKAGES = (__package__ or "").split(".")
ADDON_ID = ".".join(_PACKAGES[:-2]) or _PACKAGES[0]
"""The name of the add-on in Blender's preferences."""

MAX_FIGURES = 2_000
MAX_CROWD_MEGABYTES = 2_048


class Preferences(Protocol):
    """What the user has set for all files.

    Attributes:
        max_figures: the most figures of a crowd that are drawn.
        max_crowd_memory: the most memory of the graphics card for one crowd, MB.
    """

    max_figures: int
    max_crowd_memory: int


def crowd_limits() -> tuple[int, int]:
    """The most figures of a crowd that are drawn, and the most bytes on the GPU for them."""
    addon = bpy.context.preferences.addons.get(ADDON_ID)
    if addon is None or addon.preferences is None:
        return MAX_FIGURES, MAX_CROWD_MEGABYTES * 1_000_000
    chosen = cast("Preferences", addon.preferences)
    return chosen.max_figures, chosen.max_crowd_memory * 1_000_000

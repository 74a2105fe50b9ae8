"""Functions that a change of a setting calls: layers above put them into lists, by `FOLLOWS`.

Each function gets the property group and the context, as the `update` of a property of Blender.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy

Event = list[Callable[[Any, bpy.types.Context], object]]

SETTING_CHANGED: Event = []
"""A setting of an object, or of its example poses."""
EXAMPLE_BONE_CHOSEN: Event = []
TAKE_RENAMED: Event = []
CROWD_CHANGED: Event = []
ROLE_CHANGED: Event = []
SHOWN_CHANGED: Event = []
"""A setting that 3D viewports or their sidebars show."""


def calls(*events: Event) -> Callable[[Any, bpy.types.Context], None]:
    """The `update` of a property that calls all who follow these events."""

    def update(owner: Any, context: bpy.types.Context) -> None:
        for event in events:
            for follower in event:
                follower(owner, context)

    return update

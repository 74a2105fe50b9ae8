"""Functions that a change of a setting calls: layers above put them into lists, by `FOLLOWS`.

Each function gets the property group and the context, as the `update` of a property of Blender.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import bpy

from ...holding import look_again, operation

_Function = TypeVar("_Function", bound=Callable[..., object])

Event = list[Callable[[Any, bpy.types.Context], object]]

FOLLOWED: dict[Callable[..., object], object] = {}
"""What there has to be for a follower to be called; by default it always is."""

SETTING_CHANGED: Event = []
"""A setting of one object, or of its example poses."""

CHARACTER_SETTING_CHANGED: Event = []
"""A setting that the meshes of a character have in common."""

FOLLOWED_SETTING_CHANGED: Event = []
"""A setting of an object that drivers of its modifier read."""

EXAMPLE_BONE_CHOSEN: Event = []
"""The bone of an example pose."""

SHOWN_CHANGED: Event = []
"""A setting that 3D viewports or their sidebars show."""


def only_with(followed: object) -> Callable[[_Function], _Function]:
    """The mark of a follower that is called only while what it follows is not empty.

    Args:
        followed: objects (`session.known_objects`), or a memory (`session.memory.memories`).
    """

    def marked(follower: _Function) -> _Function:
        FOLLOWED[follower] = followed
        return follower

    return marked


def calls(*events: Event) -> Callable[[Any, bpy.types.Context], None]:
    """The `update` of a property that calls all who follow these events."""

    def update(owner: Any, context: bpy.types.Context) -> None:
        look_again()
        with operation():
            for event in events:
                for follower in event:
                    if FOLLOWED.get(follower, True):
                        follower(owner, context)

    return update

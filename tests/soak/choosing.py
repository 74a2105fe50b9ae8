"""Chooses what an action acts on. Objects are looked up by every action: an undo replaces them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import bpy

from dq_compensation.pipeline.crowds.settings import is_crowd
from dq_compensation.scene.blender.own_objects import is_hidden
from tests.blender.enabled_scenes import select

Action = Callable[[Random], str | None]
"""What users do: takes a source of random numbers, returns what it did, or None where it does not
apply."""

MOST_OBJECTS = 12
# A custom property of objects that modifiers use: they are no characters.
HELPER_PROPERTY = "soak_helper"


def among(rng: Random, things: Any) -> Any:
    """One of several things; None without any."""
    listed = list(things)
    return rng.choice(listed) if listed else None


def shown_meshes() -> list[bpy.types.Object]:
    """The mesh objects that users see, without what modifiers of others use."""
    shown = [obj for obj in bpy.context.view_layer.objects if obj.type == "MESH"]
    return [obj for obj in shown if HELPER_PROPERTY not in obj]


def any_mesh(rng: Random) -> bpy.types.Object | None:
    """A mesh object that users see, and may change."""
    return among(rng, [o for o in shown_meshes() if not is_hidden(o) and o.library is None])


def any_rig(rng: Random) -> bpy.types.Object | None:
    """An armature object."""
    objects = bpy.context.view_layer.objects
    return among(rng, [o for o in objects if o.type == "ARMATURE" and o.library is None])


def any_crowd(rng: Random) -> bpy.types.Object | None:
    """The Empty of a crowd."""
    return among(rng, [o for o in bpy.context.view_layer.objects if is_crowd(o)])


def any_character(rng: Random) -> bpy.types.Object | None:
    """A mesh or, less often, an armature."""
    return any_mesh(rng) if rng.random() < 0.8 else any_rig(rng)


def is_crowded() -> bool:
    """Whether there are so many objects that no more should be added."""
    objects = [o for o in bpy.context.view_layer.objects if HELPER_PROPERTY not in o]
    return len(objects) >= MOST_OBJECTS


def object_mode() -> None:
    """Leave the mode of the active object."""
    active = bpy.context.view_layer.objects.active
    if active is not None and active.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")


def on_mesh(act: Callable[[Random, bpy.types.Object], str | None]) -> Action:
    """An action on one mesh, which is selected, in Object Mode."""
    return _on(any_mesh, act)


def on_rig(act: Callable[[Random, bpy.types.Object], str | None]) -> Action:
    """An action on one armature object, which is selected, in Object Mode."""
    return _on(any_rig, act)


def on_crowd(act: Callable[[Random, bpy.types.Object], str | None]) -> Action:
    """An action on the Empty of a crowd, which is selected, in Object Mode."""
    return _on(any_crowd, act)


def _on(
    choose: Callable[[Random], bpy.types.Object | None],
    act: Callable[[Random, bpy.types.Object], str | None],
) -> Action:
    def done(rng: Random) -> str | None:
        obj = choose(rng)
        if obj is None:
            return None
        object_mode()
        # What is hidden cannot be the active one: operators refuse then.
        select(*[obj] * obj.visible_get())
        # It may be gone, or have another name, afterwards.
        what = f"{act.__name__.strip('_')} {obj.name}"
        return f"{what} {act(rng, obj) or ''}"

    return done

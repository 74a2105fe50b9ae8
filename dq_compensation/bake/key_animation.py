"""Animates shape keys: each is fully on in its frame and hands over to its neighbours linearly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import bpy
import numpy as np

from ..scene.mesh import mesh_of
from .errors import BakeError

_LINEAR = 1

PROBLEM_LINKED_ACTION = (
    "The action {action} of the shape keys of {obj} is linked from another file. Make it local, or "
    "bake onto a copy without it."
)
PROBLEM_DRIVEN = (
    "The shape key {name} of {obj} has a driver, so it is not of an earlier bake. Choose another "
    "name pattern, or turn off Replace Earlier Bake."
)


def action_problem(obj: bpy.types.Object) -> str | None:
    """Why the shape keys of an object cannot be animated, or None."""
    animation = _animation(obj)
    if animation is None or animation.action is None or animation.action.library is None:
        return None
    return PROBLEM_LINKED_ACTION.format(action=animation.action.name, obj=obj.name)


def driven_problem(obj: bpy.types.Object, names: Iterable[str]) -> str | None:
    """Which of these shape keys has a driver, so that it must not be replaced; or None."""
    animation = _animation(obj)
    if animation is None:
        return None
    for name in names:
        if animation.drivers.find(value_path(name)) is not None:
            return PROBLEM_DRIVEN.format(name=name, obj=obj.name)
    return None


def value_path(name: str) -> str:
    """The data path of a key's value, from its Key."""
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def animate_in_turn(obj: bpy.types.Object, names: Sequence[str], frames: Sequence[int]) -> None:
    """Key the values of shape keys 0-1-0, so that between two of them the two add up to 1.

    The first rises within the frame before it, the last falls within the frame after it. The
    curves go into the action that the keys have; without one they get one.

    Args:
        obj: the mesh object.
        names: of its keys, in the order of their frames.
        frames: rising.
    """
    curves = _curves(obj)
    for place, (name, frame) in enumerate(zip(names, frames, strict=True)):
        before = frames[place - 1] if place > 0 else frame - 1
        after = frames[place + 1] if place + 1 < len(frames) else frame + 1
        path = value_path(name)
        # What a removed key of this name has left behind.
        stale = curves.find(path)
        if stale is not None:
            curves.remove(stale)
        curve = curves.new(path)
        points = curve.keyframe_points
        points.add(3)
        points.foreach_set("co", np.array([before, 0, frame, 1, after, 0], np.float32))
        points.foreach_set("interpolation", np.full(3, _LINEAR, np.int32))
        curve.update()


def remove_curves(obj: bpy.types.Object, names: Iterable[str]) -> None:
    """Remove the animation of the values of these keys."""
    animation: Any = _animation(obj)
    if animation is None or animation.action is None:
        return
    curves = _curves(obj)
    for name in names:
        curve = curves.find(value_path(name))
        if curve is not None:
            curves.remove(curve)


def own_action(obj: bpy.types.Object) -> None:
    """Give the keys of a copied mesh a copy of their action, which copies share."""
    animation: Any = _animation(obj)
    if animation is None or animation.action is None:
        return
    slot = getattr(animation, "action_slot", None)
    handle = slot.handle if slot is not None else None
    animation.action = animation.action.copy()
    if handle is not None:
        slots = animation.action.slots
        animation.action_slot = next(slot for slot in slots if slot.handle == handle)


def _animation(obj: bpy.types.Object) -> bpy.types.AnimData | None:
    key = mesh_of(obj).shape_keys
    return key.animation_data if key is not None else None


def _curves(obj: bpy.types.Object) -> Any:
    """The F-curves of the keys of an object; an action is made where there is none.

    Since Blender 4.4 an action has slots, and curves in a bag for each; before, it has curves.
    """
    key = mesh_of(obj).shape_keys
    if key is None:
        raise BakeError(f"{obj.name} has no shape keys.")
    animation: Any = key.animation_data or key.animation_data_create()
    if animation.action is None:
        animation.action = bpy.data.actions.new(f"{obj.name} Shape Keys")
    action: Any = animation.action
    if not hasattr(action, "layers"):
        return action.fcurves
    if animation.action_slot is None:
        animation.action_slot = action.slots.new(id_type="KEY", name=key.name)
    layer = action.layers[0] if len(action.layers) else action.layers.new("Layer")
    strip = layer.strips[0] if len(layer.strips) else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(animation.action_slot, ensure=True).fcurves

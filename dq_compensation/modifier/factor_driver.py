"""The driver that lets the node modifier's factor follow the object's, animated or driven."""

from __future__ import annotations

from typing import cast

import bpy

from ..scene.settings.object_settings import settings_of
from .modifier_inputs import get_input, input_data_path

_FACTOR_PATH = "dq_compensation.factor"


def drive_factor(obj: bpy.types.Object, nodes: bpy.types.NodesModifier) -> None:
    """Let the modifier's factor follow the object's, where its tree reads one.

    Where the add-on is not installed the object's property does not exist: the driver falls back
    to the factor that `keep_factor` has left.
    """
    if get_input(nodes, "Factor") is None:
        release_factor(obj)
        return
    if is_driven(obj, nodes):
        return
    known = _driver_of(obj, nodes)
    if known is None:
        settings_of(obj).native.had_animation = obj.animation_data is not None
        known = cast("bpy.types.FCurve", obj.driver_add(input_data_path(nodes, "Factor")))
    known.mute = False
    driver = known.driver
    driver.type = "AVERAGE"
    variable = driver.variables[0] if len(driver.variables) else driver.variables.new()
    variable.type = "SINGLE_PROP"
    target = variable.targets[0]
    # A copy of the object brings a driver that still looks at the original.
    target.id = obj
    target.data_path = _FACTOR_PATH
    target.use_fallback_value = True
    target.fallback_value = settings_of(obj).factor


def is_driven(obj: bpy.types.Object, nodes: bpy.types.NodesModifier) -> bool:
    """Whether the modifier's factor follows the object's; users can remove or mute the driver."""
    known = _driver_of(obj, nodes)
    if known is None or known.mute or known.driver.type != "AVERAGE":
        return False
    variables = known.driver.variables
    if len(variables) != 1 or variables[0].type != "SINGLE_PROP":
        return False
    target = variables[0].targets[0]
    return target.id == obj and target.data_path == _FACTOR_PATH


def keep_factor(obj: bpy.types.Object, nodes: bpy.types.NodesModifier) -> None:
    """Store the current factor in the modifier, for Blender without the add-on."""
    known = _driver_of(obj, nodes)
    if known is None or not is_driven(obj, nodes):
        return
    target = known.driver.variables[0].targets[0]
    factor = settings_of(obj).factor
    # Writing it makes Blender sort out all dependencies anew.
    if target.fallback_value != factor:
        target.fallback_value = factor


def release_factor(obj: bpy.types.Object) -> None:
    """Remove the driver, also of a removed modifier, and animation data that it alone needed."""
    animation = obj.animation_data
    ours = [curve for curve in animation.drivers if _is_ours(curve)] if animation else []
    if animation is None or not ours:
        return
    for curve in ours:
        animation.drivers.remove(curve)
    empty = not (animation.action or len(animation.drivers) or len(animation.nla_tracks))
    if empty and not settings_of(obj).native.had_animation:
        obj.animation_data_clear()


def _is_ours(curve: bpy.types.FCurve) -> bool:
    targets = [variable.targets[0] for variable in curve.driver.variables]
    paths = [target.data_path for target in targets if target.use_fallback_value]
    return curve.data_path.startswith("modifiers[") and paths == [_FACTOR_PATH]


def _driver_of(obj: bpy.types.Object, nodes: bpy.types.NodesModifier) -> bpy.types.FCurve | None:
    """The driver of the modifier's factor; None without one, or without a factor."""
    animation = obj.animation_data
    if animation is None or get_input(nodes, "Factor") is None:
        return None
    return animation.drivers.find(input_data_path(nodes, "Factor"))

"""The inputs of a Geometry Nodes modifier, and the drivers by which some follow settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import bpy

from ..scene.blender.animation_curves import animated_paths
from ..scene.settings.object_settings import FOLLOWED_SETTINGS, Settings, settings_of

# Reads and writes the inputs of a Geometry Nodes modifier, on every version of Blender.


def _identifiers(modifier: bpy.types.NodesModifier) -> dict[str, str]:
    """The identifiers of the inputs of a modifier's tree, but the geometry, by their names."""
    tree: Any = modifier.node_group
    items = [item for item in tree.interface.items_tree if item.item_type == "SOCKET"]
    found = {item.name: item.identifier for item in items if item.in_out == "INPUT"}
    found.pop("Geometry", None)
    return found


def set_input(modifier: bpy.types.NodesModifier, name: str, value: object) -> None:
    """Write one input, if it has another value; KeyError where the tree has none of that name."""
    identifier = _identifiers(modifier)[name]
    if _value(modifier, identifier) == value:
        return
    if _has_typed_inputs(modifier):
        _typed(modifier, identifier).value = value
    else:
        modifier[identifier] = value
    if isinstance(value, bpy.types.ID):
        # Blender notes that the modifier depends on it when the tree is set, not when an input is.
        modifier.node_group = modifier.node_group


def get_input(modifier: bpy.types.NodesModifier, name: str) -> Any:
    """Read one input; None where the tree has none of that name."""
    identifier = _identifiers(modifier).get(name)
    return None if identifier is None else _value(modifier, identifier)


def get_inputs(modifier: bpy.types.NodesModifier) -> dict[str, Any]:
    """Every input but the geometry, by its name."""
    return {name: _value(modifier, known) for name, known in _identifiers(modifier).items()}


def input_data_path(modifier: bpy.types.NodesModifier, name: str) -> str:
    """The path of one input from the object, for drivers and keyframes; KeyError without one."""
    identifier = _identifiers(modifier)[name]
    owner = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'
    if _has_typed_inputs(modifier):
        return f"{owner}.properties.inputs.{identifier}.value"
    return f'{owner}["{identifier}"]'


def _value(modifier: bpy.types.NodesModifier, identifier: str) -> Any:
    if _has_typed_inputs(modifier):
        return _typed(modifier, identifier).value
    return modifier.get(identifier)


def _has_typed_inputs(modifier: bpy.types.NodesModifier) -> bool:
    """Blender 5.2 keeps inputs as properties; before, they were custom properties."""
    return hasattr(modifier, "properties")


def _typed(modifier: Any, identifier: str) -> Any:
    return getattr(modifier.properties.inputs, identifier)


# The drivers that let inputs of the node modifier follow the object's, animated or driven.


DRIVEN_INPUTS = ("Factor", "Twist Spread")
"""The inputs that follow `FOLLOWED_SETTINGS`."""
_INPUTS = dict(zip(FOLLOWED_SETTINGS, DRIVEN_INPUTS, strict=True))
FOLLOWED_PATHS = {name: f"dq_compensation.{name}" for name in FOLLOWED_SETTINGS}


def spreads_twists(obj: bpy.types.Object, settings: Settings) -> bool:
    """Whether twists are spread, or may be in other frames: the setting is animated or driven."""
    if not settings.acts("twist_spread"):
        return False
    return settings.twist_spread > 0.0 or FOLLOWED_PATHS["twist_spread"] in animated_paths(obj)


def drive_settings(obj: bpy.types.Object, nodes: bpy.types.NodesModifier) -> None:
    """Let inputs of the modifier follow the object's settings, where its tree reads them.

    Where the add-on is not installed the object's properties do not exist: the drivers fall back to
    the values that `keep_values` has left.
    """
    inputs = _followed(nodes)
    _release(obj, {input_data_path(nodes, each) for each in inputs.values()})
    for setting, name in inputs.items():
        path, known = FOLLOWED_PATHS[setting], _driver_of(obj, nodes, name)
        if known is not None and _follows(known, obj, path):
            continue
        if known is None:
            if not any(map(_is_ours, _drivers(obj))):
                settings_of(obj).native.had_animation = obj.animation_data is not None
            known = cast("bpy.types.FCurve", obj.driver_add(input_data_path(nodes, name)))
        known.mute = False
        driver = known.driver
        driver.type = "AVERAGE"
        variable = driver.variables[0] if len(driver.variables) else driver.variables.new()
        variable.type = "SINGLE_PROP"
        target = variable.targets[0]
        # A copy of the object brings a driver that still looks at the original.
        target.id = obj
        target.data_path = path
        target.use_fallback_value = True
        target.fallback_value = getattr(settings_of(obj), setting)


def are_driven(obj: bpy.types.Object, nodes: bpy.types.NodesModifier) -> bool:
    """Whether the inputs follow the object's settings; users can remove or mute the drivers."""
    return all(
        known is not None and _follows(known, obj, FOLLOWED_PATHS[setting])
        for setting, name in _followed(nodes).items()
        for known in (_driver_of(obj, nodes, name),)
    )


def keep_values(obj: bpy.types.Object, nodes: bpy.types.NodesModifier) -> None:
    """Store the current values in the modifier, for Blender without the add-on."""
    for setting, name in _followed(nodes).items():
        known, value = _driver_of(obj, nodes, name), getattr(settings_of(obj), setting)
        if known is None or not _follows(known, obj, FOLLOWED_PATHS[setting]):
            continue
        target = known.driver.variables[0].targets[0]
        # Writing it makes Blender sort out all dependencies anew.
        if target.fallback_value != value:
            target.fallback_value = value


def release_settings(obj: bpy.types.Object) -> None:
    """Remove the drivers, also of a removed modifier, and animation data that they alone needed."""
    _release(obj, set())


def own_driver_count(obj: bpy.types.Object) -> int:
    """How many drivers of an object are ours."""
    return sum(map(_is_ours, _drivers(obj)))


def _release(obj: bpy.types.Object, kept: set[str]) -> None:
    """Remove our drivers of other paths than these."""
    animation = obj.animation_data
    ours = [curve for curve in _drivers(obj) if _is_ours(curve) and curve.data_path not in kept]
    if animation is None or not ours:
        return
    for curve in ours:
        animation.drivers.remove(curve)
    empty = not (animation.action or len(animation.drivers) or len(animation.nla_tracks))
    if empty and not settings_of(obj).native.had_animation:
        obj.animation_data_clear()


def _drivers(obj: bpy.types.Object) -> Iterator[bpy.types.FCurve]:
    animation = obj.animation_data
    return iter(()) if animation is None else iter(animation.drivers)


def _is_ours(curve: bpy.types.FCurve) -> bool:
    targets = [variable.targets[0] for variable in curve.driver.variables]
    paths = [target.data_path for target in targets if target.use_fallback_value]
    ours = len(paths) == 1 and paths[0] in FOLLOWED_PATHS.values()
    return curve.data_path.startswith("modifiers[") and ours


def _follows(curve: bpy.types.FCurve, obj: bpy.types.Object, path: str) -> bool:
    if curve.mute or curve.driver.type != "AVERAGE":
        return False
    variables = curve.driver.variables
    if len(variables) != 1 or variables[0].type != "SINGLE_PROP":
        return False
    target = variables[0].targets[0]
    return target.id == obj and target.data_path == path


def _followed(nodes: bpy.types.NodesModifier) -> dict[str, str]:
    """The inputs that the modifier's tree has, by the settings that they follow."""
    inputs = get_inputs(nodes)
    return {setting: name for setting, name in _INPUTS.items() if name in inputs}


def _driver_of(
    obj: bpy.types.Object, nodes: bpy.types.NodesModifier, name: str
) -> bpy.types.FCurve | None:
    animation = obj.animation_data
    return None if animation is None else animation.drivers.find(input_data_path(nodes, name))

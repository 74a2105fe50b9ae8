"""The inputs of a Geometry Nodes modifier, and the drivers by which some follow settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import bpy

from ..scene.blender.animation_curves import is_played
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import (
    FOLLOWED_SETTINGS,
    Settings,
    armature_with_settings,
    settings_of,
)
from ..session.changes import remember_new

# Blender 5.2 keeps inputs as properties; before, they were custom properties of the modifier.
_ARE_PROPERTIES = "properties" in bpy.types.NodesModifier.bl_rna.properties


def _identifiers(modifier: bpy.types.NodesModifier) -> dict[str, str]:
    """The identifiers of the inputs of a modifier's tree, but the geometry, by their names."""
    tree: Any = modifier.node_group
    items = tree.interface.items_tree if tree is not None else ()
    sockets = (item for item in items if item.item_type == "SOCKET" and item.in_out == "INPUT")
    found = {item.name: item.identifier for item in sockets}
    found.pop("Geometry", None)
    return found


def set_input(modifier: bpy.types.NodesModifier, name: str, value: object) -> None:
    """Write one input, if it has another value; KeyError where the tree has none of that name."""
    before = get_inputs(modifier)[name]
    if before == value:
        return
    identifier, nodes = _identifiers(modifier)[name], cast("Any", modifier)
    if _ARE_PROPERTIES:
        getattr(nodes.properties.inputs, identifier).value = value
    else:
        nodes[identifier] = value
    if isinstance(value, bpy.types.ID):
        # Blender notes that the modifier depends on it when the tree is set, not when an input is.
        modifier.node_group = modifier.node_group
        if before is not None:
            remember_new(value)  # as a tree: see `use_tree`


def set_inputs(modifier: bpy.types.NodesModifier, values: Mapping[str, object]) -> bool:
    """Write all inputs; returns whether any had another value that no driver gives it."""
    others = [name for name, value in get_inputs(modifier).items() if value != values[name]]
    for name in others:
        set_input(modifier, name, values[name])
    return not set(DRIVEN_INPUTS).issuperset(others)


def get_input(modifier: bpy.types.NodesModifier, name: str) -> Any:
    """Read one input; None where the tree has none of that name."""
    return get_inputs(modifier).get(name)


def get_inputs(modifier: bpy.types.NodesModifier) -> dict[str, Any]:
    """Every input but the geometry, by its name."""
    nodes, identifiers = cast("Any", modifier), _identifiers(modifier)
    if not _ARE_PROPERTIES:
        return {name: nodes.get(identifier) for name, identifier in identifiers.items()}
    # Without a tree, and with one whose library is missing, there are none.
    inputs = getattr(nodes.properties, "inputs", None)
    return {name: getattr(inputs, each).value for name, each in identifiers.items()}


def input_data_paths(modifier: bpy.types.NodesModifier) -> dict[str, str]:
    """The paths of the inputs from the object, for drivers and keyframes, by their names."""
    owner = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'
    path = f"{owner}.properties.inputs.{{}}.value" if _ARE_PROPERTIES else f'{owner}["{{}}"]'
    return {name: path.format(each) for name, each in _identifiers(modifier).items()}


DRIVEN_INPUTS = ("Factor", "Twist Spread")
"""The inputs that follow `FOLLOWED_SETTINGS`."""
_INPUTS = dict(zip(FOLLOWED_SETTINGS, DRIVEN_INPUTS, strict=True))
FOLLOWED_PATHS = {name: f"dq_compensation.{name}" for name in FOLLOWED_SETTINGS}


def as_written(obj: bpy.types.Object, settings: Settings) -> Settings:
    """The settings that attributes are written with: all of the spread, if there may be any.

    There may be some in other frames where the setting is animated or driven.
    """
    owner = armature_with_settings(obj) or obj
    moves = settings.twist_spread > 0.0 or is_played(owner, FOLLOWED_PATHS["twist_spread"])
    return replace(settings, twist_spread=float(settings.acts("twist_spread") and moves))


def drive_settings(skinned: SkinnedObject, nodes: bpy.types.NodesModifier) -> None:
    """Let inputs of the modifier follow the settings of the object, or those of its character.

    The tree has to read them.

    Where the add-on is not installed the object's properties do not exist: the drivers fall back to
    the values that `keep_values` has left.
    """
    obj, inputs = skinned.obj, _driven_inputs(nodes)
    owner, kept = armature_with_settings(obj) or obj, frozenset(inputs.values())
    if any(curve.data_path not in kept for curve in own_drivers(obj)):
        release_settings(skinned, kept)
    for setting, path in inputs.items():
        animation = obj.animation_data
        known = animation.drivers.find(path) if animation is not None else None
        if known is not None and _follows(known, owner, setting):
            continue
        if known is None:
            if not own_drivers(obj):
                skinned.before_enable.had_animation = animation is not None
            known = cast("bpy.types.FCurve", obj.driver_add(path))
        known.mute = False
        driver = known.driver
        driver.type = "AVERAGE"
        variable = driver.variables[0] if len(driver.variables) else driver.variables.new()
        variable.type = "SINGLE_PROP"
        target = variable.targets[0]
        # A copy of the object brings a driver that still looks at the original.
        target.id = owner
        target.data_path = FOLLOWED_PATHS[setting]
        target.use_fallback_value = True
        target.fallback_value = getattr(settings_of(owner), setting)


def are_driven(obj: bpy.types.Object, nodes: bpy.types.NodesModifier) -> bool:
    """Whether the inputs follow the right settings; users can remove or mute the drivers."""
    inputs, animation = _driven_inputs(nodes), obj.animation_data
    owner = armature_with_settings(obj) or obj
    if animation is None:
        return not inputs
    drivers = ((animation.drivers.find(path), setting) for setting, path in inputs.items())
    return all(known is not None and _follows(known, owner, setting) for known, setting in drivers)


def keep_values(skinned: SkinnedObject, nodes: bpy.types.NodesModifier) -> None:
    """Store the current values in the modifier, for Blender without the add-on."""
    obj = skinned.obj
    animation, owner = obj.animation_data, armature_with_settings(obj) or obj
    for setting, path in _driven_inputs(nodes).items() if animation is not None else ():
        known = animation.drivers.find(path)
        if known is None or not _follows(known, owner, setting):
            continue
        target, value = known.driver.variables[0].targets[0], getattr(settings_of(owner), setting)
        # Writing it makes Blender sort out all dependencies anew.
        if target.fallback_value != value:
            target.fallback_value = value


def release_settings(skinned: SkinnedObject, kept: frozenset[str] = frozenset()) -> None:
    """Remove the drivers, also of a removed modifier, and animation data that they alone needed.

    Args:
        kept: the paths whose drivers stay.
    """
    animation = skinned.obj.animation_data
    ours = [curve for curve in own_drivers(skinned.obj) if curve.data_path not in kept]
    if animation is None or not ours:
        return
    for curve in ours:
        animation.drivers.remove(curve)
    empty = not (animation.action or len(animation.drivers) or len(animation.nla_tracks))
    if empty and not skinned.before_enable.had_animation:
        skinned.obj.animation_data_clear()


def own_drivers(obj: bpy.types.Object) -> list[bpy.types.FCurve]:
    """The drivers of an object that are ours."""
    animation, found = obj.animation_data, []
    for curve in animation.drivers if animation is not None else ():
        targets = [variable.targets[0] for variable in curve.driver.variables]
        paths = [target.data_path for target in targets if target.use_fallback_value]
        reads_setting = len(paths) == 1 and paths[0] in FOLLOWED_PATHS.values()
        if reads_setting and curve.data_path.startswith("modifiers["):
            found.append(curve)
    return found


def _follows(curve: bpy.types.FCurve, owner: bpy.types.Object, setting: str) -> bool:
    """Whether a driver gives the value of a setting of an object."""
    if curve.mute or curve.driver.type != "AVERAGE":
        return False
    variables = curve.driver.variables
    if len(variables) != 1 or variables[0].type != "SINGLE_PROP":
        return False
    target = variables[0].targets[0]
    return target.id == owner and target.data_path == FOLLOWED_PATHS[setting]


def _driven_inputs(nodes: bpy.types.NodesModifier) -> dict[str, str]:
    """The paths of the inputs in the modifier's tree, by the settings that they follow."""
    paths = input_data_paths(nodes)
    return {setting: paths[name] for setting, name in _INPUTS.items() if name in paths}

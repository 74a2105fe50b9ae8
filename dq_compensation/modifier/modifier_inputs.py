"""Reads and writes the inputs of a Geometry Nodes modifier, on every version of Blender."""

from __future__ import annotations

from typing import Any

import bpy


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

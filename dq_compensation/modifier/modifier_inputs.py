"""Reads and writes the inputs of a Geometry Nodes modifier, on every version of Blender."""

from __future__ import annotations

from typing import Any

import bpy


def identifier_of(tree: bpy.types.NodeTree, name: str) -> str:
    """The identifier of the tree's input of that name.

    Raises:
        KeyError: it has none.
    """
    items: Any = tree.interface.items_tree
    for item in items:
        if item.item_type == "SOCKET" and item.in_out == "INPUT" and item.name == name:
            return item.identifier
    raise KeyError(f"{tree.name} has no input {name!r}")


def has_input(modifier: bpy.types.NodesModifier, name: str) -> bool:
    """Whether the tree of a modifier has an input of that name."""
    items: Any = _tree_of(modifier).interface.items_tree
    return any(item.name == name and item.in_out == "INPUT" for item in items)


def set_input(modifier: bpy.types.NodesModifier, name: str, value: object) -> None:
    """Write one input, if it has another value."""
    tree = _tree_of(modifier)
    identifier = identifier_of(tree, name)
    if get_input(modifier, name) == value:
        return
    if _has_typed_inputs(modifier):
        _typed(modifier, identifier).value = value
    else:
        modifier[identifier] = value
    if isinstance(value, bpy.types.ID):
        # Blender notes that the modifier depends on it when the tree is set, not when an input is.
        modifier.node_group = tree


def get_input(modifier: bpy.types.NodesModifier, name: str) -> Any:
    """Read one input; None where the tree has none of that name."""
    if not has_input(modifier, name):
        return None
    identifier = identifier_of(_tree_of(modifier), name)
    if _has_typed_inputs(modifier):
        return _typed(modifier, identifier).value
    return modifier.get(identifier)


def get_inputs(modifier: bpy.types.NodesModifier) -> dict[str, Any]:
    """Every input but the geometry, by its name."""
    items: Any = _tree_of(modifier).interface.items_tree
    found = {item.name: item.identifier for item in items if item.in_out == "INPUT"}
    del found["Geometry"]
    if _has_typed_inputs(modifier):
        return {name: _typed(modifier, identifier).value for name, identifier in found.items()}
    return {name: modifier.get(identifier) for name, identifier in found.items()}


def input_data_path(modifier: bpy.types.NodesModifier, name: str) -> str:
    """The path of one input from the object, for drivers and keyframes."""
    identifier = identifier_of(_tree_of(modifier), name)
    owner = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'
    if _has_typed_inputs(modifier):
        return f"{owner}.properties.inputs.{identifier}.value"
    return f'{owner}["{identifier}"]'


def _tree_of(modifier: bpy.types.NodesModifier) -> bpy.types.NodeTree:
    tree = modifier.node_group
    if tree is None:
        raise KeyError(f"{modifier.name} has no node group")
    return tree


def _has_typed_inputs(modifier: bpy.types.NodesModifier) -> bool:
    """Blender 5.2 keeps inputs as properties; before, they were custom properties."""
    return hasattr(modifier, "properties")


def _typed(modifier: Any, identifier: str) -> Any:
    return getattr(modifier.properties.inputs, identifier)

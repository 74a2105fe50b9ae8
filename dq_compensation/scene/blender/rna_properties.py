"""Walks over the properties of a part of Blender's data, whatever its type: modifiers, constraints.

Facts are read from them, so that no list of settings grows old.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cache
from typing import Any

import bpy
import numpy as np

_READ = frozenset({"BOOLEAN", "INT", "FLOAT", "STRING", "ENUM", "POINTER"})
# What the names of properties begin with that only say what is selected and shown.
_SHOWN = ("select", "hide", "is_", "show_expanded", "show_wire", "color", "active", "overlay")


def properties_of(
    owner: Any, skipped: Container[str] = (), *, writable: bool = False
) -> Iterator[tuple[str, Any]]:
    """The properties that are numbers, texts, choices or data-blocks: names and values, in order.

    Sets are sorted lists; arrays are as Blender gives them.

    Args:
        skipped: names to leave out.
        writable: without numbers, texts and choices that are read only.
    """
    for name, kind, is_readonly in _properties(type(owner)):
        # To read the layers of a Data Transfer, Blender evaluates the scene.
        if name in skipped or name[:7] == "layers_" or (writable and is_readonly):
            continue
        value: Any = getattr(owner, name)
        if kind != "POINTER":
            yield name, sorted(value) if isinstance(value, set) else value
        elif isinstance(value, bpy.types.ID):
            yield name, value


def plain_values(owner: Any) -> Iterator[tuple[str, object]]:
    """The properties that can be written: numbers, texts, lists, the full names of data-blocks.

    Those that only say what is selected and shown are left out.
    """
    for name, value in properties_of(owner, writable=True):
        if not name.startswith(_SHOWN):
            is_data = isinstance(value, bpy.types.ID)
            yield name, value.name_full if is_data else np.array(value).tolist()


def data_used_by(owner: Any) -> Iterator[bpy.types.ID]:
    """The data-blocks that properties point to."""
    return (value for _, value in properties_of(owner) if isinstance(value, bpy.types.ID))


def node_inputs(modifier: bpy.types.NodesModifier) -> Iterator[Any]:
    """The values of the inputs of a node modifier's tree; arrays are tuples or lists."""
    nodes: Any = modifier
    if not hasattr(nodes, "properties"):  # before Blender 5.2 they are custom properties
        yield from (each.to_list() if hasattr(each, "to_list") else each for each in nodes.values())
        return
    for one in _input_structs(nodes):
        value: Any = getattr(one, "value", None)
        yield value[:] if hasattr(value, "__len__") and not isinstance(value, str) else value


def texts_of_inputs(modifier: bpy.types.NodesModifier) -> Iterator[str]:
    """The texts in the inputs of a node modifier: names of attributes among them."""
    nodes: Any = modifier
    if not hasattr(nodes, "properties"):
        yield from (value for value in nodes.values() if isinstance(value, str))
        return
    for one in _input_structs(nodes):
        for prop in one.bl_rna.properties:
            if prop.type == "STRING" and prop.identifier != "name" and not prop.is_readonly:
                yield getattr(one, prop.identifier)


def _input_structs(nodes: Any) -> Iterator[Any]:
    """The inputs of a node modifier since Blender 5.2; their types come and go with the tree."""
    # Without a tree, and with one whose library is missing, there are none.
    inputs: Any = getattr(nodes.properties, "inputs", None)
    for prop in () if inputs is None else inputs.bl_rna.properties:
        if prop.type == "POINTER":
            yield getattr(inputs, prop.identifier)


@cache
def _properties(kind: Any) -> tuple[tuple[str, str, bool], ...]:
    """Names, types, and whether they are read only: never so for data-blocks.

    Not our own sliders, as of bones: what they show is kept elsewhere.
    """
    return tuple(
        (each.identifier, each.type, each.is_readonly and each.type != "POINTER")
        for each in kind.bl_rna.properties
        if each.type in _READ and not each.identifier.startswith("dqc_")
    )

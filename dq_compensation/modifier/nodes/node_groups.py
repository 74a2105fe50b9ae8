"""Puts parts of a tree into node groups of their own.

Blender goes over a whole tree whenever a node or link is added to it, so that the time to build one
grows with the square of its size; a tree of groups is built in a fraction of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy

from .node_builder import TreeBuilder, new_tree
from .node_values import Cloud, Geometry, Integer, Matrix, Rotation, Scalar, Socket, Vector

_SOCKETS: dict[type[Socket], str] = {
    Scalar: "NodeSocketFloat",
    Integer: "NodeSocketInt",
    Vector: "NodeSocketVector",
    Matrix: "NodeSocketMatrix",
    Rotation: "NodeSocketRotation",
    Geometry: "NodeSocketGeometry",
}


def grouped(build: TreeBuilder, name: str, part: Callable[..., Any], *arguments: Any) -> Any:
    """The result of `part(build, *arguments)`, with its nodes in a group.

    Args:
        build: of the tree that gets the group.
        name: of the group; a dot before it keeps it out of menus.
        part: builds nodes, from a builder and the arguments.
        arguments: sockets, clouds, and tuples and lists of them; anything else is passed on.
    """
    tree = new_tree(f".{name}")
    outer_inputs: list[Socket] = []
    outer_outputs: list[type[Socket]] = []
    inner = TreeBuilder(tree)
    input_node = inner.node("NodeGroupInput")

    def take(socket: Socket) -> Socket:
        tree.interface.new_socket(
            f"{len(outer_inputs)}", in_out="INPUT", socket_type=_SOCKETS[type(socket)]
        )
        outer_inputs.append(socket)
        return type(socket)(inner, input_node.outputs[len(outer_inputs) - 1])

    result = part(inner, *(_mapped(argument, take) for argument in arguments))

    output_node = inner.node("NodeGroupOutput")
    given: list[tuple[Socket, bpy.types.NodeSocket]] = []

    def give(socket: Socket) -> Socket:
        tree.interface.new_socket(
            f"{len(given)}", in_out="OUTPUT", socket_type=_SOCKETS[type(socket)]
        )
        inner.connect(output_node.inputs[len(given)], socket)
        given.append((socket, output_node.inputs[len(given)]))
        outer_outputs.append(type(socket))
        return socket

    _mapped(result, give)
    group = build.node("GeometryNodeGroup", node_tree=tree)
    for number, socket in enumerate(outer_inputs):
        build.connect(group.inputs[number], socket)
    numbers = iter(range(len(given)))
    return _mapped(result, lambda socket: type(socket)(build, group.outputs[next(numbers)]))


def _mapped(value: Any, change: Callable[[Socket], Socket]) -> Any:
    """The same structure with every socket changed, in order."""
    if isinstance(value, Socket):
        return change(value)
    if isinstance(value, Cloud):
        geometry: Any = change(value.geometry)
        return Cloud(geometry, {name: change(field) for name, field in value.fields.items()})
    if isinstance(value, tuple | list):
        return type(value)(_mapped(each, change) for each in value)
    return value

"""Adds nodes and links to one tree: the basis of `node_values` and `node_builder`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy

Number = float | int


class TreeNodes:
    """Adds nodes and links to one tree."""

    def __init__(self, tree: bpy.types.NodeTree) -> None:
        self.tree = tree

    def node(self, kind: str, *inputs: Operand, **settings: object) -> bpy.types.Node:
        """Add a node, set its properties, then its inputs in order (None: left as it is)."""
        node = self.tree.nodes.new(kind)
        for name, value in settings.items():
            if getattr(node, name) != value:  # setting it would go over the whole tree
                setattr(node, name, value)
        for socket, operand in zip(node.inputs, inputs, strict=False):
            self.connect(socket, operand)
        return node

    def connect(self, socket: bpy.types.NodeSocket, operand: Operand) -> None:
        """Link an output to an input, or write a constant to it."""
        if operand is None:
            return
        if isinstance(operand, Socket):
            self.tree.links.new(operand.socket, socket)
            return
        constant: Any = socket
        held = constant.default_value
        held = held if isinstance(held, int | float | str | bool) else tuple(held)
        if held != operand:
            constant.default_value = operand


@dataclass(frozen=True, eq=False)
class Socket:
    """An output of a node, to be linked to inputs. Subclasses know what it carries."""

    builder: TreeNodes
    socket: bpy.types.NodeSocket

    def _node(self, kind: str, *inputs: Operand, **settings: object) -> bpy.types.Node:
        return self.builder.node(kind, *inputs, **settings)


Operand = Socket | Number | bool | str | Sequence[float] | None

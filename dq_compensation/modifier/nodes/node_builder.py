"""Adds nodes to a tree; with the operators of `node_values`, a tree is written as formulas.

Blender goes over a whole tree whenever a node or link is added to it, so that the time to build one
grows with the square of its size; a tree of groups (`grouped`) is built in a fraction of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bpy

from .node_values import (
    DATA_TYPES,
    ITEM_TYPES,
    Cloud,
    Geometry,
    Integer,
    Matrix,
    Number,
    Rotation,
    Scalar,
    Socket,
    TreeNodes,
    Vector,
)


def new_tree(name: str) -> Any:
    """A new Geometry Nodes tree; of the builder's own type, which Blender's stubs do not know."""
    return bpy.data.node_groups.new(name, "GeometryNodeTree")


class TreeBuilder(TreeNodes):
    """Adds the inputs of formulas to one tree. Equal ones are one node."""

    def __init__(self, tree: bpy.types.NodeTree) -> None:
        super().__init__(tree)
        self._attributes: dict[tuple[object, str], Socket] = {}
        self._inputs: dict[str, Socket] = {}

    def vector(self, x: Scalar | Number, y: Scalar | Number, z: Scalar | Number) -> Vector:
        """Three numbers as a vector."""
        return self.value(Vector, "ShaderNodeCombineXYZ", x, y, z)

    def matrix(self, columns: Sequence[Sequence[Scalar | Number]]) -> Matrix:
        """Sixteen numbers, column by column, as a matrix."""
        entries = [entry for column in columns for entry in column]
        return self.value(Matrix, "FunctionNodeCombineMatrix", *entries)

    def diagonal(self, entries: Sequence[Scalar | Number]) -> Matrix:
        """A diagonal matrix of four numbers."""
        return self.matrix(
            [
                [entry if row == column else 0.0 for row in range(4)]
                for column, entry in enumerate(entries)
            ]
        )

    def matrix_of_columns(self, x: Vector, y: Vector, z: Vector, point: Vector | None) -> Matrix:
        """An affine matrix of its axes and, unless it is None, its origin."""
        origin = point.components() if point is not None else (0.0, 0.0, 0.0)
        return self.matrix(
            ((*x.components(), 0.0), (*y.components(), 0.0), (*z.components(), 0.0), (*origin, 1.0))
        )

    def attribute(self, name: str | Scalar, kind: type[Scalar | Vector | Matrix]) -> Any:
        """A named attribute as a field of that kind."""
        data_type = DATA_TYPES[kind]
        key = (name, data_type)
        if key not in self._attributes:
            node = "GeometryNodeInputNamedAttribute"
            self._attributes[key] = self.value(kind, node, name, data_type=data_type)
        return self._attributes[key]

    def found_attribute(
        self, name: str | Scalar, kind: type[Scalar | Vector | Matrix]
    ) -> tuple[Any, Scalar]:
        """A named attribute as a field of that kind, and whether there is one."""
        found = self.attribute(name, kind)
        return found, Scalar(self, found.socket.node.outputs["Exists"])

    def zero(self) -> Vector:
        """The origin."""
        return self.vector(0.0, 0.0, 0.0)

    def constant(self, number: int) -> Scalar:
        """An integer that is the same everywhere."""
        return self.value(Scalar, "FunctionNodeInputInt", integer=number)

    def points(self, count: Scalar, position: Vector | None = None) -> Geometry:
        """A cloud of that many points, all at the origin or each at a position."""
        return self.value(Geometry, "GeometryNodePoints", count, position)

    def edge_length(self) -> Scalar:
        """The length of the edge."""
        outputs = self.node("GeometryNodeInputMeshEdgeVertices").outputs
        start, end = (Vector(self, outputs[name]) for name in ("Position 1", "Position 2"))
        return start.distance(end)

    def equal(self, one: Scalar, other: Scalar | int) -> Scalar:
        """Whether two integers are equal; for `choose`."""
        node = self.node("FunctionNodeCompare", data_type="INT", operation="EQUAL")
        sides = [socket for socket in node.inputs if socket.enabled]
        for socket, operand in zip(sides, (one, other), strict=True):
            self.connect(socket, operand)
        return Scalar(self, node.outputs[0])

    def index(self) -> Scalar:
        """The number of the element."""
        return self._input("GeometryNodeInputIndex", Scalar)

    def position(self) -> Vector:
        """The position of the point."""
        return self._input("GeometryNodeInputPosition", Vector)

    def _input(self, node: str, kind: type[Scalar | Vector]) -> Any:
        if node not in self._inputs:
            self._inputs[node] = self.value(kind, node)
        return self._inputs[node]

    def choose(self, condition: Scalar, false: Any, true: Any) -> Any:
        """One of two values or geometries, by a number above 0.5 or a boolean."""
        sample = next(side for side in (true, false) if isinstance(side, Socket))
        kinds: dict[type[Socket], str] = {**ITEM_TYPES, Geometry: "GEOMETRY"}
        named = {"Switch": condition, "False": false, "True": true}
        return self.value(
            type(sample), "GeometryNodeSwitch", named=named, input_type=kinds[type(sample)]
        )


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
    given: list[Socket] = []

    def give(socket: Socket) -> Socket:
        tree.interface.new_socket(
            f"{len(given)}", in_out="OUTPUT", socket_type=_SOCKETS[type(socket)]
        )
        inner.connect(output_node.inputs[len(given)], socket)
        given.append(socket)
        return socket

    _mapped(result, give)
    group = build.node("GeometryNodeGroup", node_tree=tree)
    for number, socket in enumerate(outer_inputs):
        build.connect(group.inputs[number], socket)
    outputs = iter(group.outputs)
    return _mapped(result, lambda socket: type(socket)(build, next(outputs)))


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

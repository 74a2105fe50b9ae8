"""Adds nodes to a tree; with the operators of `node_values`, a tree is written as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy

from .node_values import (
    DATA_TYPES,
    ITEM_TYPES,
    AnyField,
    Field,
    Geometry,
    Matrix,
    Number,
    Operand,
    Scalar,
    Socket,
    Vector,
)


def new_tree(name: str) -> Any:
    """A new Geometry Nodes tree; of the builder's own type, which Blender's stubs do not know."""
    return bpy.data.node_groups.new(name, "GeometryNodeTree")


class TreeBuilder:
    """Adds nodes to one tree. Equal named attributes and constants are one node."""

    def __init__(self, tree: bpy.types.NodeTree) -> None:
        self.tree = tree
        self._attributes: dict[tuple[object, str], Socket] = {}
        self._samples: dict[tuple[int, int, int], Field] = {}
        self._kept: list[Socket] = []

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

    def math(self, operation: str, *operands: Operand) -> Scalar:
        """A Math node."""
        return Scalar(self, self.node("ShaderNodeMath", *operands, operation=operation).outputs[0])

    def vector_math(self, operation: str, *operands: Operand) -> Vector:
        """A Vector Math node with a vector result."""
        node = self.node("ShaderNodeVectorMath", *operands, operation=operation)
        return Vector(self, node.outputs["Vector"])

    def vector(self, x: Scalar | Number, y: Scalar | Number, z: Scalar | Number) -> Vector:
        """Three numbers as a vector."""
        return Vector(self, self.node("ShaderNodeCombineXYZ", x, y, z).outputs[0])

    def matrix(self, columns: Sequence[Sequence[Scalar | Number]]) -> Matrix:
        """Sixteen numbers, column by column, as a matrix."""
        entries = [entry for column in columns for entry in column]
        return Matrix(self, self.node("FunctionNodeCombineMatrix", *entries).outputs[0])

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
            (
                (*x.components(), 0.0),
                (*y.components(), 0.0),
                (*z.components(), 0.0),
                (*origin, 1.0),
            )
        )

    def attribute(
        self, name: str | Scalar, kind: type[Scalar | Vector | Matrix], *, integer: bool = False
    ) -> Any:
        """A named attribute as a field of that kind."""
        data_type = "INT" if integer else DATA_TYPES[kind]
        key = (name, data_type)
        if key not in self._attributes:
            node = self.node("GeometryNodeInputNamedAttribute", data_type=data_type)
            self.connect(node.inputs["Name"], name)
            self._attributes[key] = kind(self, node.outputs["Attribute"])
        return self._attributes[key]

    def sampled(self, geometry: Geometry, field: AnyField, index: Scalar) -> AnyField:
        """`Geometry.sample`, with one node for equal requests."""
        key = (id(geometry), id(field), id(index))
        if key not in self._samples:
            self._samples[key] = geometry.sample(field, index)
            # The ids stay unique only while the three live.
            self._kept.extend((geometry, field, index))
        return cast("AnyField", self._samples[key])

    def rotated(self, vector: Operand, rotation: Socket) -> Vector:
        """A vector rotated by a rotation."""
        return Vector(self, self.node("FunctionNodeRotateVector", vector, rotation).outputs[0])

    def zero(self) -> Vector:
        """The origin."""
        return self.vector(0.0, 0.0, 0.0)

    def constant(self, number: int) -> Scalar:
        """An integer that is the same everywhere."""
        return Scalar(self, self.node("FunctionNodeInputInt", integer=number).outputs[0])

    def points(self, count: Scalar) -> Geometry:
        """A cloud of that many points."""
        return Geometry(self, self.node("GeometryNodePoints", count).outputs[0])

    def index(self) -> Scalar:
        """The number of the element."""
        return Scalar(self, self.node("GeometryNodeInputIndex").outputs[0])

    def position(self) -> Vector:
        """The position of the point."""
        return Vector(self, self.node("GeometryNodeInputPosition").outputs[0])

    def choose(self, condition: Scalar, false: Any, true: Any) -> Any:
        """One of two values or geometries, by a number above 0.5 or a boolean."""
        sample = next(side for side in (true, false) if isinstance(side, Socket))
        kinds: dict[type[Socket], str] = {**ITEM_TYPES, Geometry: "GEOMETRY"}
        node = self.node("GeometryNodeSwitch", input_type=kinds[type(sample)])
        for name, operand in (("Switch", condition), ("False", false), ("True", true)):
            self.connect(node.inputs[name], operand)
        return type(sample)(self, node.outputs["Output"])

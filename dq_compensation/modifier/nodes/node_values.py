"""The values in a node tree, with operators, so that formulas add nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import bpy

from .node_sockets import Number, Operand, Socket


class Scalar(Socket):
    """A float per element."""

    def _math(self, operation: str, *operands: Operand) -> Scalar:
        node = self._node("ShaderNodeMath", *operands, operation=operation)
        return Scalar(self.builder, node.outputs[0])

    def __add__(self, other: Scalar | Number) -> Scalar:
        return self._math("ADD", self, other)

    def __sub__(self, other: Scalar | Number) -> Scalar:
        return self._math("SUBTRACT", self, other)

    def __rsub__(self, other: Number) -> Scalar:
        return self._math("SUBTRACT", other, self)

    def __mul__(self, other: Scalar | Number) -> Scalar:
        return self._math("MULTIPLY", self, other)

    def __rmul__(self, other: Number) -> Scalar:
        return self._math("MULTIPLY", self, other)

    def __truediv__(self, other: Scalar | Number) -> Scalar:
        return self._math("DIVIDE", self, other)

    def __rtruediv__(self, other: Number) -> Scalar:
        return self._math("DIVIDE", other, self)

    def __lt__(self, other: Scalar | Number) -> Scalar:
        """1 where it is less, else 0."""
        return self._math("LESS_THAN", self, other)

    def __gt__(self, other: Scalar | Number) -> Scalar:
        """1 where it is greater, else 0."""
        return self._math("GREATER_THAN", self, other)

    def times_plus(self, factor: Scalar | Number, addend: Scalar | Number) -> Scalar:
        """`self factor + addend` in one node."""
        return self._math("MULTIPLY_ADD", self, factor, addend)

    def modulo(self, divisor: Number) -> Scalar:
        """The remainder of a number that is not negative."""
        return self._math("MODULO", self, divisor)

    def floored(self) -> Scalar:
        """The greatest integer that is not greater."""
        return self._math("FLOOR", self)

    def minimum(self, other: Scalar | Number) -> Scalar:
        """The lesser one."""
        return self._math("MINIMUM", self, other)

    def maximum(self, other: Scalar | Number) -> Scalar:
        """The greater one."""
        return self._math("MAXIMUM", self, other)

    def mapped(
        self, before: tuple[Scalar, Scalar], after: tuple[Scalar | Number, Scalar | Number]
    ) -> Scalar:
        """The number from one range, clamped to it, to the same place in another range."""
        node = self._node("ShaderNodeMapRange", self, *before, *after)
        return Scalar(self.builder, node.outputs[0])

    def absolute(self) -> Scalar:
        """The value without its sign."""
        return self._math("ABSOLUTE", self)

    def arccosine(self) -> Scalar:
        """The angle in radians whose cosine it is; beyond -1 and 1 that of the nearer one."""
        return self._math("ARCCOSINE", self.minimum(1.0).maximum(-1.0))

    def exponential(self) -> Scalar:
        """E to the power of it."""
        return self._math("EXPONENT", self)

    def square_root(self) -> Scalar:
        """Its square root."""
        return self._math("SQRT", self)

    def inverse_square_root(self) -> Scalar:
        """1 through its square root."""
        return self._math("INVERSE_SQRT", self)


class Integer(Scalar):
    """An integer per element; what is computed with it is a `Scalar`.

    Blender turns all elements of an attribute of integers into floats when they are sampled as
    floats, also where few are wanted.
    """

    def plus(self, number: int) -> Scalar:
        """The sum; from Blender 4.5 on without a float in between."""
        if not hasattr(bpy.types, "FunctionNodeIntegerMath"):
            return self + number
        node = self._node("FunctionNodeIntegerMath", self, number, operation="ADD")
        return Scalar(self.builder, node.outputs[0])


class Vector(Socket):
    """Three floats per element."""

    def _math(self, operation: str, *operands: Operand) -> Vector:
        node = self._node("ShaderNodeVectorMath", *operands, operation=operation)
        return Vector(self.builder, node.outputs["Vector"])

    def __add__(self, other: Vector) -> Vector:
        return self._math("ADD", self, other)

    def __sub__(self, other: Vector) -> Vector:
        return self._math("SUBTRACT", self, other)

    def __mul__(self, factor: Scalar | Number) -> Vector:
        """Scaled by a number."""
        node = self._node("ShaderNodeVectorMath", operation="SCALE")
        self.builder.connect(node.inputs[0], self)
        self.builder.connect(node.inputs["Scale"], factor)
        return Vector(self.builder, node.outputs["Vector"])

    def cross(self, other: Vector) -> Vector:
        """The cross product."""
        return self._math("CROSS_PRODUCT", self, other)

    def dot(self, other: Vector) -> Scalar:
        """The dot product."""
        node = self._node("ShaderNodeVectorMath", self, other, operation="DOT_PRODUCT")
        return Scalar(self.builder, node.outputs["Value"])

    def distance(self, other: Vector | tuple[float, float, float]) -> Scalar:
        """The length of the difference."""
        node = self._node("ShaderNodeVectorMath", self, other, operation="DISTANCE")
        return Scalar(self.builder, node.outputs["Value"])

    def length(self) -> Scalar:
        """Its length."""
        node = self._node("ShaderNodeVectorMath", self, operation="LENGTH")
        return Scalar(self.builder, node.outputs["Value"])

    def normalized(self) -> Vector:
        """The vector with length 1; zero stays zero."""
        return self._math("NORMALIZE", self)

    def components(self) -> tuple[Scalar, Scalar, Scalar]:
        """x, y and z."""
        node = self._node("ShaderNodeSeparateXYZ", self)
        x, y, z = (Scalar(self.builder, output) for output in node.outputs)
        return x, y, z


class Matrix(Socket):
    """A 4x4 matrix per element; its columns are written first, as in Blender."""

    def transform_point(self, point: Vector) -> Vector:
        """The upper 3x4 part applied to a point."""
        node = self._node("FunctionNodeTransformPoint", point, self)
        return Vector(self.builder, node.outputs[0])

    def transform_direction(self, direction: Vector | Sequence[float]) -> Vector:
        """The upper 3x3 part applied to a direction."""
        node = self._node("FunctionNodeTransformDirection", direction, self)
        return Vector(self.builder, node.outputs[0])

    def __matmul__(self, other: Matrix) -> Matrix:
        node = self._node("FunctionNodeMatrixMultiply", self, other)
        return Matrix(self.builder, node.outputs[0])

    def inverted(self) -> Matrix:
        """The inverse; the identity where there is none."""
        return Matrix(self.builder, self._node("FunctionNodeInvertMatrix", self).outputs[0])

    def transposed(self) -> Matrix:
        """Rows and columns exchanged."""
        return Matrix(self.builder, self._node("FunctionNodeTransposeMatrix", self).outputs[0])

    def entries(self) -> list[list[Scalar]]:
        """Its numbers, `entries()[column][row]`."""
        outputs = self._node("FunctionNodeSeparateMatrix", self).outputs
        return [
            [Scalar(self.builder, outputs[4 * column + row]) for row in range(4)]
            for column in range(4)
        ]

    def rotation(self) -> Rotation:
        """The rotation of its Y axis, and of its Z axis as far as it can be, without scale.

        Separate Transform would be off by 2e-3 near a quarter turn about Y: it takes Euler angles.
        """
        y, z = (self.transform_direction(unit) for unit in ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
        return rotation_to(y, z)


class Rotation(Socket):
    """A rotation per element."""

    def rotate(self, vector: Vector) -> Vector:
        """A vector rotated by it."""
        return Vector(self.builder, self._node("FunctionNodeRotateVector", vector, self).outputs[0])

    def after(self, first: Rotation) -> Rotation:
        """The rotation that is `first`, then this one."""
        node = self._node("FunctionNodeRotateRotation", first, self, rotation_space="GLOBAL")
        return Rotation(self.builder, node.outputs[0])

    def inverted(self) -> Rotation:
        """The opposite rotation."""
        return Rotation(self.builder, self._node("FunctionNodeInvertRotation", self).outputs[0])

    def quaternion(self) -> Quaternion:
        """Its quaternion, of either sign."""
        outputs = self._node("FunctionNodeRotationToQuaternion", self).outputs
        w, x, y, z = (Scalar(self.builder, output) for output in outputs)
        axis = self._node("ShaderNodeCombineXYZ", x, y, z).outputs[0]
        return Quaternion(w, Vector(self.builder, axis), (x, y, z))


Field = Scalar | Vector | Matrix | Rotation
AnyField = TypeVar("AnyField", Scalar, Integer, Vector, Matrix, Rotation)


class Geometry(Socket):
    """A geometry, not a field."""

    @cached_property
    def _samples(self) -> dict[tuple[Field, Scalar], Any]:
        return {}

    def sample(self, value: AnyField, index: Scalar) -> AnyField:
        """The value that a field has on this geometry's points, at an index per element.

        Equal requests are one node.
        """
        if (value, index) not in self._samples:
            kind = DATA_TYPES[type(value)]
            node = self._node("GeometryNodeSampleIndex", domain="POINT", data_type=kind)
            for name, operand in (("Geometry", self), ("Value", value), ("Index", index)):
                self.builder.connect(node.inputs[name], operand)
            self._samples[value, index] = type(value)(self.builder, node.outputs["Value"])
        return self._samples[value, index]

    def capture(self, fields: dict[str, Field]) -> Cloud:
        """Evaluate fields on this geometry's points, all at once and once only."""
        node: Any = self._node("GeometryNodeCaptureAttribute", domain="POINT")
        self.builder.connect(node.inputs["Geometry"], self)
        for name, field in fields.items():
            node.capture_items.new(ITEM_TYPES[type(field)], name)
            self.builder.connect(node.inputs[name], field)
        captured: dict[str, Field] = {
            name: type(field)(self.builder, node.outputs[name]) for name, field in fields.items()
        }
        return Cloud(Geometry(self.builder, node.outputs["Geometry"]), captured)

    def readers(self) -> list[bpy.types.NodeSocket]:
        """The inputs that it is linked to so far."""
        links: Any = self.socket.links
        return [link.to_socket for link in links]

    def points_alone(self) -> Geometry:
        """The cloud of points in it; of an object, without the empty mesh beside the cloud."""
        node = self._node("GeometryNodeSeparateComponents", self)
        return Geometry(self.builder, node.outputs["Point Cloud"])

    def point_count(self) -> Scalar:
        """The number of its points; a single number, not a field."""
        node = self._node("GeometryNodeAttributeDomainSize", self)
        return Scalar(self.builder, node.outputs["Point Count"])

    def greatest(self, value: Field) -> Scalar:
        """The greatest value of a field on its points; a single number, not a field."""
        node = self._node("GeometryNodeAttributeStatistic", data_type="FLOAT", domain="POINT")
        self.builder.connect(node.inputs["Geometry"], self)
        self.builder.connect(node.inputs["Attribute"], value)
        return Scalar(self.builder, node.outputs["Max"])

    def total_on_edges(self, value: Field) -> Scalar:
        """The sum of a field over its edges; a single number, not a field."""
        node = self._node("GeometryNodeAttributeStatistic", data_type="FLOAT", domain="EDGE")
        self.builder.connect(node.inputs["Geometry"], self)
        self.builder.connect(node.inputs["Attribute"], value)
        return Scalar(self.builder, node.outputs["Sum"])

    def store(self, name: str, value: Field) -> Geometry:
        """This geometry with a field written to a named attribute of its points."""
        kind = DATA_TYPES[type(value)]
        node = self._node("GeometryNodeStoreNamedAttribute", domain="POINT", data_type=kind)
        for input_name, operand in (("Geometry", self), ("Name", name), ("Value", value)):
            self.builder.connect(node.inputs[input_name], operand)
        return Geometry(self.builder, node.outputs[0])

    def set_position(self, position: Vector, selection: Scalar | None = None) -> Geometry:
        """This geometry with its points elsewhere."""
        node = self._node("GeometryNodeSetPosition", self, selection, position)
        return Geometry(self.builder, node.outputs[0])

    def moved_by(self, offset: Vector, selection: Scalar | None = None) -> Geometry:
        """This geometry with its points moved."""
        node = self._node("GeometryNodeSetPosition", self, selection, None, offset)
        return Geometry(self.builder, node.outputs[0])


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points with captured fields, to be sampled by the index of a point."""

    geometry: Geometry
    fields: dict[str, Field]

    def at(self, name: str, index: Scalar) -> Any:
        """The field of that name at an index per element; equal requests are one node."""
        field: Any = self.fields[name]
        return self.geometry.sample(field, index)


@dataclass(frozen=True, eq=False)
class Quaternion:
    """(w, x, y, z) as a scalar and a vector."""

    w: Scalar
    axis: Vector
    known_components: tuple[Scalar, Scalar, Scalar] | None = None

    @property
    def components(self) -> tuple[Scalar, Scalar, Scalar]:
        """x, y and z."""
        return self.known_components or self.axis.components()

    def dot(self, other: Quaternion) -> Scalar:
        """The product of the two as vectors of four numbers."""
        return self.w.times_plus(other.w, self.axis.dot(other.axis))

    def __mul__(self, factor: Scalar) -> Quaternion:
        return Quaternion(self.w * factor, self.axis * factor)

    def conjugate(self) -> Quaternion:
        """The inverse rotation, of a unit quaternion."""
        return Quaternion(self.w, self.axis * -1.0)

    def rotate(self, vector: Vector) -> Vector:
        """A vector rotated by this, a unit quaternion."""
        return vector + self.axis.cross(self.axis.cross(vector) + vector * self.w) * 2.0


def rotation_to(y: Vector, z: Vector) -> Rotation:
    """The rotation that takes the Y axis to `y` and the Z axis as near as it can to `z`.

    Its quaternion has w >= 0.
    """
    axes = {"primary_axis": "Y", "secondary_axis": "Z"}
    node = y.builder.node("FunctionNodeAxesToRotation", y, z, **axes)
    return Rotation(y.builder, node.outputs["Rotation"])


DATA_TYPES: dict[type, str] = {
    Scalar: "FLOAT",
    Integer: "INT",
    Vector: "FLOAT_VECTOR",
    Matrix: "FLOAT4X4",
    Rotation: "QUATERNION",
}
ITEM_TYPES: dict[type, str] = {
    Scalar: "FLOAT",
    Integer: "INT",
    Vector: "VECTOR",
    Matrix: "MATRIX",
    Rotation: "ROTATION",
}

"""The values in a node tree, with operators, so that formulas add nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import bpy

Number = float | int
_Value = TypeVar("_Value", bound="Socket")


class TreeNodes:
    """Adds nodes and links to one tree.

    Attributes:
        known: values that would be the same node again, by what was asked for.
    """

    def __init__(self, tree: bpy.types.NodeTree) -> None:
        self.tree = tree
        self.known: dict[object, Any] = {}

    def node(
        self, kind: str, *inputs: Operand, named: Mapping[str, Operand] = {}, **settings: object
    ) -> bpy.types.Node:
        """Add a node, set its properties, then its inputs, in order and by names."""
        node = self.tree.nodes.new(kind)
        for name, value in settings.items():
            if getattr(node, name) != value:  # setting it would go over the whole tree
                setattr(node, name, value)
        for socket, operand in zip(node.inputs, inputs, strict=False):
            self.connect(socket, operand)
        for name, operand in named.items():
            self.connect(node.inputs[name], operand)
        return node

    def value(
        self, kind: type[_Value], node: str, *inputs: Any, output: int | str = 0, **settings: Any
    ) -> _Value:
        """An output of a new node, as a value of that kind; other arguments as of `node`."""
        return kind(self, self.node(node, *inputs, **settings).outputs[output])

    def connect(self, socket: bpy.types.NodeSocket, operand: Operand) -> None:
        """Link an output to an input, or write a constant to it; None leaves it as it is."""
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


Operand = Socket | Number | bool | str | Sequence[float] | None


def _math(operation: str, *, swapped: bool = False) -> Callable[..., Scalar]:
    """A method that gives the result of an operation of the node *Math*: a float per element.

    Args:
        swapped: whether the value itself is the second operand.
    """

    def method(self: Socket, *others: Scalar | Number) -> Scalar:
        operands = (*others, self) if swapped else (self, *others)
        return self.builder.value(Scalar, "ShaderNodeMath", *operands, operation=operation)

    return method


class Scalar(Socket):
    """A float per element. What is less or greater is 1, else 0."""

    __add__ = _math("ADD")
    __sub__ = _math("SUBTRACT")
    __rsub__ = _math("SUBTRACT", swapped=True)
    __mul__ = _math("MULTIPLY")
    __rmul__ = _math("MULTIPLY", swapped=True)
    __truediv__ = _math("DIVIDE")
    __rtruediv__ = _math("DIVIDE", swapped=True)
    __lt__ = _math("LESS_THAN")
    __gt__ = _math("GREATER_THAN")
    times_plus = _math("MULTIPLY_ADD")
    modulo = _math("MODULO")
    arctangent = _math("ARCTAN2")  # of the quotient of two
    floored = _math("FLOOR")
    minimum = _math("MINIMUM")
    maximum = _math("MAXIMUM")
    absolute = _math("ABSOLUTE")
    sine = _math("SINE")
    cosine = _math("COSINE")
    exponential = _math("EXPONENT")
    square_root = _math("SQRT")
    arccosine = _math("ARCCOSINE")  # numbers beyond -1 and 1 count as these
    inverse_square_root = _math("INVERSE_SQRT")
    power = _math("POWER")
    wrapped = _math("WRAP")  # into a range, given its end, then its beginning

    def clamped(self, least: Scalar | Number, most: Scalar | Number) -> Scalar:
        """The number, or the nearer one of two bounds."""
        return self.builder.value(Scalar, "ShaderNodeClamp", self, least, most)

    def differs(self, other: Scalar, tolerance: Scalar) -> Scalar:
        """1 where two numbers differ by more than a tolerance, else 0."""
        node = self.builder.node("FunctionNodeCompare", operation="NOT_EQUAL", data_type="FLOAT")
        sides = [socket for socket in node.inputs if socket.enabled]
        for socket, operand in zip(sides, (self, other, tolerance), strict=True):
            self.builder.connect(socket, operand)
        return Scalar(self.builder, node.outputs[0])

    def mapped(
        self,
        before: tuple[Scalar | Number, Scalar | Number],
        after: tuple[Scalar | Number, Scalar | Number],
    ) -> Scalar:
        """The number from one range, clamped to it, to the same place in another range."""
        return self.builder.value(Scalar, "ShaderNodeMapRange", self, *before, *after)

    def smooth_step(self, start: float, end: float) -> Scalar:
        """`core.vectors.smooth_step`."""
        shape = {"interpolation_type": "SMOOTHSTEP"}
        node = "ShaderNodeMapRange"
        return self.builder.value(Scalar, node, self, start, end, 0.0, 1.0, **shape)


class Integer(Scalar):
    """An integer per element; what is computed with it is a `Scalar`.

    Blender turns all elements of an attribute of integers into floats when they are sampled as
    floats, also where few are wanted.
    """

    def plus(self, other: Integer | int) -> Scalar:
        """The sum; from Blender 4.5 on without a float in between."""
        if not hasattr(bpy.types, "FunctionNodeIntegerMath"):
            return self + other
        return self.builder.value(Scalar, "FunctionNodeIntegerMath", self, other, operation="ADD")

    @classmethod
    def of(cls, number: Scalar) -> Integer:
        """A whole number, to be captured as an integer."""
        return cls(number.builder, number.socket)


def _vector_math(operation: str) -> Callable[..., Vector]:
    """A method that gives the result of an operation of the node *Vector Math*, a vector."""

    def method(self: Vector, *others: Vector | tuple[float, float, float]) -> Vector:
        return self.builder.value(
            Vector, "ShaderNodeVectorMath", self, *others, operation=operation
        )

    return method


def _measure(operation: str) -> Callable[..., Scalar]:
    """A method that gives the result of an operation of the node *Vector Math*, a number."""

    def method(self: Vector, *others: Vector | tuple[float, float, float]) -> Scalar:
        return self.builder.value(
            Scalar, "ShaderNodeVectorMath", self, *others, output="Value", operation=operation
        )

    return method


class Vector(Socket):
    """Three floats per element."""

    __add__ = _vector_math("ADD")
    __sub__ = _vector_math("SUBTRACT")
    cross = _vector_math("CROSS_PRODUCT")
    normalized = _vector_math("NORMALIZE")  # zero stays zero
    minimum = _vector_math("MINIMUM")  # of each component
    maximum = _vector_math("MAXIMUM")
    dot = _measure("DOT_PRODUCT")
    distance = _measure("DISTANCE")
    length = _measure("LENGTH")

    def __mul__(self, factor: Scalar | Number) -> Vector:
        """Scaled by a number."""
        scaled = {"Scale": factor}
        return self.builder.value(
            Vector, "ShaderNodeVectorMath", self, named=scaled, operation="SCALE"
        )

    def components(self) -> tuple[Scalar, Scalar, Scalar]:
        """x, y and z."""
        node = self.builder.node("ShaderNodeSeparateXYZ", self)
        x, y, z = (Scalar(self.builder, output) for output in node.outputs)
        return x, y, z


class Matrix(Socket):
    """A 4x4 matrix per element; its columns are written first, as in Blender."""

    def transform_point(self, point: Vector) -> Vector:
        """The upper 3x4 part applied to a point."""
        return self.builder.value(Vector, "FunctionNodeTransformPoint", point, self)

    def transform_direction(self, direction: Vector | Sequence[float]) -> Vector:
        """The upper 3x3 part applied to a direction."""
        return self.builder.value(Vector, "FunctionNodeTransformDirection", direction, self)

    def __matmul__(self, other: Matrix) -> Matrix:
        return self.builder.value(Matrix, "FunctionNodeMatrixMultiply", self, other)

    def inverted(self) -> Matrix:
        """The inverse; the identity where there is none."""
        return self.builder.value(Matrix, "FunctionNodeInvertMatrix", self)

    def transposed(self) -> Matrix:
        """Rows and columns exchanged."""
        return self.builder.value(Matrix, "FunctionNodeTransposeMatrix", self)

    def entries(self) -> list[list[Scalar]]:
        """Its numbers, `entries()[column][row]`."""
        outputs = self.builder.node("FunctionNodeSeparateMatrix", self).outputs
        numbers = [Scalar(self.builder, output) for output in outputs]
        return [numbers[column : column + 4] for column in range(0, 16, 4)]

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
        return self.builder.value(Vector, "FunctionNodeRotateVector", vector, self)

    def after(self, first: Rotation) -> Rotation:
        """The rotation that is `first`, then this one."""
        node = "FunctionNodeRotateRotation"
        return self.builder.value(Rotation, node, first, self, rotation_space="GLOBAL")

    def inverted(self) -> Rotation:
        """The opposite rotation."""
        return self.builder.value(Rotation, "FunctionNodeInvertRotation", self)

    def half_way(self, other: Rotation) -> Rotation:
        """The rotation half way to another one, the shorter way."""
        node = self.builder.node("ShaderNodeMix", data_type="ROTATION")
        sides = [socket for socket in node.inputs if socket.enabled]
        for socket, operand in zip(sides, (0.5, self, other), strict=True):
            self.builder.connect(socket, operand)
        return Rotation(self.builder, next(each for each in node.outputs if each.enabled))

    def quaternion(self) -> Quaternion:
        """Its quaternion, of either sign."""
        outputs = self.builder.node("FunctionNodeRotationToQuaternion", self).outputs
        w, x, y, z = (Scalar(self.builder, output) for output in outputs)
        axis = self.builder.value(Vector, "ShaderNodeCombineXYZ", x, y, z)
        return Quaternion(w, axis, (x, y, z))


Field = Scalar | Vector | Matrix | Rotation
AnyField = TypeVar("AnyField", Scalar, Integer, Vector, Matrix, Rotation)


class Geometry(Socket):
    """A geometry, not a field."""

    def sample(self, value: AnyField, index: Scalar) -> AnyField:
        """The value that a field has on this geometry's points, at an index per element.

        Equal requests are one node.
        """
        known = self.builder.known
        if (self, value, index) not in known:
            known[self, value, index] = self.builder.value(
                type(value),
                "GeometryNodeSampleIndex",
                named={"Geometry": self, "Value": value, "Index": index},
                domain="POINT",
                data_type=_DATA_TYPES[type(value)],
            )
        return known[self, value, index]

    def capture(self, fields: dict[str, Field]) -> Cloud:
        """Evaluate fields on this geometry's points, all at once and once only."""
        node: Any = self.builder.node("GeometryNodeCaptureAttribute", self, domain="POINT")
        for name, field in fields.items():
            node.capture_items.new(_ITEM_TYPES[type(field)], name)
            self.builder.connect(node.inputs[name], field)
        captured = {
            name: type(field)(self.builder, node.outputs[name]) for name, field in fields.items()
        }
        return Cloud(Geometry(self.builder, node.outputs["Geometry"]), captured)

    def readers(self) -> list[bpy.types.NodeSocket]:
        """The inputs that it is linked to so far."""
        links: Any = self.socket.links
        return [link.to_socket for link in links]

    def points_alone(self) -> Geometry:
        """The cloud of points in it; of an object, without the empty mesh beside the cloud."""
        node = "GeometryNodeSeparateComponents"
        return self.builder.value(Geometry, node, self, output="Point Cloud")

    def as_points(self) -> Geometry:
        """The vertices of a mesh as a cloud of points."""
        return self.builder.value(Geometry, "GeometryNodeMeshToPoints", self)

    def point_count(self) -> Scalar:
        """The number of its points; a single number, not a field."""
        node = "GeometryNodeAttributeDomainSize"
        return self.builder.value(Scalar, node, self, output="Point Count")

    def statistic(
        self, value: Field, name: Literal["Max", "Sum"], domain: Literal["POINT", "EDGE"] = "POINT"
    ) -> Scalar:
        """The greatest value or the sum of a field; a single number, not a field."""
        return self.builder.value(
            Scalar,
            "GeometryNodeAttributeStatistic",
            named={"Geometry": self, "Attribute": value},
            output=name,
            data_type="FLOAT",
            domain=domain,
        )

    def sorted_within(self, group: Scalar, weight: Scalar) -> Geometry:
        """Its points in the order of their groups, those of a group by rising weight."""
        named = {"Geometry": self, "Group ID": group, "Sort Weight": weight}
        return self.builder.value(Geometry, "GeometryNodeSortElements", named=named)

    def store(self, name: str, value: Field, selection: Scalar | None = None) -> Geometry:
        """This geometry with a field written to a named attribute of its points.

        Points that are not selected keep its value; it is 0 where they have none.
        """
        return self.builder.value(
            Geometry,
            "GeometryNodeStoreNamedAttribute",
            named={"Geometry": self, "Selection": selection, "Name": name, "Value": value},
            domain="POINT",
            data_type=_DATA_TYPES[type(value)],
        )

    def set_position(self, position: Vector, selection: Scalar | None = None) -> Geometry:
        """This geometry with its points elsewhere."""
        return self.builder.value(Geometry, "GeometryNodeSetPosition", self, selection, position)

    def moved_by(self, offset: Vector, selection: Scalar | None = None) -> Geometry:
        """This geometry with its points moved."""
        node = "GeometryNodeSetPosition"
        return self.builder.value(Geometry, node, self, selection, None, offset)


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points with captured fields, to be sampled by the index of a point."""

    geometry: Geometry
    fields: dict[str, Any]

    def at(self, name: str, index: Scalar) -> Any:
        """The field of that name at an index per element; equal requests are one node."""
        return self.geometry.sample(self.fields[name], index)


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

    def __add__(self, other: Quaternion) -> Quaternion:
        return Quaternion(self.w + other.w, self.axis + other.axis)

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
    return y.builder.value(Rotation, "FunctionNodeAxesToRotation", y, z, **axes)


_DATA_TYPES: dict[type, str] = {
    Scalar: "FLOAT",
    Integer: "INT",
    Vector: "FLOAT_VECTOR",
    Matrix: "FLOAT4X4",
    Rotation: "QUATERNION",
}
KINDS: dict[str, type[Field]] = {name: kind for kind, name in _DATA_TYPES.items()}
"""What attributes of each of Blender's types are as fields."""
_ITEM_TYPES: dict[type, str] = {
    Scalar: "FLOAT",
    Integer: "INT",
    Vector: "VECTOR",
    Matrix: "MATRIX",
    Rotation: "ROTATION",
}


class TreeBuilder(TreeNodes):
    """Adds the inputs of formulas to one tree. Equal inputs are one node.

    Blender goes over a whole tree whenever a node or link is added to it, so that the time to build
    one grows with the square of its size; a tree of groups (`grouped`) is built in a fraction of
    it.
    """

    def vector(self, x: Scalar | Number, y: Scalar | Number, z: Scalar | Number) -> Vector:
        """Three numbers as a vector."""
        return self.value(Vector, "ShaderNodeCombineXYZ", x, y, z)

    def matrix(self, columns: Sequence[Sequence[Scalar | Number]]) -> Matrix:
        """Sixteen numbers, column by column, as a matrix."""
        entries = [entry for column in columns for entry in column]
        return self.value(Matrix, "FunctionNodeCombineMatrix", *entries)

    def rotation(
        self, w: Scalar | Number, x: Scalar | Number, y: Scalar | Number, z: Scalar | Number
    ) -> Rotation:
        """The rotation of a unit quaternion."""
        return self.value(Rotation, "FunctionNodeQuaternionToRotation", w, x, y, z)

    def turn(self, rotation: Rotation, size: Scalar | Number) -> Matrix:
        """The matrix of a rotation, times a size."""
        scale = size if not isinstance(size, Socket) else self.vector(size, size, size)
        scale = scale if isinstance(scale, Socket) else (scale,) * 3
        return self.value(Matrix, "FunctionNodeCombineTransform", None, rotation, scale)

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

    def attribute(self, name: str | Scalar, kind: type[Field]) -> Any:
        """A named attribute as a field of that kind."""
        data_type = _DATA_TYPES[kind]
        if (name, data_type) not in self.known:
            node = "GeometryNodeInputNamedAttribute"
            self.known[name, data_type] = self.value(kind, node, name, data_type=data_type)
        return self.known[name, data_type]

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

    def total(self, value: AnyField, group: Scalar) -> AnyField:
        """The sum of a field over the elements with the same integer."""
        node, data_type = "GeometryNodeAccumulateField", _DATA_TYPES[type(value)]
        return self.value(type(value), node, value, group, output="Total", data_type=data_type)

    def points(self, count: Scalar, position: Vector | None = None) -> Geometry:
        """A cloud of that many points, all at the origin or each at a position."""
        return self.value(Geometry, "GeometryNodePoints", count, position)

    def equal(self, one: Scalar, other: Scalar | int) -> Scalar:
        """Whether two integers are equal; for `choose`."""
        node = self.node("FunctionNodeCompare", data_type="INT", operation="EQUAL")
        sides = [socket for socket in node.inputs if socket.enabled]
        for socket, operand in zip(sides, (one, other), strict=True):
            self.connect(socket, operand)
        return Scalar(self, node.outputs[0])

    @cached_property
    def index(self) -> Integer:
        """The number of the element."""
        return self.value(Integer, "GeometryNodeInputIndex")

    @cached_property
    def position(self) -> Vector:
        """The position of the point."""
        return self.value(Vector, "GeometryNodeInputPosition")

    def choose(self, condition: Scalar, false: Any, true: Any) -> Any:
        """One of two values or geometries, by a number above 0.5 or a boolean."""
        sample = next(side for side in (true, false) if isinstance(side, Socket))
        kinds: dict[type[Socket], str] = {**_ITEM_TYPES, Geometry: "GEOMETRY"}
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
    tree: Any = bpy.data.node_groups.new(f".{name}", "GeometryNodeTree")
    inner, outer_inputs = TreeBuilder(tree), _sockets_in(arguments)
    for number, socket in enumerate(outer_inputs):
        kind = _SOCKETS[type(socket)]
        tree.interface.new_socket(f"{number}", in_out="INPUT", socket_type=kind)
    inputs = _with_sockets(arguments, inner, iter(inner.node("NodeGroupInput").outputs))

    result = part(inner, *inputs)
    inner_outputs = _sockets_in(result)
    for number, socket in enumerate(inner_outputs):
        kind = _SOCKETS[type(socket)]
        tree.interface.new_socket(f"{number}", in_out="OUTPUT", socket_type=kind)
    inner.node("NodeGroupOutput", *inner_outputs)
    group = build.node("GeometryNodeGroup", *outer_inputs, node_tree=tree)
    return _with_sockets(result, build, iter(group.outputs))


def grouped_again(build: TreeBuilder, result: Any, *arguments: Any) -> Any:
    """What `grouped` has given, with the same group and other arguments of the same kinds."""
    known: Any = _sockets_in(result)[0].socket.node
    inputs = _sockets_in(arguments)
    group = build.node("GeometryNodeGroup", *inputs, node_tree=known.node_tree)
    return _with_sockets(result, build, iter(group.outputs))


def _sockets_in(value: Any) -> list[Socket]:
    """The sockets in a structure, in order."""
    if isinstance(value, Socket):
        return [value]
    if isinstance(value, Cloud):
        return [value.geometry, *value.fields.values()]
    parts = value if isinstance(value, tuple | list) else ()
    return [socket for part in parts for socket in _sockets_in(part)]


def _with_sockets(value: Any, builder: TreeBuilder, outputs: Iterator[bpy.types.NodeSocket]) -> Any:
    """The same structure of sockets in another tree, with these outputs in order."""
    if isinstance(value, Socket):
        return type(value)(builder, next(outputs))
    if isinstance(value, Cloud):
        geometry = Geometry(builder, next(outputs))
        fields = {name: type(field)(builder, next(outputs)) for name, field in value.fields.items()}
        return Cloud(geometry, fields)
    if isinstance(value, tuple | list):
        return type(value)(_with_sockets(each, builder, outputs) for each in value)
    return value

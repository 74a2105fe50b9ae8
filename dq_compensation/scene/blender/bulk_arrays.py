"""Reads attributes and collections into NumPy arrays in bulk, and writes attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Literal, Protocol

import bpy
import numpy as np
from numpy.typing import DTypeLike, NDArray


class AttributeType(Enum):
    """A Blender attribute type: the property of an element that holds it, dtype and width."""

    VECTOR = ("FLOAT_VECTOR", "vector", np.float32, 3)
    FLOAT = ("FLOAT", "value", np.float32, 1)
    FLOAT_PAIR = ("FLOAT2", "vector", np.float32, 2)
    QUATERNION = ("QUATERNION", "value", np.float32, 4)
    MATRIX = ("FLOAT4X4", "value", np.float32, 16)
    INTEGER = ("INT", "value", np.int32, 1)
    INTEGER_PAIR = ("INT32_2D", "value", np.int32, 2)
    BOOLEAN = ("BOOLEAN", "value", np.bool_, 1)

    def __init__(self, blender_name: str, field: str, dtype: DTypeLike, width: int) -> None:
        self.blender_name, self.property_name = blender_name, field
        self.dtype, self.width = dtype, width


class BulkReadable(Protocol):
    """The part of `bpy_prop_collection` that reads a property of all its items at once."""

    def __len__(self) -> int: ...
    def foreach_get(self, attr: str, seq: Any) -> None:
        """Fill a flat array with one property of all items."""


def read_attribute(
    mesh: bpy.types.Mesh, name: str, kind: AttributeType, count: int
) -> NDArray[Any]:
    """A mesh attribute, shape (count,) or (count, width); zeros without one of this type and size.

    Blender leaves out attributes that hold nothing but their default, so a missing one means
    zeros: no sharp edges, the first material.
    """
    shape = (count,) if kind.width == 1 else (count, kind.width)
    values = np.zeros(shape, kind.dtype)
    attribute = mesh.attributes.get(name)
    if attribute is None or attribute.data_type != kind.blender_name or not count:
        return values
    items: BulkReadable = attribute.data
    if len(items) == count:
        items.foreach_get(kind.property_name, values.reshape(-1))
    return values


def write_attribute(
    mesh: bpy.types.Mesh,
    name: str,
    values: NDArray[Any],
    domain: Literal["POINT", "EDGE"] = "POINT",
) -> bool:
    """Write a mesh attribute; one of this name and another type is replaced.

    Args:
        values: integers or numbers (n,), pairs of numbers (n, 2), vectors (n, 3), quaternions
            (n, 4) or matrices (n, 16), column by column.

    Returns:
        whether it was another one before. What is equal is not written, so that nobody takes it
        for an edit.
    """
    floats = (
        AttributeType.FLOAT,
        AttributeType.FLOAT_PAIR,
        AttributeType.VECTOR,
        AttributeType.QUATERNION,
        AttributeType.MATRIX,
    )
    width = values.shape[1] if values.ndim > 1 else 1
    kind = next(each for each in floats if each.width == width)
    if np.issubdtype(values.dtype, np.integer):
        kind = AttributeType.INTEGER
    wanted = np.ascontiguousarray(values, kind.dtype)
    attributes: Any = mesh.attributes
    attribute = attributes.get(name)
    known = None if attribute is None else (attribute.data_type, attribute.domain)
    if attribute is not None and known != (kind.blender_name, domain):
        attributes.remove(attribute)
        attribute = None
    if attribute is not None:
        before = np.empty_like(wanted)
        attribute.data.foreach_get(kind.property_name, before.reshape(-1))
        if np.array_equal(before, wanted):
            return False
    attribute = attribute or attributes.new(name, kind.blender_name, domain)
    attribute.data.foreach_set(kind.property_name, wanted.reshape(-1))
    return True


def read_property(
    items: BulkReadable, name: str, dtype: DTypeLike, shape: Sequence[int] = ()
) -> NDArray[Any]:
    """One property of all m items of a collection, shape (m, *shape).

    Args:
        dtype: float32, int32 or bool; Blender converts where its own type is another one.
        shape: the shape of one item's value; () for a single number.
    """
    values = np.zeros((len(items), *shape), dtype)
    if values.size:
        items.foreach_get(name, values.reshape(-1))
    return values


def read_properties(
    items: BulkReadable, wanted: Iterable[tuple[str, DTypeLike, Sequence[int]]]
) -> list[NDArray[Any]]:
    """Several of them. Blender counts the items of some collections one by one: this does once.

    Args:
        wanted: the arguments of `read_property` for each.
    """
    count, found = len(items), []
    for name, dtype, shape in wanted:
        found.append(np.zeros((count, *shape), dtype))
        if found[-1].size:
            items.foreach_get(name, found[-1].reshape(-1))
    return found

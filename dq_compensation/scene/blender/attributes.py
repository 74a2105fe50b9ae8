"""Bulk reading of mesh attributes and collections into NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Protocol

import bpy
import numpy as np
from numpy.typing import DTypeLike, NDArray


class AttributeType(Enum):
    """A Blender attribute type: its name, the property that holds it, dtype and width."""

    VECTOR = ("FLOAT_VECTOR", "vector", np.float32, 3)
    FLOAT = ("FLOAT", "value", np.float32, 1)
    FLOAT_PAIR = ("FLOAT2", "vector", np.float32, 2)
    INTEGER = ("INT", "value", np.int32, 1)
    INTEGER_PAIR = ("INT32_2D", "value", np.int32, 2)
    BOOLEAN = ("BOOLEAN", "value", np.bool_, 1)

    @property
    def blender_name(self) -> str:
        """The value of `Attribute.data_type`."""
        return self.value[0]

    @property
    def property_name(self) -> str:
        """The property of an element that holds its value."""
        return self.value[1]

    @property
    def dtype(self) -> DTypeLike:
        """The NumPy type that is read without conversion."""
        return self.value[2]

    @property
    def width(self) -> int:
        """The number of values of an element."""
        return self.value[3]


class BulkReadable(Protocol):
    """The part of `bpy_prop_collection` that reads a property of all its items at once."""

    def __len__(self) -> int: ...
    def foreach_get(self, attr: str, seq: Any) -> None:
        """Fill a flat array with one property of all items."""


def read_attribute(
    mesh: bpy.types.Mesh, name: str, kind: AttributeType, count: int
) -> NDArray[Any]:
    """A mesh attribute as an array; zeros where the mesh has none of this name, type and size.

    Blender leaves out attributes that hold nothing but their default, so a missing one means
    zeros: no sharp edges, the first material.

    Returns:
        shape (count,) or (count, width).
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


def read_property(
    items: BulkReadable, name: str, dtype: DTypeLike, shape: Sequence[int] = ()
) -> NDArray[Any]:
    """One property of all items of a collection.

    Args:
        items: a Blender collection of m items.
        dtype: float32, int32 or bool; Blender converts where its own type is another one.
        shape: the shape of one item's value; () for a single number.

    Returns:
        shape (m, *shape).
    """
    return read_properties(items, [(name, dtype, shape)])[0]


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

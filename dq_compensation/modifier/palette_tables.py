"""The tables in a palette object: joints and pairs of bones that its node tree poses for meshes.

Meshes ask for rows and keep their numbers. Rows are only ever appended, so that meshes that asked
earlier stay right, and equal rows are one row. When the bones at rest have changed, the tables
start anew with another *edition*: every mesh compares that with the one that it was written for.

A row is sixteen numbers, a matrix attribute of the palette's points: one fetch. Palette rows of
bones (`palette_points`) are among them.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from .attribute_names import COUNTS, JOINT_ROWS, PAIR_ROWS

# The tables by the attribute that has the rows; where COUNTS has their number.
_PLACES = {JOINT_ROWS: 1, PAIR_ROWS: 2}

Rows = NDArray[np.float32]


def table_rows(mesh: bpy.types.Mesh, name: str) -> Rows:
    """The rows of a table, shape (k, 16)."""
    count = int(read_counts(mesh)[_PLACES[name]])
    attribute: Any = mesh.attributes.get(name)
    if attribute is None:
        return np.zeros((0, 16), np.float32)
    values = np.empty((len(mesh.vertices), 16), np.float32)
    attribute.data.foreach_get("value", values.reshape(-1))
    return values[:count]


def rows_in_table(
    mesh: bpy.types.Mesh, name: str, wanted: NDArray[np.floating]
) -> NDArray[np.int32]:
    """Where rows are in a table of a palette's mesh; those that it does not have are appended.

    Args:
        wanted: shape (k, 16).

    Returns:
        shape (k,), the numbers of the rows.
    """
    known = table_rows(mesh, name)
    wanted = np.ascontiguousarray(wanted, np.float32) + np.float32(0.0)  # without -0
    places = {row.tobytes(): number for number, row in enumerate(known)}
    numbers = [places.setdefault(row.tobytes(), len(places)) for row in wanted]
    if len(places) > len(known):
        write_table(mesh, name, np.frombuffer(b"".join(places), np.float32).reshape(-1, 16))
    return np.array(numbers, np.int32)


def write_table(mesh: bpy.types.Mesh, name: str, rows: Rows) -> None:
    """Write a whole table, with as many points as it takes."""
    counts = read_counts(mesh)
    counts[_PLACES[name]] = len(rows)
    missing = point_count(counts) - len(mesh.vertices)
    if missing > 0:
        mesh.vertices.add(missing)
        position: Any = mesh.attributes["position"]
        points = np.empty((len(mesh.vertices), 3), np.float32)
        position.data.foreach_get("vector", points.reshape(-1))
        points[-missing:] = 0.0
        position.data.foreach_set("vector", points.reshape(-1))
    values = np.zeros((len(mesh.vertices), 16), np.float32)
    values[: len(rows)] = rows
    write_points(mesh, name, values)
    write_counts(mesh, counts)
    mesh.update()


def point_count(counts: NDArray[np.integer]) -> int:
    """How many points a palette with so many bones, joints and pairs has."""
    return int(max(4 * counts[0], *counts[1:]))


def read_counts(mesh: bpy.types.Mesh) -> NDArray[np.int64]:
    """The rows of bones, joints and pairs in a palette's mesh; zeros when it has no tables."""
    attribute: Any = mesh.attributes.get(COUNTS)
    found = attribute.data[0].vector if attribute is not None and len(attribute.data) else (0, 0, 0)
    return np.array(found, np.int64)


def write_counts(mesh: bpy.types.Mesh, counts: NDArray[np.integer]) -> None:
    """Write what `read_counts` reads."""
    write_points(mesh, COUNTS, np.tile(counts.astype(np.float32), (len(mesh.vertices), 1)))


def write_points(mesh: bpy.types.Mesh, name: str, values: NDArray[Any]) -> None:
    """An attribute of all points: numbers (n,), vectors (n, 3) or matrices (n, 16)."""
    kinds = {1: ("FLOAT", "value"), 3: ("FLOAT_VECTOR", "vector"), 16: ("FLOAT4X4", "value")}
    kind, field = kinds[values[:1].size]
    attributes: Any = mesh.attributes
    attribute = attributes.get(name) or attributes.new(name, kind, "POINT")
    attribute.data.foreach_set(field, np.ascontiguousarray(values, np.float32).reshape(-1))

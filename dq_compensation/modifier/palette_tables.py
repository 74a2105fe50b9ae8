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

from ..scene.blender.attributes import AttributeType, read_attribute, write_attribute
from .attribute_names import JOINT_ROWS, PAIR_ROWS, PREFIX

# A custom property of a palette's mesh: the rows of bones, joints and pairs.
COUNTS_PROPERTY = "dq_compensation_palette_rows"
# The points of the evaluated palette: the first one says what holds for all of it. Behind it and
# another one are two for each joint, at its place and with the ray of its limb as a position.
POINTS_OF_JOINT = 2
# The tables by the attribute that has the rows; where the property has their number.
_PLACES = {JOINT_ROWS: 1, PAIR_ROWS: 2}

Rows = NDArray[np.float32]


def table_rows(mesh: bpy.types.Mesh, name: str) -> Rows:
    """The rows of a table, shape (k, 16)."""
    count = int(read_counts(mesh)[_PLACES[name]])
    return read_attribute(mesh, name, AttributeType.MATRIX, len(mesh.vertices))[:count]


def rows_in_table(
    mesh: bpy.types.Mesh, name: str, wanted: NDArray[np.floating]
) -> NDArray[np.int32]:
    """The numbers of rows (k, 16) in a table of a palette's mesh, shape (k,).

    Those that it does not have are appended.
    """
    known = table_rows(mesh, name)
    wanted = np.ascontiguousarray(wanted, np.float32) + np.float32(0.0)  # without -0
    places = {row.tobytes(): number for number, row in enumerate(known)}
    numbers = [places.setdefault(row.tobytes(), len(places)) for row in wanted]
    if len(places) > len(known):
        write_table(mesh, name, np.frombuffer(b"".join(places), np.float32).reshape(-1, 16))
    return np.array(numbers, np.int32)


def points_of_joints(rows: NDArray[np.integer]) -> NDArray[np.integer]:
    """The first point that the evaluated palette has for each of these rows of joints."""
    return POINTS_OF_JOINT * (rows + 1)


def write_table(mesh: bpy.types.Mesh, name: str, rows: Rows) -> None:
    """Write a whole table, with as many points as it takes."""
    counts = read_counts(mesh)
    counts[_PLACES[name]] = len(rows)
    _grow(mesh, point_count(counts))
    values = np.zeros((len(mesh.vertices), 16), np.float32)
    values[: len(rows)] = rows
    write_attribute(mesh, name, values)
    write_counts(mesh, counts)
    mesh.update()


def _grow(mesh: bpy.types.Mesh, count: int) -> None:
    """Add points where there are fewer; they are like the first one, which does not move."""
    before = len(mesh.vertices)
    if before >= count:
        return
    mesh.vertices.add(count - before)
    names = [each.name for each in mesh.attributes if each.domain == "POINT"]
    for name in names:
        if name == "position" or name.startswith(PREFIX):
            values = read_points(mesh, name)
            values[before:] = values[0]
            write_attribute(mesh, name, values)


def point_count(counts: NDArray[np.integer]) -> int:
    """How many points a palette with so many bones, joints and pairs has."""
    return int(max(4 * (counts[0] + counts[1]), counts[2]))


def read_counts(mesh: bpy.types.Mesh) -> NDArray[np.int64]:
    """The rows of bones, joints and pairs in a palette's mesh; zeros when it has no tables.

    Zeros, too, where the property is damaged.
    """
    counts = np.array(mesh.get(COUNTS_PROPERTY, ()), np.object_)
    known = counts.shape == (3,) and all(isinstance(count, int) for count in counts)
    if not known or any(not 0 <= count <= 4 * len(mesh.vertices) for count in counts):
        return np.zeros(3, np.int64)
    return counts.astype(np.int64)


def write_counts(mesh: bpy.types.Mesh, counts: NDArray[np.integer]) -> None:
    """Write what `read_counts` reads."""
    mesh[COUNTS_PROPERTY] = counts.tolist()


def read_points(mesh: bpy.types.Mesh, name: str) -> NDArray[Any]:
    """The values of an attribute of a palette's points; none without it."""
    attribute = mesh.attributes.get(name)
    kinds = {kind.blender_name: kind for kind in AttributeType}
    if attribute is None or attribute.data_type not in kinds or attribute.domain != "POINT":
        return np.zeros(0, np.float32)
    return read_attribute(mesh, name, kinds[attribute.data_type], len(mesh.vertices))

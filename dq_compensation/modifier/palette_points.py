"""The points of a palette object: four per row, the columns of a matrix when they are posed.

A bone has one row: four points at the armature's origin and along its three axes, which follow it
with weight 1: deformed, they are the columns of the bone's skinning matrix D_b. The first row has
no group and stays at rest: the identity, for vertices that no bone moves.

A bendy bone that deforms has three rows: as one straight bone, then its start and its end. The
Armature modifier takes what lies before the head of a bendy bone by its first segment, and what
lies beyond the tail by the last one: there its points are. As one straight bone it would bend them,
and it would leave those of bones without Deform: such rows follow the bone by a Hook modifier each,
and their groups have other names, which the Armature modifier does not know.
"""

from __future__ import annotations

from typing import Any, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.skeleton import Skeleton
from ..scene.armature import armature_of, deforming_bones
from ..scene.mesh import mesh_of
from .attribute_names import JOINT_ROWS, PAIR_ROWS, PALETTE_GROUP, PALETTE_LENGTH, PALETTE_REST
from .palette_tables import (
    Rows,
    point_count,
    read_counts,
    table_rows,
    write_counts,
    write_points,
    write_table,
)

# Without a group: at rest in every pose.
IDENTITY_ROW = 0

# The rows of a bone: as one straight bone, its start, its end. All one row where it is not bendy.
BoneRows = tuple[int, int, int]


def palette_rows(palette: bpy.types.Object) -> dict[str, BoneRows]:
    """The rows of each bone, by its current name: Blender renames groups and hooks with bones."""
    hooked = {hook.vertex_group: hook.subtarget for hook in _hooks(palette)}
    names = [hooked.get(group.name, group.name) for group in palette.vertex_groups]
    found: dict[str, list[int]] = {}
    for row, group in enumerate(_groups_of_rows(mesh_of(palette))):
        if 0 <= group < len(names):
            found.setdefault(names[group], []).append(row)
    return {name: (rows[0], rows[-2:][0], rows[-1]) for name, rows in found.items()}


def rows_of_bones(rows: dict[str, BoneRows], names: tuple[str, ...]) -> NDArray[np.int64]:
    """Shape (B, 3): straight, start and end rows; the identity's for bones without."""
    nowhere = (IDENTITY_ROW,) * 3
    return np.array([rows.get(name, nowhere) for name in names] or [nowhere])


def write_bones(
    palette: bpy.types.Object, armature: bpy.types.Object, names: list[str], skeleton: Skeleton
) -> None:
    """Give a palette the points of these bones, in this order; tables stay as they are."""
    mesh = mesh_of(palette)
    tables = {name: table_rows(mesh, name) for name in (JOINT_ROWS, PAIR_ROWS)}
    for hook in _hooks(palette):
        palette.modifiers.remove(hook)
    palette.vertex_groups.clear()
    mesh.clear_geometry()

    deforming, bones = deforming_bones(armature), armature_of(armature).bones
    bendy = {bone.name for bone in bones if bone.bbone_segments > 1}
    place = {name: index for index, name in enumerate(skeleton.names)}
    length = _length_of(skeleton)
    at_rest, lengths, groups = [np.eye(4)], [length], [-1]
    hooks: list[tuple[str, str]] = []
    for name in names:
        by_hook = name in place and (name in bendy or name not in deforming)
        group = palette.vertex_groups.new(name=f"{name} (hooked)" if by_hook else name)
        if by_hook:
            hooks.append((name, group.name))
        rest = np.eye(4)
        if name in place:
            rest[:3, :3] = skeleton.rest[place[name], :3, :3]
        at_rest.append(rest)
        lengths.append(length)
        groups.append(group.index)
        if name in bendy & deforming:
            ends = palette.vertex_groups.new(name=name).index
            bone = bones[name]
            along = rest[:3, 1]
            spread = length if bone.bbone_mapping_mode == "STRAIGHT" else 0.25 * bone.length
            for end, way in ((bone.head_local, -1.5), (bone.tail_local, 1.5)):
                beyond = rest.copy()
                beyond[:3, 3] = np.array(end) + way * spread * along
                at_rest.append(beyond)
                lengths.append(spread)
                groups.append(ends)
    _write_points(palette, np.array(at_rest), np.array(lengths), np.array(groups), tables)
    for name, group_name in hooks:
        hook = cast("bpy.types.HookModifier", palette.modifiers.new(name, "HOOK"))
        hook.object, hook.subtarget, hook.vertex_group = armature, name, group_name
        hook.falloff_type = "NONE"
        rest = skeleton.rest[place[name]]
        hook.matrix_inverse = np.linalg.inv(rest).T.tolist()


def _write_points(
    palette: bpy.types.Object,
    at_rest: NDArray[np.float64],
    lengths: NDArray[np.float64],
    groups: NDArray[np.int64],
    tables: dict[str, Rows],
) -> None:
    """Write all points, with what they are made of, row by row.

    Args:
        at_rest: shape (R, 4, 4): the bone's own axes, and where the first point is.
        lengths: shape (R,): how far from it the others are.
        groups: shape (R,), -1 for none.
    """
    mesh, count = mesh_of(palette), len(at_rest)
    counts = np.array([count, *map(len, tables.values())])
    total = point_count(counts)
    mesh.vertices.add(total)
    corners = np.vstack([np.zeros(3), np.eye(3)])
    points = np.zeros((total, 3))
    places = at_rest[:, None, :3, 3] + lengths[:, None, None] * corners
    points[: 4 * count] = places.reshape(-1, 3)
    write_points(mesh, "position", points)
    for name, values in (
        (PALETTE_REST, at_rest.transpose(0, 2, 1).reshape(-1, 16)),
        (PALETTE_LENGTH, lengths),
        (PALETTE_GROUP, groups),
    ):
        padded = np.zeros((total, *values.shape[1:]))
        padded[:count] = values
        write_points(mesh, name, padded)
    write_counts(mesh, counts)
    for name, rows in tables.items():
        write_table(mesh, name, rows)
    for group in range(len(palette.vertex_groups)):
        of_group = 4 * np.flatnonzero(groups == group)[:, None] + np.arange(4)
        palette.vertex_groups[group].add(of_group.reshape(-1).tolist(), 1.0, "REPLACE")
    mesh.update()


def _length_of(skeleton: Skeleton) -> float:
    """As far out as the skeleton is large, so that rounding turns no bone more than it moves it.

    A power of two, so that dividing by it again rounds nothing.
    """
    size = float(np.abs(skeleton.heads).max(initial=0.5))
    return float(2.0 ** np.ceil(np.log2(max(size, 1e-6))))


def _groups_of_rows(mesh: bpy.types.Mesh) -> list[int]:
    attribute: Any = mesh.attributes.get(PALETTE_GROUP)
    if attribute is None:
        return []
    groups = np.empty(len(mesh.vertices), np.float32)
    attribute.data.foreach_get("value", groups)
    return groups[: int(read_counts(mesh)[0])].astype(int).tolist()


def _hooks(palette: bpy.types.Object) -> list[bpy.types.HookModifier]:
    modifiers = (modifier for modifier in palette.modifiers if modifier.type == "HOOK")
    return [cast("bpy.types.HookModifier", modifier) for modifier in modifiers]

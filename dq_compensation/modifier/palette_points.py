"""The points of a palette object: four per row, the columns of a matrix when they are posed.

A bone has one row: four points at the armature's origin and along its three axes, which follow it
with weight 1: deformed, they are the columns of the bone's skinning matrix D_b. The first row has
no group and stays at rest: the identity, for vertices that no bone moves.

A bendy bone that deforms has two rows, its start and its end. The Armature modifier takes what lies
before the head of a bendy bone by its first segment, and what lies beyond the tail by the last one:
there their points are.

Where a bendy bone is needed as one straight bone, the Armature modifier would bend its points; it
would leave those of bones without Deform, and those out of the envelope of a bone with Envelope
Multiply. Such rows follow the bone by a Hook modifier each, and their groups have other names,
which the Armature modifier does not know.

Where no bone is scaled, nothing has to be computed of a joint and its limb: four points for each
row of JOINT_ROWS, behind those of the bones, are where the child and the parent of the joint and
the bone of the limb take the joint, and where the latter takes a point on the limb. A swing has two
such rows, one after the other, with the child's limb as the parent and as the child takes it; a
limb that twists has seven, with directions across it as three bones take them.

Edges between the points of each bone, and between the first two of each joint, have other lengths
than at rest where bones are scaled and where joints come apart. Swings and twists do not ask
whether they do: their edges are between the two points of the limb.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.skeleton import Skeleton
from ..scene.blender.armature import armature_of, deforming_bones
from ..scene.blender.mesh import AttributeType, mesh_of, read_attribute, write_attribute
from .attribute_names import (
    JOINT_ROWS,
    PAIR_ROWS,
    PALETTE_END,
    PALETTE_GROUP,
    PALETTE_LENGTH,
    PALETTE_PARTNER,
    PALETTE_REST,
    PREFIX,
    REST_LENGTH,
)

# The tables in a palette object: joints and pairs of bones that its node tree poses for meshes.
#
# Meshes ask for rows and keep their numbers. Rows are only ever appended, so that meshes that asked
# earlier stay right, and equal rows are one row. When the bones at rest have changed, the tables
# start anew with another *edition*: every mesh compares that with the one that it was written for.
#
# A row is sixteen numbers, a matrix attribute of the palette's points: one fetch. Palette rows of
# bones (`palette_points`) are among them.


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


# The points of a palette object: four per row, the columns of a matrix when they are posed.


# Without a group: at rest in every pose.
IDENTITY_ROW = 0
# How far before the head and beyond the tail of a bendy bone the first of the four points is, in
# distances between them: all four lie beyond.
BEYOND = 1.5

# Between the four points of a bone.
_BONE_EDGES = np.array(list(combinations(range(4), 2)))

# The rows of a bone: as one straight bone, its start, its end.
BoneRows = tuple[int, int, int]
# The points that follow a bone: its name, and whether they follow it by a hook.
BoneGroup = tuple[str, bool]


def has_all_attributes(mesh: bpy.types.Mesh) -> bool:
    """Whether a palette's mesh has each attribute that its points need."""
    found = {each.name: (each.data_type, each.domain) for each in mesh.attributes}
    return _ATTRIBUTES.items() <= found.items()


def bone_groups(palette: bpy.types.Object) -> list[BoneGroup]:
    """The bone of each vertex group: Blender renames groups and hooks with the bones."""
    hooked = {hook.vertex_group: hook.subtarget for hook in _hooks(palette)}
    names = [group.name for group in palette.vertex_groups]
    return [(hooked.get(name, name), name in hooked) for name in names]


def groups_for(
    armature: bpy.types.Object, skeleton: Skeleton, also: frozenset[str], whole: frozenset[str]
) -> list[BoneGroup]:
    """The groups that a palette needs; arguments as of `palette_object.ensure_palette`."""
    deforming, bones = deforming_bones(armature), armature_of(armature).bones
    # Envelopes would multiply the weights of a palette's points, too.
    multiplied = {bone.name for bone in bones if bone.use_envelope_multiply and bone.use_deform}
    posed = deforming - multiplied
    hooked = (also - posed) | multiplied | (whole & _bendy_bones(armature))
    return [
        (name, by_hook)
        for name in skeleton.names
        for by_hook, those in ((False, posed), (True, hooked))
        if name in those
    ]


def palette_rows(palette: bpy.types.Object) -> dict[str, BoneRows]:
    """The rows of each bone, by its current name; of a bendy bone only those that it has."""
    groups = bone_groups(palette)
    found: dict[BoneGroup, list[int]] = {}
    mesh = mesh_of(palette)
    of_rows = read_points(mesh, PALETTE_GROUP)[: int(read_counts(mesh)[0])]
    for row, group in enumerate(of_rows.tolist()):
        if 0 <= group < len(groups):
            found.setdefault(groups[group], []).append(row)
    rows: dict[str, BoneRows] = {}
    for name in dict.fromkeys(name for name, _ in found):
        hooked, posed = found.get((name, True), []), found.get((name, False), [])
        ends = posed or hooked
        straight = hooked or posed
        rows[name] = (straight[0], ends[0], ends[-1])
    return rows


def rows_of_bones(rows: dict[str, BoneRows], names: tuple[str, ...]) -> NDArray[np.int64]:
    """Shape (B, 3): straight, start and end rows; the identity's for bones without."""
    nowhere = (IDENTITY_ROW,) * 3
    return np.array([rows.get(name, nowhere) for name in names] or [nowhere])


def write_bones(
    palette: bpy.types.Object,
    armature: bpy.types.Object,
    groups: list[BoneGroup],
    skeleton: Skeleton,
) -> None:
    """Give a palette the points of these groups, in this order; tables stay as they are."""
    mesh = mesh_of(palette)
    tables = {name: table_rows(mesh, name) for name in (JOINT_ROWS, PAIR_ROWS)}
    for hook in _hooks(palette):
        palette.modifiers.remove(hook)
    palette.vertex_groups.clear()
    mesh.clear_geometry()

    bones, bendy = armature_of(armature).bones, _bendy_bones(armature)
    place = {name: index for index, name in enumerate(skeleton.names)}
    length = _length_of(skeleton)
    rows: list[_Row] = [(np.eye(4), length, -1, np.zeros(3), 0)]
    for name, by_hook in groups:
        group = palette.vertex_groups.new(name=f"{name} (hooked)" if by_hook else name)
        rest = np.eye(4)
        rest[:3, :3] = skeleton.rest[place[name], :3, :3]
        if by_hook:
            _add_hook(palette, armature, name, group.name, skeleton.rest[place[name]])
        if by_hook or name not in bendy:
            rows.append((rest, length, group.index, np.zeros(3), 0))
        else:
            rows += _ends(bones[name], skeleton, place[name], length, group.index)
    _write_points(palette, rows, tables)


# The type and the domain of each attribute of a palette.
_ATTRIBUTES = {
    PALETTE_REST: ("FLOAT4X4", "POINT"),
    PALETTE_LENGTH: ("FLOAT", "POINT"),
    PALETTE_GROUP: ("INT", "POINT"),
    PALETTE_END: ("FLOAT_VECTOR", "POINT"),
    PALETTE_PARTNER: ("INT", "POINT"),
    JOINT_ROWS: ("FLOAT4X4", "POINT"),
    PAIR_ROWS: ("FLOAT4X4", "POINT"),
    REST_LENGTH: ("FLOAT", "EDGE"),
}


# The parts of a row of points: shape (4, 4), the axes along which the bone is scaled, and the first
# point at rest; how far the other points are from it; the vertex group that moves them, or -1; of a
# bendy bone the head or the tail, shape (3,), and where the row of the other end is: 1 or -1.
_Row = tuple[NDArray[np.float64], float, int, NDArray[np.float64], int]


def _ends(
    bone: bpy.types.Bone, skeleton: Skeleton, index: int, length: float, group: int
) -> list[_Row]:
    """The start and the end of a bendy bone, with points that lie beyond them."""
    rows: list[_Row] = []
    straight = bone.bbone_mapping_mode == "STRAIGHT"
    spread = length if straight else 0.25 * bone.length
    for pose_row, end, partner in (
        (skeleton.start_rows[index], skeleton.heads[index], 1),
        (skeleton.end_rows[index], skeleton.tails[index], -1),
    ):
        at_rest = skeleton.frames[pose_row].copy()
        along = skeleton.rest[index, :3, 1] if straight else at_rest[:3, 1]
        at_rest[:3, 3] = end - partner * BEYOND * spread * along
        rows.append((at_rest, spread, group, end, partner))
    return rows


def _add_hook(
    palette: bpy.types.Object,
    armature: bpy.types.Object,
    name: str,
    group: str,
    rest: NDArray[np.float64],
) -> None:
    """Let a group of points follow a bone."""
    hook = cast("bpy.types.HookModifier", palette.modifiers.new(name, "HOOK"))
    hook.object, hook.subtarget, hook.vertex_group = armature, name, group
    hook.falloff_type = "NONE"
    hook.matrix_inverse = np.linalg.inv(rest).T.tolist()


def _bendy_bones(armature: bpy.types.Object) -> set[str]:
    return {bone.name for bone in armature_of(armature).bones if bone.bbone_segments > 1}


def _write_points(palette: bpy.types.Object, rows: list[_Row], tables: dict[str, Rows]) -> None:
    """Write all points, with what they are made of, row by row."""
    mesh, count = mesh_of(palette), len(rows)
    parts = zip(*rows, strict=True)
    at_rest, lengths, groups, ends, partners = (np.array(part) for part in parts)
    counts = np.array([count, *map(len, tables.values())])
    total = point_count(counts)
    mesh.vertices.add(total)
    corners = np.vstack([np.zeros(3), np.eye(3)])
    points = np.zeros((total, 3))
    places = at_rest[:, None, :3, 3] + lengths[:, None, None] * corners
    points[: 4 * count] = places.reshape(-1, 3)
    write_attribute(mesh, "position", points)
    for name, values in (
        (PALETTE_REST, at_rest.transpose(0, 2, 1).reshape(-1, 16)),
        (PALETTE_LENGTH, lengths),
        (PALETTE_GROUP, groups),
        (PALETTE_END, ends),
        (PALETTE_PARTNER, partners),
    ):
        # Points without a row repeat the first one, which does not move.
        padded = np.repeat(values[:1], total, axis=0)
        padded[:count] = values
        write_attribute(mesh, name, padded)
    write_counts(mesh, counts)
    for name, table in tables.items():
        write_table(mesh, name, table)
    for group in range(len(palette.vertex_groups)):
        of_group = 4 * np.flatnonzero(groups == group)[:, None] + np.arange(4)
        palette.vertex_groups[group].add(of_group.reshape(-1).tolist(), 1.0, "REPLACE")
    write_joints(palette)
    mesh.update()


def swing_rows(mesh: bpy.types.Mesh) -> NDArray[np.bool_]:
    """Which rows of JOINT_ROWS are of swings: they name no limb across which to be measured."""
    return ~table_rows(mesh, JOINT_ROWS)[:, [8, 9, 10, 12, 13, 14]].any(axis=1)


def twist_rows(mesh: bpy.types.Mesh) -> NDArray[np.bool_]:
    """Which rows of JOINT_ROWS are of limbs that twist: they name numbers in the place of one."""
    rows = table_rows(mesh, JOINT_ROWS)
    return rows[:, 8:11].any(axis=1) & ~rows[:, 12:15].any(axis=1)


def write_joints(palette: bpy.types.Object) -> None:
    """Give a palette the points of the joints in its table, and all edges, where they lack."""
    mesh = mesh_of(palette)
    bones, joints, _ = read_counts(mesh).tolist()
    if len(mesh.edges) == len(_BONE_EDGES) * bones + joints:
        return
    rows = table_rows(mesh, JOINT_ROWS).reshape(-1, 4, 4)
    length = read_points(mesh, PALETTE_LENGTH)[0]
    of_joints = np.repeat(rows[:, :1, :3], 4, axis=1)
    of_joints[:, 3] += length * rows[:, 1, :3]
    moving = read_points(mesh, PALETTE_GROUP)[rows[:, [0, 1, 2, 2], 3].astype(np.int64)]
    numbers = 4 * bones + np.arange(4 * joints).reshape(-1, 4)
    points = read_points(mesh, "position")
    points[numbers] = of_joints
    write_attribute(mesh, "position", points)
    for group in np.unique(moving[moving >= 0]).tolist():
        palette.vertex_groups[group].add(numbers[moving == group].tolist(), 1.0, "REPLACE")
    of_bones = 4 * np.arange(bones)[:, None, None] + _BONE_EDGES
    one_limb = swing_rows(mesh) | twist_rows(mesh)
    ends = np.where(one_limb[:, None], numbers[:, 2:], numbers[:, :2])
    edges = np.concatenate((of_bones.reshape(-1, 2), ends))
    mesh.edges.add(len(edges) - len(mesh.edges))
    mesh.edges.foreach_set("vertices", np.ascontiguousarray(edges, np.int32).reshape(-1))
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    write_attribute(mesh, REST_LENGTH, lengths, "EDGE")
    mesh.update()


def _length_of(skeleton: Skeleton) -> float:
    """As far out as the skeleton is large, so that rounding turns no bone more than it moves it.

    A power of two, so that dividing by it again rounds nothing.
    """
    size = float(np.abs(skeleton.heads).max(initial=0.5))
    return float(2.0 ** np.ceil(np.log2(max(size, 1e-6))))


def _hooks(palette: bpy.types.Object) -> list[bpy.types.HookModifier]:
    modifiers = (modifier for modifier in palette.modifiers if modifier.type == "HOOK")
    return [cast("bpy.types.HookModifier", modifier) for modifier in modifiers]

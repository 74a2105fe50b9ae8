"""The points of a palette object: four per row, the columns of a matrix when they are posed.

A bone has one row: four points at the armature's origin and along its three axes, which follow it
with weight 1: deformed, they are the columns of the bone's skinning matrix D_b. The first row has
no group and stays at rest: the identity, for vertices that no bone moves.

A bendy bone that deforms has two rows, its start and its end. The Armature modifier moves points
before the head of a bendy bone by its first segment, and points beyond the tail by its last
segment: the two rows have their points there.

Some rows follow their bone by a Hook modifier. The Armature modifier would bend the points of a
bendy bone that is needed as one straight bone; it would not move points of bones without Deform,
nor those of a bone with Envelope Multiply that are out of its envelope. The groups of such points
have other names than their bones, so that the Armature modifier does not know them.

Where there are joints, four points that no bone moves are behind those of bones: the first one is
that of the evaluated palette (OFF_ALL_AXES). Then come four points for each row of JOINT_ROWS. They
are the joint as the child, the parent and the bone of the limb move it, and a point on the limb,
moved by the bone of the limb. Where no bone is scaled, they are all that is needed of a joint. A
swing has two rows, one after the other: the child's limb as the parent moves it, and as the child
moves it. A limb that twists has seven: its axis, and directions across it as three bones move them.

Among these, rows of limbs have further points: with them all that is needed of a joint in any pose,
`_rigid_joints`, with bendy bones `_bendy_joints`.

Edges join the points of each bone, and the first two points of each joint. Their lengths differ
from those at rest where a bone is scaled and where a joint comes apart. For swings and twists that
does not matter: their edges join the two points of the limb.

The tables in a palette object: joints and pairs of bones that its node tree poses for meshes.

Meshes ask for rows and keep their numbers. Rows are only ever appended, so that meshes that asked
earlier stay right, and equal rows are one row. When the bones at rest have changed, the tables
start anew with another *edition*: every mesh compares it with the edition that it was written
for.

A row is sixteen numbers, a matrix attribute of the palette's points: one fetch. Some of the
numbers are palette rows of bones (`palette_points`).
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..arrays import Booleans, Float32s, Float64s, Floats, Int32s, Int64s
from ..core.skeleton import Skeleton
from ..core.vectors import cross, dots, unit_or
from ..scene.blender.armature import armature_of, deforming_bones
from ..scene.blender.bulk_arrays import AttributeType, read_attribute, write_attribute
from ..scene.blender.mesh import mesh_of
from .attribute_names import (
    JOINT_POINT,
    JOINT_ROWS,
    LEAST_HOLD,
    LIMB_JOINT,
    PAIR_ROWS,
    PALETTE_END,
    PALETTE_GROUP,
    PALETTE_LENGTH,
    PALETTE_PARTNER,
    PALETTE_REST,
    PREFIX,
    REST_LENGTH,
)

# A custom property of a palette's mesh: the rows of bones, joints and pairs.
COUNTS_PROPERTY = "dq_compensation_palette_rows"
# And how many joints are of limbs; whether there are bendy bones.
_LIMBS_PROPERTY = "dq_compensation_palette_limbs"
_BENDY_PROPERTY = "dq_compensation_palette_bendy"
# The points of the evaluated palette: the first one says what holds for all of it. Behind it and
# another one are two for each joint, at its place and with the ray of its limb as a position.
POINTS_OF_JOINT = 2
# The points of a row of JOINT_ROWS in the palette, for each of these two; those of limbs have more,
# and more still with bendy bones.
_POINTS, _LIMB_POINTS, _BENDY_POINTS = (2, 2), (5, 4), (10, 8)
# The direction of the first one: in no plane and along no axis that anybody turns or scales an
# object about. What leaves this point in place moves nothing.
OFF_ALL_AXES = (1.0, 0.61, 0.37)
# A row with less than this in the place of the child's limb, and nothing in that of the parent's,
# is of a turn, or with nothing of a swing: `vertex_attributes`.
SHORTENED = 0.75
# The tables by the attribute that has the rows; where the property has their number.
_PLACES = {JOINT_ROWS: 1, PAIR_ROWS: 2}

_KINDS = {kind.blender_name: kind for kind in AttributeType}

Rows = Float32s


class PaletteTables:
    """The tables in the mesh of a palette object.

    Attributes:
        mesh: of the palette.
        counts: shape (3,), the rows of bones, joints and pairs. Zeros where the mesh has no tables,
            or where the property is damaged.
        limbs: how many rows of joints are of limbs, with further points.
        bendy: whether there are bendy bones.
    """

    def __init__(self, mesh: bpy.types.Mesh) -> None:
        self.mesh = mesh
        counts = np.array(mesh.get(COUNTS_PROPERTY, ()), np.object_)
        known = counts.shape == (3,) and all(isinstance(count, int) for count in counts)
        if not known or any(not 0 <= count <= 4 * len(mesh.vertices) for count in counts):
            counts = np.zeros(3)
        self.counts: Int64s = counts.astype(np.int64)
        limbs = mesh.get(_LIMBS_PROPERTY)
        self.limbs = limbs if isinstance(limbs, int) else 0
        self.bendy = bool(mesh.get(_BENDY_PROPERTY))

    @property
    def point_count(self) -> int:
        """How many points a palette needs for so many rows."""
        bones, joints, pairs = self.counts.tolist()
        further = sum(self.points_of_limb) - sum(_POINTS)
        return max(4 * (bones + bool(joints) + joints) + further * max(self.limbs, 0), pairs)

    @property
    def points_of_limb(self) -> tuple[int, int]:
        """How many points a row of a joint has that is of a limb."""
        return _BENDY_POINTS if self.bendy else _LIMB_POINTS

    def rows(self, name: str) -> Rows:
        """The rows of a table, shape (k, 16)."""
        count = int(self.counts[_PLACES[name]])
        every = read_attribute(self.mesh, name, AttributeType.MATRIX, len(self.mesh.vertices))
        return every[:count]

    def points(self, name: str) -> NDArray[Any]:
        """The values of an attribute of the palette's points; none without it."""
        attribute = self.mesh.attributes.get(name)
        kind = None if attribute is None else _KINDS.get(attribute.data_type)
        if attribute is None or kind is None or attribute.domain != "POINT":
            return np.zeros(0, np.float32)
        return read_attribute(self.mesh, name, kind, len(self.mesh.vertices))

    def points_of(self, name: str, wanted: Floats) -> Int32s:
        """The point, or the first one, that the evaluated palette has for each of some rows.

        Rows that the table lacks are appended.

        Args:
            wanted: shape (k, 16).

        Returns:
            shape (k,).
        """
        present = self.rows(name)
        wanted = np.ascontiguousarray(wanted, np.float32) + np.float32(0.0)  # without -0
        row_numbers = {row.tobytes(): number for number, row in enumerate(present)}
        numbers = np.array(
            [row_numbers.setdefault(row.tobytes(), len(row_numbers)) for row in wanted], np.int32
        )
        if len(row_numbers) > len(present):
            self.write(name, np.frombuffer(b"".join(row_numbers), np.float32).reshape(-1, 16))
        return POINTS_OF_JOINT * (numbers + 1) if name == JOINT_ROWS else numbers

    def write(self, name: str, rows: Rows) -> None:
        """Write a whole table, with as many points as it takes."""
        mesh, before = self.mesh, len(self.mesh.vertices)
        self.counts[_PLACES[name]] = len(rows)
        if name == JOINT_ROWS:
            self.limbs = int(_of_limbs(rows).sum())
        count = max(before, self.point_count)
        if count > before:
            mesh.vertices.add(count - before)
            # New points are like the first one, which does not move.
            for each in cast("Any", mesh.attributes):
                is_ours = each.name == "position" or each.name.startswith(PREFIX)
                if is_ours and each.domain == "POINT" and each.data_type in _KINDS:
                    kind = _KINDS[each.data_type]
                    values = read_attribute(mesh, each.name, kind, count)
                    values[before:] = values[0]
                    each.data.foreach_set(kind.property_name, values.reshape(-1))
        table = np.zeros((count, 16), np.float32)
        table[: len(rows)] = rows
        write_attribute(mesh, name, table)
        mesh[COUNTS_PROPERTY], mesh[_LIMBS_PROPERTY] = self.counts.tolist(), self.limbs
        mesh[_BENDY_PROPERTY] = self.bendy
        mesh.update()


# Without a group: at rest in every pose.
IDENTITY_ROW = 0
# How far before the head and beyond the tail of a bendy bone the first of the four points is, in
# distances between them: all four lie beyond.
_BEYOND = 1.5

# Between the four points of a bone.
_BONE_EDGES = np.array(list(combinations(range(4), 2)))

# The points that follow a bone: its name, and whether they follow it by a hook.
BoneGroup = tuple[str, bool]


def bone_groups(palette: bpy.types.Object) -> list[BoneGroup]:
    """The bone of each vertex group: Blender renames groups and hooks with the bones."""
    modifiers: list[Any] = list(palette.modifiers)
    hooked = {each.vertex_group: each.subtarget for each in modifiers if each.type == "HOOK"}
    names = [group.name for group in palette.vertex_groups]
    return [(hooked.get(name, name), name in hooked) for name in names]


def groups_for(
    armature: bpy.types.Object, skeleton: Skeleton, also: frozenset[str], whole: frozenset[str]
) -> list[BoneGroup]:
    """The groups that a palette needs; arguments as of `palette_object.ensure_palette`."""
    deforming, bones = deforming_bones(armature), armature_of(armature).bones
    # Envelope Multiply would change the weights of a palette's points, too.
    multiplied = {bone.name for bone in bones if bone.use_envelope_multiply and bone.use_deform}
    posed = deforming - multiplied
    bendy = {bone.name for bone in bones if bone.bbone_segments > 1}
    hooked = (also - posed) | multiplied | (whole & bendy)
    return [
        (name, by_hook)
        for name in skeleton.names
        for by_hook, those in ((False, posed), (True, hooked))
        if name in those
    ]


def rows_of_bones(palette: bpy.types.Object, names: tuple[str, ...]) -> Int64s:
    """The rows of bones, by their current names.

    Returns:
        shape (B, 3): the row of each bone as one straight bone, that of its start, and that of its
        end; the identity's for bones that a palette does not have. A bone without one of the first
        two kinds has the other in its place.
    """
    groups, tables = bone_groups(palette), PaletteTables(mesh_of(palette))
    rows_of_group: dict[BoneGroup, list[int]] = {}
    of_rows = tables.points(PALETTE_GROUP)[: int(tables.counts[0])]
    for row, group in enumerate(of_rows.tolist()):
        if 0 <= group < len(groups):
            rows_of_group.setdefault(groups[group], []).append(row)
    rows = np.full((max(1, len(names)), 3), IDENTITY_ROW)
    for bone, name in enumerate(names):
        hooked = rows_of_group.get((name, True), [])
        posed = rows_of_group.get((name, False), [])
        ends, straight = posed or hooked, hooked or posed
        if ends:
            rows[bone] = straight[0], ends[0], ends[-1]
    return rows


def write_bones(
    palette: bpy.types.Object,
    armature: bpy.types.Object,
    groups: list[BoneGroup],
    skeleton: Skeleton,
) -> None:
    """Give a palette the points of these groups, in this order; tables stay as they are.

    `write_joints` has to follow.
    """
    mesh = mesh_of(palette)
    tables = PaletteTables(mesh)
    kept = {name: tables.rows(name) for name in (JOINT_ROWS, PAIR_ROWS)}
    for hook in [each for each in palette.modifiers if each.type == "HOOK"]:
        palette.modifiers.remove(hook)
    palette.vertex_groups.clear()
    mesh.clear_geometry()

    bones = armature_of(armature).bones
    place = {name: index for index, name in enumerate(skeleton.names)}
    # The points of the axes are as far out as the skeleton is large, so that rounding turns no bone
    # more than it moves it. To divide by a power of two rounds nothing.
    size = float(np.abs(skeleton.heads).max(initial=0.5))
    length = float(2.0 ** np.ceil(np.log2(max(size, 1e-6))))
    rows: list[_Row] = [(np.eye(4), length, -1, np.zeros(3), 0)]
    for name, by_hook in groups:
        group = palette.vertex_groups.new(name=f"{name} (hooked)" if by_hook else name)
        rest = np.eye(4)
        rest[:3, :3] = skeleton.rest[place[name], :3, :3]
        if by_hook:
            _add_hook(palette, armature, name, group.name, skeleton.rest[place[name]])
        if by_hook or bones[name].bbone_segments < 2:
            rows.append((rest, length, group.index, np.zeros(3), 0))
        else:
            rows += _ends(bones[name], skeleton, place[name], length, group.index)
    tables.counts[:] = (len(rows), *map(len, kept.values()))
    tables.limbs, tables.bendy = 0, any(partner for *_, partner in rows)
    _write_points(palette, tables, rows)
    for name, table in kept.items():
        tables.write(name, table)


# The type and the domain of each attribute of a palette.
PALETTE_ATTRIBUTES = {
    PALETTE_REST: ("FLOAT4X4", "POINT"),
    PALETTE_LENGTH: ("FLOAT", "POINT"),
    PALETTE_GROUP: ("INT", "POINT"),
    PALETTE_END: ("FLOAT_VECTOR", "POINT"),
    PALETTE_PARTNER: ("INT", "POINT"),
    LEAST_HOLD: ("FLOAT", "POINT"),
    JOINT_POINT: ("INT", "POINT"),
    LIMB_JOINT: ("FLOAT", "POINT"),
    JOINT_ROWS: ("FLOAT4X4", "POINT"),
    PAIR_ROWS: ("FLOAT4X4", "POINT"),
    REST_LENGTH: ("FLOAT", "EDGE"),
}


# The parts of a row of points: shape (4, 4), the axes along which the bone is scaled, and the first
# point at rest; how far the other points are from it; the vertex group that moves them, or -1; of a
# bendy bone the head or the tail, shape (3,), and where the row of the other end is: 1 or -1.
_Row = tuple[Float64s, float, int, Float64s, int]


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
        at_rest[:3, 3] = end - partner * _BEYOND * spread * along
        rows.append((at_rest, spread, group, end, partner))
    return rows


def _add_hook(
    palette: bpy.types.Object, armature: bpy.types.Object, name: str, group: str, rest: Float64s
) -> None:
    """Let a group of points follow a bone."""
    hook = cast("bpy.types.HookModifier", palette.modifiers.new(name, "HOOK"))
    hook.object, hook.subtarget, hook.vertex_group = armature, name, group
    hook.falloff_type = "NONE"
    hook.matrix_inverse = np.linalg.inv(rest).T.tolist()


def _write_points(palette: bpy.types.Object, tables: PaletteTables, rows: list[_Row]) -> None:
    """Write all points of bones, with what they are made of, row by row."""
    mesh, count, total = tables.mesh, len(rows), tables.point_count
    parts = zip(*rows, strict=True)
    at_rest, lengths, groups, ends, partners = (np.array(part) for part in parts)
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
    for group in range(len(palette.vertex_groups)):
        of_group = 4 * np.flatnonzero(groups == group)[:, None] + np.arange(4)
        palette.vertex_groups[group].add(of_group.reshape(-1).tolist(), 1.0, "REPLACE")


def write_joints(palette: bpy.types.Object) -> None:
    """Give a palette the points of the joints in its table, and all edges, where they lack."""
    tables = PaletteTables(mesh_of(palette))
    mesh, (bones, joints, _) = tables.mesh, tables.counts.tolist()
    if len(mesh.edges) == len(_BONE_EDGES) * bones + joints:
        return
    rows = tables.rows(JOINT_ROWS).reshape(-1, 4, 4)
    bendy, points = tables.bendy, tables.points("position")
    places, moving = (_bendy_joints if bendy else _rigid_joints)(rows, tables)
    first, of_limbs = 4 * bones + 4, _of_limbs(rows)
    counts = np.where(of_limbs[:, None], tables.points_of_limb, _POINTS)
    ends = first + counts.sum(axis=1).cumsum()
    firsts = np.stack((ends - counts.sum(axis=1), ends - counts[:, 1]), axis=1)
    if joints:
        length = tables.points(PALETTE_LENGTH)[0]
        points[first - 4] = length * np.array(OFF_ALL_AXES)
        if bendy:  # as `bone_nodes.state_of` has it with LIMB_STATE, and the spread
            points[first - 4 : first - 2] = (length, 0.0, 0.0), (_spread(tables), 0.0, 0.0)
    points[first : first + len(places)] = places
    write_attribute(mesh, "position", points)
    write_attribute(mesh, LEAST_HOLD, _least_holds(rows, len(points)))
    numbers, are_of_limbs = np.zeros(len(points), np.int32), np.zeros(len(points), np.float32)
    numbers[:POINTS_OF_JOINT] = first - 4
    behind = slice(POINTS_OF_JOINT, POINTS_OF_JOINT * (1 + joints))
    numbers[behind], are_of_limbs[behind][::POINTS_OF_JOINT] = firsts.reshape(-1), of_limbs
    write_attribute(mesh, JOINT_POINT, numbers)
    write_attribute(mesh, LIMB_JOINT, are_of_limbs)
    for group in np.unique(moving[moving >= 0]).tolist():
        numbers = first + np.flatnonzero(moving == group)
        palette.vertex_groups[group].add(numbers.tolist(), 1.0, "REPLACE")
    of_bones = 4 * np.arange(bones)[:, None, None] + _BONE_EDGES
    two = np.where(of_limbs, firsts[:, 0], firsts[:, 1])
    edges = np.concatenate((of_bones.reshape(-1, 2), np.stack((two, two + 1), axis=1)))
    mesh.edges.add(len(edges) - len(mesh.edges))
    mesh.edges.foreach_set("vertices", np.ascontiguousarray(edges, np.int32).reshape(-1))
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    write_attribute(mesh, REST_LENGTH, lengths, "EDGE")
    mesh.update()


def _of_limbs(rows: Float32s) -> Booleans:
    """Whether rows of joints are of limbs: those of turns, swings and twists name no parent's."""
    return rows.reshape(-1, 4, 4)[:, 3, :3].any(axis=1)


# The row of bones that moves each of some points, shape (k,), and the points, (k, 3).
_Moved = tuple[Int64s, Float64s]
# The places of points of joints, (m, 3), and the groups that move them, (m,), -1 for none.
_JointPoints = tuple[Float64s, Int64s]


def _rigid_joints(rows: Float32s, tables: PaletteTables) -> _JointPoints:
    """The points of rows of joints, shape (k, 4, 4), without bendy bones.

    Five points are of the joint. 0: where the child moves it. 1: where the parent does. 2 and 3,
    moved by the child: across the child's limb. 4, moved by the parent: along the parent's limb.
    Four are of the ray. 0 and 1: along the limb. 2 and 3, moved by the parent: across the parent's
    limb. Rows of no limb have the first two of both.
    """
    held, length = rows.astype(np.float64), float(tables.points(PALETTE_LENGTH)[0])
    (head, ray, _, before), bones = held[:, :, :3].transpose(1, 0, 2), held[:, :, 3]
    child, parent, limb, _ = bones.astype(np.int64).T
    forth, back = _forth_and_back(held)
    points = [
        (child, head),
        (parent, head),
        *_across(child, forth, head, length)[1:],
        (parent, head + length * back),
        (limb, head),
        (limb, head + length * ray),
        *_across(parent, before, head, length)[1:],
    ]
    return _kept(points, rows, tables)


def _forth_and_back(rows: Float64s) -> tuple[Float64s, Float64s]:
    """The limbs of the child and of the parent of rows of limbs: shapes (k, 3)."""
    ray, other, bones = rows[:, 1, :3], rows[:, 2, :3], rows[:, :, 3]
    of_child = (bones[:, 2] == bones[:, 0])[:, None]
    return np.where(of_child, ray, other), np.where(of_child, other, ray)


def _kept(points: list[_Moved], rows: Float32s, tables: PaletteTables) -> _JointPoints:
    """Of points for each row of limbs those that the rows have."""
    kept, (of_joint, _) = np.ones((len(rows), len(points)), np.bool_), tables.points_of_limb
    others = ~_of_limbs(rows)
    kept[others, _POINTS[0] : of_joint] = kept[others, of_joint + _POINTS[1] :] = False
    movers, places = (np.stack(part, axis=1) for part in zip(*points, strict=True))
    return places[kept], tables.points(PALETTE_GROUP)[movers[kept]]


def _spread(tables: PaletteTables) -> float:
    """How far points may be from others that the same end of any bendy bone moves."""
    return float(tables.points(PALETTE_LENGTH)[: int(tables.counts[0])].min())


def _bendy_joints(rows: Float32s, tables: PaletteTables) -> _JointPoints:
    """The points of rows of joints, shape (k, 4, 4), where there are bendy bones.

    What an end of a bendy bone moves is beyond it: beside the bone, segments in the middle would
    move it, too. A direction leads from a point that is there.

    Ten points are of the joint. 0: where the child moves it. 1, moved by the parent, as 8 and 9: 8
    is as far from it as the joint, on the other side, 9 along the parent's limb. 2 to 4, moved by
    the child: a point, and two more across the child's limb. 5 to 7, of the bone whose limb it is,
    in a line: head, tail, and, moved as the head, a point before it. Eight are of the ray. 0 and 1:
    along the limb. 2 to 4, moved by the parent's start: across the parent's limb. 5 to 7: tail,
    head, and a point beyond the tail. Rows of no limb have the first two of both.
    """
    held = rows.astype(np.float64)
    (head, ray, _, before), bones = held[:, :, :3].transpose(1, 0, 2), held[:, :, 3]
    child, parent, limb, start = bones.astype(np.int64).T
    base = tables.points(PALETTE_REST).reshape(-1, 4, 4)[:, 3, :3].astype(np.float64)
    end, length = tables.points(PALETTE_END), tables.points(PALETTE_LENGTH)[:, None]
    partner, spread = tables.points(PALETTE_PARTNER), _spread(tables)
    forth, back = _forth_and_back(held)

    beyond = unit_or(base[parent] - end[parent], 0.0)
    ahead = dots(head - end[parent], beyond).clip(0.0)
    from_parent = base[parent] + ahead[:, None] * beyond
    # Of bones that are not bendy what is asked does not matter: the points stay in a line.
    bendy = partner[limb] != 0
    first = np.where(partner[limb] < 0, limb - 1, limb)
    first_end, last_end = end[first], np.where(bendy[:, None], end[first + bendy], (1.0, 0.0, 0.0))
    reach = length[limb] * unit_or(last_end - first_end, 0.0)
    none = np.zeros(len(rows), np.int64)
    first, last = np.where(bendy, first, none), np.where(bendy, first + 1, none)

    points = [
        (child, head),
        (parent, from_parent),
        *_across(child, forth, base[child], spread),
        (first, first_end),
        (last, last_end),
        (first, first_end - reach),
        (parent, 2.0 * from_parent - head),
        (parent, from_parent + length[parent] * back),
        (limb, base[limb]),
        (limb, base[limb] + length[limb] * ray),
        *_across(start, before, base[start], spread),
        (last, last_end),
        (first, first_end),
        (last, last_end + reach),
    ]
    return _kept(points, rows, tables)


def _across(row: Int64s, along: Float64s, first: Float64s, spread: float) -> list[_Moved]:
    """Points moved by rows of bones: the first one, and others at right angles to unit vectors."""
    other = np.where(np.abs(along[:, :1]) > 0.7, (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    one = unit_or(cross(along, other), 0.0)
    corners = (np.zeros_like(one), one, cross(along, one))
    return [(row, first + spread * corner) for corner in corners]


def _least_holds(rows: Floats, point_count: int) -> Float32s:
    """LEAST_HOLD: 1, less where the row behind that of a limb is of its turn.

    Args:
        rows: shape (k, 4, 4), of JOINT_ROWS.
        point_count: of the palette.
    """
    least = np.ones(point_count, np.float32)
    aside = 2.0 * np.linalg.norm(rows[1:, 2, :3], axis=1)
    of_turns = (aside < 2.0 * SHORTENED) & ~rows[1:, 3, :3].any(axis=1)
    first = POINTS_OF_JOINT * (1 + np.flatnonzero(of_turns))
    least[first] = 1.0 - aside[of_turns]
    return least

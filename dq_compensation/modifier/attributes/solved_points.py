"""The object with the tables and offsets of solved shapes, which the node tree of a mesh reads.

It is a hidden mesh of points, and all it has are their positions: three numbers each.

| points | what they are |
|---|---|
| 1 | how many poses are listed; how many shapes there are |
| 5 for each listed pose | palette rows of the bones before and behind the joint, its kind; |
| | the limb; its side; the angles of the hat; the azimuth, and how far its hat reaches |
| 3 for each shape | its block, its slot, the first of its offsets; |
| | the rows of its poses, -1 for none; the fourth of them |
| 1 for each offset | along the axes of the armature, shape after shape |

Before the real shapes stands one for each slot that never acts: vertices without a block in a slot
have the first of these. Behind those of a block with few shapes stand more that never act, so that
no vertex fetches one of the next block.

Blocks that share a vertex are in different slots, and so are large blocks and small ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import bpy
import numpy as np

from ...arrays import Booleans, Float32s, Float64s, Int32s, Integers
from ...core.skeleton import Skeleton
from ...core.solved_shapes import ShapeBlock, SolvedShapes
from ...scene.binding.facts import digest
from ...scene.blender.bulk_arrays import write_attribute
from ...scene.blender.mesh import mesh_of
from ...scene.blender.own_objects import SOLVED_POINTS_PROPERTY, new_hidden, place_at
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.stack import own_modifiers
from ...session.changes import remember_new
from ..attribute_names import SOLVED_INPUT
from ..modifier_inputs import get_input
from ..tree_kind import SolvedCounts

HEADER_POINTS, POSE_POINTS, SHAPE_POINTS = 1, 5, 3

# Blocks with a smaller share of the vertices are in slots of their own: to ask every vertex of the
# mesh whether its block acts takes longer than to compute all that are in one.
_SMALL = 1.0 / 20.0

# A custom property of the mesh: the digest of its points.
_DIGEST_PROPERTY = "dq_compensation_solved_points_state"


@dataclass(frozen=True, eq=False)
class SolvedLayout:
    """Solved shapes as a node tree reads them.

    Attributes:
        counts: for the kind of the tree.
        points: shape (k, 3), of the hidden object.
        first, rows: shape (s, n), by slots: SOLVED_FIRST and SOLVED_ROW of each vertex.
    """

    counts: SolvedCounts
    points: Float32s
    first: Int32s
    rows: Int32s

    @classmethod
    def of(cls, solved: SolvedShapes, row_of_bone: Integers) -> SolvedLayout | None:
        """Lay them out; None without any.

        Args:
            row_of_bone: the palette row of each bone as one straight bone.
        """
        blocks = [each for each in solved.blocks if len(each.vertices) and len(each.poses)]
        if not blocks:
            return None
        small = _SMALL * solved.vertex_count
        large = _slots((each for each in blocks if len(each.vertices) >= small), solved)
        slots = large + _slots((each for each in blocks if len(each.vertices) < small), solved)
        count, n = len(slots), solved.vertex_count
        most = tuple(max(each.most_acting(solved.hats) for each in slot) for slot in slots)
        # So many are fetched of each block.
        lengths = [max(len(b.poses), k) for k, slot in zip(most, slots, strict=True) for b in slot]
        shapes = np.zeros((count + sum(lengths), SHAPE_POINTS, 3))
        shapes[:, 1:] = -1.0
        shapes[:count, 0, 0] = shapes[:count, 0, 1] = np.arange(count)
        first, rows = np.zeros((count, n), np.int32), np.zeros((count, n), np.int32)
        poses = _listed(solved, row_of_bone)
        start = HEADER_POINTS + poses.size // 3 + shapes.size // 3
        ordered = [(slot, block) for slot, of_slot in enumerate(slots) for block in of_slot]
        shape, offsets = count, list[Float32s]()
        for (slot, block), length in zip(ordered, lengths, strict=True):
            k, m = len(block.poses), len(block.vertices)
            mine = shapes[shape : shape + length]
            mine[:, 0, 0], mine[:, 0, 1] = shape, slot
            mine[:k, 0, 2] = start + m * np.arange(k)
            mine[:k, 1:].reshape(k, -1)[:, : len(block.joints)] = block.poses
            first[slot, block.vertices], rows[slot, block.vertices] = shape, np.arange(m)
            offsets.append(block.offsets.reshape(-1, 3))
            shape, start = shape + length, start + k * m
        header = np.array([[solved.hats.count, len(shapes), 0.0]])
        tables = (header, poses.reshape(-1, 3), shapes.reshape(-1, 3), *offsets)
        joints = max(len(block.joints) for block in blocks)
        points = np.concatenate(tables).astype(np.float32)
        return cls(SolvedCounts(most, len(large), joints), points, first, rows)


def _listed(solved: SolvedShapes, row_of_bone: Integers) -> Float64s:
    """The table of listed poses, shape (P, POSE_POINTS, 3)."""
    hats, joint = solved.hats, solved.hats.joints
    found = np.zeros((hats.count, POSE_POINTS, 3))
    found[:, 0, 0] = row_of_bone[hats.before[joint]]
    found[:, 0, 1] = row_of_bone[hats.behind[joint]]
    found[:, 0, 2] = hats.kinds[joint]
    found[:, 1:3] = hats.frames[joint, :2]
    found[:, 3] = hats.angles
    found[:, 4, 0], found[:, 4, 1:] = hats.azimuths, hats.widths
    return found


def _slots(blocks: Iterable[ShapeBlock], solved: SolvedShapes) -> list[list[ShapeBlock]]:
    """The blocks of each slot: those of which most shapes act find theirs first."""
    order = sorted(blocks, key=lambda each: (-each.most_acting(solved.hats), -len(each.vertices)))
    found: list[tuple[Booleans, list[ShapeBlock]]] = []
    for block in order:
        slot = next((each for each in found if not each[0][block.vertices].any()), None)
        if slot is None:
            slot = np.zeros(solved.vertex_count, np.bool_), []
            found.append(slot)
        slot[0][block.vertices] = True
        slot[1].append(block)
    return [each for _, each in found]


def bones_of_solved(solved: SolvedShapes | None, skeleton: Skeleton) -> frozenset[str]:
    """The bones on either side of joints with solved shapes."""
    if solved is None:
        return frozenset()
    bones = np.concatenate((solved.hats.before, solved.hats.behind))
    return frozenset(skeleton.names[bone] for bone in bones.tolist())


def ensure_solved_points(skinned: SkinnedObject, layout: SolvedLayout) -> bpy.types.Object:
    """The object with an object's solved shapes, brought up to date; a new one if others use it."""
    obj, ours = skinned.obj, skinned.ours
    known = None if ours is None else get_input(ours, SOLVED_INPUT)
    others = (each for each in bpy.data.objects if each != obj and each.type == "MESH")
    of_others = (get_input(each, SOLVED_INPUT) for other in others for each in own_modifiers(other))
    if known is None or mesh_of(known).library is not None or known in of_others:
        known = new_hidden(f"DQ Compensation solved shapes: {obj.name}", SOLVED_POINTS_PROPERTY)
        remember_new(known)
    place_at(known, None, SOLVED_POINTS_PROPERTY)
    mesh, points = mesh_of(known), layout.points
    if len(mesh.vertices) != len(points):
        mesh.clear_geometry()
        mesh.vertices.add(len(points))
    if write_attribute(mesh, "position", points):
        mesh.update()
    mesh[_DIGEST_PROPERTY] = digest(points)
    return known


def state_of_points(points: bpy.types.Object | None) -> tuple[object, ...]:
    """What differs where somebody has written other points, or an undo has kept older ones."""
    if points is None:
        return ()
    mesh = mesh_of(points)
    return len(mesh.vertices), str(mesh.get(_DIGEST_PROPERTY))

"""The joints in a palette object: points that the Armature modifier poses, and edges.

Where no bone is scaled, nothing has to be computed of a joint and its limb: four points for each
row of JOINT_ROWS, behind those of the bones, are where the child and the parent of the joint and
the bone of the limb take the joint, and where the latter takes a point on the limb. A swing has two
such rows, one after the other, with the child's limb as the parent and as the child takes it.

Edges between the points of each bone, and between the first two of each joint, have other lengths
than at rest where bones are scaled and where joints come apart. A swing does not ask whether they
do: its edges are between the two points of the limb.
"""

from __future__ import annotations

from itertools import combinations

import bpy
import numpy as np
from numpy.typing import NDArray

from ...scene.blender.attributes import write_attribute
from ...scene.blender.mesh import mesh_of
from .. import attribute_names as stored
from ..palette_tables import read_counts, read_points, table_rows

# Between the four points of a bone.
_BONE_EDGES = np.array(list(combinations(range(4), 2)))


def swing_rows(mesh: bpy.types.Mesh) -> NDArray[np.bool_]:
    """Which rows of JOINT_ROWS are of swings: the last vector is that of no limb. Shape (k,)."""
    return ~table_rows(mesh, stored.JOINT_ROWS)[:, 12:15].any(axis=1)


def write_joints(palette: bpy.types.Object) -> None:
    """Give a palette the points of the joints in its table, and all edges, where they lack."""
    mesh = mesh_of(palette)
    bones, joints, _ = read_counts(mesh).tolist()
    if len(mesh.edges) == len(_BONE_EDGES) * bones + joints:
        return
    rows = table_rows(mesh, stored.JOINT_ROWS).reshape(-1, 4, 4)
    length = read_points(mesh, stored.PALETTE_LENGTH)[0]
    of_joints = np.repeat(rows[:, :1, :3], 4, axis=1)
    of_joints[:, 3] += length * rows[:, 1, :3]
    moving = read_points(mesh, stored.PALETTE_GROUP)[rows[:, [0, 1, 2, 2], 3].astype(np.int64)]
    numbers = 4 * bones + np.arange(4 * joints).reshape(-1, 4)
    points = read_points(mesh, "position")
    points[numbers] = of_joints
    write_attribute(mesh, "position", points)
    for group in np.unique(moving[moving >= 0]).tolist():
        palette.vertex_groups[group].add(numbers[moving == group].tolist(), 1.0, "REPLACE")
    of_bones = 4 * np.arange(bones)[:, None, None] + _BONE_EDGES
    ends = np.where(swing_rows(mesh)[:, None], numbers[:, 2:], numbers[:, :2])
    edges = np.concatenate((of_bones.reshape(-1, 2), ends))
    mesh.edges.add(len(edges) - len(mesh.edges))
    mesh.edges.foreach_set("vertices", np.ascontiguousarray(edges, np.int32).reshape(-1))
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    write_attribute(mesh, stored.REST_LENGTH, lengths, "EDGE")
    mesh.update()

"""Reads meshes in bulk: attributes, collections, faces, shading flags, vertex weights."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import cast

import bmesh
import bpy
import numpy as np
from bmesh.types import BMDeformVert

from ...arrays import Booleans, Float32s, Floats, Int32s, Integers
from ...core.topology import MeshArrays
from .bulk_arrays import AttributeType, read_attribute, read_property


@dataclass(frozen=True, eq=False)
class VertexGroupWeights:
    """The weights of all vertex groups of a mesh, one row per (vertex, group) pair.

    Attributes:
        vertices: shape (m,), int32, rising.
        groups: shape (m,), int32; indices of vertex groups.
        weights: shape (m,), float32, as painted.
        vertex_count: n.
    """

    vertices: Int32s
    groups: Int32s
    weights: Float32s
    vertex_count: int

    def of_group(self, group: int) -> Float32s:
        """Shape (n,); the weights of one group, 0 where a vertex is not in it."""
        dense = np.zeros(self.vertex_count, np.float32)
        rows = self.groups == group
        dense[self.vertices[rows]] = self.weights[rows]
        return dense


def mesh_of(obj: bpy.types.Object) -> bpy.types.Mesh:
    """The mesh of a mesh object."""
    return cast("bpy.types.Mesh", obj.data)


def read_positions(mesh: bpy.types.Mesh) -> Float32s:
    """Shape (n, 3), object space; the mesh without its shape keys' values."""
    return read_attribute(mesh, "position", AttributeType.VECTOR, len(mesh.vertices))


def read_edges(mesh: bpy.types.Mesh) -> Int32s:
    """Shape (e, 2), the vertices at the ends of each edge."""
    return read_attribute(mesh, ".edge_verts", AttributeType.INTEGER_PAIR, len(mesh.edges))


def flag_elements(mesh: bpy.types.Mesh, flag: str, vertices: Booleans, joined: np.ufunc) -> None:
    """Write a flag of the vertices, edges and faces of a mesh outside of Edit Mode.

    Args:
        flag: `select` or `hide`.
        vertices: shape (n,), the flag of each vertex.
        joined: `np.logical_and` gives the flag to edges and faces of which all vertices have it,
            `np.logical_or` to those of which any has it.
    """
    mesh.vertices.foreach_set(flag, vertices)
    mesh.edges.foreach_set(flag, joined.reduce(vertices[read_edges(mesh)], axis=1))
    if len(mesh.polygons):
        corners = read_attribute(mesh, ".corner_vert", AttributeType.INTEGER, len(mesh.loops))
        starts = read_property(mesh.polygons, "loop_start", np.int32)
        mesh.polygons.foreach_set(flag, joined.reduceat(vertices[corners], starts))


def read_mesh_arrays(
    mesh: bpy.types.Mesh, positions: Float32s, known: MeshArrays | None = None
) -> MeshArrays:
    """Faces, edges, triangles and shading flags.

    Args:
        mesh: a mesh that is not in Edit Mode.
        positions: shape (n, 3), kept with the arrays.
        known: earlier ones: triangles of the same faces between the same positions come from them.
    """
    edge_count, face_count, corner_count = len(mesh.edges), len(mesh.polygons), len(mesh.loops)
    starts = read_property(mesh.polygons, "loop_start", np.int32)
    corners = read_attribute(mesh, ".corner_vert", AttributeType.INTEGER, corner_count)
    if (
        known is not None
        and np.array_equal(known.positions, positions)
        and np.array_equal(known.face_starts, starts)
        and np.array_equal(known.corner_vertex, corners)
    ):
        triangle_corners, triangle_face = known.triangle_corners, known.triangle_face
    else:
        mesh.calc_loop_triangles()
        triangle_corners = read_property(mesh.loop_triangles, "loops", np.int32, (3,))
        triangle_face = read_property(mesh.loop_triangle_polygons, "value", np.int32)
    return MeshArrays(
        positions=positions,
        edges=read_edges(mesh),
        face_starts=starts,
        corner_vertex=corners,
        corner_edge=read_attribute(mesh, ".corner_edge", AttributeType.INTEGER, corner_count),
        sharp_edges=read_attribute(mesh, "sharp_edge", AttributeType.BOOLEAN, edge_count),
        sharp_faces=read_attribute(mesh, "sharp_face", AttributeType.BOOLEAN, face_count),
        triangle_corners=triangle_corners,
        triangle_face=triangle_face,
        face_material=read_attribute(mesh, "material_index", AttributeType.INTEGER, face_count),
    )


def other_users(mesh: bpy.types.Mesh) -> int:
    """The number of other users of a mesh, without the fake user."""
    return mesh.users - int(mesh.use_fake_user) - 1


def read_weights(mesh: bpy.types.Mesh) -> VertexGroupWeights:
    """The weights of every vertex group, through bmesh: several times faster than `vertex.groups`.

    Reads the mesh as it is outside of Edit Mode.
    """
    reader = bmesh.new()
    try:
        reader.from_mesh(mesh, face_normals=False, vertex_normals=False)
        layer = reader.verts.layers.deform.active
        rows = [vertex[layer] for vertex in reader.verts] if layer is not None else []
        counts = np.fromiter(map(len, rows), np.int32, len(rows))
        total = int(counts.sum())
        # Straight into arrays: a quarter of a million Python floats would wake the collector.
        keys = chain.from_iterable(map(BMDeformVert.keys, rows))
        groups = np.fromiter(keys, np.int32, total)
        values = chain.from_iterable(map(BMDeformVert.values, rows))
        weights = np.fromiter(values, np.float32, total)
    finally:
        reader.free()
    vertices = np.repeat(np.arange(len(rows), dtype=np.int32), counts)
    return VertexGroupWeights(vertices, groups, weights, len(mesh.vertices))


def write_first_weights(
    mesh: bpy.types.Mesh, vertices: Integers, groups: Integers, weights: Floats
) -> None:
    """Give a mesh without weights its weights, through bmesh: several times faster than groups.

    All other layers are written anew: for meshes of ours, which have next to nothing else. The
    entries of a vertex get the order of their groups.

    Args:
        vertices, groups, weights: shape (m,), one for each (vertex, group) pair, in any order;
            weights above 0.
    """
    order = np.lexsort((groups, vertices))
    ends = np.cumsum(np.bincount(vertices, minlength=len(mesh.vertices))).tolist()
    numbers, values = groups[order].tolist(), weights[order].tolist()
    writer, first = bmesh.new(), 0
    try:
        writer.from_mesh(mesh, face_normals=False, vertex_normals=False)
        layer = writer.verts.layers.deform.verify()
        for vertex, end in zip(writer.verts, ends, strict=True):
            entries = vertex[layer]
            for row in range(first, end):
                entries[numbers[row]] = values[row]
            first = end
        writer.to_mesh(mesh)
    finally:
        writer.free()

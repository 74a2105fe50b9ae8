"""The topology of a surface: triangles, edges, and the smooth fans that share a normal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Booleans, Float32s, Floats, Indices, Int32s
from .vectors import dots, unit_or

# A fan whose corners cancel out (or have no area) has no normal of its own.
_FALLBACK_NORMAL = (0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Topology:
    """The parts of a mesh that a deformation leaves alone.

    A *normal group* is the set of corners of one vertex that share a normal: a smooth fan, which
    ends at sharp edges, flat faces, borders, non-manifold edges and edges between faces of opposite
    winding. A mesh without sharp edges and flat faces has one group per vertex, whatever its
    borders, as in Blender. Groups are in the order of their vertices; vertices without a face have
    none.

    Attributes:
        vertex_count: n.
        edges: shape (e, 2), int32; vertices.
        triangles: shape (t, 3), int32; vertices.
        triangle_groups: shape (t, 3), int32; normal groups at the same corners.
        triangle_material: shape (t,), int32; material slots.
        corner_vertex: shape (c,), int32.
        group_of_corner: shape (c,), int32.
        group_vertex: shape (g,), int32.
        fan_offsets: shape (g + 1,), int32; the corners of group i are
            `fan_offsets[i]:fan_offsets[i + 1]` of the `fan_` arrays, of length c.
        fan_previous: shape (c,), int32; the vertex before the corner in its face.
        fan_next: shape (c,), int32; the vertex after it. The two are exchanged at the corners
            where (v - opposite) x (next - previous) would point against the face.
        fan_opposite: shape (c,), int32; the vertex across the face: the fourth one of a quad, the
            one before the corner (`fan_previous`) in a triangle.
    """

    vertex_count: int
    edges: Int32s
    triangles: Int32s
    triangle_groups: Int32s
    triangle_material: Int32s
    corner_vertex: Int32s
    group_of_corner: Int32s
    group_vertex: Int32s
    fan_offsets: Int32s
    fan_previous: Int32s
    fan_next: Int32s
    fan_opposite: Int32s

    @property
    def group_count(self) -> int:
        """The g normal groups."""
        return len(self.group_vertex)

    def normals(self, positions: Floats) -> Floats:
        """The unit normal of every normal group; the specification of the GPU pass.

        Each corner adds its face's normal, weighted with the angle between its two edges, as
        Blender does it. The normal of a face at a corner v is
        normalize((v - opposite) x (next - previous)): Blender's own one for triangles and quads,
        and for the larger faces that are planar.

        Args:
            positions: shape (n, 3), any space whose handedness is that of the mesh.

        Returns:
            shape (g, 3), the dtype of `positions`; (0, 0, 1) where no corner has an area.
        """
        dtype = positions.dtype
        if not self.group_count:
            return np.zeros((0, 3), dtype)
        counts = np.diff(self.fan_offsets)
        corner = positions[np.repeat(self.group_vertex, counts)]
        before, after = positions[self.fan_previous], positions[self.fan_next]
        faces = unit_or(np.cross(corner - positions[self.fan_opposite], after - before), 0.0)
        cosines = dots(unit_or(before - corner, 0.0), unit_or(after - corner, 0.0))
        faces *= np.arccos(np.clip(cosines, -1.0, 1.0))[:, None]
        sums = np.add.reduceat(faces, self.fan_offsets[:-1], axis=0)
        normals = unit_or(sums, 0.0)
        normals[~np.any(normals, axis=1)] = _FALLBACK_NORMAL
        return normals.astype(dtype, copy=False)


@dataclass(frozen=True, eq=False)
class MeshArrays:
    """The faces, edges and shading flags of a mesh, as Blender stores them.

    Attributes:
        positions: shape (n, 3), float32; only where faces are concave or large do they matter.
        edges: shape (e, 2), int32; vertices.
        face_starts: shape (f,), int32; the first corner of each face. Faces are contiguous.
        corner_vertex: shape (c,), int32.
        corner_edge: shape (c,), int32; the edge from the corner's vertex to the next one.
        sharp_edges: shape (e,), bool.
        sharp_faces: shape (f,), bool; the flat-shaded ones.
        triangle_corners: shape (t, 3), int32.
        triangle_face: shape (t,), int32.
        face_material: shape (f,), int32.
    """

    positions: Float32s
    edges: Int32s
    face_starts: Int32s
    corner_vertex: Int32s
    corner_edge: Int32s
    sharp_edges: Booleans
    sharp_faces: Booleans
    triangle_corners: Int32s
    triangle_face: Int32s
    face_material: Int32s

    @property
    def triangles(self) -> Int32s:
        """Shape (t, 3), vertices."""
        return self.corner_vertex[self.triangle_corners]


def topology(mesh: MeshArrays) -> Topology:
    """Find the normal groups of a mesh and lay out its triangles for drawing."""
    corner_count = len(mesh.corner_vertex)
    sizes = np.diff(mesh.face_starts, append=np.int32(corner_count))
    face_of_corner = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    # The corners after and before each corner in its face.
    following = np.arange(1, corner_count + 1, dtype=np.int32)
    preceding = np.arange(-1, corner_count - 1, dtype=np.int32)
    ends = mesh.face_starts + sizes - 1
    following[ends], preceding[mesh.face_starts] = mesh.face_starts, ends

    if mesh.sharp_edges.any() or mesh.sharp_faces.any():
        label = _fan_labels(mesh, face_of_corner, following, preceding)
    else:
        first = np.zeros(len(mesh.positions), np.int32)
        # Written backwards: of several values for one place NumPy keeps the last.
        first[mesh.corner_vertex[::-1]] = np.arange(corner_count, dtype=np.int32)[::-1]
        label = first[mesh.corner_vertex]
    # Groups are numbered in the order of their vertices.
    heads = np.flatnonzero(label == np.arange(corner_count))
    heads = heads[np.argsort(mesh.corner_vertex[heads], kind="stable")]
    number = np.zeros(corner_count, np.int32)
    number[heads] = np.arange(len(heads), dtype=np.int32)
    group_of_corner, group_vertex = number[label], mesh.corner_vertex[heads]

    order = np.argsort(group_of_corner, kind="stable")
    counts = np.bincount(group_of_corner, minlength=len(group_vertex))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    before, after, across = _face_frames(mesh, sizes, face_of_corner, following, preceding)
    return Topology(
        vertex_count=len(mesh.positions),
        edges=mesh.edges,
        triangles=mesh.triangles,
        triangle_groups=group_of_corner[mesh.triangle_corners],
        triangle_material=mesh.face_material[mesh.triangle_face],
        corner_vertex=mesh.corner_vertex,
        group_of_corner=group_of_corner,
        group_vertex=group_vertex,
        fan_offsets=offsets,
        fan_previous=before[order],
        fan_next=after[order],
        fan_opposite=across[order],
    )


def _fan_labels(
    mesh: MeshArrays, face_of_corner: Int32s, following: Int32s, preceding: Int32s
) -> Int32s:
    """The least corner of each corner's smooth fan.

    A corner has at most one smooth neighbour across each of its two edges, so a fan is a chain or a
    ring. The least label spreads along it by pointer doubling, in about log2(fan size) rounds.
    """
    corners = np.arange(len(mesh.corner_vertex), dtype=np.int32)
    twin = _twins_across_smooth_edges(mesh, face_of_corner, corners)
    onward = np.where(twin >= 0, following[twin], corners)
    backward = twin[preceding]
    backward = np.where(backward >= 0, backward, corners)
    label = corners
    while True:
        spread = np.minimum(label, np.minimum(label[onward], label[backward]))
        if np.array_equal(spread, label):
            return label
        label, onward, backward = spread, onward[onward], backward[backward]


def _twins_across_smooth_edges(mesh: MeshArrays, face_of_corner: Int32s, corners: Int32s) -> Int32s:
    """For each corner the corner that runs along the same edge the other way, -1 without one."""
    edge_count = len(mesh.edges)
    first = np.zeros(edge_count, np.int32)
    last = np.zeros(edge_count, np.int32)
    last[mesh.corner_edge] = corners
    first[mesh.corner_edge[::-1]] = corners[::-1]
    flat = mesh.sharp_faces[face_of_corner]
    smooth = np.bincount(mesh.corner_edge, minlength=edge_count) == 2
    smooth &= ~mesh.sharp_edges
    smooth &= ~flat[first] & ~flat[last]
    smooth &= mesh.corner_vertex[first] != mesh.corner_vertex[last]  # equal: opposite winding
    twin = np.full(len(corners), -1, np.int32)
    twin[first[smooth]] = last[smooth]
    twin[last[smooth]] = first[smooth]
    return twin


def _face_frames(
    mesh: MeshArrays, sizes: Int32s, face_of_corner: Int32s, following: Int32s, preceding: Int32s
) -> tuple[Int32s, Int32s, Int32s]:
    """The previous, next and opposite vertices that span the face's normal at each corner."""
    vertices = mesh.corner_vertex
    before, after = vertices[preceding], vertices[following]
    across = vertices[preceding[preceding]]
    triangles = (sizes == 3)[face_of_corner]
    across[triangles] = before[triangles]
    large = np.flatnonzero((sizes > 4)[face_of_corner])
    if len(large):
        before[large], after[large], across[large] = _large_face_frames(
            mesh, sizes, face_of_corner, large, before[large], after[large]
        )
    return before, after, across


def _large_face_frames(
    mesh: MeshArrays,
    sizes: Int32s,
    face_of_corner: Int32s,
    large: Indices,
    before: Int32s,
    after: Int32s,
) -> tuple[Int32s, Int32s, Int32s]:
    """The same for faces of five and more corners, turned to the side of the face at rest."""
    positions = mesh.positions.astype(np.float64)
    faces = face_of_corner[large]
    starts, counts = mesh.face_starts[faces], sizes[faces]
    across = mesh.corner_vertex[starts + (large - starts + counts // 2) % counts]
    # Newell's normal, twice the face's area vector: the sum of p_i x p_(i+1).
    here = positions[mesh.corner_vertex[large]]
    ahead = positions[after]
    areas = np.zeros((len(sizes), 3))
    crosses = np.cross(here, ahead)
    for axis in range(3):
        areas[:, axis] = np.bincount(faces, weights=crosses[:, axis], minlength=len(sizes))
    spanned = np.cross(here - positions[across], ahead - positions[before])
    against = dots(spanned, areas[faces]) < 0.0
    return (
        np.where(against, after, before),
        np.where(against, before, after),
        across.astype(np.int32, copy=False),
    )

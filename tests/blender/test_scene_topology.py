"""Normal groups and their normals are Blender's own corner normals."""

from __future__ import annotations

from collections.abc import Callable

import bmesh
import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.topology import Topology, topology
from dq_compensation.scene.blender.mesh import read_mesh_arrays, read_positions
from human.model import build_human
from tests.blender.scene_builders import (
    add_grid,
    add_mesh,
    evaluated_positions,
    link,
    new_file,
    pose_at_random,
)

# Blender sums in float32 and takes an approximate arc cosine (off by up to 7e-5) for the angles of
# meshes without sharp parts.
TOLERANCE = 1e-3
# Where a wild pose crumples the surface, faces nearly cancel out and that difference grows: 1.4e-2
# at one vertex of the human.
POSED_TOLERANCE = 2e-2


pytestmark = pytest.mark.usefixtures("addon")


def topology_of(obj: bpy.types.Object) -> Topology:
    return topology(read_mesh_arrays(obj.data, read_positions(obj.data)))


def largest_angle(ours: Topology, mesh: bpy.types.Mesh, positions: NDArray[np.floating]) -> float:
    """Radians between our normals and those that Blender has for a mesh, over all corners."""
    normals = ours.normals(positions.astype(np.float64))[ours.group_of_corner]
    theirs = np.zeros(3 * len(mesh.loops), np.float32)
    mesh.corner_normals.foreach_get("vector", theirs)
    # The chord, since an arc cosine near 1 has no digits left.
    chords = np.linalg.norm(normals - theirs.reshape(-1, 3), axis=1)
    return float(2.0 * np.arcsin(np.clip(0.5 * chords.max(initial=0.0), 0.0, 1.0)))


def largest_angle_from_blenders(obj: bpy.types.Object) -> float:
    """The same at rest."""
    return largest_angle(topology_of(obj), obj.data, read_positions(obj.data))


def set_sharp(obj: bpy.types.Object, *, edges: float, faces: float, seed: int = 0) -> None:
    """Mark random edges sharp and random faces flat."""
    rng = np.random.default_rng(seed)
    mesh = obj.data
    mesh.edges.foreach_set("use_edge_sharp", rng.random(len(mesh.edges)) < edges)
    mesh.polygons.foreach_set("use_smooth", rng.random(len(mesh.polygons)) >= faces)
    mesh.update()


def add_bmesh(build: Callable[..., object], **arguments: object) -> bpy.types.Object:
    mesh = bpy.data.meshes.new("Body")
    builder = bmesh.new()
    build(builder, **arguments)
    builder.to_mesh(mesh)
    builder.free()
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), np.bool_))
    return link(bpy.data.objects.new("Body", mesh))


@pytest.fixture(autouse=True)
def _empty_file() -> None:
    new_file()


def uv_sphere() -> bpy.types.Object:
    return add_bmesh(bmesh.ops.create_uvsphere, u_segments=24, v_segments=12, radius=1.0)


@pytest.mark.parametrize(
    ("edges", "faces"), [(0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.2, 0.2), (0.6, 0.4), (1.0, 1.0)]
)
def test_normals_of_smooth_sharp_and_flat_parts(edges: float, faces: float) -> None:
    sphere = uv_sphere()  # poles of 24 triangles, planar quads
    set_sharp(sphere, edges=edges, faces=faces)
    assert largest_angle_from_blenders(sphere) < TOLERANCE


@pytest.mark.parametrize("sharp", [0.0, 0.15])
def test_normals_of_quads_that_are_not_planar(sharp: float) -> None:
    grid = add_grid(12)
    set_sharp(grid, edges=sharp, faces=sharp)
    assert largest_angle_from_blenders(grid) < TOLERANCE


@pytest.mark.parametrize("sharp", [0.0, 0.1])
def test_normals_of_the_human(sharp: float) -> None:
    """Its quads are not planar; Blender takes the cross product of their diagonals, as we do."""
    obj, _armature = build_human()
    set_sharp(obj, edges=sharp, faces=sharp)
    assert largest_angle_from_blenders(obj) < TOLERANCE


@pytest.mark.parametrize("sharp", [0.0, 0.1])
def test_normals_of_the_posed_human(sharp: float) -> None:
    """What is laid out at rest serves every pose."""
    obj, armature = build_human()
    set_sharp(obj, edges=sharp, faces=sharp)
    ours = topology_of(obj)
    pose_at_random(armature)
    positions = evaluated_positions(obj)
    posed = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    assert np.abs(positions - read_positions(obj.data)).max() > 0.5
    assert largest_angle(ours, posed, positions) < POSED_TOLERANCE


def test_normals_of_planar_concave_and_large_faces() -> None:
    arrow = [(0, 0, 0), (2, 1, 0), (0, 2, 0), (0.8, 1, 0), (-0.5, 1.1, 0), (0.8, 0.9, 0)]
    dart = [(5, 0, 0), (7, 1, 0), (5, 2, 0), (5.5, 1, 0)]
    obj = add_mesh(arrow + dart, [range(6), range(6, 10)])
    assert largest_angle_from_blenders(obj) < TOLERANCE
    np.testing.assert_allclose(
        topology_of(obj).normals(read_positions(obj.data))[:, 2], 1.0, atol=1e-6
    )


def test_a_sharp_edge_splits_the_vertices_at_its_ends_only_where_both_sides_part() -> None:
    cube = add_bmesh(bmesh.ops.create_cube, size=2.0)
    edges = cube.data.edges
    edges[0].use_edge_sharp = True
    # One sharp edge cuts a ring of three corners open, but leaves one fan.
    assert topology_of(cube).group_count == 8
    corner = next(iter(edges[0].vertices))
    next(e for e in edges if corner in list(e.vertices) and e.index != 0).use_edge_sharp = True
    assert topology_of(cube).group_count == 9
    assert largest_angle_from_blenders(cube) < TOLERANCE


def test_flat_faces_share_nothing() -> None:
    cube = add_bmesh(bmesh.ops.create_cube, size=2.0)
    cube.data.polygons.foreach_set("use_smooth", np.zeros(6, np.bool_))
    assert topology_of(cube).group_count == 24


@pytest.mark.parametrize("sharp_faces", [0, 1])
def test_three_faces_at_one_edge(sharp_faces: int) -> None:
    """Smooth through and through, Blender averages them; with anything sharp, it parts them."""
    vertices = [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1), (-1, 1, 0), (-1, 1, 1), (-1, -1, 0)]
    faces = [(0, 2, 3, 1), (1, 5, 4, 0), (0, 1, 6), (2, 3, 5)]
    obj = add_mesh(vertices, faces)
    smooth = np.ones(4, np.bool_)
    smooth[3:] = sharp_faces == 0
    obj.data.polygons.foreach_set("use_smooth", smooth)
    assert largest_angle_from_blenders(obj) < TOLERANCE


@pytest.mark.parametrize("sharp", [False, True])
def test_neighbours_of_opposite_winding(sharp: bool) -> None:
    vertices = [(0, 0, 0), (1, 0, 0), (1, 1, 0.3), (0, 1, 0), (2, 0, 0.5), (2, 1, 0), (3, 0, 0)]
    obj = add_mesh(vertices, [(0, 1, 2, 3), (1, 2, 5, 4), (4, 5, 6)])
    obj.data.polygons.foreach_set("use_smooth", np.array([True, True, not sharp]))
    assert largest_angle_from_blenders(obj) < TOLERANCE


@pytest.mark.parametrize("sharp", [False, True])
def test_two_fans_that_meet_in_one_vertex(sharp: bool) -> None:
    vertices = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (-1, 0, 1), (-1, -1, 1), (2, 2, 2)]
    obj = add_mesh(vertices, [(0, 1, 2), (0, 3, 4), (1, 5, 2)])
    obj.data.polygons.foreach_set("use_smooth", np.array([True, True, not sharp]))
    assert largest_angle_from_blenders(obj) < TOLERANCE


def test_triangles_keep_their_groups_and_materials() -> None:
    grid = add_grid(4)
    set_sharp(grid, edges=0.4, faces=0.2)
    materials = np.arange(9, dtype=np.int32) % 3
    for _ in range(3):
        grid.data.materials.append(None)
    grid.data.polygons.foreach_set("material_index", materials)
    ours = topology_of(grid)
    assert len(ours.triangles) == 18
    np.testing.assert_array_equal(ours.group_vertex[ours.triangle_groups], ours.triangles)
    np.testing.assert_array_equal(np.bincount(ours.triangle_material), [6, 6, 6])
    np.testing.assert_array_equal(ours.group_vertex[ours.group_of_corner], ours.corner_vertex)
    assert np.all(np.diff(ours.group_vertex) >= 0)
    assert len(ours.edges) == len(grid.data.edges)


def test_every_corner_is_in_one_fan() -> None:
    sphere = uv_sphere()
    set_sharp(sphere, edges=0.3, faces=0.1)
    ours = topology_of(sphere)
    counts = np.diff(ours.fan_offsets)
    np.testing.assert_array_equal(
        counts, np.bincount(ours.group_of_corner, minlength=ours.group_count)
    )
    assert counts.min() >= 1
    assert ours.fan_offsets[-1] == len(ours.corner_vertex) == len(ours.fan_opposite)


@pytest.mark.parametrize(
    ("vertices", "edges"), [([], []), ([(1, 2, 3)], []), ([(0, 0, 0), (1, 0, 0)], [(0, 1)])]
)
def test_meshes_without_faces(
    vertices: list[tuple[float, float, float]], edges: list[tuple[int, int]]
) -> None:
    ours = topology_of(add_mesh(vertices, edges=edges))
    assert ours.vertex_count == len(vertices)
    assert ours.group_count == len(ours.triangles) == 0
    np.testing.assert_array_equal(ours.edges, np.array(edges, np.int32).reshape(-1, 2))
    assert ours.normals(np.array(vertices, np.float32).reshape(-1, 3)).shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_faces_without_area_have_a_normal_all_the_same(dtype: type[np.floating]) -> None:
    obj = add_mesh([(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 0, 0)], [(0, 1, 2), (1, 2, 3)])
    normals: NDArray[np.floating] = topology_of(obj).normals(read_positions(obj.data).astype(dtype))
    assert normals.dtype == dtype
    np.testing.assert_array_equal(np.linalg.norm(normals, axis=1), 1.0)

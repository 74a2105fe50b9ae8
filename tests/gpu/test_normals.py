"""Normals of the deformed surface against `Topology.normals`, their specification.

Tolerance: 4e-3. A 16-bit float takes 5e-4; the rest goes to the smallest faces, whose float32
edges have few digits (2 of 40,000 numbers are beyond 2e-3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.topology import Topology, topology
from dq_compensation.scene.blender.mesh import read_mesh_arrays, read_positions
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from tests.gpu.one_instance import deform_in, read_normals

TOLERANCE = 4e-3


@pytest.mark.parametrize("angle", [0.0, 0.6])
def test_normals_of_the_human_follow_its_surface(
    humans: dict[str, Any], make_pose: Callable[..., Pose], angle: float
) -> None:
    human = humans["default"]
    mesh = GpuMesh(human.rest, human.influences, topology=human.topology)
    deformed, pose = DeformedMesh(mesh, human.skeleton), make_pose(human.skeleton, 5, angle)
    dual = Deformation("DUAL_QUATERNION", human.influences)
    positions = deform_in(deformed, dual, pose, np.diag([1.0, 2.0, 0.5, 1.0]))
    expected = human.topology.normals(positions.astype(np.float64))
    np.testing.assert_allclose(read_normals(deformed)[0], expected, atol=TOLERANCE)


def _mixed_mesh() -> tuple[NDArray[np.float32], Topology]:
    """A grid with a triangle, a pentagon, flat faces, sharp edges, a wedge and a lone vertex."""
    mesh = bpy.data.meshes.new("Mixed")
    points = [(x, y, 0.3 * np.sin(2 * x + y)) for y in range(5) for x in range(5)]
    points += [(6.0, 0.0, 0.0), (6.0, 1.0, 0.5), (5.0, 2.5, 0.5), (9.0, 9.0, 9.0)]
    faces = [
        (5 * y + x, 5 * y + x + 1, 5 * y + x + 6, 5 * y + x + 5) for y in range(4) for x in range(4)
    ]
    faces += [(4, 25, 9), (9, 25, 26, 27, 14)]
    mesh.from_pydata(points, [], faces)
    smooth = np.ones(len(mesh.polygons), np.bool_)
    smooth[3:6] = False
    mesh.polygons.foreach_set("use_smooth", smooth)
    sharp = np.zeros(len(mesh.edges), np.bool_)
    sharp[::7] = True
    mesh.edges.foreach_set("use_edge_sharp", sharp)
    positions = read_positions(mesh)
    result = topology(read_mesh_arrays(mesh, positions))
    bpy.data.meshes.remove(mesh)
    return positions, result


def test_normals_respect_sharp_edges_and_flat_faces() -> None:
    rest, surface = _mixed_mesh()
    assert surface.group_count > len(rest)
    skeleton = Skeleton(("bone",), np.array([-1], np.int32), np.eye(4)[None], np.ones((1, 3)))
    count = len(rest)
    influences = Influences.from_triples(
        np.arange(count), np.zeros(count, int), np.ones(count), count
    )
    deformed = DeformedMesh(GpuMesh(rest, influences, topology=surface), skeleton)
    deform_in(deformed, Deformation("LINEAR", influences), Pose.rest(skeleton))
    expected = surface.normals(rest.astype(np.float64))
    np.testing.assert_allclose(read_normals(deformed)[0], expected, atol=TOLERANCE)


def test_faces_without_an_area_have_a_normal() -> None:
    mesh = bpy.data.meshes.new("Flat")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 0, 0)], [], [(0, 1, 2, 3)])
    rest = read_positions(mesh)
    surface = topology(read_mesh_arrays(mesh, rest))
    bpy.data.meshes.remove(mesh)
    influences = Influences(np.zeros((4, 1), np.int32), np.zeros((4, 1), np.float32))
    skeleton = Skeleton(("bone",), np.array([-1], np.int32), np.eye(4)[None], np.ones((1, 3)))
    deformed = DeformedMesh(GpuMesh(rest, influences, topology=surface), skeleton)
    deform_in(deformed, Deformation("LINEAR", influences), Pose.rest(skeleton))
    (normals,) = read_normals(deformed)
    np.testing.assert_array_equal(normals, np.tile([0.0, 0.0, 1.0], (surface.group_count, 1)))

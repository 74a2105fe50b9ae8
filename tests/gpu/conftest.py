"""The human and its rigs as arrays, poses for them, and a GPU to deform them on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import bpy
import gpu
import numpy as np
import pytest
from mathutils import Vector
from numpy.typing import NDArray

import dq_compensation
from dq_compensation.core.dual_quaternion import (
    matrices_from_quaternions,
    quaternions_from_axis_angle,
)
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.spherical_joints import JointSets, joint_sets
from dq_compensation.core.topology import Topology, topology
from dq_compensation.scene.blender.mesh import read_mesh_arrays, read_positions
from human.model import RIGS, load_human_arrays


@pytest.fixture(scope="session", autouse=True)
def gpu_context() -> None:
    """A GPU without a window: Blender 5 makes one, before it must run inside a render."""
    if bpy.app.background and hasattr(gpu, "init"):
        gpu.init()
    # Where there is none this raises: tests that silently did not run would be no tests.
    gpu.types.GPUTexture((1, 1), format="R32F")


@pytest.fixture
def addon() -> Iterator[None]:
    """The registered add-on, in a file without objects."""
    _empty_the_file()
    dq_compensation.register()
    yield
    dq_compensation.unregister()
    _empty_the_file()


def _empty_the_file() -> None:
    # Within a render no other file can be loaded, so what is there goes one by one.
    for collection in (bpy.data.objects, bpy.data.meshes, bpy.data.armatures):
        for item in list(collection):
            collection.remove(item)


@dataclass(frozen=True, eq=False)
class RiggedArrays:
    """A mesh with its rig, in one space for all."""

    name: str
    rest: NDArray[np.float32]
    influences: Influences
    skeleton: Skeleton
    sets: JointSets
    topology: Topology

    @property
    def size(self) -> float:
        """The largest extent of the mesh: what errors are measured by."""
        return float(np.ptp(self.rest, axis=0).max())


@pytest.fixture(scope="session")
def human_topology() -> Topology:
    arrays = load_human_arrays("default")
    mesh = bpy.data.meshes.new("Human topology")
    mesh.from_pydata(arrays.vertices.tolist(), [], arrays.faces.tolist())
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), np.bool_))
    result = topology(read_mesh_arrays(mesh, read_positions(mesh)))
    bpy.data.meshes.remove(mesh)
    return result


@pytest.fixture(scope="session")
def humans(human_topology: Topology) -> dict[str, RiggedArrays]:
    return {rig: _human(rig, human_topology) for rig in RIGS}


@pytest.fixture(params=RIGS)
def human(request: pytest.FixtureRequest, humans: dict[str, RiggedArrays]) -> RiggedArrays:
    return humans[request.param]


@pytest.fixture(scope="session")
def make_pose() -> Callable[..., Pose]:
    """`make_pose(skeleton, seed, angle, scale=0.0)`: turns every bone by up to `angle` radians."""
    return _random_pose


def _human(rig: str, surface: Topology) -> RiggedArrays:
    arrays = load_human_arrays(rig)
    rest = np.tile(np.eye(4), (len(arrays.names), 1, 1))
    for bone, (head, tail, roll) in enumerate(
        zip(arrays.heads, arrays.tails, arrays.rolls, strict=True)
    ):
        axis = Vector(tail) - Vector(head)
        axes = np.array(bpy.types.Bone.MatrixFromAxisRoll(axis, float(roll)), np.float64)
        # Orthonormal beyond float32: along a chain of bones the rest would add up to a scale.
        left, _, right = np.linalg.svd(axes)
        rest[bone, :3, :3] = left @ right
        rest[bone, :3, 3] = head
    skeleton = Skeleton(
        arrays.names, arrays.parents.astype(np.int32), rest, arrays.tails.astype(np.float64)
    )
    influences = Influences.from_triples(
        arrays.weight_vertex, arrays.weight_bone, arrays.weight, len(arrays.vertices)
    )
    sets = joint_sets(influences, skeleton)
    return RiggedArrays(rig, arrays.vertices, influences, skeleton, sets, surface)


def _random_pose(skeleton: Skeleton, seed: int, angle: float, scale: float = 0.0) -> Pose:
    rng = np.random.default_rng(seed)
    count = skeleton.bone_count
    axes = rng.normal(size=(count, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    local = np.tile(np.eye(4), (count, 1, 1))
    local[:, :3, :3] = matrices_from_quaternions(
        quaternions_from_axis_angle(axes, rng.uniform(-angle, angle, count))
    )
    if scale:
        # A scale of its own on a third of the bones, along each axis another.
        scales = np.exp(scale * rng.normal(size=(count, 3)))
        scales[rng.random(count) > 1 / 3] = 1.0
        local[:, :3, :3] *= scales[:, None, :]
    turned = skeleton.rest @ local @ np.linalg.inv(skeleton.rest)
    matrices = turned.copy()
    for bone, parent in enumerate(skeleton.parents):
        if parent >= 0:
            matrices[bone] = matrices[parent] @ turned[bone]
    return Pose.from_matrices(matrices, skeleton)

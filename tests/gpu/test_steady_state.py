"""Frames cost no memory: what is on the GPU and in the process stays what it was."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gpu
import numpy as np
import pytest

from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.deform import Deformation
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.spherical_joints import joint_sets
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.instance_poses import GivenPoses
from dq_compensation.viewport.kernels import wanted_layout
from tests.gpu_memory import gpu_bytes

WARM_UP, FRAMES = 200, 1000
# The allocators of Python and the driver round up now and then; one object of 100 bytes for each
# frame would be beyond this in the count of Python's own memory.
PYTHON_BYTES = 50_000
PROCESS_BYTES = 3_000_000


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's own count")
@pytest.mark.parametrize("bone_count", [80, 1500])
def test_nothing_grows_from_frame_to_frame(bone_count: int, make_pose: Callable[..., Pose]) -> None:
    rest = np.tile(np.eye(4), (bone_count, 1, 1))
    rest[:, 1, 3] = np.linspace(0.0, 1.0, bone_count)
    names = tuple(map(str, range(bone_count)))
    parents = np.arange(bone_count, dtype=np.int32) - 1
    skeleton = Skeleton(names, parents, rest, rest[:, :3, 3] + [0.0, 0.01, 0.0])
    count = 300
    rng = np.random.default_rng(0)
    influences = Influences.from_triples(
        np.repeat(np.arange(count), 3),
        rng.integers(0, bone_count, 3 * count),
        rng.random(3 * count),
        count,
    )
    offsets = rng.random((2, count, 3)).astype(np.float32)
    positions, sets = rng.random((count, 3)), joint_sets(influences, skeleton)
    mesh = GpuMesh(positions, influences, shape_offsets=offsets)
    deformed = DeformedMesh(mesh, skeleton)
    keys = deformed.keys
    assert keys is not None
    compensation = PublishedCompensation.of(SkinAtRest(positions, influences, skeleton))
    deformations = (
        Deformation("COMPENSATED", influences, compensation),
        Deformation("SPHERICAL_JOINT", influences, sets=sets),
    )
    layouts = [wanted_layout(deformation) for deformation in deformations]
    given = GivenPoses(skeleton, 1, layouts[0] | layouts[1])
    poses = [make_pose(skeleton, 0, 0.05), make_pose(skeleton, 1, 0.05)]

    def frame(number: int) -> None:
        given.upload(poses[number % 2].matrices)
        keys.give(np.array([number % 7, 0.5]))
        deformation = replace(deformations[number // 2 % 2], factor=0.5 + 0.5 * (number % 3))
        deformed.deform(deformation, given, given.groups[0])

    for number in range(WARM_UP):
        frame(number)
    deformed.read_positions()
    on_gpu = gpu_bytes(deformed)
    assert {"amounts", "limbs", "joint_of_vertex", "centres"} <= on_gpu.keys()
    tracemalloc.start()
    for number in range(100):
        frame(number)
    python_before, resident_before = tracemalloc.get_traced_memory()[0], _resident_bytes()
    for number in range(FRAMES):
        frame(number)
    deformed.read_positions()
    python_after, resident_after = tracemalloc.get_traced_memory()[0], _resident_bytes()
    tracemalloc.stop()
    assert gpu_bytes(deformed) == on_gpu
    assert python_after - python_before < PYTHON_BYTES
    if gpu.platform.backend_type_get() != "VULKAN":
        # Blender's Vulkan frees what was replaced when a window is drawn, which none is meanwhile.
        assert resident_after - resident_before < PROCESS_BYTES

"""Times the GPU passes against linear skinning and Python per frame, and counts the memory.

    .venv-5.2/bin/python scripts/run.py benchmarks.graphics

Ratios are comparable between machines; times are not (without a graphics card the GPU is emulated).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import bpy
import gpu
import numpy as np

from benchmarks.examples import BENDS, bent
from benchmarks.grid import build_chain, build_grid
from benchmarks.targets import record
from dq_compensation.core.deform import BLENDED_METHODS, METHODS, Deformation, Method
from dq_compensation.core.example_poses import ExamplePoses
from dq_compensation.core.example_support import support
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.spherical_joints import joint_sets
from dq_compensation.core.topology import Topology, topology
from dq_compensation.scene.blender.armature import pose_matrices, pose_order, read_skeleton
from dq_compensation.scene.blender.mesh import read_mesh_arrays, read_positions
from dq_compensation.viewport import gpu_objects
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.instance_poses import GivenPoses
from dq_compensation.viewport.kernels import PosePaletteLayout
from dq_compensation.viewport.look import (
    StudioLight,
    SurfaceMaterial,
    ViewUniforms,
    draw_solid,
    drawing_state,
    placements_texture,
)
from tests.gpu_memory import gpu_bytes

BONES, INFLUENCES, SIDE = 80, 4, 256
# What all methods read of a pose.
LAYOUT = PosePaletteLayout(rotation=True, dual=True, matrix=True)
TARGETS = {"LINEAR": 1.0, "DUAL_QUATERNION": 1.2, "COMPENSATED": 1.3, "SPHERICAL_JOINT": 1.5}
# With four example poses of every bone, whose shares change in every pass.
BY_EXAMPLE: tuple[Method, ...] = ("SPHERICAL_JOINT", "COMPENSATED")
BY_EXAMPLE_TARGET, ALPHAS_TARGET = 2.1, 0.1
# Each method, and those that a group blends to LINEAR once more with one.
WAYS: tuple[tuple[Method, bool], ...] = (
    *((method, False) for method in METHODS),
    *((method, True) for method in METHODS if method in BLENDED_METHODS),
)
PYTHON_TARGET = 0.3
BYTES_TARGET = 64


def build_armature() -> bpy.types.Object:
    """A chain of bones along X, each turned a little."""
    armature = build_chain(BONES)
    rng = np.random.default_rng(0)
    for bone in armature.pose.bones:
        bone.rotation_quaternion = (1.0, *(0.05 * rng.normal(size=3)))
    bpy.context.view_layer.update()
    return armature


def grid_surface(side: int) -> tuple[np.ndarray, Topology]:
    """A grid of side x side vertices as arrays."""
    mesh, _ = build_grid(side)
    rest = read_positions(mesh)
    return rest, topology(read_mesh_arrays(mesh, rest))


def chain_influences(rest: np.ndarray, width: int = INFLUENCES) -> Influences:
    """So many bones around each vertex."""
    nearest = (rest[:, 0] * BONES).astype(int) + 1 - width // 2
    bones = np.clip(nearest, 0, BONES - width)[:, None] + np.arange(width)
    distances = np.abs((bones + 0.5) / BONES - rest[:, :1]) * BONES * INFLUENCES / width
    weights = np.exp(-(distances**2))
    vertices = np.repeat(np.arange(len(rest)), width)
    return Influences.from_triples(vertices, bones.reshape(-1), weights.reshape(-1), len(rest))


def median_seconds(
    action: Callable[[], object],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """The median time of `action`."""
    times = []
    for _ in range(repeats):
        begun = clock()
        action()
        times.append(clock() - begun)
    return statistics.median(times)


def make_deformed(
    rest: np.ndarray, surface: Topology, skeleton: Skeleton, offsets: np.ndarray | None = None
) -> tuple[DeformedMesh, Deformation]:
    """A bound mesh and its compensation; `offsets` of example poses, shape (m, n, 3)."""
    influences = chain_influences(rest)
    sets = joint_sets(influences, skeleton)
    mesh = GpuMesh(rest, influences, topology=surface, shape_offsets=offsets)
    measured = MeasuredJoints.of(SkinAtRest(rest, influences, skeleton))
    deformed = DeformedMesh(mesh, skeleton)
    return deformed, Deformation("COMPENSATED", influences, measured, sets=sets)


def example_offsets(rest: np.ndarray, skeleton: Skeleton) -> np.ndarray:
    """Offsets of four poses of every bone but the first, in its support; shape (4 B - 4, n, 3)."""
    influences = chain_influences(rest)
    offsets = np.zeros((skeleton.bone_count - 1, len(BENDS), len(rest), 3), np.float32)
    for bone in range(1, skeleton.bone_count):
        offsets[bone - 1, :, support(bone, influences, skeleton), 2] = 0.01
    return offsets.reshape(-1, len(rest), 3)


def kernel_times(
    deformed: DeformedMesh,
    exemplary: DeformedMesh,
    poses: GivenPoses,
    deformation: Deformation,
    blend: np.ndarray,
) -> dict[str, float]:
    """Seconds of one skinning pass of each way, interleaved so that other load hits all."""
    dispatches = 20
    shares = np.random.default_rng(2).random((2, exemplary.mesh.key_count)).astype(np.float32)

    def run(way: Deformation, mesh: DeformedMesh) -> None:
        for number in range(dispatches):
            if mesh.keys is not None:
                mesh.keys.give(shares[number % 2])
            mesh.deform(way, poses, poses.groups[0], with_normals=False)
        mesh.read_positions()  # waits for the passes

    times: dict[str, list[float]] = {}
    reading = median_seconds(deformed.read_positions, 20)

    def take(name: str, way: Deformation, mesh: DeformedMesh) -> None:
        mesh.deform(way, poses, poses.groups[0], with_normals=False)  # uploads the blend weights
        begun = time.perf_counter()
        run(way, mesh)
        passed = time.perf_counter() - begun - reading
        times.setdefault(name, []).append(passed / dispatches)

    for turn in range(10):
        for method, blended in WAYS:
            way = replace(deformation, method=method, blend=blend if blended else None)
            take(f"{method}{', blended' * blended}", way, deformed)
        for method in BY_EXAMPLE:
            take(f"{method} by example", replace(deformation, method=method), exemplary)
        if not turn:  # the first one compiles
            times.clear()
    return {way: statistics.median(values) for way, values in times.items()}


def alpha_seconds(armature: bpy.types.Object, skeleton: Skeleton) -> float:
    """Seconds of Python per frame for how much of each example acts: 80 bones with 4 poses each."""
    examples = ExamplePoses.of(bent(skeleton, range(1, skeleton.bone_count)), skeleton)
    pose = Pose.from_matrices(pose_matrices(armature, pose_order(armature, skeleton)), skeleton)
    return median_seconds(lambda: examples.alphas(pose), 2000)


def python_times(armature: bpy.types.Object, skeleton: Skeleton) -> dict[str, float]:
    """Seconds of Python per frame for one character, part by part; its mesh has four vertices.

    Those of this thread's processor, without the passes: neither other load nor an emulated GPU
    changes them.
    """
    order = pose_order(armature, skeleton)
    rest, surface = grid_surface(2)
    deformed, deformation = make_deformed(rest, surface, skeleton)
    poses = GivenPoses(skeleton, 1, LAYOUT)
    view = ViewUniforms()
    lamp = StudioLight((0.0, 0.0, 1.0), (1.0, 1.0, 1.0))
    matrices = pose_matrices(armature, order)
    gpu_types: Any = gpu.types
    offscreen = gpu_types.GPUOffScreen(16, 16)
    materials = (SurfaceMaterial(),)
    identity = np.eye(4)
    placements = placements_texture([identity])

    def skin() -> None:
        poses.upload(matrices)
        deformed.deform(deformation, poses, poses.groups[0], identity)

    def draw() -> None:
        view.update(identity, identity, (lamp,) * 4, (0.0, 0.0, 0.0))
        with drawing_state():
            draw_solid(deformed, view, placements, materials)

    with offscreen.bind():
        skin()
        draw()
        parts = {
            "read the pose": lambda: pose_matrices(armature, order),
            "poses, skinning, normals": skin,
            "draw": draw,
        }
        run_compute, gpu_objects.run_compute = gpu_objects.run_compute, lambda *_: None
        times = {
            name: median_seconds(action, 300, time.thread_time) for name, action in parts.items()
        }
        gpu_objects.run_compute = run_compute
    offscreen.free()
    return times


def main() -> None:
    """Measure and print the tables."""
    if bpy.app.background and hasattr(gpu, "init"):
        gpu.init()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature = build_armature()
    skeleton = read_skeleton(armature)
    rest, surface = grid_surface(SIDE)
    deformed, deformation = make_deformed(rest, surface, skeleton)
    poses = GivenPoses(skeleton, 1, LAYOUT)
    poses.upload(pose_matrices(armature, pose_order(armature, skeleton)))

    print(f"{gpu.platform.renderer_get()}, {gpu.platform.backend_type_get()}")
    print(f"{len(rest)} vertices, {BONES} bones, {INFLUENCES} influences\n")
    blend = np.random.default_rng(1).uniform(0.0, 1.0, len(rest))
    exemplary, _ = make_deformed(rest, surface, skeleton, example_offsets(rest, skeleton))
    times = kernel_times(deformed, exemplary, poses, deformation, blend)
    print(f"{'skinning pass':28}{'ms':>8}{'ratio':>8}{'target':>8}")
    targets = TARGETS | {f"{method} by example": BY_EXAMPLE_TARGET for method in BY_EXAMPLE}
    for name, seconds in times.items():
        ratio = seconds / times["LINEAR"]
        target = f"{targets[name]:8.2f}" if name in targets else ""
        print(f"{name:28}{1e3 * seconds:8.2f}{ratio:8.2f}{target}")
        if name in targets:
            record(f"skinning pass {name}", ratio, targets[name])

    parts = python_times(armature, skeleton)
    parts["sum"] = sum(parts.values())
    print(f"\n{'Python per frame':28}{'ms':>8}{'':8}{'target':>8}")
    for name, seconds in parts.items():
        target = f"{PYTHON_TARGET:8.2f}" if name == "sum" else ""
        print(f"{name:28}{1e3 * seconds:8.3f}{'':8}{target}")
    record("Python per frame", 1e3 * parts["sum"], PYTHON_TARGET, "ms")

    alphas = 1e3 * alpha_seconds(armature, skeleton)
    print(f"{'4 examples of 79 bones':28}{alphas:8.3f}{'':8}{ALPHAS_TARGET:8.2f}")
    record("4 examples of 79 bones", alphas, ALPHAS_TARGET, "ms")

    deformed = DeformedMesh(deformed.mesh, skeleton)
    deformed.deform(replace(deformation, blend=blend), poses, poses.groups[0])
    deformed.mesh.material_batches  # noqa: B018 - builds what drawing needs
    deformed.mesh.edge_batch  # noqa: B018
    sizes = gpu_bytes(deformed)
    sizes["material_batches"] = surface.triangle_groups.nbytes
    sizes["edge_batch"] = surface.edges.nbytes
    print_memory({name: size / len(rest) for name, size in sizes.items()})


def print_memory(sizes: dict[str, float]) -> None:
    """Print bytes per vertex: what deforming COMPENSATED, blended, takes; then the rest."""
    print(f"\n{'on the GPU':28}{'bytes per vertex':>24}")
    deforming = ("rest", "influences", "amounts", "blend", "positions")
    for name in deforming:
        print(f"{name:28}{sizes[name]:24.1f}")
    total = sum(sizes[name] for name in deforming)
    print(f"{'COMPENSATED, blended':28}{total:24.1f} (target {BYTES_TARGET})")
    record("COMPENSATED, blended", total, BYTES_TARGET, "bytes per vertex")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        if name not in deforming:
            print(f"{name:28}{size:24.1f}")
    print(f"{'all':28}{sum(sizes.values()):24.1f}")


if __name__ == "__main__":
    main()

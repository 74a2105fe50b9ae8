"""Times takes that many instances of the human play on the GPU, and copies without takes.

    .venv-5.2/bin/python scripts/run.py benchmarks.playback

Ratios are comparable between machines; times are not: without a graphics card the GPU is emulated
on the processor (llvmpipe). What it can tell: the processor's time for Python and the driver's
calls, which grows with dispatches and not with instances; the memory; how the work of the passes
compares and grows, since each is arithmetic and fetches there as on a card. What it cannot tell:
frames per second, what a card's caches and its width make of the same work, or what a dispatch with
few invocations (one instance) costs where there are thousands of lanes.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import bpy
import gpu
import numpy as np

import dq_compensation
from benchmarks import crowd as benchmark_crowd
from benchmarks.targets import record
from benchmarks.turns import copied
from dq_compensation.core.deform import METHODS, Deformation
from dq_compensation.core.dual_quaternion import (
    concatenate_quaternions,
    quaternions_from_axis_angle,
)
from dq_compensation.pipeline.takes.local_poses import LocalPoses
from dq_compensation.pipeline.takes.played_takes import Instances, Playback, Playing, TakeTiming
from dq_compensation.pipeline.takes.stored_takes import packed
from dq_compensation.pipeline.takes.takes import (
    Keys,
    Take,
    TakeValues,
    node_names,
    node_parents,
    node_rest,
)
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.session.status import status_of
from dq_compensation.viewport import gpu_objects
from dq_compensation.viewport.batches import Batches
from dq_compensation.viewport.deformed_mesh import DeformedMesh, gpu_mesh_of
from dq_compensation.viewport.gpu_objects import new_texture, read_floats
from dq_compensation.viewport.kernels import wanted_layout
from human.model import build_human
from tests.gpu_memory import gpu_bytes

COUNTS = (1, 32, 1000)
FRAMES, KEY_STEP = 240, 4
COPIES, ARMATURES = 100, 32
PYTHON_TARGET, CHAIN_TARGET, GROWTH_TARGET, COPIES_TARGET, AGAINST_TARGET = 0.5, 0.1, 1.1, 0.04, 0.1


def waving_take(binding: Binding) -> Take:
    """Every bone swings by up to 0.3 radians, with a key on each fourth of 240 frames."""
    skeleton, rng = binding.skeleton, np.random.default_rng(0)
    parents, rest = node_parents(skeleton), node_rest(skeleton)
    above = np.where((parents >= 0)[:, None, None], rest[parents], np.eye(4))
    at_rest = LocalPoses.from_matrices(np.linalg.solve(above, rest))
    frames = np.arange(0, FRAMES + 1, KEY_STEP)
    bones, count = len(parents), len(frames)
    axes = rng.normal(size=(bones, 1, 3))
    axes /= np.linalg.norm(axes, axis=2, keepdims=True)
    angles = 0.3 * np.sin(frames / FRAMES * 2.0 * np.pi * rng.integers(1, 4, (bones, 1)))
    turns = quaternions_from_axis_angle(np.repeat(axes, count, axis=1), angles)
    rotations = concatenate_quaternions(at_rest.rotations[:, None], turns)
    return Take(
        node_names(skeleton),
        parents,
        rest,
        1,
        1 + FRAMES,
        24.0,
        Keys((count * np.arange(bones + 1)).astype(np.int32), np.tile(frames, bones).astype("u2")),
        np.repeat(at_rest.locations, count, axis=0).astype(np.float32),
        rotations.reshape(-1, 4).astype(np.float32),
        None,
        TakeValues.none(),
    )


class Wait:
    """Waits until the GPU has done everything."""

    def __init__(self) -> None:
        self._texture = new_texture((1, 1), "R32F", np.zeros(1, np.float32))

    def __call__(self) -> None:
        read_floats(self._texture)


def seconds(action: Callable[[], object], wait: Wait, repeats: int) -> float:
    """The median time of an action on the GPU; the first one, which compiles, is left out."""
    times = []
    for _ in range(repeats + 1):
        wait()
        begun = time.perf_counter()
        action()
        wait()
        times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])


def python_seconds(action: Callable[[int], object], repeats: int) -> float:
    """The median time of this thread's processor, of all but the work that a card would do."""
    run_compute = gpu_objects.run_compute
    gpu_objects.run_compute = lambda *_: None
    times = []
    for number in range(repeats):
        begun = time.thread_time()
        action(number)
        times.append(time.thread_time() - begun)
    gpu_objects.run_compute = run_compute
    return statistics.median(times)


def pass_times(binding: Binding, take: Take, count: int, wait: Wait) -> dict[str, float]:
    """Seconds of each pass for so many instances; skinning by each method."""
    instances = [playing_of(take, number) for number in range(count)]
    mesh = gpu_mesh_of(binding, binding.influences)
    found: dict[str, float] = {}
    for method in METHODS if count <= ARMATURES else ("COMPENSATED",):
        deformation = deformation_of(binding, method)
        playback = Playback([Instances.of(instances)], wanted_layout(deformation), take.fps)
        crowd = DeformedMesh(mesh, binding.skeleton, count)
        found |= method_times(method, deformation, playback, crowd, wait)
    return found


def method_times(
    method: str, deformation: Deformation, playback: Playback, crowd: DeformedMesh, wait: Wait
) -> dict[str, float]:
    """Seconds of the passes with one method; of COMPENSATED also those that all have in common."""
    repeats = 9 if crowd.count <= ARMATURES else 2

    def skin(with_normals: bool = False) -> None:
        crowd.deform(deformation, playback, playback.groups[0], with_normals=with_normals)

    def frame(number: int) -> None:
        playback.play(2.0 + number)
        skin(with_normals=True)

    playback.play(1.5)
    found = {f"skin {method}": seconds(skin, wait, repeats)}
    if method != "COMPENSATED":
        return found
    return {
        "interpolate": seconds(lambda: playback.interpolate(1.5), wait, 9),
        "chain": seconds(playback.chain, wait, 9),
        **found,
        "skin and normals": seconds(lambda: skin(with_normals=True), wait, repeats),
        "memory": sum(
            (*gpu_bytes(crowd, without=crowd.mesh).values(), *gpu_bytes(playback).values())
        ),
        "python": python_seconds(frame, 50),
    }


def playing_of(take: Take, number: int) -> Playing:
    """The take with a phase of its own."""
    return Playing(TakeTiming(take, phase=7.3 * number, speed=1.0 + 0.01 * (number % 7)))


def deformation_of(binding: Binding, method: str) -> Deformation:
    """How the human is deformed by a method."""
    obj = bpy.data.objects[binding.object_name]
    obj.dq_compensation.method = method
    return binding.deformation(Settings.of(obj))


def blender_seconds(armature: bpy.types.Object, body: bpy.types.Object) -> float:
    """Seconds of the processor, all threads, for a frame of 32 humans with Preserve Volume."""
    body.modifiers["Armature"].use_deform_preserve_volume = True
    cast = copied("Blender", armature, [body], ARMATURES, time.process_time)
    rng = np.random.default_rng(0)
    poses = 0.1 * rng.normal(size=(12, len(armature.pose.bones), 4))
    poses[..., 0] = 1.0
    found = statistics.median([cast.seconds_of_frame(pose) for pose in poses][2:])
    bpy.data.scenes.remove(cast.scene)
    return found


def copies_seconds(armature: bpy.types.Object, body: bpy.types.Object) -> float:
    """Seconds of this thread for a frame of 100 enabled copies that have no take."""
    cast = copied("Copies", armature, [body], COPIES)
    scene, layer = cast.scene, cast.view_layer
    for obj in cast.meshes:
        obj.modifiers["Armature"].show_viewport = False
    with bpy.context.temp_override(scene=scene, view_layer=layer):
        layer.update()
        depsgraph = layer.depsgraph
        for obj in cast.meshes:
            status_of(obj).binding = bind(obj, depsgraph)
        batches = Batches()

        def show(_number: int) -> None:
            batches.update(cast.meshes, depsgraph)

        found = []
        for number in range(8):
            for place, rig in enumerate(cast.armatures):
                bone = rig.pose.bones["lowerarm01.L"]
                bone.rotation_quaternion = (1.0, 0.05 * number, 0.001 * place, 0.0)
            layer.update()
            found.append(python_seconds(show, 1))
    return statistics.median(found[2:])


def main() -> None:
    """Measure and print."""
    if bpy.app.background and hasattr(gpu, "init"):
        gpu.init()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    body, armature = build_human("default")
    bpy.context.view_layer.update()
    binding = bind(body)
    take, wait = waving_take(binding), Wait()
    print(f"{gpu.platform.renderer_get()}, {gpu.platform.backend_type_get()}")
    print(f"{binding.vertex_count} vertices, {binding.skeleton.bone_count} bones, ", end="")
    print(f"{take.keys.key_count} keys, {len(packed(take)) / 1e6:.2f} MB\n")
    measured = {count: pass_times(binding, take, count, wait) for count in COUNTS}
    print(f"{'ms, instances:':28}" + "".join(f"{count:10}" for count in COUNTS))
    for name in measured[ARMATURES]:
        if name in {"memory", "python"}:
            continue
        cells = (1e3 * found[name] if name in found else None for found in measured.values())
        print(f"{name:28}" + "".join(f"{'':10}" if c is None else f"{c:10.3f}" for c in cells))
    print(f"{'kB for each instance':28}" + "".join(_per_instance(measured)))
    print(f"{'Python, ms per frame':28}", end="")
    print("".join(f"{1e3 * found['python']:10.3f}" for found in measured.values()))

    many = measured[ARMATURES]
    share = (many["interpolate"] + many["chain"]) / many["skin COMPENSATED"]
    _row("interpolate, chain to skinning", share, CHAIN_TARGET)
    each = {count: _frame(found) / count for count, found in measured.items()}
    growth = each[COUNTS[-1]] / each[ARMATURES]
    _row("an instance of 1,000 to one of 32", growth, GROWTH_TARGET)
    python = max(found["python"] for found in measured.values())
    _row("Python, any number", 1e3 * python, PYTHON_TARGET, "ms")
    benchmark_crowd.run(armature, binding, take, COUNTS)
    blender = blender_seconds(armature, body)
    print(f"32 armatures, Preserve Volume: {1e3 * blender:.1f} ms of the processor")
    _row("our processor time to that", many["python"] / blender, AGAINST_TARGET)
    copy = copies_seconds(armature, body) / COPIES
    print(f"100 copies without takes: {1e3 * copy:.3f} ms of Python for each")
    _row("that to one with Preserve Volume", copy / blender * ARMATURES, COPIES_TARGET)


def _frame(found: dict[str, float]) -> float:
    return found["interpolate"] + found["chain"] + found["skin and normals"]


def _per_instance(measured: dict[int, dict[str, float]]) -> list[str]:
    return [f"{found['memory'] / count / 1e3:10.1f}" for count, found in measured.items()]


def _row(name: str, measured: float, target: float, unit: str = "") -> None:
    print(f"{name:36}{measured:8.3f} {unit:4}(target {target:.2f})")
    record(name, measured, target, unit)


if __name__ == "__main__":
    main()

"""How long soft weights take: the human with 163 bones, and the same with four times the faces.

    .venv-5.2/bin/python scripts/run.py benchmarks.soften

*Soften Weights* once: softened weights are weights. It is compared with the same where each bone is
solved on the whole skin, and a dressed human with one mesh of as many vertices; these ratios have
targets. *Softness* is computed once, too, when the character is enabled or its slider moves, but
costs something in each frame: posed frames are compared with the same weights painted in.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import bpy  # before bmesh, which the bpy wheel brings along

# isort: split
import bmesh
import numpy as np

import dq_compensation
from benchmarks.targets import record
from benchmarks.turns import Cast, copied, times_in_turn
from dq_compensation import api
from dq_compensation.analysis import soft_weights
from dq_compensation.analysis.surface.mesh_graph import MeshGraph, smooth_values
from dq_compensation.arrays import Floats, Indices, Integers
from human.dressed import HEAD, SHIRT, TROUSERS, add_mesh, garment
from human.model import build_human, load_human_arrays
from human.poses import random_pose

# Rounds and ratio to the whole skin, of the mesh as it is and of the finer one.
MESHES = ((3, 0.35), (1, 0.23))
LIVE, PAINTED_IN = "softness", "painted in"
FRAME_ROUNDS = 16


def soften_benchmark() -> None:
    """Measure and print."""
    dq_compensation.register()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    body, _ = build_human()
    for rounds, target in MESHES:
        ratios, back, reports = [], [], []
        for _ in range(rounds):
            start = time.perf_counter()
            reports += api.soften_weights(body)
            softened = time.perf_counter()
            api.restore_weights(body)
            back.append(time.perf_counter() - softened)
            with _whole_skin():
                restored = time.perf_counter()
                api.soften_weights(body)
                ratios.append((softened - start) / (time.perf_counter() - restored))
            api.restore_weights(body)
        report = reports[-1]
        title = f"soften {report.vertices:,} vertices, of the whole skin"
        ratio = statistics.median(ratios)
        print(f"  {title:<48}{ratio:6.2f} (target: {target}), {report.changed:,} changed")
        print(f"  {'put back':<48}{statistics.median(back):6.2f} s")
        record(title, ratio, target)
        _subdivide(body)
    _first_enable(target=2.1)
    _slider(target=1.0)
    _dressed(target=1.3)
    _softness_in_frames(target=1.5)
    _softness_in_frames(finer=True, target=1.2)
    for key in ("face", "body"):
        _softness_in_frames(key=key)


def _first_enable(*, target: float, rounds: int = 3) -> None:
    """Time *Enable* with the settings of *Soft with Twist*, against *Soften Weights*."""
    ratios, count = list[float](), 0
    for _ in range(rounds):
        bpy.ops.wm.read_factory_settings(use_empty=True)
        body, _ = build_human()
        count = len(body.data.vertices)
        start = time.perf_counter()
        api.soften_weights(body)
        softened = time.perf_counter()
        api.restore_weights(body)
        restored = time.perf_counter()
        api.enable(body, use_ball_joints=True, softness=0.5, twist_spread=1.0)
        ratios.append((time.perf_counter() - restored) / (softened - start))
    title = f"enable {count:,} vertices, Soft with Twist"
    ratio = statistics.median(ratios)
    print(f"  {title:<48}{ratio:6.2f} (target: {target}), of softening alone")
    record(title, ratio, target)


def _slider(*, target: float, rounds: int = 5) -> None:
    """Time from a new value of *Softness* to the picture, against *Soften Weights*."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    body, _ = build_human()
    start = time.perf_counter()
    api.soften_weights(body)
    softened = time.perf_counter() - start
    api.restore_weights(body)
    api.enable(body, use_ball_joints=True, softness=0.5, twist_spread=1.0)
    seconds = []
    for softness in np.linspace(0.4, 0.6, rounds).tolist():
        start = time.perf_counter()
        body.dq_compensation.softness = softness
        bpy.context.view_layer.update()
        seconds.append(time.perf_counter() - start)
    title = f"slider of Softness, {len(body.data.vertices):,} vertices"
    ratio = statistics.median(seconds) / softened
    print(f"  {title:<48}{ratio:6.2f} (target: {target}), of softening alone")
    record(title, ratio, target)


def _dressed(*, target: float, rounds: int = 3) -> None:
    """Time a human in shirt, trousers and hair, and a body with as many vertices."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    (body, rig), arrays = build_human(), load_human_arrays()
    clothes = {"Shirt": (SHIRT, 0.004), "Trousers": (TROUSERS, 0.008), "Hair": (HEAD, 0.015)}
    meshes = [body]
    for name, (covers, thickness) in clothes.items():
        meshes.append(add_mesh(name, garment(arrays, covers, thickness), rig))
    finer = add_mesh("Finer", arrays, rig)
    count = sum(len(obj.data.vertices) for obj in meshes)
    # Cuts of neighbouring faces bring about three vertices a face.
    _subdivide(finer, faces=(count - len(finer.data.vertices)) // 3)
    seconds: dict[str, float] = {}
    for _ in range(rounds):
        for name, chosen in (("dressed", meshes), ("one", [finer])):
            start = time.perf_counter()
            api.soften_weights(chosen)
            found = time.perf_counter() - start
            seconds[name] = min(found, seconds.get(name, found))
            for obj in chosen:
                api.restore_weights(obj)
    title = f"soften {len(meshes)} meshes of {count:,} vertices"
    ratio = seconds["dressed"] / seconds["one"] * len(finer.data.vertices) / count
    print(f"  {title:<48}{ratio:6.2f} (target: {target}), of one mesh with as many")
    record(title, ratio, target)


class _EachBone:
    """The weights of each bone, solved on the whole skin by conjugate gradients."""

    def __init__(self, graph: MeshGraph, _: Floats, vertices: Indices, masses: Floats) -> None:
        self._at = graph, vertices, masses[vertices]

    def eliminated(self, bones: Integers, weights: Floats) -> Iterator[float]:
        self._painted = bones, weights
        yield 1.0

    def solutions(self, _: float) -> Iterator[tuple[Indices, Integers, Floats]]:
        (graph, vertices, masses), (bones, weights) = self._at, self._painted
        present = np.unique(bones[weights > 0.0])
        found = []
        for bone in present:
            painted = np.where(bones == bone, weights, 0.0).sum(axis=1)
            found.append(smooth_values(graph, painted, vertices, masses, 1e-5))
        yield vertices, present, np.stack(found, axis=1)


@contextmanager
def _whole_skin() -> Generator[None]:
    """Solve the weights of each bone on the whole skin meanwhile."""
    system = soft_weights.SmoothSystem
    soft_weights.SmoothSystem = _EachBone
    try:
        yield
    finally:
        soft_weights.SmoothSystem = system


def _softness_in_frames(*, finer: bool = False, key: str = "", target: float | None = None) -> None:
    """Time posed frames with Softness and with the same weights painted in.

    Args:
        finer: four times the faces.
        key: what a shape key moves: the face, the whole body, or nothing.
    """
    bpy.ops.wm.read_factory_settings(use_empty=True)
    body, rig = build_human()
    if finer:
        _subdivide(body)
    if key:
        _add_key(body, least=0.65 if key == "face" else -2.0)
    casts = {way: copied(way, rig, [body]) for way in (PAINTED_IN, LIVE)}
    for way, cast in casts.items():
        _make_soft(cast, painted_in=way == PAINTED_IN)
    rng = np.random.default_rng(0)
    random = [random_pose(rng) for _ in range(FRAME_ROUNDS)]
    poses = np.array([[pose[bone.name] for bone in rig.pose.bones] for pose in random])
    found = times_in_turn(casts, {LIVE: PAINTED_IN}, poses)
    shape = f", a key moves the {key}" if key else ""
    title = f"softness, {len(body.data.vertices):,} vertices{shape}"
    milliseconds = " and ".join(f"{1e3 * found[way].seconds:.1f}" for way in (PAINTED_IN, LIVE))
    wanted = f" (target: {target})" if target else ""
    print(f"  {title:<48}{found[LIVE].ratio:6.2f}{wanted}, {milliseconds} ms")
    if target:
        record(title, found[LIVE].ratio, target)


def _make_soft(cast: Cast, *, painted_in: bool) -> None:
    bpy.context.window.scene = cast.scene
    (obj,) = cast.meshes
    api.enable(obj, use_ball_joints=True, softness=0.0 if painted_in else 0.5)
    if painted_in:
        api.soften_weights(obj)
    cast.view_layer.update()


def _add_key(body: bpy.types.Object, least: float) -> None:
    """A shape key that widens what is higher than that, at 0.7."""
    body.shape_key_add(name="Basis", from_mix=False)
    block = body.shape_key_add(name="Wide", from_mix=False)
    shape = np.empty((len(body.data.vertices), 3), np.float32)
    body.data.vertices.foreach_get("co", shape.reshape(-1))
    shape[shape[:, 2] > least, 0] *= 1.1
    block.points.foreach_set("co", shape.reshape(-1))
    block.value = 0.7


def _subdivide(body: bpy.types.Object, faces: int | None = None) -> None:
    """Cut the first faces, or all of them, into four."""
    edited = bmesh.new()
    edited.from_mesh(body.data)
    edges = {edge for face in list(edited.faces)[:faces] for edge in face.edges}
    bmesh.ops.subdivide_edges(edited, edges=list(edges), cuts=1, use_grid_fill=True)
    edited.to_mesh(body.data)
    edited.free()


if __name__ == "__main__":
    soften_benchmark()

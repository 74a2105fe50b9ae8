"""How long binding takes, against one bare read of the weights through bmesh.

    .venv-5.2/bin/python scripts/run.py benchmarks.bind

The mesh has 64,009 vertices, 80 bones and 4 influences per vertex. Ratios of medians within one run
are what to compare: the machine's load moves both sides alike.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import bpy  # before bmesh, which the bpy wheel brings along

# isort: split
import bmesh
import numpy as np

import dq_compensation
from benchmarks.grid import build_chain, build_skinned_grid, write_weights
from benchmarks.targets import record
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.binding import Binding
from dq_compensation.scene.settings.object_settings import Settings

SIDE = 253
BONES = 80
INFLUENCES = 4
ROUNDS = 9
TARGET = 3


def build_scene() -> bpy.types.Object:
    """A grid with random weights, deformed by a chain of bones; in a new file."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    obj, points = build_skinned_grid(SIDE, build_chain(BONES))
    rng = np.random.default_rng(0)
    groups = rng.random((len(points), BONES)).argsort(axis=1)[:, :INFLUENCES]
    write_weights(obj.data, groups, rng.uniform(0.01, 1.0, groups.shape))
    bpy.context.view_layer.update()
    return obj


def bare_read(mesh: bpy.types.Mesh) -> int:
    """The weights of every vertex as Python lists, and nothing else; how many vertices."""
    groups, weights = [], []
    reader = bmesh.new()
    reader.from_mesh(mesh)
    layer = reader.verts.layers.deform.active
    for vertex in reader.verts:
        row = vertex[layer]
        groups.append(row.keys())
        weights.append(row.values())
    reader.free()
    return len(groups)


def bind_benchmark() -> float:
    """Measure, print, and return the ratio of binding, topology included, to the bare read."""
    dq_compensation.register()
    obj = build_scene()
    last: list[Binding] = []
    milliseconds: dict[str, list[float]] = {}

    def measure(name: str, step: Callable[[], object]) -> None:
        start = time.perf_counter()
        step()
        milliseconds.setdefault(name, []).append(1e3 * (time.perf_counter() - start))

    for _ in range(ROUNDS):
        measure("bare read", lambda: bare_read(obj.data))
        measure("bind", lambda: last.append(bind(obj)))
        measure("topology", lambda: last[-1].topology)
        measure("joint sets", lambda: last[-1].sets)
        measure("amounts", lambda: last[-1].compensation(Settings()))
        last.clear()

    medians = {name: statistics.median(values) for name, values in milliseconds.items()}
    bare = medians["bare read"]
    version = ".".join(map(str, bpy.app.version))
    print(f"Blender {version}: {SIDE * SIDE} vertices, {BONES} bones, {INFLUENCES} influences")
    for name, median in medians.items():
        print(f"  {name:<12}{median:8.1f} ms{median / bare:8.2f} x")
    ratio = (medians["bind"] + medians["topology"]) / bare
    print(f"  bind and topology / bare read: {ratio:.2f} (target: at most {TARGET})")
    record("bind and topology / bare read", ratio, TARGET)
    return ratio


if __name__ == "__main__":
    bind_benchmark()

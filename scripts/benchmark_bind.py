"""How long binding takes, against one bare read of the weights through bmesh.

    .venv-5.2/bin/python scripts/benchmark_bind.py

The mesh has 64,009 vertices, 80 bones and 4 influences per vertex. Ratios of medians within one run
are what to compare: the machine's load moves both sides alike.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import bpy  # before bmesh, which the bpy wheel brings along

# isort: split
import bmesh
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from dq_compensation.scene.binding import Binding, bind

SIDE = 253
BONES = 80
INFLUENCES = 4
ROUNDS = 9


def build_scene() -> bpy.types.Object:
    """A grid with random weights, deformed by a chain of bones; in a new file."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    armature = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    mesh = bpy.data.meshes.new("Body")
    obj = bpy.data.objects.new("Body", mesh)
    for one in (armature, obj):
        bpy.context.scene.collection.objects.link(one)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for index in range(BONES):
        bone = armature.data.edit_bones.new(f"Bone {index:02d}")
        bone.head, bone.tail = (0.1 * index, 0.0, 0.0), (0.1 * (index + 1), 0.0, 0.0)
        bone.parent, parent = parent, bone
        obj.vertex_groups.new(name=bone.name)
    bpy.ops.object.mode_set(mode="OBJECT")

    rng = np.random.default_rng(0)
    builder = bmesh.new()
    segments = SIDE - 1
    bmesh.ops.create_grid(builder, x_segments=segments, y_segments=segments, size=1.0)
    layer = builder.verts.layers.deform.verify()
    weights = rng.uniform(0.01, 1.0, (len(builder.verts), INFLUENCES))
    for vertex, row in zip(builder.verts, weights, strict=True):
        groups = rng.choice(BONES, INFLUENCES, replace=False)
        for group, weight in zip(groups, row, strict=True):
            vertex[layer][int(group)] = float(weight)
    builder.to_mesh(mesh)
    builder.free()
    mesh.polygons.foreach_set("use_smooth", np.ones(len(mesh.polygons), np.bool_))
    obj.modifiers.new("Armature", "ARMATURE").object = armature
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
        measure("amounts", lambda: last[-1].amounts("AUTO", "MEASURED"))
        last.clear()

    medians = {name: statistics.median(values) for name, values in milliseconds.items()}
    bare = medians["bare read"]
    version = ".".join(map(str, bpy.app.version))
    print(f"Blender {version}: {SIDE * SIDE} vertices, {BONES} bones, {INFLUENCES} influences")
    for name, median in medians.items():
        print(f"  {name:<12}{median:8.1f} ms{median / bare:8.2f} x")
    ratio = (medians["bind"] + medians["topology"]) / bare
    print(f"  bind and topology / bare read: {ratio:.2f} (target: at most 3)")
    return ratio


if __name__ == "__main__":
    bind_benchmark()

"""How long a full Setup Check takes, against one bare read of the weights through bmesh.

    .venv-5.2/bin/python scripts/run.py benchmarks.checks

The mesh is that of `bind.py`: 64,009 vertices, 80 bones and 4 influences per vertex, not
enabled and enabled. The target is at most a second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import bpy

import dq_compensation
from benchmarks.bind import BONES, INFLUENCES, SIDE, bare_read, build_scene
from benchmarks.targets import record
from dq_compensation.session.changes import Changes
from dq_compensation.setup_check import catalogue, findings
from dq_compensation.setup_check.subject import Subject

ROUNDS = 5
TARGET = 1000
# Of a frame at 60 Hz, 16 ms, one.
MOVED, HANDLER_TARGET = 200, 1.0


def check_benchmark() -> float:
    """Measure, print, and return the seconds of a full check of the enabled character."""
    obj = build_scene()
    dq_compensation.register()
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    version = ".".join(map(str, bpy.app.version))
    print(f"Blender {version}: {SIDE * SIDE} vertices, {BONES} bones, {INFLUENCES} influences")
    bare = _median(lambda: bare_read(obj.data))
    print(f"  {'bare read':<24}{1e3 * bare:8.1f} ms")
    seconds = 0.0
    for title in ("not enabled", "enabled"):
        if title == "enabled":
            bpy.ops.dqc.enable()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        found = catalogue.find_issues(obj, depsgraph)
        seconds = _median(lambda graph=depsgraph: catalogue.find_issues(obj, graph))
        print(
            f"  {title:<24}{1e3 * seconds:8.1f} ms{seconds / bare:8.2f} x, "
            f"{len(catalogue.CHECKS)} checks, {len(found)} issues (target: at most {TARGET} ms)"
        )
        record(title, 1e3 * seconds, TARGET, "ms")
        _print_each(obj, depsgraph)
    handler = 1e3 * _handler_seconds(obj)
    print(f"  {'handler':<24}{handler:8.3f} ms, {MOVED} objects move (target: {HANDLER_TARGET} ms)")
    record(f"handler, {MOVED} objects move", handler, HANDLER_TARGET, "ms")
    return seconds


def _handler_seconds(obj: bpy.types.Object) -> float:
    """What the handler takes that watches a checked character, while other objects move."""
    findings.run(obj, bpy.context.evaluated_depsgraph_get())
    others = [bpy.data.objects.new("Other", None) for _ in range(MOVED)]
    for other in others:
        bpy.context.scene.collection.objects.link(other)
    bpy.context.view_layer.update()
    seconds: list[float] = []
    follow = findings.FOLLOWS[0][1]

    def timed(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
        start = time.perf_counter()
        follow(Changes(depsgraph, is_frame=False))
        seconds.append(time.perf_counter() - start)

    bpy.app.handlers.depsgraph_update_post.append(timed)
    for _ in range(ROUNDS):
        for other in others:
            other.location.x += 1.0
        bpy.context.view_layer.update()
    bpy.app.handlers.depsgraph_update_post.remove(timed)
    return statistics.median(seconds)


def _print_each(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """How long each check takes; the first that asks for weights pays for reading them."""
    subject = Subject(obj, depsgraph)
    for check in catalogue.CHECKS:
        start = time.perf_counter()
        check.find(subject)
        print(f"    {check.name:<22}{1e3 * (time.perf_counter() - start):8.1f} ms")


def _median(step: Callable[[], object]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    check_benchmark()

"""How long Soften Weights takes: the human with 163 bones, and the same with four times the faces.

    .venv-5.2/bin/python scripts/run.py benchmarks.soften

Nothing of it runs in a frame: softened weights are weights. The targets are seconds on the machine
that the project is built on.
"""

from __future__ import annotations

import statistics
import time

import bpy

import dq_compensation
from benchmarks.targets import record
from dq_compensation import api
from human.model import build_human

ROUNDS = 3
# Seconds, of the mesh as it is and of the finer one.
TARGETS = (1.5, 5.0)


def soften_benchmark() -> None:
    """Measure and print."""
    dq_compensation.register()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    body, _ = build_human()
    for target in TARGETS:
        seconds, back, reports = [], [], []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            reports += api.soften_weights(body)
            softened = time.perf_counter()
            api.restore_weights(body)
            seconds.append(softened - start)
            back.append(time.perf_counter() - softened)
        report = reports[-1]
        title = f"soften {report.vertices:,} vertices"
        median = statistics.median(seconds)
        print(f"  {title:<26}{median:6.2f} s (target: {target}), {report.changed:,} changed")
        print(f"  {'put back':<26}{statistics.median(back):6.2f} s")
        record(title, median, target, "s")
        bpy.context.view_layer.objects.active = body
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
        bpy.ops.object.mode_set(mode="OBJECT")


if __name__ == "__main__":
    soften_benchmark()

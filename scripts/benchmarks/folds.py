"""Times *Solve Folds* on a human: seconds a joint, on one core.

    .venv-5.2/bin/python scripts/run.py benchmarks.folds [knee elbow hip ...] [--all]

`--all` solves the whole body, with the proof. Leave the machine alone.
"""

from __future__ import annotations

import argparse
import os
import time

# Before NumPy: its own threads wait for each other in arrays as small as these.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import bpy

import dq_compensation
from benchmarks.targets import record
from dq_compensation import api
from dq_compensation.folds.character_folds import FoldsReport
from dq_compensation.folds.estimate import estimate_folds
from human.model import build_human

# The bones behind joints, and how many seconds they may take.
JOINTS = {
    "knee": ("lowerleg01.L", 5.0),
    "elbow": ("lowerarm01.L", 5.0),
    "hip": ("upperleg01.L", 14.0),
    "finger": ("finger2-2.L", 2.0),
}
BODY = 60.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("joints", nargs="*", metavar="JOINT", help=", ".join(JOINTS))
    parser.add_argument("--all", action="store_true", help="the whole body")
    chosen = parser.parse_args()
    print(f"Blender {bpy.app.version_string}")
    dq_compensation.register()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    human, _ = build_human("default")
    api.enable(human, look="SOFT_WITH_TWIST")
    print(f"{'':12}{'s':>8}{'estimate':>10}{'target':>8}")
    for name in chosen.joints or JOINTS:
        bone, target = JOINTS[name]
        _row(human, name, [bone], target)
    if chosen.all:
        _row(human, "whole body", None, BODY)


def _row(human: bpy.types.Object, name: str, bones: list[str] | None, target: float) -> None:
    """Solve joints, and print a row of the table."""
    expected = estimate_folds(human, bpy.context.evaluated_depsgraph_get(), bones)
    start = time.process_time()
    report = api.solve_folds(human, bones)
    seconds = time.process_time() - start
    assert isinstance(report, FoldsReport)
    assert report.solved, report.left_out
    print(f"{name:12}{seconds:8.1f}{expected.seconds:10.1f}{target:8.1f}", flush=True)
    record(f"Solve Folds, {name}", seconds, target, "s")


if __name__ == "__main__":
    main()

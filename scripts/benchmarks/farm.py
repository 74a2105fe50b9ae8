"""What a worker of a farm needs for a file, and what that makes of many files.

    .venv-5.2/bin/python scripts/run.py benchmarks.farm [--frames 250] [--files 1000] [--disk 100]

The file: the human of 13,380 vertices and 163 bones, with keys in every 12th frame. Each task is a
process of its own that starts, opens the file, enables the character, bakes and saves, and tells
the time of each part and its memory. Times are seconds of one core, so that a busy machine does not
change them much. `farm_model.py` computes the rest. It needs a minute and a half.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from environments import PROJECT
from farm_model import Task, most_workers, plan

RUN = (str(PROJECT / "scripts" / "run.py"), "benchmarks.farm")
JOBS = ("check", "enable", "cache", "keys")
WORKERS = (1, 10, 100)
EVERY = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=250)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3, help="the shortest of so many counts")
    parser.add_argument("--disk", type=float, default=100, help="MB per second, of the shared disk")
    parser.add_argument(
        "--one", nargs=4, metavar=("JOB", "FILE", "OUTPUT", "FRAMES"), help="a task"
    )
    arguments = parser.parse_args()
    if arguments.one:
        job, file, output, frames = arguments.one
        print(json.dumps(run_task(job, file, output, int(frames))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "human.blend"
        command = [sys.executable, *RUN, "--one", "build", file, "-", str(arguments.frames)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        found = {
            job: min(
                (measured(job, file, folder, arguments.frames) for _ in range(arguments.runs)),
                key=lambda parts: parts["total"],
            )
            for job in JOBS
        }
        print(f"\nSeconds of one task, {arguments.frames} frames, the file has {_size(file)} MB")
        _print_parts(found)
        _print_plans(found, arguments.files, arguments.disk * 1e6)


def run_task(job: str, file: str, output: str, frames: int) -> dict[str, float]:
    """Do one task in this process; return the seconds of its parts, and its memory in bytes."""
    import bpy

    import dq_compensation

    dq_compensation.register()
    from dq_compensation import api

    if job == "build":
        _build(file, frames)
        return {}
    parts: dict[str, float] = {"start": time.process_time()}

    def timed(name: str, function: Any, *positional: Any, **named: Any) -> None:
        start = time.process_time()
        function(*positional, **named)
        parts[name] = time.process_time() - start

    timed("load", bpy.ops.wm.open_mainfile, filepath=file)
    obj = api.skinned_meshes()[0]
    if job == "check":
        timed("work", api.check, obj)
    if job in {"enable", "keys"}:
        timed("enable", api.enable, obj)
    if job == "cache":
        timed("work", api.bake_cache, obj, output, 1, frames)
    if job == "keys":
        timed("work", api.bake_frames, obj, 1, frames)
    if job in {"enable", "keys"}:
        timed("save", bpy.ops.wm.save_as_mainfile, filepath=output)
    # Linux counts in KB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    parts["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return parts


def _build(file: str, frames: int) -> None:
    import bpy
    import numpy as np

    from human.model import build_human
    from human.poses import apply_pose, random_pose

    bpy.ops.wm.read_factory_settings(use_empty=True)
    _, armature = build_human()
    rng = np.random.default_rng(0)
    for frame in range(1, frames + EVERY, EVERY):
        apply_pose(armature, random_pose(rng))
        for bone in armature.pose.bones:
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.ops.wm.save_as_mainfile(filepath=file)


def measured(job: str, file: Path, folder: Path, frames: int) -> dict[str, float]:
    """Run a task in a process; its parts, with `total` and the bytes."""
    output = folder / f"{job}.{'pc2' if job == 'cache' else 'blend'}"
    command = [sys.executable, *RUN, "--one", job, str(file), str(output), str(frames)]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    parts = json.loads(run.stdout.splitlines()[-1])
    parts["total"] = sum(seconds for name, seconds in parts.items() if name != "memory")
    parts["written"] = output.stat().st_size if output.exists() else 0
    parts["read"] = file.stat().st_size
    output.unlink(missing_ok=True)
    return parts


def _size(file: Path) -> str:
    return f"{file.stat().st_size / 1e6:.1f}"


def _print_parts(found: dict[str, dict[str, float]]) -> None:
    print("| task | start | load | enable | work | save | in all | written, MB | memory, MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for job, parts in found.items():
        times = [parts.get(name) for name in ("start", "load", "enable", "work", "save", "total")]
        texts = ["" if each is None else f"{each:.2f}" for each in times]
        sizes = [f"{parts[name] / 1e6:.0f}" for name in ("written", "memory")]
        print(f"| {job} | {' | '.join([*texts, *sizes])} |")


def _print_plans(found: dict[str, dict[str, float]], files: int, bandwidth: float) -> None:
    print(f"\n{files} files, minutes; a shared disk of {bandwidth / 1e6:.0f} MB per second")
    heads = [f"{count} worker{'s' if count > 1 else ''}" for count in WORKERS]
    print(f"| task | {' | '.join(heads)} | workers that the disk feeds | written, GB |")
    print("|---|---|---|---|---|---|")
    for job, parts in found.items():
        transferred = parts["read"] + parts["written"]
        task = Task(job, parts["total"], transferred, parts["memory"])
        plans = [plan(task, files, workers, bandwidth) for workers in WORKERS]
        texts = [f"{each.seconds / 60:.1f} ({each.limit})" for each in plans]
        most, written = most_workers(task, bandwidth), files * parts["written"] / 1e9
        print(f"| {job} | {' | '.join(texts)} | {most:.0f} | {written:.1f} |")


if __name__ == "__main__":
    main()

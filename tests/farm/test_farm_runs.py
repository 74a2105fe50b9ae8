"""Jobs that really run, each task in a process of its own, with the stand-in for Blender."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.blender.command_runs import LAST
from tests.farm.openjd_runs import run_job

LimbFile = Callable[[str], Path]


def test_a_file_that_fails_is_named_and_the_next_run_does_the_rest(
    blender: str, limb_file: LimbFile, tmp_path: Path
) -> None:
    files = [limb_file("a.blend"), tmp_path / "b.blend", limb_file("c.blend")]
    files[1].write_bytes(b"no .blend file")
    out = tmp_path / "out"
    out.mkdir()
    parameters = {
        "Files": [str(file) for file in files],
        "Command": "evaluate",
        "Output": str(out),
        "Options": ["--frames", f"1-{LAST}"],
        "Blender": blender,
    }
    failed = run_job("files.yaml", parameters)
    assert failed.returncode != 0
    assert f"dq_compensation: {files[1]} is" in failed.stdout
    # A session of `openjd run` ends with its first failure; a farm goes on with the other tasks.
    assert [each.name for each in out.iterdir()] == ["a.npy"]
    done = (out / "a.npy").stat().st_mtime_ns

    limb_file("b.blend")
    run = run_job("files.yaml", parameters)
    assert run.returncode == 0, run.stdout
    assert f"{files[0]}: nothing to do" in run.stdout
    assert (out / "a.npy").stat().st_mtime_ns == done
    positions = [np.load(out / f"{name}.npy") for name in "abc"]
    assert [each.shape for each in positions] == [(LAST, 800, 3)] * 3
    for each in positions[1:]:
        np.testing.assert_array_equal(each, positions[0])


def test_a_killed_task_leaves_the_old_result_and_runs_again(
    blender: str, limb_file: LimbFile, tmp_path: Path
) -> None:
    file, out = limb_file("hero.blend"), tmp_path / "out"
    out.mkdir()
    (out / "hero.npy").write_text("old")
    os.utime(out / "hero.npy", (0, 0))
    command = [blender, "--command", "dq_compensation", "evaluate", "--file", str(file)]
    _kill_while_it_works([*command, "--frames", "1-20000", "--output", str(out / "hero.npy")])
    assert (out / "hero.npy").read_text() == "old"
    parameters = {
        "Files": [str(file)],
        "Command": "evaluate",
        "Output": str(out),
        "Options": ["--frames", f"1-{LAST}"],
        "Blender": blender,
    }
    run = run_job("files.yaml", parameters)
    assert run.returncode == 0, run.stdout
    assert np.load(out / "hero.npy").shape == (LAST, 800, 3)


def _kill_while_it_works(command: list[str]) -> None:
    """Start a command, and kill it when it tells its progress."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    process.kill()
    process.wait()
    process.stderr.close()
    assert "%" in first

"""Jobs that really run, each task in a process of its own, with the stand-in for Blender."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation import api
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


def test_shape_keys_of_several_processes_equal_one_bake_also_after_a_kill(
    blender: str, limb_file: LimbFile, tmp_path: Path
) -> None:
    file, chunks, output = limb_file("hero.blend"), tmp_path / "chunks", tmp_path / "out.blend"
    chunks.mkdir()
    _kill_while_it_works(
        [blender, "--command", "dq_compensation", "evaluate", "--file", str(file)]
        + ["--frames", "1-20000", "--output", str(chunks / "hero 1-3.npz")]
    )
    assert not (chunks / "hero 1-3.npz").exists()
    parameters = {
        "File": str(file),
        "FirstFrame": 1,
        "LastFrame": LAST,
        "ChunkSize": 3,
        "Chunks": str(chunks),
        "Output": str(output),
        "Blender": blender,
    }
    run = run_job("frames.yaml", parameters)
    assert run.returncode == 0, run.stdout
    assert sorted(each.name for each in chunks.iterdir()) == ["hero 1-3.npz", "hero 4-5.npz"]
    bpy.ops.wm.open_mainfile(filepath=str(file))
    api.bake_frames(bpy.data.objects["Limb"], 1, LAST)
    one = _key_shapes()
    bpy.ops.wm.open_mainfile(filepath=str(output))
    other = _key_shapes()
    assert list(one) == list(other)
    assert len(one) == 1 + LAST
    for name, shape in one.items():
        np.testing.assert_array_equal(shape, other[name])


def _kill_while_it_works(command: list[str]) -> None:
    """Start a command, and kill it when it tells its progress."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    process.kill()
    process.wait()
    process.stderr.close()
    assert "%" in first


def _key_shapes() -> dict[str, NDArray[np.float32]]:
    shapes: dict[str, NDArray[np.float32]] = {}
    for block in bpy.data.objects["Limb"].data.shape_keys.key_blocks:
        shapes[block.name] = np.empty(3 * len(block.points), np.float32)
        block.points.foreach_get("co", shapes[block.name])
    return shapes

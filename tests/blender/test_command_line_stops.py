"""Runs of the command line that are stopped or killed leave whole files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import bpy
import pytest

from environments import PROJECT
from tests.blender.command_runs import CommandLine, save_limb


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, ("bake", "frames", "--output", "out.blend")),
        (signal.SIGINT, ("bake", "cache", "--output", "out.pc2")),
        (signal.SIGTERM, ("evaluate", "--output", "out.npy")),
    ],
)
def test_a_stopped_run_leaves_nothing(
    command: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    number: signal.Signals,
) -> None:
    monkeypatch.chdir(tmp_path)
    save_limb(tmp_path / "limb.blend")
    # Within Blender's evaluation, where an exception would be lost.
    frames: list[int] = []

    @bpy.app.handlers.persistent
    def stop(scene: bpy.types.Scene, *_: object) -> None:
        frames.append(scene.frame_current)
        if scene.frame_current == 20:
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    bpy.app.handlers.frame_change_post.append(stop)
    try:
        outcome = command(*words, "--file", "limb.blend", "--frames", "1-500")
    finally:
        bpy.app.handlers.frame_change_post.remove(stop)
    assert (outcome.code, outcome.error) == (5, "dq_compensation: stopped")
    assert [path.name for path in tmp_path.iterdir()] == ["limb.blend"]
    assert max(frames) <= 21
    assert signal.getsignal(number) == before


_LOOP = """\
import sys
import dq_compensation
from dq_compensation.command_line.commands import main
dq_compensation.register()
while True:
    for word in ("enable", "disable"):
        main([word, "--file", sys.argv[1], "--in-place", "--quiet"])
"""


@pytest.mark.newest_only
def test_a_killed_process_leaves_the_old_file_or_the_new_one(addon: None, tmp_path: Path) -> None:
    moments = {"@": "limb.blend", ".part": "limb.blend"}
    processes = []
    for number, ending in enumerate(moments):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = save_limb(folder / "limb.blend")
        process = subprocess.Popen(
            [sys.executable, "-c", _LOOP, str(path)],
            cwd=PROJECT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        processes.append((process, path, ending))
    for process, path, ending in processes:
        limit = time.monotonic() + 300.0
        while not any(name.endswith(ending) for name in os.listdir(path.parent)):
            assert process.poll() is None
            assert time.monotonic() < limit
        process.kill()
        process.wait()
        bpy.ops.wm.open_mainfile(filepath=str(path))
        limb = bpy.data.objects["Limb"]
        assert len(limb.data.vertices) == 800
        kinds = [modifier.type for modifier in limb.modifiers]
        assert kinds == ["ARMATURE", "NODES"] if limb.dq_compensation.enabled else ["ARMATURE"]


@pytest.mark.newest_only
def test_the_stand_in_for_blender_runs_commands(addon: None, tmp_path: Path) -> None:
    path = save_limb(tmp_path / "limb.blend")
    run = subprocess.run(
        [str(PROJECT / "scripts" / "blender"), "--background", "--command", "dq_compensation"]
        + ["check", "--file", str(path), "--json"],
        env={**os.environ, "BLENDER_VERSION": "5.2"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert json.loads(run.stdout)["files"][0]["objects"][0]["name"] == "Limb"

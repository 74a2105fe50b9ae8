"""Runs programs in a Blender of their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from environments import ENVIRONMENTS


def run_in_blender(version: str, program: Path, archive: Path, folder: Path) -> tuple[Path, str]:
    """Run a program of this folder on the zip, in a process and a user folder of its own.

    So tests see what a user installs, not the checkout.

    Args:
        program: takes the paths of the zip and of the report that it writes.
        folder: empty; the process works there, and Blender keeps its user's files there.

    Returns:
        the report, and what was printed.
    """
    interpreter = ENVIRONMENTS[version].interpreter
    if not interpreter.exists():
        pytest.fail(f"{interpreter} is missing: run `make setup`")
    report = folder / "report.json"
    run = subprocess.run(
        [str(interpreter), str(program), str(archive), str(report)],
        cwd=folder,
        env={**os.environ, "BLENDER_USER_RESOURCES": str(folder), "PYTHONPATH": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )
    assert run.returncode == 0, run.stdout
    return report, run.stdout

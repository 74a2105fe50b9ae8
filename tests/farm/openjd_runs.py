"""Runs Open Job Description's own program on the templates of `farm/openjd`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from environments import PROJECT

TEMPLATES = PROJECT / "farm" / "openjd"

Run = subprocess.CompletedProcess[str]

_RECORDER = """\
#!{python}
import json, sys
with open({record!r}, "a") as record:
    record.write(json.dumps(sys.argv[1:]) + "\\n")
"""


def openjd(*arguments: str) -> Run:
    """Run ``openjd`` with what it prints in `stdout`."""
    return subprocess.run(
        [sys.executable, "-m", "openjd", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=600,
    )


def run_job(template: str, parameters: Mapping[str, Any], *options: str) -> Run:
    """Run the job that a template and parameters make, one task after the other."""
    path = str(TEMPLATES / template)
    return openjd("run", path, "--job-param", json.dumps(dict(parameters)), *options)


def recorded_tasks(template: str, parameters: Mapping[str, Any], folder: Path) -> list[list[str]]:
    """What the tasks of a job would give to Blender, in their order."""
    record, program = folder / "record.txt", folder / "recorder"
    record.unlink(missing_ok=True)
    program.write_text(_RECORDER.format(python=sys.executable, record=str(record)))
    program.chmod(0o755)
    run = run_job(template, {**parameters, "Blender": str(program)})
    assert run.returncode == 0, run.stdout
    return [json.loads(line) for line in record.read_text().splitlines()]

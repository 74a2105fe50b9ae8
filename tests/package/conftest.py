"""The built zip, and one run of its installed life in each Blender."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from build import build
from environments import BLENDER_VERSIONS, ENVIRONMENTS

LIFECYCLE = Path(__file__).with_name("extension_lifecycle.py")


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the zip: a new one, or that of a release."""
    if released := os.environ.get("DQC_ARCHIVE"):
        return Path(released)
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session", params=BLENDER_VERSIONS, ids=lambda version: f"blender-{version}")
def lifecycle(
    request: pytest.FixtureRequest, archive: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Return what `extension_lifecycle.py` saw in this Blender, and its `console` output.

    Each Blender gets a process and a user folder of its own: the tests see what a user installs,
    not the checkout.
    """
    interpreter = ENVIRONMENTS[request.param].interpreter
    if not interpreter.exists():
        pytest.fail(f"{interpreter} is missing: run `make setup`")
    folder = tmp_path_factory.mktemp(f"user-{request.param}")
    report = folder / "report.json"
    run = subprocess.run(
        [str(interpreter), str(LIFECYCLE), str(archive), str(report)],
        cwd=folder,
        env={**os.environ, "BLENDER_USER_RESOURCES": str(folder), "PYTHONPATH": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=180,
    )
    assert run.returncode == 0, run.stdout
    return {**json.loads(report.read_text(encoding="utf-8")), "console": run.stdout}

"""The built zip, and one run of its installed life in each Blender."""

import json
from pathlib import Path
from typing import Any

import pytest

from build import build
from environments import BLENDER_VERSIONS
from tests.package.own_blender import run_in_blender

LIFECYCLE = Path(__file__).with_name("extension_lifecycle.py")


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the zip, built and validated by Blender's own command."""
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session", params=BLENDER_VERSIONS, ids=lambda version: f"blender-{version}")
def lifecycle(
    request: pytest.FixtureRequest, archive: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Return what `extension_lifecycle.py` saw in this Blender, and its `console` output."""
    folder = tmp_path_factory.mktemp(f"user-{request.param}")
    report, console = run_in_blender(request.param, LIFECYCLE, archive, folder)
    return {**json.loads(report.read_text(encoding="utf-8")), "console": console}

"""The command line of the installed zip, in each Blender, without saved preferences."""

import json
from pathlib import Path

import numpy as np
import pytest

from environments import BLENDER_VERSIONS
from tests.package.own_blender import run_in_blender

RUNS = Path(__file__).with_name("command_line_runs.py")


@pytest.mark.parametrize("version", BLENDER_VERSIONS)
def test_commands_of_the_installed_zip_work_on_a_file(
    version: str, archive: Path, tmp_path: Path
) -> None:
    path, console = run_in_blender(version, RUNS, archive, tmp_path)
    assert "Traceback" not in console, console
    assert list(tmp_path.glob("extensions/user_default/dq_compensation/blender_manifest.toml"))
    report = json.loads(path.read_text())
    assert report["module"].startswith("bl_ext.user_default.dq_compensation.")
    assert set(report["codes"]) == {"install", "check", "enable", "evaluate", "bake frames"}
    assert set(report["codes"].values()) == {0}
    assert len(report["keys"]) == 1 + 3
    document = json.loads((tmp_path / "check.json").read_text())
    assert document["files"][0]["objects"][0]["name"] == "Cylinder"
    positions = np.load(tmp_path / "arm.npy")
    assert positions.shape[0] == 3
    assert np.ptp(positions, axis=0).max() > 0.1

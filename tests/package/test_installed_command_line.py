"""The command line of the installed zip, in each Blender, without saved preferences."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from environments import BLENDER_VERSIONS, ENVIRONMENTS, PROJECT

RUNS = Path(__file__).with_name("command_line_runs.py")


@pytest.mark.parametrize("version", BLENDER_VERSIONS)
def test_commands_of_the_installed_zip_work_on_a_file(
    version: str, archive: Path, tmp_path: Path
) -> None:
    interpreter = str(ENVIRONMENTS[version].interpreter)
    user = tmp_path / "user"
    user.mkdir()

    def run(*arguments: str) -> None:
        done = subprocess.run(
            [interpreter, *arguments],
            cwd=tmp_path,
            env={**os.environ, "BLENDER_USER_RESOURCES": str(user), "PYTHONPATH": ""},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=180,
        )
        assert done.returncode == 0, done.stdout
        assert "Traceback" not in done.stdout, done.stdout

    install = ("--command", "extension", "install-file", "--repo", "user_default", "--enable")
    run(str(PROJECT / "scripts" / "blender_stand_in.py"), *install, str(archive))
    assert list(user.glob("extensions/user_default/dq_compensation/blender_manifest.toml"))
    shutil.rmtree(user / "config", ignore_errors=True)
    run(str(RUNS), "report.json")

    report = json.loads((tmp_path / "report.json").read_text())
    assert report["module"].startswith("bl_ext.user_default.dq_compensation.")
    assert report["codes"] == {"check": 0, "enable": 0, "evaluate": 0, "bake frames": 0}
    assert len(report["keys"]) == 1 + 3
    document = json.loads((tmp_path / "check.json").read_text())
    assert document["files"][0]["objects"][0]["name"] == "Cylinder"
    positions = np.load(tmp_path / "arm.npy")
    assert positions.shape[0] == 3
    assert np.ptp(positions, axis=0).max() > 0.1

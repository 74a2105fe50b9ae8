"""The demo's Blender file: the scene with which the README begins."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from dq_compensation import api
from human.first_minute import build_first_minute

# Of the human's 1.7 metres; nodes compute in 32 bits.
TOLERANCE = 1e-4

# Runs without the add-on, as Blender does where it is not installed.
_CHECK = """
import os, sys
import bpy
import numpy as np
path, expected = sys.argv[-2:]
bpy.ops.wm.open_mainfile(filepath=path)
human = bpy.data.objects["Human"]
assert human.display_type == "TEXTURED", human.display_type
assert human.visible_camera
shape = human.evaluated_get(bpy.context.evaluated_depsgraph_get()).to_mesh()
found = np.array([vertex.co for vertex in shape.vertices])
off = np.abs(found - np.load(expected)).max()
assert off <= float(os.environ["TOLERANCE"]), off
sys.stdout.flush()
os._exit(0)
"""


class DemoFileError(Exception):
    """The saved file is not what it should be."""


def save_demo_file(path: Path) -> None:
    """Save the scene of the first minute in place of the present one; the add-on is not enabled.

    Raises:
        DemoFileError: the add-on refuses, or a file in which it is enabled does not show the
            compensated human where the add-on is missing.
    """
    mesh_object = _build_anew()
    if bpy.ops.dqc.enable() != {"FINISHED"}:
        raise DemoFileError(f"The add-on cannot be enabled on {mesh_object.name}")
    with tempfile.TemporaryDirectory() as folder:
        enabled = Path(folder) / path.name
        bpy.ops.wm.save_as_mainfile(filepath=str(enabled), check_existing=False, copy=True)
        _check_without_add_on(enabled, api.evaluate(mesh_object))
    bpy.ops.dqc.disable()
    # One that *Enable* takes for a new character.
    bpy.ops.object.mode_set(mode="OBJECT")
    _build_anew()
    path.unlink(missing_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False, compress=True)


def _build_anew() -> bpy.types.Object:
    """Build the scene without what was there; returns the mesh object."""
    for data in (bpy.data.objects, bpy.data.meshes, bpy.data.armatures, bpy.data.actions):
        for each in list(data):
            data.remove(each)
    return build_first_minute()[0]


def _check_without_add_on(path: Path, expected: NDArray[np.float32]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        positions = Path(folder) / "expected.npy"
        np.save(positions, expected)
        run = subprocess.run(
            [sys.executable, "-c", _CHECK, str(path), str(positions)],
            env={**os.environ, "TOLERANCE": str(TOLERANCE)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    if run.returncode:
        message = run.stderr.strip().splitlines()
        raise DemoFileError(
            f"{path.name} does not show the compensated human where the add-on is missing: "
            f"{message[-1] if message else 'no message'}"
        )

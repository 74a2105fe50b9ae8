"""Dual quaternion skinning equals Maya's.

`maya/` holds files that Maya 2022 wrote, a bent cube with two bones, and what it shows, as `.obj`.
They are test data of ufbx (https://github.com/ufbx/ufbx), under its licence, `LICENSE-ufbx`.
"""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from tests.blender.enabled_scenes import distance, enable
from tests.blender.moving_characters import Positions, in_world
from tests.blender.scene_builders import evaluated_positions
from tests.kept_files import new_file

pytestmark = [
    pytest.mark.usefixtures("addon"),
    pytest.mark.skipif(
        bpy.app.version < (4, 5, 0), reason="Blender 4.5 is the first that reads FBX files of text"
    ),
]

HERE = Path(__file__).parent / "maya"

# The .obj files have six decimals: off by up to 0.9e-6. Centimetres, of a cube 4 high.
TOLERANCE = 1e-6


def from_maya(name: str) -> tuple[bpy.types.Object, Positions]:
    """The cube in a new file, enabled, and shape (n, 3): where Maya shows it."""
    new_file()
    bpy.ops.wm.fbx_import(filepath=str(HERE / f"{name}_7500_ascii.fbx"))
    (obj,) = (each for each in bpy.data.objects if each.type == "MESH")
    lines = (HERE / f"{name}.obj").read_text(encoding="ascii").splitlines()
    return obj, np.array([line.split()[1:] for line in lines if line.startswith("v ")], float)


def in_maya(obj: bpy.types.Object, positions: NDArray[np.floating]) -> Positions:
    """Shape (n, 3), from object space to world space of Maya: Y up, centimetres."""
    x, y, z = 100.0 * in_world(obj, positions).T
    return np.stack((x, z, -y), axis=1)


def linear_and_preserve_volume(obj: bpy.types.Object) -> tuple[Positions, Positions]:
    """What Blender's Armature modifier shows, without and with Preserve Volume."""
    (modifier,) = obj.modifiers
    found = []
    for modifier.use_deform_preserve_volume in (False, True):
        bpy.context.view_layer.update()
        found.append(in_maya(obj, evaluated_positions(obj)))
    return found[0], found[1]


def test_rigid_bones_deform_as_in_maya() -> None:
    obj, maya = from_maya("maya_dual_quaternion")
    linear, _ = linear_and_preserve_volume(obj)
    assert distance(linear, maya) > 1.0
    _enable_dual_quaternion(obj)
    assert distance(in_maya(obj, api.evaluate(obj)), maya) < TOLERANCE
    assert distance(in_maya(obj, evaluated_positions(obj)), maya) < TOLERANCE


def test_scaled_bones_deform_as_preserve_volume_which_maya_does_otherwise() -> None:
    obj, maya = from_maya("maya_dual_quaternion_scale")
    linear, preserve_volume = linear_and_preserve_volume(obj)
    assert distance(linear, maya) > 1.3
    _enable_dual_quaternion(obj)
    ours = in_maya(obj, api.evaluate(obj))
    assert distance(ours, preserve_volume) < TOLERANCE
    # The figure of docs/quality.md.
    assert distance(ours, maya) == pytest.approx(0.256, abs=0.0005)


def _enable_dual_quaternion(obj: bpy.types.Object) -> None:
    enable(obj)
    obj.dq_compensation.method = "DUAL_QUATERNION"
    bpy.context.view_layer.update()

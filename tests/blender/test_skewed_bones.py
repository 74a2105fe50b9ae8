"""Bones whose axes at rest are not orthonormal, as older versions of Blender have saved them.

Preserve Volume then moves skin even at rest, by as much as the axes are off times the distance from
the armature's origin: so does ours. Such axes come from a file alone: no function writes them.
"""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import ArrayLike

from dq_compensation import api
from tests.blender.enabled_scenes import distance, enable, error, rest_of
from tests.blender.scene_builders import edit_mode, evaluated_positions
from tests.kept_files import new_file
from tests.limb import BONE_LENGTH, BONES, build_limb, pose_limb

pytestmark = pytest.mark.usefixtures("addon")

SIZE = BONE_LENGTH * len(BONES)
# Of the entries of the axes; old files have some that are off by 4.7e-4.
SKEW = 4e-4
# Parts of the size: blended rotations are those of D, where Blender's are off by the skew.
TOLERANCE = 2e-5


def skewed_limb(folder: Path, segments: int) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The limb with bones that lead aside a little, so that each has axes of its own, skewed."""
    new_file()
    _obj, rig = build_limb()
    with edit_mode(rig):
        for number, bone in enumerate(rig.data.edit_bones):
            bone.tail.y, bone.tail.z, bone.roll = 0.04, 0.03 * number - 0.02, 0.3 + 0.4 * number
    for bone in rig.data.bones:
        bone.bbone_segments = segments
    skew_axes(rig, folder / "skewed.blend")
    return bpy.data.objects["Limb"], bpy.data.objects["Limb Rig"]


def skew_axes(rig: bpy.types.Object, path: Path) -> None:
    """Save, write the matrices of all bones at rest anew, and open: parents come first."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=False)
    axes = {bone.name: np.array(bone.matrix) for bone in rig.data.bones}
    rest = {bone.name: np.array(bone.matrix_local) for bone in rig.data.bones}
    parents = {bone.name: bone.parent.name for bone in rig.data.bones if bone.parent}
    content, rng, written = path.read_bytes(), np.random.default_rng(0), {}
    for name, before in axes.items():
        above = parents.get(name)
        offset = rest[name].copy() if above is None else np.linalg.inv(rest[above]) @ rest[name]
        offset[:3, :3] = skewed = before @ (np.eye(3) + rng.uniform(-SKEW, SKEW, (3, 3)))
        written[name] = offset if above is None else written[above] @ offset
        for old, new in ((before, skewed), (rest[name], written[name])):
            assert _in_file(old) in content
            content = content.replace(_in_file(old), _in_file(new))
    path.write_bytes(content)
    bpy.ops.wm.open_mainfile(filepath=str(path))


def _in_file(matrix: ArrayLike) -> bytes:
    return np.ascontiguousarray(np.transpose(matrix), np.float32).tobytes()


@pytest.mark.parametrize("segments", [1, 5])
def test_preserve_volume_is_blender_s_own(tmp_path: Path, segments: int) -> None:
    obj, rig = skewed_limb(tmp_path, segments)
    obj.modifiers["Armature"].use_deform_preserve_volume = True
    # Blender makes the axes of segments unit at rest, so only a scale shows how skewed they are.
    assert segments > 1 or distance(evaluated_positions(obj), rest_of(obj), SIZE) > 2e-4
    for scale in (None, 1.0, 1.2):
        if scale is not None:
            pose_limb(rig)
            rig.pose.bones["Lower"].scale = (scale, 1.0, scale)
            bpy.context.view_layer.update()
        found = api.evaluate(obj, method="DUAL_QUATERNION")
        assert distance(evaluated_positions(obj), found, SIZE) <= TOLERANCE


def test_linear_and_spherical_joints_stay_exact(tmp_path: Path) -> None:
    obj, rig = skewed_limb(tmp_path, 1)
    for method in ("LINEAR", "SPHERICAL_JOINT"):
        obj.dq_compensation.method = method
        for posed in (False, True):
            if posed:
                pose_limb(rig)
            enable(obj)
            assert error(obj) <= TOLERANCE


def test_the_compensated_limb_is_the_shown_one(tmp_path: Path) -> None:
    obj, rig = skewed_limb(tmp_path, 1)
    pose_limb(rig)
    enable(obj)
    assert error(obj) <= TOLERANCE

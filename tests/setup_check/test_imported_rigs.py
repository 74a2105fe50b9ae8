"""The human through files: what Blender's glTF and FBX add-ons make of its bones."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.scene.blender.armature import read_skeleton
from dq_compensation.setup_check.checks import bone_hierarchy
from dq_compensation.setup_check.checks.bone_orientation import CHECK
from human.model import Rig, build_human
from tests.blender.enabled_scenes import enable, error

from .moving_rigs import (
    animate,
    fix,
    found_by,
    largest_change,
    looks,
    straighten_head,
    through_file,
    turn_bones,
)

pytestmark = pytest.mark.usefixtures("addon")

# As of the fix: Blender's own rounding of rest bones.
SAME = 1e-5
BENT = {"default": "lowerarm01.L", "game_engine": "lowerarm_l"}
ENDS = {"default": 42, "game_engine": 13}


@pytest.mark.parametrize("rig", ["game_engine", "default"])
@pytest.mark.parametrize("kind", ["GLTF", "FBX", "FBX_NATIVE"])
def test_a_blender_rig_comes_back_without_a_finding(kind: str, rig: Rig, tmp_path: Path) -> None:
    if kind == "FBX_NATIVE" and bpy.app.version < (4, 5, 0):
        pytest.skip("Blender 4.5 is the first with this importer")
    straighten_head(build_human(rig)[1])
    body, _armature = through_file(kind, tmp_path)
    assert not found_by(CHECK, body)
    assert not found_by(bone_hierarchy.CHECK, body)


@pytest.mark.parametrize("rig", ["game_engine", "default"])
@pytest.mark.parametrize("kind", ["GLTF", "FBX_X"])
def test_bones_along_x_are_found_and_followed(kind: str, rig: Rig, tmp_path: Path) -> None:
    body, armature = bones_along_x(kind, rig, tmp_path)
    (issue,) = found_by(CHECK, body)
    assert issue.severity == "WARNING"
    skeleton = read_skeleton(armature)
    inner = set(skeleton.parents.tolist())
    assert len(issue.bones) == ENDS[rig]
    assert not {skeleton.names[bone] for bone in inner if bone >= 0} & set(issue.bones)
    fix(CHECK, body, "set_limb_axis")
    assert body.dq_compensation.limb_axis == "X"
    assert not found_by(CHECK, body)


@pytest.mark.parametrize("rig", ["game_engine", "default"])
@pytest.mark.parametrize("kind", ["GLTF", "FBX_X"])
def test_bones_along_x_are_turned_and_nothing_moves(kind: str, rig: Rig, tmp_path: Path) -> None:
    body, armature = bones_along_x(kind, rig, tmp_path)
    before = looks(body, (1.0,))
    animate(armature)
    before += looks(body)
    fix(CHECK, body, "reorient_bones")
    assert not found_by(CHECK, body)
    after = looks(body)
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.rotation_quaternion, bone.location = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    assert largest_change(before, looks(body, (1.0,)) + after) <= SAME


@pytest.mark.parametrize("rig", ["game_engine", "default"])
def test_the_turned_import_is_compensated_as_the_original_is(rig: Rig, tmp_path: Path) -> None:
    body, armature = build_human(rig)
    pose(armature, rig)
    expected = api.evaluate(body, method="COMPENSATED", factor=1.0)
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    body, armature = through_file("FBX_X", tmp_path)
    fix(CHECK, body, "reorient_bones")
    pose(armature, rig)
    found = api.evaluate(body, method="COMPENSATED", factor=1.0)
    # The files keep positions as float32, and rest bones come back through matrices.
    assert largest_change([expected], [found]) <= 1e-4
    enable(body)
    assert error(body) <= 1e-5  # the node modifier against NumPy, float32


def bones_along_x(kind: str, rig: Rig, folder: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The human from a file in which the limbs run along X of the bones."""
    _body, armature = build_human(rig)
    straighten_head(armature)
    if kind == "GLTF":  # its add-on writes bones as they are
        turn_bones(armature, "X")
    return through_file(kind, folder)


def pose(armature: bpy.types.Object, rig: Rig) -> None:
    """Bend the left elbow by 70 degrees about the same axis of the world."""
    from mathutils import Matrix

    bpy.context.view_layer.update()
    bone = armature.pose.bones[BENT[rig]]
    head = Matrix.Translation(bone.bone.head_local)
    turn = head @ Matrix.Rotation(np.radians(70.0), 4, "X") @ head.inverted()
    bone.matrix = turn @ bone.bone.matrix_local
    bpy.context.view_layer.update()

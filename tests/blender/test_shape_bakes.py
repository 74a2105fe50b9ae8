"""Solved shapes leave Blender by all bakes, and no export has a shape key of them."""

from __future__ import annotations

import json
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from tests.blender.bake_scenes import native
from tests.blender.enabled_scenes import disable, enable
from tests.blender.scene_builders import evaluated_positions
from tests.blender.solved_scenes import (
    DEPTH,
    ELBOW,
    add,
    apart,
    fold,
    limb_with_shapes,
    plain,
    pose,
)
from tests.kept_files import new_file
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")

# The limb is 1.5 long: what all evaluators promise is 1e-4 of it; node trees are float32.
TOLERANCE = 2e-5
Limb = tuple[bpy.types.Object, bpy.types.Object]


@pytest.fixture
def limb() -> Limb:
    """An enabled limb with shapes, bent at both joints."""
    new_file()
    obj, armature = build_limb()
    limb_with_shapes(obj, armature)
    enable(obj)
    pose(armature, Lower=85, Hand=45)
    assert apart(api.evaluate(obj), plain(obj)) > 0.5 * DEPTH
    assert apart(evaluated_positions(obj), api.evaluate(obj)) < TOLERANCE
    return obj, armature


@pytest.mark.parametrize("target", ["LINEAR", "DUAL_QUATERNION"])
def test_a_baked_pose_has_them(limb: Limb, target: str) -> None:
    obj, _ = limb
    wanted = api.evaluate(obj)
    api.bake_pose(obj, "Pose", target=target)
    disable(obj)
    obj.modifiers["Armature"].use_deform_preserve_volume = target == "DUAL_QUATERNION"
    obj.data.shape_keys.key_blocks["Pose"].value = 1.0
    assert apart(native(obj), wanted) < TOLERANCE


def test_a_cache_of_frames_has_them(limb: Limb, tmp_path: Path) -> None:
    obj, armature = limb
    bone = armature.pose.bones["Lower"]
    for frame, angle in ((1, 0.0), (2, 60.0), (3, 110.0)):
        bone.rotation_euler.z = np.radians(angle)
        bone.keyframe_insert("rotation_euler", frame=frame)
    path = tmp_path / "limb.pc2"
    api.bake_cache(obj, path, first=1, last=3)
    frames = np.frombuffer(path.read_bytes()[32:], "<f4").reshape(3, 800, 3)
    for frame, found in enumerate(frames, 1):
        bpy.context.scene.frame_set(frame)
        assert apart(found, api.evaluate(obj)) < TOLERANCE
        if frame > 1:
            assert apart(found, plain(obj)) > 0.3 * DEPTH


def test_correctives_have_them(limb: Limb) -> None:
    obj, armature = limb
    api.remove_solved_shapes(obj)
    wanted = {}
    for degrees in (50, 100):
        pose(armature, Lower=(degrees, 0, 0))  # the bake bends about X
        wanted[degrees] = add(obj, [ELBOW], fold(ELBOW, degrees / 100))
    pose(armature)
    api.bake_correctives(obj, bones=["Lower"], angles=[50, 100], twists=[], mirror=False)
    assert not obj.dq_compensation.enabled
    for degrees, positions in wanted.items():
        pose(armature, Lower=(degrees, 0, 0))
        assert apart(native(obj), positions) < TOLERANCE


def test_an_export_has_the_skin_alone(limb: Limb, tmp_path: Path) -> None:
    """No morph target, no hidden mesh, no property of ours."""
    path = tmp_path / "limb.gltf"
    bpy.ops.export_scene.gltf(filepath=str(path), export_format="GLTF_SEPARATE", export_extras=True)
    text = path.read_text(encoding="utf-8")
    found = json.loads(text)
    assert [mesh["name"] for mesh in found["meshes"]] == ["Limb"]
    assert not any("targets" in part for mesh in found["meshes"] for part in mesh["primitives"])
    assert "solved" not in text

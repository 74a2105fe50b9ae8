"""Ropes on enabled characters: evaluators, softness, `report`, Setup Check, *Soften Weights*."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.modifier.found_bones import found_bones
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.ui.joints import _listed
from tests.blender.enabled_scenes import check, enable, select
from tests.blender.scene_builders import add_armature, add_mesh, evaluated_positions
from tests.limb import build_limb, pose_limb

pytestmark = pytest.mark.usefixtures("addon")

BONES, LENGTH, RADIUS, RINGS, SIDES = 10, 0.5, 0.06, 81, 12


@pytest.fixture
def rope() -> bpy.types.Object:
    """A rope along X, whose weights reach over three bones, in the shape of an S."""
    names = [f"Bone {number}" for number in range(BONES)]
    armature = add_armature(names, name="Rig")
    angles = 2.0 * np.pi * np.arange(SIDES) / SIDES
    x, angle = np.meshgrid(np.linspace(0.0, BONES * LENGTH, RINGS), angles, indexing="ij")
    rings = np.stack((x, RADIUS * np.cos(angle), RADIUS * np.sin(angle)), axis=-1)
    starts = SIDES * np.arange(RINGS - 1)[:, None] + np.arange(SIDES)
    nexts = SIDES * np.arange(RINGS - 1)[:, None] + (np.arange(SIDES) + 1) % SIDES
    faces = np.stack((starts, nexts, nexts + SIDES, starts + SIDES), axis=-1).reshape(-1, 4)
    obj = add_mesh(rings.reshape(-1, 3).tolist(), faces.tolist(), name="Rope")
    middles = LENGTH * (np.arange(BONES) + 0.5)
    weights = np.maximum(0.0, 1.0 - np.abs(x.reshape(-1, 1) - middles) / (1.5 * LENGTH)) ** 2
    weights /= weights.sum(axis=1, keepdims=True)
    for name, of_bone in zip(names, weights.T, strict=True):
        group = obj.vertex_groups.new(name=name)
        for vertex in np.flatnonzero(of_bone > 0.01).tolist():
            group.add([vertex], float(of_bone[vertex]), "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    obj.parent = armature
    for number, name in enumerate(names):
        bone = armature.pose.bones[name]
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = (0.0, 0.0, 0.7 if number < BONES // 2 else -0.7)
    select(obj)
    bpy.context.view_layer.update()
    return obj


def shape(positions: NDArray[np.floating]) -> tuple[float, float]:
    """How far rings are from their radius, in radii; the sharpest turn of the middle, degrees."""
    rings = np.asarray(positions, np.float64).reshape(RINGS, SIDES, 3)
    middles = rings.mean(axis=1)
    distances = np.linalg.norm(rings - middles[:, None], axis=2)
    steps = np.diff(middles, axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    cosines = np.einsum("ni,ni->n", steps[1:], steps[:-1]).clip(-1.0, 1.0)
    return float(np.abs(distances / RADIUS - 1.0).max()), float(
        np.degrees(np.arccos(cosines)).max()
    )


@pytest.mark.parametrize("spread", [0.0, 1.0])
@pytest.mark.parametrize(("softness", "worse", "sharper"), [(0.0, 0.02, 1.0), (0.5, 0.05, 2.0)])
def test_a_rope_stays_round_and_smooth(
    rope: bpy.types.Object, softness: float, worse: float, sharper: float, spread: float
) -> None:
    """As Preserve Volume with the painted weights, whose rings are round; plain loses 7 %."""
    error, turn = shape(api.evaluate(rope, method="DUAL_QUATERNION"))
    assert error < 1e-4
    assert shape(api.evaluate(rope, method="LINEAR"))[0] > 0.05
    enable(rope)
    rope.dq_compensation.softness, rope.dq_compensation.twist_spread = softness, spread
    found = {name: api.evaluate(rope, evaluator=name) for name in ("NUMPY", "MODIFIER")}
    for positions in found.values():
        ours = shape(positions)
        assert ours[0] <= error + worse
        assert ours[1] <= turn + sharper
    assert np.abs(found["NUMPY"] - found["MODIFIER"]).max() <= 1e-4 * BONES * LENGTH


def test_the_list_of_joints_report_and_setup_check_know_ropes(rope: bpy.types.Object) -> None:
    enable(rope)
    found = found_bones(rope)
    assert not found.joints
    assert found.ropes == {f"Bone {number}" for number in range(1, BONES)}
    assert _listed(rope) == found.ropes | {"Bone 0"}
    report = api.report(rope)
    assert not report.joints
    (reason,) = report.left_out
    assert "rope" in reason.reason
    assert reason.bones == tuple(f"Bone {number}" for number in range(1, BONES))
    assert not [each for each in api.check(rope) if each.check == "weight_transition"]


def test_softened_weights_make_no_rope_of_a_limb() -> None:
    """As often as they are pressed: they are a limb's, as they were painted."""
    obj, armature = build_limb()
    pose_limb(armature)
    before = bind(obj).measured(Settings()).joint_bones
    for _ in range(3):
        api.soften_weights(obj, amount=2.0)
    measured = bind(obj).measured(Settings())
    assert not len(measured.rope_bones)
    np.testing.assert_array_equal(measured.joint_bones, before)
    # Had they been painted like that, it would be a hose.
    del obj.data["dq_compensation_painted_weights"]
    assert len(bind(obj).measured(Settings()).rope_bones)


def test_a_rope_of_two_meshes_is_one_rope(rope: bpy.types.Object) -> None:
    """Cut across: each half knows the bones of the other half, and the seam stays closed."""
    other = rope.copy()
    other.data = rope.data.copy()
    bpy.context.collection.objects.link(other)
    for obj, keeps in ((rope, lambda x: x < 2.4), (other, lambda x: x >= 2.4)):
        edited = bmesh.new()
        edited.from_mesh(obj.data)
        gone = [face for face in edited.faces if not keeps(face.calc_center_median().x)]
        bmesh.ops.delete(edited, geom=gone, context="FACES")
        edited.to_mesh(obj.data)
        edited.free()
    for obj in (rope, other):
        enable(obj)
        obj.dq_compensation.softness, obj.dq_compensation.twist_spread = 0.5, 1.0
    check()
    found = found_bones(rope).ropes
    assert found == found_bones(other).ropes == {f"Bone {row}" for row in range(1, BONES)}
    first, second = (evaluated_positions(obj) for obj in (rope, other))
    assert np.abs(first[-SIDES:] - second[:SIDES]).max() <= 1e-5 * BONES * LENGTH

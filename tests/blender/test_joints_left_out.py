"""Joints that are switched off: what moves, what stays, and what follows the setting."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.modifier.installation import evaluate_by_modifier
from dq_compensation.modifier.written_record import found_bones
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.settings.bone_texts import text_of_names
from dq_compensation.scene.settings.object_settings import Settings, settings_of
from dq_compensation.ui.operators import copy_settings
from dq_compensation.ui.panels import DQC_OT_leave_out, _listed
from human.poses import apply_pose, random_pose, rotation
from tests.blender.enabled_scenes import check, enable, select
from tests.blender.scene_builders import evaluated_positions
from tests.kept_files import new_file
from tests.limb import build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

if TYPE_CHECKING:
    from conftest import Human

# As all evaluators promise, in parts of the size.
TOLERANCE = 1e-4
LEFT_OUT = "lowerarm01.L, upperarm01.L, shoulder01.L"


def _numpy(human: Human, settings: Settings) -> NDArray[np.floating]:
    depsgraph = bpy.context.evaluated_depsgraph_get()
    obj, rig = human.mesh_object, human.armature_object
    evaluated = (each.evaluated_get(depsgraph) for each in (obj, rig))
    return evaluate(bind(obj), settings, *evaluated)


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_nodes_equal_core(human: Human, curve: str) -> None:
    apply_pose(human.armature_object, random_pose(np.random.default_rng(4), "default"))
    bpy.context.view_layer.update()
    settings = Settings(curve=curve, use_ball_joints=True)  # type: ignore[arg-type]
    without = replace(settings, joints_left_out=LEFT_OUT)
    binding = bind(human.mesh_object)
    size = np.ptp(binding.rest, axis=0).max()
    expected = _numpy(human, without)
    assert np.abs(expected - _numpy(human, settings)).max() > 0.003 * size
    found = evaluate_by_modifier(human.mesh_object, binding, without)
    assert np.abs(found - expected).max() <= TOLERANCE * size


@pytest.mark.parametrize("bone", ["lowerarm01.L", "upperarm01.L"])
def test_the_skin_of_a_joint_is_that_of_plain_dual_quaternions(human: Human, bone: str) -> None:
    """An elbow, and a shoulder, which *Ball Joints* compensates."""
    apply_pose(human.armature_object, {bone: rotation(0.0, 0.0, 80.0)})
    bpy.context.view_layer.update()
    settings = Settings(use_ball_joints=True)
    plain, all_of_it = (_numpy(human, replace(settings, factor=each)) for each in (0.0, 1.0))
    without = _numpy(human, replace(settings, joints_left_out=bone))
    whole = np.linalg.norm(all_of_it - plain, axis=1)
    left = np.linalg.norm(without - plain, axis=1)
    assert whole.max() > 0.003  # metres
    # Vertices that another joint of the split limb measures keep a little.
    assert left.max() < 0.35 * whole.max()


def test_at_rest_nothing_moves(human: Human) -> None:
    apply_pose(human.armature_object, {})
    enable(human.mesh_object)
    rest = evaluated_positions(human.mesh_object)
    settings_of(human.mesh_object).joints_left_out = LEFT_OUT
    check()
    np.testing.assert_allclose(evaluated_positions(human.mesh_object), rest, atol=1e-6)


def test_the_switch_of_both_sides_and_back_is_a_change_for_undo(human: Human) -> None:
    obj = human.mesh_object
    enable(obj)
    shown = found_bones(obj)
    assert "lowerarm01.L" in shown.joints
    assert "upperarm01.L" in shown.ball_joints
    select(human.armature_object)
    bpy.ops.dqc.leave_out(bone="lowerarm01.L", both_sides=True)
    check()
    assert settings_of(obj).joints_left_out == "lowerarm01.L, lowerarm01.R"
    assert found_bones(obj).joints.isdisjoint({"lowerarm01.L", "lowerarm01.R"})
    assert {"lowerarm01.L", "lowerarm01.R", "upperarm01.L"} <= _listed(obj)
    bpy.ops.dqc.leave_out(bone="lowerarm01.L")
    check()
    assert settings_of(obj).joints_left_out == "lowerarm01.R"
    bpy.ops.dqc.leave_out(bone="lowerarm01.R")
    check()
    assert found_bones(obj) == shown
    assert "UNDO" in DQC_OT_leave_out.bl_options


def test_names_follow_bones_and_copies(human: Human) -> None:
    obj, rig = human.mesh_object, human.armature_object
    enable(obj)
    settings = settings_of(obj)
    settings.joints_left_out = LEFT_OUT
    check()
    before = evaluated_positions(obj)
    # A comma in a name, and the name that another bone had.
    rig.data.bones["lowerarm01.L"].name = "elbow, left"
    check()
    rig.data.bones["lowerarm02.L"].name = "lowerarm01.L"
    check()
    acting = Settings.of(obj).bones_left_out("joints_left_out")
    assert acting == ("elbow, left", "upperarm01.L", "shoulder01.L")
    np.testing.assert_allclose(evaluated_positions(obj), before, atol=1e-6)
    expected = api.evaluate(obj, evaluator="NUMPY")
    np.testing.assert_allclose(evaluated_positions(obj), expected, atol=1e-5)
    assert "elbow, left" in _listed(obj)
    other = obj.copy()
    bpy.context.collection.objects.link(other)
    settings_of(other).joints_left_out = ""
    copy_settings(obj, other)
    assert settings_of(other).joints_left_out == settings.joints_left_out


def test_names_in_one_text_are_read_as_written() -> None:
    names = ("a", "b, c", 'd"e', "f.L", "Lower ", " x", '"', " ", "g, ")
    assert Settings(joints_left_out=text_of_names(names)).bones_left_out("joints_left_out") == names


def test_a_joint_whose_name_ends_in_a_space_is_switched_off_and_on() -> None:
    """3ds Max exports such names. The right answer is that of the same limb under a plain name."""
    shapes = []
    for name in ("Lower", "Lower "):
        new_file()
        obj, rig = build_posed_limb()
        rig.data.bones["Lower"].name = name
        enable(obj)
        on = evaluated_positions(obj)
        bpy.ops.dqc.leave_out(bone=name)
        check()
        shapes.append(evaluated_positions(obj))
        assert np.abs(shapes[-1] - on).max() > 0.003  # metres
        bpy.ops.dqc.leave_out(bone=name)
        check()
        assert settings_of(obj).joints_left_out == ""
        np.testing.assert_array_equal(evaluated_positions(obj), on)
    np.testing.assert_array_equal(*shapes)

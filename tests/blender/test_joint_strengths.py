"""Strengths of joints: what moves, what stays, and what follows the settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.modifier.found_bones import found_bones
from dq_compensation.modifier.modifier_evaluator import evaluate_by_modifier
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.settings.bone_texts import text_of_names
from dq_compensation.scene.settings.object_settings import Settings, settings_of
from dq_compensation.ui.joints import DQC_OT_joint_strength, _listed
from dq_compensation.ui.looks import copy_settings
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
STRENGTHS = "lowerarm01.R=0.4, upperarm01.R=0.7"


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
    without = replace(settings, joints_left_out=LEFT_OUT, joint_strengths=STRENGTHS)
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
    settings_of(human.mesh_object).joint_strengths = STRENGTHS
    check()
    np.testing.assert_allclose(evaluated_positions(human.mesh_object), rest, atol=1e-6)


def test_the_switch_of_both_sides_and_back_is_a_change_for_undo(human: Human) -> None:
    obj = human.mesh_object
    enable(obj)
    shown = found_bones(obj)
    assert "lowerarm01.L" in shown.joints
    assert "upperarm01.L" in shown.ball_joints
    select(human.armature_object)
    bpy.ops.dqc.joint_strength(bone="lowerarm01.L", strength=0.0, both_sides=True)
    check()
    assert settings_of(obj).joints_left_out == "lowerarm01.L, lowerarm01.R"
    assert found_bones(obj).joints.isdisjoint({"lowerarm01.L", "lowerarm01.R"})
    assert {"lowerarm01.L", "lowerarm01.R", "upperarm01.L"} <= _listed(obj)
    bpy.ops.dqc.joint_strength(bone="lowerarm01.L", strength=1.0)
    check()
    assert settings_of(obj).joints_left_out == "lowerarm01.R"
    bpy.ops.dqc.joint_strength(bone="lowerarm01.R", strength=1.0)
    check()
    assert found_bones(obj) == shown
    assert "UNDO" in DQC_OT_joint_strength.bl_options


def test_names_follow_bones_and_copies(human: Human) -> None:
    obj, rig = human.mesh_object, human.armature_object
    enable(obj)
    settings = settings_of(obj)
    settings.joints_left_out = LEFT_OUT
    settings.joint_strengths = "lowerarm01.L=0.5, lowerarm01.R=0.4, lowerarm02.L=0.2"
    check()
    before = evaluated_positions(obj)
    # A comma in a name, and the name that another bone had.
    rig.data.bones["lowerarm01.L"].name = "elbow, left"
    check()
    rig.data.bones["lowerarm02.L"].name = "lowerarm01.L"
    check()
    acting = Settings.of(obj).bones_left_out("joints_left_out")
    assert acting == ("elbow, left", "upperarm01.L", "shoulder01.L")
    # With 0 in the one setting, what the other one says is kept for later.
    followed = '"elbow, left=0.5", lowerarm01.R=0.4, lowerarm01.L=0.2'
    assert settings.joint_strengths == followed
    strengths = Settings.of(obj).strengths_of_joints
    assert strengths["elbow, left"] == strengths["shoulder01.L"] == 0.0
    assert (strengths["lowerarm01.L"], strengths["lowerarm01.R"]) == (0.2, 0.4)
    np.testing.assert_allclose(evaluated_positions(obj), before, atol=1e-6)
    expected = api.evaluate(obj, evaluator="NUMPY")
    np.testing.assert_allclose(evaluated_positions(obj), expected, atol=1e-5)
    assert "elbow, left" in _listed(obj)
    other = obj.copy()
    bpy.context.collection.objects.link(other)
    settings_of(other).joints_left_out = settings_of(other).joint_strengths = ""
    copy_settings(obj, other)
    assert settings_of(other).joints_left_out == settings.joints_left_out
    assert settings_of(other).joint_strengths == followed


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
        bpy.ops.dqc.joint_strength(bone=name, strength=0.0)
        check()
        shapes.append(evaluated_positions(obj))
        assert np.abs(shapes[-1] - on).max() > 0.003  # metres
        bpy.ops.dqc.joint_strength(bone=name, strength=1.0)
        check()
        assert settings_of(obj).joints_left_out == ""
        np.testing.assert_array_equal(evaluated_positions(obj), on)
    np.testing.assert_array_equal(*shapes)


def test_half_the_strength_is_half_of_what_the_joint_does(human: Human) -> None:
    """By 80 degrees, an elbow: between what is without it and all of it, in equal steps."""
    apply_pose(human.armature_object, {"lowerarm01.L": rotation(0.0, 0.0, 80.0)})
    bpy.context.view_layer.update()
    settings = Settings(use_ball_joints=True)
    without, half, whole = (
        _numpy(human, replace(settings, joint_strengths=f"lowerarm01.L={each}"))
        for each in (0.0, 0.5, 1.0)
    )
    np.testing.assert_array_equal(whole, _numpy(human, settings))
    np.testing.assert_array_equal(
        without, _numpy(human, replace(settings, joints_left_out="lowerarm01.L"))
    )
    assert np.linalg.norm(whole - without, axis=1).max() > 0.003  # metres
    np.testing.assert_allclose(half, 0.5 * (without + whole), atol=1e-6)


def test_the_slider_of_a_bone_writes_the_settings_and_undo_of_it_is_exact(human: Human) -> None:
    apply_pose(human.armature_object, {"lowerarm01.L": rotation(0.0, 0.0, 80.0)})
    enable(human.mesh_object)
    select(human.armature_object)
    bpy.ops.ed.undo_push(message="Before")
    names = human.mesh_object.name, human.armature_object.name
    whole = evaluated_positions(human.mesh_object)
    bone = human.armature_object.data.bones["lowerarm01.L"]
    for strength, left_out, text in (
        (0.25, "", "lowerarm01.L=0.25"),
        (0.0, "lowerarm01.L", ""),
        (1.0, "", ""),
        (0.5, "", "lowerarm01.L=0.5"),
    ):
        bone.dqc_strength = strength
        assert bone.dqc_strength == strength
        for name in names:
            settings = settings_of(bpy.data.objects[name])
            assert (settings.joints_left_out, settings.joint_strengths) == (left_out, text)
    check()
    half = evaluated_positions(human.mesh_object)
    assert np.linalg.norm(half - whole, axis=1).max() > 0.0015  # metres
    expected = api.evaluate(human.mesh_object, evaluator="NUMPY")
    np.testing.assert_allclose(half, expected, atol=1e-5)
    bpy.ops.ed.undo_push(message="Strength")
    bpy.ops.ed.undo()
    mesh = bpy.data.objects[names[0]]
    for name in names:
        assert settings_of(bpy.data.objects[name]).joint_strengths == ""
    check()
    # The same computation on the same data.
    np.testing.assert_array_equal(evaluated_positions(mesh), whole)
    bpy.ops.ed.redo()
    check()
    np.testing.assert_array_equal(evaluated_positions(bpy.data.objects[names[0]]), half)


def test_both_sides_by_the_mirror_of_the_pose_and_by_the_operator(human: Human) -> None:
    obj, rig = human.mesh_object, human.armature_object
    enable(obj)
    select(rig)
    rig.pose.use_mirror_x = True
    rig.data.bones["lowerarm01.R"].dqc_strength = 0.3
    both = {"lowerarm01.L": 0.3, "lowerarm01.R": 0.3}
    assert Settings.of(obj).strengths_of_joints == pytest.approx(both)
    bpy.ops.dqc.joint_strength(bone="lowerarm01.L", strength=0.0)
    assert Settings.of(obj).strengths_of_joints == pytest.approx(both | {"lowerarm01.L": 0.0})
    bpy.ops.dqc.joint_strength(bone="lowerarm01.L", strength=1.0, both_sides=True)
    assert Settings.of(obj).strengths_of_joints == {}


def test_the_slider_acts_on_all_selected_characters() -> None:
    (first, _), (second, rig) = build_posed_limb(), build_posed_limb()
    enable(first)
    enable(second)
    select(first, second)
    bone = rig.data.bones["Lower"]
    assert bone.bl_rna.properties["dqc_strength"].default == 1.0  # Reset to Default Value
    bone.dqc_strength = 0.5
    for obj in (first, second):
        assert Settings.of(obj).strengths_of_joints == {"Lower": 0.5}
    with pytest.raises(RuntimeError, match="Name the bone"):
        bpy.ops.dqc.joint_strength(strength=0.5)
    assert Settings.of(first).strengths_of_joints == {"Lower": 0.5}


@pytest.mark.parametrize("text", ["Lower=2", "Lower", "Lower=nan", "=0.5", "Nobody=0.5"])
def test_scripts_are_told_what_is_no_strength(text: str) -> None:
    obj, _ = build_posed_limb()
    api.enable(obj, joint_strengths="Lower=0.5")
    with pytest.raises(api.UserError):
        api.change_settings(obj, joint_strengths=text)
    assert Settings.of(obj).strengths_of_joints == {"Lower": 0.5}


def test_the_armature_of_another_file_has_the_sliders(tmp_path: Path) -> None:
    """Linked data cannot be changed: the sliders write to the object, which can."""
    _, rig = build_posed_limb()
    path = tmp_path / "library.blend"
    bpy.data.libraries.write(str(path), {rig.data})
    new_file()
    obj, rig = build_posed_limb()
    with bpy.data.libraries.load(str(path), link=True) as (known, wanted):
        wanted.armatures = known.armatures
    rig.data = wanted.armatures[0]
    enable(obj)
    bone = rig.data.bones["Lower"]
    assert bone.id_data.library is not None
    assert not bone.is_property_readonly("dqc_strength")
    whole = evaluated_positions(obj)
    bone.dqc_strength = 0.5
    check()
    assert settings_of(rig).joint_strengths == "Lower=0.5"
    assert np.abs(evaluated_positions(obj) - whole).max() > 0.003  # metres

"""*Spread Twist* on the human: nodes against NumPy, and nothing of it while it is 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.modifier.attribute_names import TURN_LIMB
from dq_compensation.modifier.modifier_evaluator import evaluate_by_modifier
from dq_compensation.modifier.palette_object import find_palette, nodes_of_palette
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.scene.stack import record_of_tree
from dq_compensation.session.status import status_of
from human.model import Rig
from human.poses import apply_pose, random_pose, rotation, twist_about_parent
from tests.blender.enabled_scenes import check, enable, select
from tests.blender.scene_builders import evaluated_positions

pytestmark = pytest.mark.usefixtures("addon")

if TYPE_CHECKING:
    from conftest import Human

# As all evaluators promise, in parts of the size.
TOLERANCE = 1e-4
ON = Settings(twist_spread=0.8)


def twist_arm(human: Human) -> None:
    rig: Rig = "game_engine"
    hand = twist_about_parent(rig, "hand_l", "lowerarm_l", 120.0)
    poses = {"hand_l": hand, "upperarm_l": rotation(0.0, 70.0, 40.0)}
    apply_pose(human.armature_object, poses)
    bpy.context.view_layer.update()


@pytest.fixture
def game_human(human_with_rig: Callable[[Rig], Human]) -> Human:
    human = human_with_rig("game_engine")
    twist_arm(human)
    return human


def error_by_modifier(human: Human, settings: Settings) -> float:
    """How far the nodes are from NumPy, in parts of the object's size."""
    obj, rig = human.mesh_object, human.armature_object
    bpy.context.view_layer.update()
    binding = bind(obj)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    found = evaluate_by_modifier(obj, binding, settings)
    expected, without = (
        evaluate(binding, each, obj.evaluated_get(depsgraph), rig.evaluated_get(depsgraph))
        for each in (settings, replace(settings, twist_spread=0.0))
    )
    size = float(np.ptp(binding.rest, axis=0).max())
    assert np.abs(expected - without).max() > 0.005 * size  # it acts at all
    return float(np.abs(found - expected).max()) / size


@pytest.mark.parametrize("scaled", [False, True], ids=["rigid", "scaled"])
@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_nodes_equal_core(game_human: Human, curve: str, scaled: bool) -> None:
    rng = np.random.default_rng(4)
    apply_pose(game_human.armature_object, random_pose(rng, "game_engine"))
    twist_arm(game_human)
    if scaled:
        game_human.mesh_object.location = (0.01, -0.02, 0.01)
        game_human.mesh_object.scale = (1.02, 1.01, 1.02)
        for bone in list(game_human.armature_object.pose.bones)[::7]:
            bone.scale = rng.uniform(0.7, 1.4, 3)
    ball_joints = curve == "MEASURED"
    settings = replace(ON, curve=curve, use_ball_joints=ball_joints)  # type: ignore[arg-type]
    assert error_by_modifier(game_human, settings) <= TOLERANCE


@pytest.mark.parametrize("group", ["blend_group", "mask", "vertex_group"])
def test_weights_of_vertices_act_on_it(game_human: Human, group: str) -> None:
    obj = game_human.mesh_object
    weights = obj.vertex_groups.new(name="Some")
    for vertex in range(0, len(obj.data.vertices), 3):
        weights.add([vertex], (vertex % 11) / 10.0, "REPLACE")
    settings = ON
    if group == "mask":
        obj.modifiers["Armature"].vertex_group = "Some"
    else:
        settings = replace(ON, **{group: "Some"})
    assert error_by_modifier(game_human, settings) <= TOLERANCE


def test_the_setting_brings_it_and_takes_it_away(game_human: Human) -> None:
    obj = game_human.mesh_object
    enable(obj)
    palette = find_palette(game_human.armature_object)
    assert palette is not None

    def traces() -> tuple[bool, ...]:
        names = {attribute.name for attribute in obj.data.attributes}
        tree = SkinnedObject(obj).ours.node_group
        return (
            any(name.startswith(TURN_LIMB) for name in names),
            " turns" in record_of_tree(tree)["key"],
            " twists" in record_of_tree(nodes_of_palette(palette).node_group)["key"],
        )

    before = evaluated_positions(obj)
    assert traces() == (False, False, False)
    obj.dq_compensation.twist_spread = 1.0
    check()
    assert traces() == (True, True, True)
    whole = evaluated_positions(obj)
    moved = np.linalg.norm(whole - before, axis=1)
    assert moved.max() > 0.03  # metres
    np.testing.assert_allclose(whole, api.evaluate(obj, evaluator="NUMPY"), atol=1e-5)
    # Half way: a slider writes nothing again.
    tree = SkinnedObject(obj).ours.node_group
    obj.dq_compensation.twist_spread = 0.5
    check()
    assert SkinnedObject(obj).ours.node_group == tree
    half = evaluated_positions(obj)
    np.testing.assert_allclose(half, api.evaluate(obj, evaluator="NUMPY"), atol=1e-5)
    obj.dq_compensation.twist_spread = 0.0
    check()
    assert traces()[:2] == (False, False)
    np.testing.assert_array_equal(evaluated_positions(obj), before)


def test_keys_act_in_each_frame_also_from_0(game_human: Human) -> None:
    obj, scene = game_human.mesh_object, bpy.context.scene
    enable(obj)
    scene.frame_set(1)
    off = evaluated_positions(obj)
    obj.dq_compensation.keyframe_insert("twist_spread", frame=1)
    obj.dq_compensation.twist_spread = 1.0
    obj.dq_compensation.keyframe_insert("twist_spread", frame=11)
    check()
    tree = SkinnedObject(obj).ours.node_group
    for frame in (11, 4, 1):
        scene.frame_set(frame)
        assert SkinnedObject(obj).ours.node_group == tree
        found = evaluated_positions(obj)
        np.testing.assert_allclose(found, api.evaluate(obj, evaluator="NUMPY"), atol=1e-5)
    np.testing.assert_allclose(found, off, atol=1e-6)


def test_limbs_stay_left_out_when_their_bones_are_renamed(game_human: Human) -> None:
    obj, rig = game_human.mesh_object, game_human.armature_object
    enable(obj)
    settings = obj.dq_compensation
    settings.twist_spread = 1.0
    check()
    whole = evaluated_positions(obj)
    settings.twist_left_out = "lowerarm_l, upperarm_l"
    check()
    left_out = evaluated_positions(obj)
    assert np.abs(whole - left_out).max() > 0.03  # metres
    rig.data.bones["lowerarm_l"].name = "Unterarm"
    check()
    assert settings.twist_left_out == "Unterarm, upperarm_l"
    np.testing.assert_allclose(evaluated_positions(obj), left_out, atol=1e-6)


def test_the_switch_of_a_limb_leaves_it_out_and_takes_it_back(game_human: Human) -> None:
    obj = game_human.mesh_object
    obj.dq_compensation.twist_spread = 1.0
    enable(obj)
    select(game_human.armature_object)
    whole = evaluated_positions(obj)
    assert bpy.ops.dqc.switch_twist(bone="lowerarm_l", both_sides=True) == {"FINISHED"}
    check()
    assert obj.dq_compensation.twist_left_out == "lowerarm_l, lowerarm_r"
    assert np.abs(evaluated_positions(obj) - whole).max() > 0.03  # metres
    for bone in ("lowerarm_r", "lowerarm_l"):
        assert bpy.ops.dqc.switch_twist(bone=bone) == {"FINISHED"}
    check()
    assert obj.dq_compensation.twist_left_out == ""
    np.testing.assert_allclose(evaluated_positions(obj), whole, atol=1e-6)


def test_a_note_counts_limbs_and_names_those_that_are_left_out(game_human: Human) -> None:
    obj = game_human.mesh_object
    obj.dq_compensation.twist_left_out = "calf_l"
    obj.dq_compensation.twist_spread = 0.4
    enable(obj)
    note = status_of(obj).twists
    acting = Settings.of(obj)
    limbs = bind(obj, bpy.context.evaluated_depsgraph_get()).twist_limbs(acting)
    assert note.startswith(f"Twists are spread along {len(limbs.bones)} limbs. ")
    assert "Not along calf_l: left out by you." in note

"""*Ball Joints*: shoulders, hips and feet on the human, and nothing of it while it is off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.modifier.attribute_names import SWING_AMOUNT, SWING_JOINT
from dq_compensation.modifier.modifier_evaluator import evaluate_by_modifier
from dq_compensation.modifier.palette_object import find_palette, nodes_of_palette
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.numpy_evaluator import evaluate
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.settings.object_settings import Settings
from dq_compensation.scene.stack import record_of_tree
from dq_compensation.ui import panels
from human.model import Rig
from human.poses import apply_pose, random_pose, rotation
from tests.blender.enabled_scenes import check, enable
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.scene_builders import evaluated_positions

pytestmark = pytest.mark.usefixtures("addon")

if TYPE_CHECKING:
    from conftest import Human

# As all evaluators promise, in parts of the size.
TOLERANCE = 1e-4
ON = Settings(use_ball_joints=True)
OFF = replace(ON, use_ball_joints=False)


def raise_arm(human: Human) -> None:
    apply_pose(human.armature_object, {"upperarm01.L": rotation(0.0, 0.0, 100.0)})
    bpy.context.view_layer.update()


def error_by_modifier(human: Human, settings: Settings) -> float:
    """How far the nodes are from NumPy, in parts of the object's size."""
    obj, rig = human.mesh_object, human.armature_object
    bpy.context.view_layer.update()
    binding = bind(obj)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    found = evaluate_by_modifier(obj, binding, settings)
    expected = evaluate(
        binding, settings, obj.evaluated_get(depsgraph), rig.evaluated_get(depsgraph)
    )
    return float(np.abs(found - expected).max() / np.ptp(binding.rest, axis=0).max())


def test_off_is_the_deformation_without_it(human: Human) -> None:
    binding = bind(human.mesh_object)
    off, on = binding.deformation(OFF).compensation, binding.deformation(ON).compensation
    assert isinstance(off, MeasuredJoints)
    assert isinstance(on, MeasuredJoints)
    assert off.swings is None
    assert binding.deformation(OFF).swing_amounts is None
    assert on.swings is not None
    assert on.swings.acts
    # What is measured between limbs is given up where the trunk moves the skin, too.
    assert np.all(on.amounts <= off.amounts)
    assert not np.array_equal(on.amounts, off.amounts)
    assert (
        binding.deformation(replace(ON, curve="FITTED")).compensation
        is binding.deformation(replace(OFF, curve="FITTED")).compensation
    )


@pytest.mark.parametrize("scaled", [False, True], ids=["rigid", "scaled"])
@pytest.mark.parametrize("rig", ["default", "game_engine"])
def test_nodes_equal_core(rig: Rig, scaled: bool, body_with_rig: Callable[[Rig], Human]) -> None:
    human = body_with_rig(rig)
    rng = np.random.default_rng(4)
    apply_pose(human.armature_object, random_pose(rng, rig))
    if scaled:
        human.mesh_object.location = (0.3, -0.2, 0.1)
        for bone in list(human.armature_object.pose.bones)[::7]:
            bone.scale = rng.uniform(0.7, 1.4, 3)
    assert error_by_modifier(human, ON) <= TOLERANCE


@pytest.mark.parametrize("group", ["vertex_group", "blend_group", "mask"])
def test_weights_of_vertices_act_on_it(human: Human, group: str) -> None:
    raise_arm(human)
    obj = human.mesh_object
    weights = obj.vertex_groups.new(name="Some")
    for vertex in range(0, len(obj.data.vertices), 3):
        weights.add([vertex], (vertex % 11) / 10.0, "REPLACE")
    settings = ON
    if group == "mask":
        obj.modifiers["Armature"].vertex_group = "Some"
    else:
        settings = replace(ON, **{group: "Some"})
    assert error_by_modifier(human, replace(settings, factor=0.7)) <= TOLERANCE


def test_the_setting_brings_it_and_takes_it_away(human: Human) -> None:
    raise_arm(human)
    obj = human.mesh_object
    obj.dq_compensation.use_ball_joints = False
    enable(obj)
    palette = find_palette(human.armature_object)
    assert palette is not None

    def traces() -> tuple[bool, ...]:
        names = {attribute.name for attribute in obj.data.attributes}
        tree = SkinnedObject(obj).ours.node_group
        return (
            any(name.startswith((SWING_JOINT, SWING_AMOUNT)) for name in names),
            " swung" in record_of_tree(tree)["key"],
            " swings" in record_of_tree(nodes_of_palette(palette).node_group)["key"],
        )

    before = evaluated_positions(obj)
    assert traces() == (False, False, False)
    obj.dq_compensation.use_ball_joints = True
    check()
    assert traces() == (True, True, True)
    moved = np.linalg.norm(evaluated_positions(obj) - before, axis=1)
    # The wing below the arm, in metres, and nothing on the other side.
    assert moved.max() > 0.01
    assert moved[before[:, 0] < -0.05].max() < 1e-6
    obj.dq_compensation.use_ball_joints = False
    check()
    assert traces()[:2] == (False, False)
    np.testing.assert_array_equal(evaluated_positions(obj), before)


@pytest.mark.parametrize(
    ("method", "base", "curve", "expected"),
    [
        ("COMPENSATED", "SPHERICAL_JOINT", "MEASURED", True),
        ("COMPENSATED", "SPHERICAL_JOINT", "FITTED", False),
        ("SPHERICAL_JOINT_BY_EXAMPLE", "COMPENSATED", "MEASURED", True),
        ("SPHERICAL_JOINT_BY_EXAMPLE", "SPHERICAL_JOINT", "MEASURED", False),
        ("DUAL_QUATERNION", "COMPENSATED", "MEASURED", False),
    ],
)
def test_the_panel_draws_it_where_it_acts(
    human: Human, method: str, base: str, curve: str, expected: bool
) -> None:
    raise_arm(human)
    obj = human.mesh_object
    settings = obj.dq_compensation
    settings.method, settings.example_base, settings.curve = method, base, curve
    settings.use_ball_joints = False
    before = api.evaluate(obj)
    settings.use_ball_joints = True
    moves = bool(np.abs(api.evaluate(obj) - before).max() > TOLERANCE)
    layout = RecordedLayout()
    panels._method(layout, bpy.context, obj)
    drawn = layout.names("prop", active_only=True)
    assert moves == expected == ("use_ball_joints" in drawn)

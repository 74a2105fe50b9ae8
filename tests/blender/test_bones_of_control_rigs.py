"""Bones on control rigs: which a field offers, in which order, and which joint the list chooses."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation import api
from dq_compensation.examples import shown_weights
from dq_compensation.scene.settings.example_settings import OFFERED_BONES
from dq_compensation.ui.joints import JointsPanel
from dq_compensation.ui.posed_joints import choose_posed_joint
from tests.blender.control_rigs import LAYOUTS, Layout, build_under_controls
from tests.blender.enabled_scenes import check, select
from tests.blender.recorded_layout import RecordedLayout
from tests.kept_files import new_file
from tests.rigify_human import new_file_with_rigify_human

pytestmark = pytest.mark.usefixtures("addon")
Object = bpy.types.Object


def offered(obj: Object, typed: str = "") -> list[str]:
    (offers,) = OFFERED_BONES
    return offers(obj, bpy.context, typed)


def activate(rig: Object, name: str) -> None:
    rig.data.bones.active = rig.data.bones[name]


def bend(rig: Object, name: str, degrees: float) -> None:
    bone = rig.pose.bones[name]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler.z = np.radians(degrees)
    bpy.context.view_layer.update()


@pytest.fixture(params=LAYOUTS)
def arm(request: pytest.FixtureRequest) -> tuple[Object, Object, Layout]:
    """A straight arm, enabled, with the mesh active."""
    new_file()
    layout = LAYOUTS[request.param]
    obj, rig = build_under_controls(layout)
    api.enable(obj)
    select(obj)
    return obj, rig, layout


def test_what_the_active_bone_turns_is_offered_first_then_what_is_turned_farthest(
    arm: tuple[Object, Object, Layout],
) -> None:
    obj, rig, (upper, lower, hand), controls = *arm[:2], arm[2].deforming, arm[2].controls
    posed = controls or (upper, lower, hand)
    bend(rig, posed[1], 60.0)
    bend(rig, posed[2], 20.0)
    for active, expected in (
        (posed[1], [lower, hand, upper]),
        (posed[2], [hand, lower, upper]),
        ("idle", [lower, hand, upper]),
    ):
        activate(rig, active)
        assert offered(obj) == expected, active
    bend(rig, posed[1], 0.0)
    bend(rig, posed[2], 0.0)
    # At rest the nearest one: the head of `idle` is that of the hand.
    assert offered(obj) == [hand, lower, upper]
    # While letters are typed they keep their order, and nothing is asked of the rig.
    activate(rig, posed[1])
    assert offered(obj, "ar") == [hand, lower, upper]
    assert offered(obj)[0] == lower


def test_bones_are_offered_anew_for_an_example_whose_bone_is_gone(
    arm: tuple[Object, Object, Layout],
) -> None:
    """Its field opens with the name that is gone."""
    obj, rig, (_, lower, hand) = *arm[:2], arm[2].deforming
    obj.dq_compensation.examples.add().bone = "Gone"
    assert hand in offered(obj)
    rig.data.bones[hand].use_deform = False
    check()
    assert hand not in offered(obj, "Gone")
    assert lower in offered(obj, "Gone")


def test_an_example_of_the_active_control_is_one_of_the_bone_that_moves_the_skin(
    arm: tuple[Object, Object, Layout],
) -> None:
    obj, rig, layout = arm
    posed = (layout.controls or layout.deforming)[1]
    bend(rig, posed, 60.0)
    activate(rig, posed)
    assert bpy.ops.dqc.example_add(mode="NONE") == {"FINISHED"}
    assert obj.dq_compensation.examples[0].bone == layout.deforming[1]
    assert bpy.ops.dqc.support_show() == {"FINISHED"}
    assert obj.dq_compensation.support_bone == layout.deforming[1]
    assert bpy.ops.dqc.support_show() == {"FINISHED"}
    assert obj.dq_compensation.overlay == "NONE"


def test_a_bone_that_bends_nothing_is_refused_with_the_bones_to_choose(
    arm: tuple[Object, Object, Layout],
) -> None:
    obj, rig, layout = arm
    bend(rig, (layout.controls or layout.deforming)[1], 60.0)
    activate(rig, "idle")
    _, lower, hand = layout.deforming
    for button in (bpy.ops.dqc.example_add, bpy.ops.dqc.support_show, bpy.ops.dqc.support_paint):
        with pytest.raises(RuntimeError, match=f"Choose one of {lower}, {hand}, "):
            button()
    assert not len(obj.dq_compensation.examples)
    assert obj.mode == "OBJECT"


def test_the_list_of_joints_chooses_the_joint_that_is_posed(
    arm: tuple[Object, Object, Layout],
) -> None:
    obj, rig, layout = arm
    check()
    select(rig)
    bpy.ops.object.mode_set(mode="POSE")
    bones: Any = rig.data.bones

    def chosen() -> str:
        choose_posed_joint()  # what the timer of a session with a window does
        return bones[rig.data.dqc_active_joint].name

    chosen()
    posed, (_, lower, hand) = layout.controls or layout.deforming, layout.deforming
    for bone, expected in ((posed[1], lower), (posed[2], hand), (posed[1], lower)):
        activate(rig, bone)
        bend(rig, bone, 40.0 if rig.pose.bones[bone].rotation_euler.z < 0.1 else 70.0)
        assert chosen() == expected
    # What the user chooses stays until something else is posed.
    rig.data.dqc_active_joint = bones.find(hand)
    assert chosen() == hand
    bend(rig, posed[1], 71.5)
    assert chosen() == lower
    bend(rig, posed[2], 40.2)  # less than a degree
    assert chosen() == lower
    # A frame poses nothing.
    bpy.context.scene.frame_set(5)
    bend(rig, posed[2], 0.0)
    assert chosen() == lower
    assert obj.dq_compensation.enabled
    # Of plain rigs an active bone is enough; a control moves no skin.
    activate(rig, hand)
    assert chosen() == hand


def test_of_rigifys_hand_control_the_joints_of_the_arm_are_offered_first() -> None:
    obj, rig = new_file_with_rigify_human()
    api.enable(obj)
    control = rig.pose.bones["hand_ik.L"]
    control.matrix = Matrix.Translation((-0.25, -0.25, 0.1)) @ control.matrix
    bend(rig, "f_index.01_master.L", 30.0)
    bpy.context.view_layer.update()
    activate(rig, "hand_ik.L")
    names = offered(obj)
    assert set(names[:3]) == {"DEF-upper_arm.L", "DEF-forearm.L", "DEF-hand.L"}
    groups = {group.name for group in obj.vertex_groups}
    assert len(names) == len(set(names)) > 60
    assert set(names) <= groups
    # No control, no mechanism.
    assert all(name.startswith("DEF-") for name in names)


def test_the_joint_that_is_chosen_shows_its_examples(arm: tuple[Object, Object, Layout]) -> None:
    obj, rig, layout = arm
    _, lower, hand = layout.deforming
    posed = (layout.controls or layout.deforming)[1]
    for degrees in (40.0, 80.0):
        bend(rig, posed, degrees)
        assert bpy.ops.dqc.example_add(bone=posed, mode="NONE") == {"FINISHED"}
    check()
    shown_weights.look()

    def shown(bone: str) -> list[str]:
        rig.data.dqc_active_joint = rig.data.bones.find(bone)
        drawn = RecordedLayout()
        JointsPanel.fill(drawn, bpy.context, obj)  # type: ignore[arg-type]
        buttons = [leaf for leaf in drawn.leaves("operator") if "go_to_pose" in leaf.name]
        assert [button.properties.index for button in buttons] == [*range(len(buttons))]
        return [
            *(button.text for button in buttons),
            *(leaf.text for leaf in drawn.leaves("progress")),
        ]

    assert shown(lower) == [f"{lower} 1", f"{lower} 2", "0%", "100%"]
    assert shown(hand) == []
    # A click on the first goes to its pose where the bone is posed itself.
    if not layout.controls:
        assert bpy.ops.dqc.example_go_to_pose(index=0) == {"FINISHED"}
        assert np.degrees(rig.pose.bones[lower].rotation_euler.z) == pytest.approx(40.0, abs=0.1)

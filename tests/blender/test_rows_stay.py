"""What is under the mouse stays there: rows do not move by what the user did elsewhere."""

from __future__ import annotations

from unittest.mock import MagicMock

import bpy
import numpy as np
import pytest

from dq_compensation.examples import posed_copy
from dq_compensation.setup_check import findings
from dq_compensation.ui import panels
from tests.blender.enabled_scenes import enabled_limb, select
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.test_character_panel import build_meshes
from tests.kept_files import new_file

Object = bpy.types.Object
Places = list[tuple[str, str, int]]

pytestmark = pytest.mark.usefixtures("addon")

OPEN = ("JointsPanel", "PaintPanel", "ExamplePanel", "ExamplePanel_opened", "BakePanel")


def drawn(*open_panels: str) -> RecordedLayout:
    layout = RecordedLayout(open_panels)
    panels.VIEW3D_PT_dq_compensation.fill(MagicMock(), layout, bpy.context)
    return layout


def down_to(places: Places, name: str) -> Places:
    """The places of all down to the row that has this one."""
    row = next(row for _, each, row in places if each == name)
    return [place for place in places if place[2] <= row]


@pytest.fixture
def rig(addon: None) -> Object:
    """An armature with three enabled meshes, active."""
    new_file()
    found, _ = build_meshes(3)
    select(found)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    return found


def test_another_selected_character_moves_nothing_and_is_named(rig: Object) -> None:
    enabled_limb("Other")
    enabled_limb("Third")
    select(rig)
    expected = drawn(*OPEN).places()
    assert rig.name in drawn().texts()
    select(rig, bpy.data.objects["Other"])
    assert drawn(*OPEN).places() == expected
    assert f"{rig.name}. Alt changes both" in drawn().texts()
    select(rig, bpy.data.objects["Other"], bpy.data.objects["Third Rig"])
    assert drawn(*OPEN).places() == expected
    assert f"{rig.name}. Alt changes all 3" in drawn().texts()
    assert bpy.ops.dqc.disable() == {"FINISHED"}
    # There is no setting to change.
    assert rig.name in drawn().texts()


def test_the_buttons_of_a_character_are_the_same_before_and_after_enable() -> None:
    new_file()
    rig, _ = build_meshes(2)
    select(rig)
    before = down_to(drawn().places(), "dqc.test_motion")
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    after = down_to(drawn().places(), "dqc.test_motion")
    assert before == after
    assert [name for _, name, _ in after] == [
        *("dqc.enable", "dqc.disable", "dqc_compare", "dqc.test_motion")
    ]
    assert len({row for _, _, row in after}) == 1
    assert bpy.ops.dqc.disable() == {"FINISHED"}
    assert down_to(drawn().places(), "dqc.test_motion") == before


def test_painting_and_posing_move_nothing(rig: Object) -> None:
    mesh = bpy.data.objects["Body"]
    select(mesh)
    expected = drawn(*OPEN).places()
    assert bpy.ops.dqc.paint_weights(group="COMPENSATION") == {"FINISHED"}
    assert mesh.mode == "WEIGHT_PAINT"
    assert drawn(*OPEN).places() == expected
    assert drawn().places() == [place for place in drawn().places() if "opened" not in place[1]]
    assert bpy.ops.dqc.paint_done() == {"FINISHED"}
    assert drawn(*OPEN).places() == expected
    select(rig)
    expected = drawn(*OPEN).places()
    bpy.ops.object.mode_set(mode="POSE")
    assert drawn(*OPEN).places() == expected
    bpy.ops.object.mode_set(mode="OBJECT")


def test_a_second_click_on_add_applies_and_cancels_nothing(rig: Object) -> None:
    mesh = bpy.data.objects["Body"]
    select(mesh)
    bone = rig.pose.bones["Lower"]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler.z = np.radians(70.0)
    bpy.context.view_layer.update()
    mesh.dq_compensation.example_bone = "Lower"
    rig.dq_compensation.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    rows = ("JointsPanel", "PaintPanel", "ExamplePanel", "ExamplePanel_opened")
    before = down_to(drawn(*rows).places(), "dqc.example_add")
    assert bpy.ops.dqc.example_add(mode="EDIT") == {"FINISHED"}
    copy = bpy.context.active_object
    assert posed_copy.is_posed_copy(copy)
    after = down_to(drawn(*rows).places(), "dqc.example_add")
    as_opened = [(kind, name.replace("_opened", ""), row) for kind, name, row in after]
    assert as_opened == before
    # No sentence is above its buttons, which a small window would hide.
    row_of = {name: row for _, name, row in drawn(*rows).places()}
    added = row_of["dqc.example_add"]
    assert [row_of[f"dqc.example_{each}"] - added for each in ("apply", "cancel")] == [1, 2]
    # What the shape is made on cannot be changed meanwhile.
    assert not bpy.ops.dqc.disable.poll()
    bpy.ops.dqc.example_cancel()
    assert down_to(drawn(*rows).places(), "dqc.example_add") == before


def test_setup_check_is_closed_while_it_has_nothing_to_show(rig: Object) -> None:
    def name() -> str:
        return next(each for each in drawn().names("panel") if "setup_check" in each)

    expected = drawn().places()
    assert name() == "dqc_setup_check_empty"
    # Its body would be a row or more.
    assert "Not checked yet" not in " ".join(drawn().texts())
    bpy.ops.dqc.check()
    issues = [issue for mesh in rig.children for issue in findings.known(mesh).issues]
    assert name() == ("dqc_setup_check" if issues else "dqc_setup_check_empty")
    above = down_to(drawn().places(), "dqc.check")
    assert [place for place in above if "setup_check" not in place[1]] == [
        place for place in down_to(expected, "dqc.check") if "setup_check" not in place[1]
    ]


def test_no_row_is_empty(rig: Object) -> None:
    for method in ("COMPENSATED", "LINEAR", "SPHERICAL_JOINT_BY_EXAMPLE"):
        rig.dq_compensation.method = method
        for leaf in drawn(*OPEN, "AdvancedPanel", "PlaybackPanel").leaves("label"):
            assert leaf.text, method

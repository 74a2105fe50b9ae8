"""*Test Motion*: the poses in which each joint is turned, against the rig that is posed alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.modifier.plain_view import hide_for_drawing, show_ours
from dq_compensation.motion_test import operators
from dq_compensation.motion_test.turned_joints import MotionTest
from dq_compensation.session.status import compared
from tests.blender.enabled_scenes import select
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import evaluated_positions
from tests.limb import build_limb, build_posed_limb
from tests.rigify_human import new_file_with_rigify_human, pose_limbs

pytestmark = pytest.mark.usefixtures("addon")

STEPS = 8
# Nodes compute in 32 bits; the limb is 2 long.
CLOSE = 1e-4


def data_blocks() -> dict[str, list[str]]:
    """The names of all data of the file."""
    kinds = ("objects", "meshes", "armatures", "actions", "scenes", "node_groups")
    return {kind: getattr(bpy.data, kind).keys() for kind in kinds}


@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_poses_are_those_of_the_rig_with_one_bone_turned(softness: float) -> None:
    obj, rig = build_limb()
    api.enable(obj, softness=softness, twist_spread=softness)
    poses = list(api.motion_test(obj, steps=STEPS))
    assert len(poses) % STEPS == 0
    bones = [pose.bone for pose in poses[::STEPS]]
    assert bones == list(dict.fromkeys(bones))
    assert "Lower" in bones
    for pose in poses:
        for bone in rig.pose.bones:
            bone.rotation_mode = "QUATERNION"
            bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        rig.pose.bones[pose.bone].rotation_quaternion = pose.rotation
        (vertices,) = pose.vertices
        assert np.abs(vertices - evaluated_positions(obj)).max() < CLOSE


def test_each_joint_bends_there_and_back_and_then_twists() -> None:
    obj, _ = build_limb()
    api.enable(obj)
    angles = []
    for pose in list(api.motion_test(obj, steps=STEPS))[:STEPS]:
        w, _, y, _ = pose.rotation
        angles.append((np.degrees(2.0 * np.arccos(min(1.0, abs(w)))), y))
    bends = [angle for angle, _ in angles]
    # At rest at each quarter of the time.
    np.testing.assert_allclose(bends[::2], 0.0, atol=0.1)
    assert min(bends[1], bends[5], bends[7]) > 10.0
    # Bones turn across themselves first, about themselves then, to both sides.
    assert abs(angles[1][1]) < 1e-3 < angles[5][1]
    assert angles[7][1] < -1e-3


def test_a_strength_turns_joints_less_far() -> None:
    obj, _ = build_limb()
    api.enable(obj)

    def turned(strength: float) -> float:
        pose = list(api.motion_test(obj, steps=STEPS, strength=strength))[1]
        return float(np.degrees(2.0 * np.arccos(abs(pose.rotation[0]))))

    assert turned(0.5) == pytest.approx(0.5 * turned(1.0), abs=1e-3)
    for wrong in ({"strength": -1.0}, {"steps": 0}, {"steps": 2.5}):
        with pytest.raises(api.UserError):
            api.motion_test(obj, **wrong)  # type: ignore[arg-type]


def test_rig_and_file_stay_as_they_are() -> None:
    obj, rig = build_posed_limb()
    api.enable(obj)
    before, posed = data_blocks(), evaluated_positions(obj)
    pose = [tuple(map(tuple, bone.matrix_basis)) for bone in rig.pose.bones]
    assert len(list(api.motion_test(rig, steps=2))) >= 2
    assert data_blocks() == before
    assert [tuple(map(tuple, bone.matrix_basis)) for bone in rig.pose.bones] == pose
    assert np.array_equal(evaluated_positions(obj), posed)


def test_the_character_is_hidden_meanwhile_and_put_back_before_it_is_saved() -> None:
    obj, _ = build_posed_limb()
    api.enable(obj)
    hide_for_drawing([obj])
    assert obj.display_type == "BOUNDS"
    for handler in bpy.app.handlers.save_pre:
        handler(bpy.context.scene, None)
    assert obj.display_type == "TEXTURED"
    assert not compared
    hide_for_drawing([obj])
    show_ours()
    assert obj.display_type == "TEXTURED"


OPERATOR: Any = operators.DQC_OT_test_motion


def pressed() -> Any:
    """Stands in for the operator, whose instances Blender alone makes."""
    names = ("invoke", "modal", "cancel", "_followed", "_ended_by_errors", "_next", "_show")
    methods = {name: getattr(OPERATOR, name) for name in (*names, "_draw_label")}
    return type("Pressed", (), methods | {"strength": 1.0, "report": MagicMock()})()


def context_of(*objects: bpy.types.Object, mode: str = "OBJECT") -> Any:
    select(*objects)
    return MagicMock(
        mode=mode,
        active_object=objects[0],
        selected_objects=list(objects),
        view_layer=bpy.context.view_layer,
        evaluated_depsgraph_get=bpy.context.evaluated_depsgraph_get,
    )


def test_chosen_joints_come_first_and_arrows_go_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    obj, rig = build_limb()
    api.enable(obj)
    # They do so where the view shows them, too.
    monkeypatch.setattr(operators, "_in_view", lambda *_: ["Lower", "Hand"])
    context, operator = context_of(obj, mode="POSE"), pressed()
    context.active_pose_bone = rig.pose.bones["Hand"]
    context.selected_pose_bones = [rig.pose.bones["Lower"], rig.pose.bones["Hand"]]
    operator.invoke(context, MagicMock())

    def name() -> str:
        return str(operator._test.name(operator._test.joints[operator._joint]))

    assert [name()] == ["Hand"]
    operator.modal(context, MagicMock(type="RIGHT_ARROW", value="PRESS"))
    assert name() == "Lower"
    operator.modal(context, MagicMock(type="LEFT_ARROW", value="PRESS"))
    assert name() == "Hand"
    operator.modal(context, MagicMock(type="ESC", value="PRESS"))


def test_what_is_in_view_comes_before_the_rest() -> None:
    obj, rig = build_limb()
    api.enable(obj)
    test = MotionTest([obj], bpy.context.evaluated_depsgraph_get())
    last = test.name(test.joints[-1])
    x, y, z = rig.data.bones[last].head_local
    # A view of 0.1 to all sides of that joint, from above.
    view = 10.0 * np.eye(4)
    view[:3, 3] = -10.0 * np.array((x, y, z))
    view[3] = (0.0, 0.0, 0.0, 1.0)
    assert test.seen(view) == [last]
    test.put_first(test.seen(view))
    assert test.name(test.joints[0]) == last
    behind = view.copy()
    behind[3, 3] = -1.0
    assert test.seen(behind) == []


@pytest.mark.parametrize("failing", ["begin", "show", "event_timer_add", "modal_handler_add"])
def test_what_fails_leaves_the_character_shown(
    failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, _ = build_limb()
    api.enable(obj)
    context, operator = context_of(obj), pressed()
    failure = MagicMock(side_effect=RuntimeError("No memory"))
    if failing in {"begin", "show"}:
        monkeypatch.setattr(operators.posed_copy, failing, failure)
    else:
        setattr(context.window_manager, failing, failure)
    with pytest.raises(RuntimeError):
        operator.invoke(context, MagicMock())
    assert (obj.display_type, compared) == ("TEXTURED", set())
    assert operators.posed_copy.matrices is None


def test_it_runs_until_escape_and_a_failure_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    obj, _ = build_limb()
    api.enable(obj)
    context, operator = context_of(obj), pressed()
    tick = MagicMock(type="TIMER", value="NOTHING")
    assert operator.invoke(context, MagicMock()) == {"RUNNING_MODAL"}
    assert obj.display_type == "BOUNDS"
    assert operator.modal(context, tick) == {"PASS_THROUGH"}
    assert operator.modal(context, MagicMock(type="ESC", value="PRESS")) == {"FINISHED"}
    assert (obj.display_type, compared) == ("TEXTURED", set())
    operator.invoke(context, MagicMock())
    monkeypatch.setattr(operators.posed_copy, "show", MagicMock(side_effect=RuntimeError))
    with pytest.raises(RuntimeError):
        operator.modal(context, tick)
    assert (obj.display_type, compared) == ("TEXTURED", set())


@pytest.mark.parametrize("way", ["LEFTMOUSE", "RIGHTMOUSE", "mode"])
def test_a_click_or_another_mode_ends_it_and_leaves_nothing(way: str) -> None:
    obj, _ = build_limb()
    api.enable(obj)
    before, context, operator = data_blocks(), context_of(obj), pressed()
    assert operator.invoke(context, MagicMock()) == {"RUNNING_MODAL"}
    event = MagicMock(type="TIMER", value="NOTHING")
    assert operator.modal(context, event) == {"PASS_THROUGH"}
    if way == "mode":
        context.mode = "PAINT_WEIGHT"
    else:
        event = MagicMock(type=way, value="PRESS")
    assert operator.modal(context, event) == {"FINISHED"}
    assert (obj.display_type, compared) == ("TEXTURED", set())
    assert data_blocks() == before


def viewports() -> list[Any]:
    """Every 3D Viewport of the file."""
    areas = [area for screen in bpy.data.screens for area in screen.areas]
    return [space for area in areas for space in area.spaces if space.type == "VIEW_3D"]


def bones_shown() -> list[bool]:
    return [space.overlay.show_bones for space in viewports()]


@pytest.mark.parametrize("way", ["ESC", "failure", "save", "undo", "render", "another file"])
def test_the_bones_of_viewports_are_hidden_until_it_ends(
    way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the user has hidden them they stay hidden."""
    bpy.ops.wm.read_homefile(use_empty=False)
    obj, _ = build_limb()
    api.enable(obj)
    areas = bpy.context.window_manager.windows[0].screen.areas
    seen: Any = next(area.spaces.active for area in areas if area.type == "VIEW_3D")
    next(each for each in viewports() if each != seen).overlay.show_bones = False
    before, context, operator = bones_shown(), context_of(obj), pressed()
    operator.invoke(context, MagicMock())
    assert not seen.overlay.show_bones
    tick = MagicMock(type="TIMER", value="NOTHING")
    if way == "ESC":
        operator.modal(context, MagicMock(type="ESC", value="PRESS"))
    elif way == "failure":
        monkeypatch.setattr(operators.posed_copy, "show", MagicMock(side_effect=RuntimeError))
        with pytest.raises(RuntimeError):
            operator.modal(context, tick)
    elif way == "save":
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "saved.blend"), copy=True)
    elif way == "undo":
        bpy.ops.ed.undo_push()
        bpy.ops.ed.undo_push()
        bpy.ops.ed.undo()
    elif way == "render":
        for name in ("render_init", "render_cancel"):
            for handler in getattr(bpy.app.handlers, name):
                handler(bpy.context.scene, None)
    else:
        bpy.ops.wm.read_homefile(use_empty=False, load_ui=False)
    assert bones_shown() == before
    if way in {"save", "undo", "render"}:
        assert operator.modal(context, tick) == {"FINISHED"}, "the character is back, too"
        assert bones_shown() == before


@pytest.mark.parametrize("kept", ["linked", "overridden"])
def test_characters_of_other_files_are_tested_and_stay_as_they_are(
    kept: str, tmp_path: Path
) -> None:
    obj, rig = build_posed_limb()
    api.enable(obj)
    collected("Character", obj, rig)
    path = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True)
    linked = load_collection(path, "Character")
    bpy.context.view_layer.update()
    obj = next(each for each in linked.all_objects if each.type == "MESH")
    if kept == "overridden":
        obj, _ = overridden(linked)
    before, posed = data_blocks(), evaluated_positions(obj)
    context, operator = context_of(obj), pressed()
    assert operator.invoke(context, MagicMock()) == {"RUNNING_MODAL"}
    assert operators.posed_copy.matrices is not None
    operator.modal(context, MagicMock(type="ESC", value="PRESS"))
    assert (obj.display_type, data_blocks()) == ("TEXTURED", before)
    np.testing.assert_array_equal(evaluated_positions(obj), posed)


def test_a_control_rig_is_tested_by_its_deforming_bones() -> None:
    """Rigify: constraints, drivers and controls would undo a pose; the copy has none."""
    obj, rig = new_file_with_rigify_human()
    pose_limbs(rig)
    api.enable(obj)
    before, posed = data_blocks(), evaluated_positions(obj)
    poses = list(api.motion_test(obj, steps=STEPS))
    bones = {pose.bone for pose in poses}
    assert {"DEF-forearm.L", "DEF-shin.R"} <= bones
    assert all(rig.data.bones[bone].use_deform for bone in bones)
    of_elbow = (pose for pose in poses if pose.bone == "DEF-forearm.L")
    bent = next(pose for pose in of_elbow if abs(pose.rotation[0]) < 0.95)
    (vertices,) = bent.vertices
    rest = np.array([vertex.co for vertex in obj.data.vertices])
    moved = np.linalg.norm(vertices - rest, axis=1)
    # The rest of the body rests, whatever the controls pose.
    assert 0.02 < np.mean(moved > 0.01) < 0.3
    assert data_blocks() == before
    np.testing.assert_array_equal(evaluated_positions(obj), posed)


def test_without_a_character_it_is_refused() -> None:
    assert not bpy.ops.dqc.test_motion.poll()

"""Bones across their limbs: found, and turned without moving anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion

from dq_compensation import api
from dq_compensation.scene.blender.animation_curves import played_actions
from dq_compensation.scene.blender.armature import read_skeleton
from dq_compensation.scene.settings.object_settings import setting_label
from dq_compensation.setup_check.checks.bone_orientation import CHECK
from dq_compensation.setup_check.issue import FixError
from human.model import RIGS, Rig
from tests.blender.enabled_scenes import description, enable, select
from tests.blender.scene_builders import (
    add_armature,
    add_grid,
    edit_mode,
    evaluated_positions,
    link,
    linked_copy,
)
from tests.limb import build_limb, pose_limb

from .conftest import Human
from .moving_rigs import (
    KEYED_FRAMES,
    animate,
    fix,
    found_by,
    largest_change,
    looks,
    straighten_head,
    turn_bones,
    world_motion,
)

pytestmark = pytest.mark.usefixtures("addon")

# Blender rounds rest bones at about 1e-5 and keys to float32; the sum over a chain of bones stays
# below a hundred-thousandth of the body.
SAME = 1e-5


@pytest.mark.parametrize("rig", RIGS)
def test_the_rigs_as_made_have_no_finding(rig: Rig, human_with_rig: Callable[[Rig], Human]) -> None:
    """But for the head of `default`: it points up, its children are the eyes and the jaw."""
    found = found_by(CHECK, human_with_rig(rig).mesh_object)
    heads = [("head",)] if rig == "default" else []
    assert [issue.bones for issue in found] == heads
    assert all(issue.severity == "INFORMATION" for issue in found)


def test_bones_along_x_are_found_at_the_ends_where_auto_has_only_y(
    human_with_rig: Callable[[Rig], Human],
) -> None:
    human = human_with_rig("game_engine")
    turn_bones(human.armature_object, "X")
    (issue,) = found_by(CHECK, human.mesh_object)
    skeleton = read_skeleton(human.armature_object)
    ends = set(range(skeleton.bone_count)) - set(skeleton.parents.tolist())
    assert set(issue.bones) == {skeleton.names[bone] for bone in ends}
    assert issue.severity == "WARNING"
    assert [one.label for one in issue.fixes] == ["Limb Axis X", "Reorient Bones"]
    assert "13 bones" in issue.message


def test_a_named_axis_across_the_limbs_is_an_error(human: Human) -> None:
    straighten_head(human.armature_object)
    human.mesh_object.dq_compensation.limb_axis = "X"
    (issue,) = found_by(CHECK, human.mesh_object)
    assert issue.severity == "ERROR"
    assert "upperarm01.L" in issue.bones
    assert fix(CHECK, human.mesh_object, "set_limb_axis").startswith("Limb Axis is Automatic now")
    assert not found_by(CHECK, human.mesh_object)


def turned_limb() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A bent limb whose bones have X along it, as in a file of another program."""
    limb, rig = build_limb()
    turn_bones(rig, "X")
    pose_limb(rig)
    select(limb)
    return limb, rig


def test_fix_all_asks_before_it_sets_the_limb_axis(capfd: pytest.CaptureFixture[str]) -> None:
    limb, _ = turned_limb()
    limb.dq_compensation.limb_axis = "Z"
    enable(limb)
    (issue,) = found_by(CHECK, limb)
    assert issue.fixes[0].label == "Limb Axis X"
    assert "from Z to X" in issue.fixes[0].question
    before = evaluated_positions(limb)
    bpy.ops.dqc.fix_all()
    assert limb.dq_compensation.limb_axis == "Z"
    assert np.array_equal(evaluated_positions(limb), before)
    assert "1 with a question" in capfd.readouterr().out
    fix(CHECK, limb, "set_limb_axis")
    bpy.context.view_layer.update()
    assert largest_change([before], [evaluated_positions(limb)]) > 1e-3, "else nothing to ask"


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION", "SPHERICAL_JOINT"])
def test_methods_without_limbs_need_no_limb_axis(method: str) -> None:
    limb, _ = turned_limb()
    limb.dq_compensation.limb_axis = "Z"
    limb.dq_compensation.method = method
    assert not found_by(CHECK, limb)


def test_reorient_bones_names_the_bones_and_settings_have_their_labels() -> None:
    limb, _ = turned_limb()
    limb.dq_compensation.limb_axis = "-Z"
    (issue,) = found_by(CHECK, limb)
    assert issue.message.startswith("Limb Axis -Z does not point along the limb of 2 bones")
    reorient = next(one for one in issue.fixes if one.name == "reorient_bones")
    assert "Upper, Lower, Hand" in reorient.description
    assert "3 bones of Limb Rig are turned at rest" in reorient.question
    assert "Upper, Lower, Hand" in reorient.question
    assert "(Upper, Lower, Hand)" in fix(CHECK, limb, "reorient_bones")
    limb.dq_compensation.curve = "SLIDES"
    assert setting_label(limb, "curve") == "Strong"
    assert setting_label(limb, "limb_axis") == "Automatic"


def test_the_axis_that_fits_gives_the_limbs_that_the_good_rig_has(
    human_with_rig: Callable[[Rig], Human],
) -> None:
    human = human_with_rig("game_engine")
    before = read_skeleton(human.armature_object)
    turn_bones(human.armature_object, "X")
    fix(CHECK, human.mesh_object, "set_limb_axis")
    assert human.mesh_object.dq_compensation.limb_axis == "X"
    assert not found_by(CHECK, human.mesh_object)
    after = read_skeleton(human.armature_object)
    own_y = before.limb_directions("Y")[[before.names.index(name) for name in after.names]]
    assert np.allclose(after.limb_directions("X"), own_y, atol=1e-4)  # Blender's rest bones


@pytest.mark.parametrize("mode", ["QUATERNION", "AXIS_ANGLE", "YZX"])
@pytest.mark.parametrize("axes", ["X", "WORLD"])
def test_turned_bones_move_the_mesh_as_before(
    mode: str, axes: str, human_with_rig: Callable[[Rig], Human]
) -> None:
    human = human_with_rig("game_engine")
    rig, body = human.armature_object, human.mesh_object
    turn_bones(rig, axes)
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    animate(rig)
    before, motion = looks(body), world_motion(rig)
    if mode == "YZX" and axes == "WORLD":  # oblique limbs: Euler curves cannot follow exactly
        with pytest.raises(FixError, match="keyed Euler rotation"):
            fix(CHECK, body, "reorient_bones")
        assert largest_change(before, looks(body)) == 0.0
        return
    summary = fix(CHECK, body, "reorient_bones")
    assert "every frame" not in summary
    assert largest_change(before, looks(body)) <= SAME
    after = world_motion(rig)
    heads = [np.abs(after[name][:, :3, 3] - motion[name][:, :3, 3]).max() for name in motion]
    assert max(heads) <= 2.0 * SAME  # metres; the body is 1.7 high
    assert not found_by(CHECK, body)
    assert all(
        {round(key.co[0]) for key in curve.keyframe_points} == set(KEYED_FRAMES)
        for curve in played_actions(rig)[0].curves
    )


def test_turned_bones_point_to_their_children(whole_human: Human) -> None:
    turn_bones(whole_human.armature_object, "WORLD")
    fix(CHECK, whole_human.mesh_object, "reorient_bones")
    skeleton = read_skeleton(whole_human.armature_object)
    for name in ("upperarm01.L", "lowerleg01.R", "finger2-1.L"):
        bone = skeleton.names.index(name)
        child = int(np.flatnonzero(skeleton.parents == bone)[0])
        assert np.allclose(skeleton.tails[bone], skeleton.heads[child], atol=1e-5)  # metres


def test_curves_without_common_keys_are_keyed_on_every_frame(human: Human) -> None:
    rig = human.armature_object
    turn_bones(rig, "WORLD")
    animate(rig)
    bone = rig.pose.bones["upperarm01.L"]
    bone.rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    bone.keyframe_insert("rotation_quaternion", index=1, frame=12)
    whole = tuple(float(frame) for frame in range(1, 21))
    before = looks(human.mesh_object, whole)
    assert "1 channel keyed on every frame" in fix(CHECK, human.mesh_object, "reorient_bones")
    assert largest_change(before, looks(human.mesh_object, whole)) <= SAME


def test_a_single_keyed_component_gets_the_other_two(human: Human) -> None:
    rig = human.armature_object
    turn_bones(rig, "WORLD")
    bone = rig.pose.bones["upperarm01.L"]
    bone.location = (0.1, -0.05, 0.02)
    for frame, value in ((1, 0.0), (9, 0.2)):
        bone.location.x = value
        bone.keyframe_insert("location", index=0, frame=frame)
    before = looks(human.mesh_object)
    fix(CHECK, human.mesh_object, "reorient_bones")
    assert largest_change(before, looks(human.mesh_object)) <= SAME


def test_what_hangs_on_the_bones_stays_where_it_was(human: Human) -> None:
    rig = human.armature_object
    turn_bones(rig, "WORLD")
    hat = bpy.data.objects.new("Hat", None)
    bpy.context.scene.collection.objects.link(hat)
    hat.parent, hat.parent_type, hat.parent_bone = rig, "BONE", "lowerarm01.L"
    hat.location = (0.1, 0.2, 0.3)
    shape = rig.pose.bones["upperarm01.L"]
    shape.custom_shape, shape.use_custom_shape_bone_size = hat, False
    shape.custom_shape_translation = (0.1, 0.0, 0.2)
    shape.custom_shape_rotation_euler = (0.3, 0.4, 0.5)
    animate(rig)
    bpy.context.scene.frame_set(8)

    def places() -> list[np.ndarray]:
        bpy.context.view_layer.update()
        own = Matrix.LocRotScale(
            shape.custom_shape_translation, shape.custom_shape_rotation_euler, None
        )
        return [np.array(hat.matrix_world), np.array(shape.matrix @ own)]

    before = places()
    fix(CHECK, human.mesh_object, "reorient_bones")
    for one, other in zip(before, places(), strict=True):
        assert np.allclose(one, other, atol=2e-5)  # float32 matrices; metres


def constrain(rig: bpy.types.Object) -> None:
    constraint = rig.pose.bones["lowerarm01.L"].constraints.new("COPY_ROTATION")
    constraint.target, constraint.subtarget = rig, "head"


def solve_inverse_kinematics(rig: bpy.types.Object) -> None:
    rig.pose.bones["wrist.L"].constraints.new("IK").chain_count = 3


def drive(rig: bpy.types.Object) -> None:
    rig.pose.bones["lowerarm01.L"].driver_add("rotation_quaternion", 1)


def read_by_driver(rig: bpy.types.Object) -> None:
    variable = rig.driver_add("location", 0).driver.variables.new()
    variable.targets[0].id = rig
    variable.targets[0].data_path = 'pose.bones["lowerarm01.L"].rotation_quaternion[1]'


def bend(rig: bpy.types.Object) -> None:
    rig.data.bones["lowerarm01.L"].bbone_segments = 3


def inherit_otherwise(rig: bpy.types.Object) -> None:
    rig.data.bones["lowerarm02.L"].inherit_scale = "AVERAGE"
    rig.pose.bones["lowerarm01.L"].scale = (1.1, 1.1, 1.1)


def limit_another_in_its_space(rig: bpy.types.Object) -> None:
    limited: Any = link(bpy.data.objects.new("Limited", None)).constraints.new("LIMIT_LOCATION")
    limited.owner_space, limited.space_object = "CUSTOM", rig
    limited.space_subtarget = "lowerarm01.L"


def hook_to_it(rig: bpy.types.Object) -> None:
    hook: Any = add_grid(name="Hooked").modifiers.new("Hook", "HOOK")
    hook.object, hook.subtarget = rig, "lowerarm01.L"


def add_noise(rig: bpy.types.Object) -> None:
    animate(rig)
    curves = played_actions(rig)[0].curves
    path = 'pose.bones["lowerarm01.L"].rotation_quaternion'
    next(curve for curve in curves if curve.data_path == path).modifiers.new("NOISE")


@pytest.mark.parametrize(
    ("plant", "named"),
    [
        (constrain, "lowerarm01.L"),
        (solve_inverse_kinematics, "lowerarm02.L"),
        (drive, "lowerarm01.L"),
        (read_by_driver, "lowerarm01.L"),
        (bend, "lowerarm01.L"),
        (inherit_otherwise, "lowerarm02.L"),
        (limit_another_in_its_space, "lowerarm01.L"),
        (hook_to_it, "lowerarm01.L"),
        (add_noise, "lowerarm01.L"),
    ],
)
def test_a_bone_that_something_holds_by_its_axes_is_refused_by_name(
    plant: Callable[[Any], None], named: str, human: Human
) -> None:
    turn_bones(human.armature_object, "WORLD")
    plant(human.armature_object)
    before = description(human.mesh_object), read_skeleton(human.armature_object).rest
    (issue,) = found_by(CHECK, human.mesh_object)
    assert "reorient_bones" not in {each.name for each in issue.fixes}, "a button that would refuse"
    assert named in issue.message.split("Reorient Bones cannot mend it:")[1]
    with pytest.raises(FixError, match=named):
        fix(CHECK, human.mesh_object, "reorient_bones")
    assert description(human.mesh_object) == before[0]
    assert np.array_equal(read_skeleton(human.armature_object).rest, before[1])


def test_inherit_scale_does_not_matter_where_nothing_is_scaled(human: Human) -> None:
    """As bones of Maya's FBX files have it."""
    turn_bones(human.armature_object, "WORLD")
    for bone in human.armature_object.data.bones:
        bone.inherit_scale = "NONE"
    animate(human.armature_object)
    for bone in human.armature_object.pose.bones:
        bone.scale = (1.0, 1.0, 1.0)
    for curve in list(played_actions(human.armature_object)[0].curves):
        if curve.data_path.endswith("scale"):
            played_actions(human.armature_object)[0].curves.remove(curve)
    before = looks(human.mesh_object)
    fix(CHECK, human.mesh_object, "reorient_bones")
    assert largest_change(before, looks(human.mesh_object)) <= SAME


def test_no_button_where_no_bone_would_turn() -> None:
    """A root across its limbs, whose children run to all sides."""
    rig = add_armature(("Root", "A1", "A2", "A3", "B1", "B2"))
    ends = {
        "Root": ((0, 0, 0), (0.5, 0, 0), None),
        "A1": ((0, 0, 0.5), (0, 0, 1), "Root"),
        "A2": ((0, 0, 1), (0, 0, 1.5), "A1"),
        "A3": ((0, 0, 1.5), (0, 0, 2), "A2"),
        "B1": ((0.1, 0, 0.5), (0.1, 0, 0.6), "Root"),
        "B2": ((0.1, 0, 0.6), (0.1, 0, 0.7), "B1"),
    }
    with edit_mode(rig):
        bones = rig.data.edit_bones
        for name, (head, tail, parent) in ends.items():
            bones[name].parent = bones[parent] if parent else None
            bones[name].head, bones[name].tail = head, tail
    obj = add_grid()
    for name in ends:
        obj.vertex_groups.new(name=name).add(list(range(36)), 0.2, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    (issue,) = found_by(CHECK, obj)
    assert issue.bones == ("Root",)
    assert not issue.fixes
    assert "No bone would turn" in issue.message


def test_an_action_of_another_armature_is_not_touched(human: Human) -> None:
    turn_bones(human.armature_object, "WORLD")
    animate(human.armature_object)
    linked_copy(human.armature_object, own_data=True)
    with pytest.raises(FixError, match=r"Human Rig\.001"):
        fix(CHECK, human.mesh_object, "reorient_bones")


def test_objects_that_share_the_armature_keep_their_poses(human: Human) -> None:
    turn_bones(human.armature_object, "WORLD")
    twin = linked_copy(human.armature_object)
    twin.pose.bones["upperarm01.L"].rotation_quaternion = (0.8, 0.0, 0.6, 0.0)
    bpy.context.view_layer.update()
    rest = np.array(twin.data.bones["upperarm01.L"].matrix_local)
    before = np.array(twin.pose.bones["upperarm01.L"].matrix) @ np.linalg.inv(rest)
    fix(CHECK, human.mesh_object, "reorient_bones")
    bpy.context.view_layer.update()
    rest = np.array(twin.data.bones["upperarm01.L"].matrix_local)
    after = np.array(twin.pose.bones["upperarm01.L"].matrix) @ np.linalg.inv(rest)
    assert np.allclose(after, before, atol=2e-5)  # Blender's rest bones


def test_a_connected_bone_that_comes_loose_keeps_its_head(human: Human) -> None:
    """Blender plays no location of a connected bone: its keys must not wake up."""
    rig = human.armature_object
    turn_bones(rig, "WORLD")
    with edit_mode(rig):
        bones = rig.data.edit_bones
        # The tail is across the limb; a child that is connected to it starts there.
        bones["lowerarm02.L"].use_connect = True
    rig.pose.bones["lowerarm02.L"].location = (0.3, 0.3, 0.3)
    animate(rig)
    before = looks(human.mesh_object)
    fix(CHECK, human.mesh_object, "reorient_bones")
    assert largest_change(before, looks(human.mesh_object)) <= SAME


def test_mode_active_object_and_hiding_are_as_they_were(human: Human) -> None:
    rig, body = human.armature_object, human.mesh_object
    turn_bones(rig, "WORLD")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    rig.hide_viewport = True
    bpy.context.view_layer.objects.active = body
    fix(CHECK, body, "reorient_bones")
    assert (rig.mode, rig.hide_viewport) == ("POSE", True)
    assert bpy.context.view_layer.objects.active == body
    assert len(bpy.data.scenes) == 1


def test_limb_axis_of_the_old_axes_is_taken_back(human: Human) -> None:
    straighten_head(human.armature_object)
    turn_bones(human.armature_object, "X")
    human.mesh_object.dq_compensation.limb_axis = "Z"
    assert "Limb Axis is Automatic now for Human" in fix(CHECK, human.mesh_object, "reorient_bones")
    assert not found_by(CHECK, human.mesh_object)


@pytest.mark.parametrize("kind", ["keyed", "beside keys"])
def test_a_pose_without_a_key_looks_as_before(kind: str) -> None:
    """Edit Mode, in which bones turn, plays the animation."""
    limb, rig = turned_limb()
    limb.dq_compensation.limb_axis = "-Z"
    bone = rig.pose.bones["Lower"]
    bone.rotation_mode = "QUATERNION"
    for frame in (1, 6):
        bone.rotation_quaternion = Quaternion((1.0, 0.0, 0.0), 0.1 * frame)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.context.scene.frame_set(3)
    if kind == "beside keys":
        bone.rotation_quaternion = Quaternion((1.0, 0.0, 0.0), 0.9)
    bpy.context.view_layer.update()
    before = evaluated_positions(limb)
    (issue,) = found_by(CHECK, limb)
    (result,) = api.fix(limb, CHECK.name, key=issue.key, fix="reorient_bones", agree=True)
    assert result.state == "FIXED"
    bpy.context.view_layer.update()
    assert largest_change([before], [evaluated_positions(limb)]) < SAME

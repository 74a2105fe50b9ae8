"""Scaled bones are found by what scales them, and cleared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.setup_check.checks.bone_scale import CHECK
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable
from tests.blender.scene_builders import add_armature, link
from tests.limb import build_posed_limb
from tests.setup_check.animated_human import add_child, find, fix, world_positions
from tests.setup_check.plant_bone_scale import PLANTED, forearm
from tests.setup_check.test_unweighted_vertices import dense_weights
from tests.setup_check.test_unweighted_vertices import subject_of as subject_of_limb

FOREARM = "lowerarm01.L"


def test_a_clean_human_has_no_finding(human: Human) -> None:
    forearm(human).rotation_quaternion = (0.9, 0.4, 0.1, 0.0)
    forearm(human).keyframe_insert("scale", frame=1)
    assert not find(CHECK, human)


@pytest.mark.parametrize(
    ("variant", "key", "severity"),
    [
        ("posed", "pose", "WARNING"),
        ("negative", "pose", "ERROR"),
        ("keyed", "keys", "WARNING"),
        ("driven", "drivers", "INFORMATION"),
        ("constrained", "constraints", "INFORMATION"),
    ],
)
def test_what_scales_a_bone_is_named(human: Human, variant: str, key: str, severity: str) -> None:
    PLANTED[f"bone_scale/{variant}"](human)
    found = find(CHECK, human)
    assert set(found) == {key}
    assert found[key].severity == severity
    assert FOREARM in found[key].bones
    assert FOREARM in found[key].message


def test_bones_that_inherit_a_scale_are_not_blamed(human: Human) -> None:
    PLANTED["bone_scale/posed"](human)
    assert find(CHECK, human)["pose"].bones == (FOREARM,)


def test_children_of_a_constrained_bone_are_scaled_by_its_constraint(human: Human) -> None:
    PLANTED["bone_scale/constrained"](human)
    issue = find(CHECK, human)["constraints"]
    assert {"lowerarm02.L", "wrist.L"} <= set(issue.bones)
    assert f"Limit Scale of {FOREARM}" in issue.message


def test_a_control_bone_that_moves_nothing_may_be_scaled(human: Human) -> None:
    rig = human.armature_object
    leaf = next(bone for bone in rig.data.bones if not bone.children)
    leaf.use_deform = False
    rig.pose.bones[leaf.name].scale = (2.0, 2.0, 2.0)
    assert not find(CHECK, human)
    follower = forearm(human).constraints.new("COPY_SCALE")
    follower.target, follower.subtarget = rig, leaf.name
    assert find(CHECK, human)["pose"].bones == (leaf.name,)


def test_clearing_the_pose_gives_the_unscaled_one(human: Human) -> None:
    unscaled = world_positions(human.mesh_object)
    PLANTED["bone_scale/posed"](human)
    assert "look different" in find(CHECK, human)["pose"].fixes[0].question
    assert fix(CHECK, human, "pose") == "Cleared the scale of 1 bone of Human Rig."
    assert not find(CHECK, human)
    np.testing.assert_array_equal(world_positions(human.mesh_object), unscaled)


@pytest.mark.parametrize(("variant", "key"), [("posed", "pose"), ("keyed", "keys")])
def test_what_hangs_on_the_bones_from_outside_is_named(
    human: Human, variant: str, key: str
) -> None:
    """On a bone below the scaled one, too; what hangs on the other arm is none."""
    PLANTED[f"bone_scale/{variant}"](human)
    rig = human.armature_object
    assert "follows" not in find(CHECK, human)[key].fixes[0].question
    for name, bone in (("Watch", "wrist.L"), ("Ring", "wrist.R")):
        add_child(rig, bone).name = name
    glove = add_armature(("Glove",), name="Glove Rig")
    follow = glove.pose.bones["Glove"].constraints.new("COPY_TRANSFORMS")
    follow.target, follow.subtarget = rig, FOREARM
    reader = link(bpy.data.objects.new("Reader", None))
    variable = reader.driver_add("location", 0).driver.variables.new()
    variable.type, target = "TRANSFORMS", variable.targets[0]
    target.id, target.bone_target = rig, "wrist.L"
    question = find(CHECK, human)[key].fixes[0].question
    said = "What follows it changes its place or size, too: Glove (Glove Rig), Reader, Watch."
    assert said in question


def test_removing_keys_leaves_the_other_channels(human: Human) -> None:
    rig = human.armature_object
    PLANTED["bone_scale/keyed"](human)
    forearm(human).keyframe_insert("location", frame=1)
    action: Any = rig.animation_data.action
    rig.animation_data.nla_tracks.new().strips.new("walk", 1, action)
    issue = find(CHECK, human)["keys"]
    assert "6 keys" in issue.fixes[0].question
    assert action.name in issue.fixes[0].question
    assert "6 keys" in fix(CHECK, human, "keys")
    assert not find(CHECK, human)
    bpy.context.scene.frame_set(10)
    assert tuple(forearm(human).scale) == (1.0, 1.0, 1.0)
    forearm(human).location.x = 5.0
    bpy.context.scene.frame_set(1)
    assert forearm(human).location.x == 0.0  # still keyed


def test_keys_in_a_stored_action_are_found(human: Human) -> None:
    PLANTED["bone_scale/keyed"](human)
    action = human.armature_object.animation_data.action
    action.use_fake_user = True
    human.armature_object.animation_data_clear()
    forearm(human).scale = (1.0, 1.0, 1.0)
    assert action.name in find(CHECK, human)["keys"].message


def test_who_else_plays_the_action_is_named_before(human: Human) -> None:
    PLANTED["bone_scale/keyed"](human)
    action: Any = human.armature_object.animation_data.action
    twin: Any = link(bpy.data.objects.new("Twin", human.armature_object.data))
    twin.animation_data_create().action = action
    if hasattr(action, "slots"):
        twin.animation_data.action_slot = action.slots[0]
    assert "Twin plays the same action" in find(CHECK, human)["keys"].fixes[0].question


def test_a_character_without_an_armature_has_no_finding(human: Human) -> None:
    PLANTED["bone_scale/posed"](human)
    human.mesh_object.modifiers[0].object = None
    assert not find(CHECK, human)


@pytest.mark.usefixtures("addon")
@pytest.mark.parametrize("how", ["pose", "keys"])
def test_a_root_that_scales_the_whole_character_is_no_finding(how: str) -> None:
    """All bones have one scale: twice the unscaled result, within float32."""
    limb, rig = build_posed_limb()
    enable(limb)
    before = api.evaluate(limb)
    root = rig.pose.bones["Upper"]
    root.scale = (2.0, 2.0, 2.0)
    if how == "keys":
        root.keyframe_insert("scale", frame=1)
    bpy.context.view_layer.update()
    np.testing.assert_allclose(api.evaluate(limb), 2.0 * before, atol=2e-5)
    assert not CHECK.find(subject_of_limb(limb))
    root.scale = (2.0, 2.0, 1.0)
    if how == "keys":
        root.keyframe_insert("scale", frame=1)
    bpy.context.view_layer.update()
    assert CHECK.find(subject_of_limb(limb))


@pytest.mark.usefixtures("addon")
def test_a_bone_that_takes_no_scale_is_not_scaled_with_the_root() -> None:
    limb, rig = build_posed_limb()
    rig.data.bones["Lower"].inherit_scale = "NONE"
    rig.pose.bones["Upper"].scale = (2.0, 2.0, 2.0)
    assert CHECK.find(subject_of_limb(limb))


@pytest.mark.usefixtures("addon")
def test_only_bones_that_move_the_mesh_count() -> None:
    limb, rig = build_posed_limb()
    limb.vertex_groups.remove(limb.vertex_groups["Hand"])
    rig.pose.bones["Hand"].scale = (1.5, 1.0, 1.0)
    assert not CHECK.find(subject_of_limb(limb))
    limb.vertex_groups.remove(limb.vertex_groups["Lower"])
    rig.pose.bones["Upper"].scale = (1.5, 1.0, 1.0)
    assert not CHECK.find(subject_of_limb(limb)), "one bone alone: nothing is blended"


@pytest.mark.usefixtures("addon")
def test_the_question_counts_all_keys_that_go() -> None:
    limb, rig = build_posed_limb()
    bone, rig.animation_data_create().action = rig.pose.bones["Lower"], None
    for name, size in (("Squash", 1.3), ("Walk", 1.0)):
        action = bpy.data.actions.new(name)
        action.use_fake_user = True
        rig.animation_data.action = action
        for frame in (1, 10):
            bone.scale = (1.0, size if frame == 10 else 1.0, 1.0)
            bone.keyframe_insert("scale", frame=frame)
    (issue,) = CHECK.find(subject_of_limb(limb))
    assert "2 keys scale 1 bone of Limb Rig (Lower) in Squash." in issue.message
    assert "12 keys of the scale of 1 bone are removed from" in issue.fixes[0].question
    assert "Walk" in issue.fixes[0].question
    assert "12 keys" in CHECK.fix("clear_scale_keys", subject_of_limb(limb), issue)


def rigid_pieces() -> tuple[bpy.types.Object, bpy.types.Object]:
    """The limb, posed, each vertex with its strongest bone alone, as a robot has."""
    limb, rig = build_posed_limb()
    bones = dense_weights(limb).argmax(axis=1)
    for index, group in enumerate(limb.vertex_groups):
        group.remove(range(len(bones)))
        group.add(np.flatnonzero(bones == index).tolist(), 1.0, "REPLACE")
    bpy.context.view_layer.update()
    return limb, rig


def keep_scale(bone: bpy.types.PoseBone) -> None:
    bone.scale = (1.17, 1.0, 0.8)


def key_scale(bone: bpy.types.PoseBone) -> None:
    for frame, size in ((1, 1.0), (10, 1.17)):
        bone.scale = (size, 1.0, 1.0)
        bone.keyframe_insert("scale", frame=frame)
    bpy.context.scene.frame_set(10)


def drive_scale(bone: bpy.types.PoseBone) -> None:
    bone.driver_add("scale", 0).driver.expression = "1.17"


def constrain_scale(bone: bpy.types.PoseBone) -> None:
    constraint = bone.constraints.new("LIMIT_SCALE")
    constraint.use_min_x, constraint.min_x = True, 1.3


def mirror(bone: bpy.types.PoseBone) -> None:
    bone.scale = (1.0, -1.0, 1.0)


def hide(bone: bpy.types.PoseBone) -> None:
    bone.scale = (0.0, 0.0, 0.0)


@pytest.mark.usefixtures("addon")
@pytest.mark.parametrize(
    "scale", [keep_scale, key_scale, drive_scale, constrain_scale, mirror, hide]
)
def test_a_scale_where_nothing_blends_is_left_to_the_animator(
    scale: Callable[[bpy.types.PoseBone], None],
) -> None:
    """What follows one bone alone is where plain skinning has it: 1e-5 of two metres."""
    limb, rig = rigid_pieces()
    scale(rig.pose.bones["Lower"])
    assert not CHECK.find(subject_of_limb(limb))
    plain = api.evaluate(limb, method="LINEAR")
    for method in ("DUAL_QUATERNION", "COMPENSATED"):
        np.testing.assert_allclose(api.evaluate(limb, method=method), plain, atol=2e-5)


@pytest.mark.usefixtures("addon")
def test_a_scale_of_one_piece_counts_where_another_bone_pulls() -> None:
    """The hand takes the scale of the forearm; one vertex follows it and the upper arm."""
    limb, rig = rigid_pieces()
    rig.pose.bones["Lower"].scale = (1.17, 1.0, 0.8)
    last = len(limb.data.vertices) - 1
    limb.vertex_groups["Upper"].add([last], 0.5, "REPLACE")
    bpy.context.view_layer.update()
    (issue,) = CHECK.find(subject_of_limb(limb))
    assert issue.bones == ("Lower",)
    rig.data.bones["Hand"].inherit_scale = "NONE"
    bpy.context.view_layer.update()
    assert not CHECK.find(subject_of_limb(limb))

"""The curves of bones are found wherever an action is played from, in every Blender version."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from dq_compensation.scene.blender.animation_curves import (
    animated_paths,
    bone_channel,
    bone_curves,
    bone_drivers,
    key_points,
    multiply_values,
    played_actions,
    stored_actions,
)
from tests.blender.scene_builders import add_armature


def _keyed(name: str = "Rig") -> tuple[bpy.types.Object, bpy.types.Action]:
    rig = add_armature(name=name)
    bone = rig.pose.bones["Upper"]
    for frame in (1, 10):
        bone.location = (frame, 2.0, -frame)
        bone.keyframe_insert("location", frame=frame)
        bone.keyframe_insert("scale", frame=frame)
    return rig, rig.animation_data.action


def _play_too(owner: bpy.types.ID, action: Any) -> None:
    animation: Any = owner.animation_data_create()
    animation.action = action
    if hasattr(action, "slots"):
        animation.action_slot = action.slots[0]


def test_the_channels_of_a_bone_are_separated_from_everything_else(empty_file: None) -> None:
    assert bone_channel('pose.bones["Upper"].scale') == ("Upper", "scale")
    assert bone_channel('pose.bones["a\\"b\\\\c]"].location') == ('a"b\\c]', "location")
    assert bone_channel('pose.bones["Upper"]["curl"]') == ("Upper", "")
    assert bone_channel('pose.bones["Upper"].constraints["IK"].influence') is None
    assert bone_channel("location") is None


def test_an_assigned_action_gives_its_bones_curves(empty_file: None) -> None:
    rig, action = _keyed()
    played = played_actions(rig)
    assert [(each.action, each.source) for each in played] == [(action, "ACTION")]
    found = {(each.bone, each.channel, each.index) for each in bone_curves(played)}
    assert found == {("Upper", c, i) for c in ("location", "scale") for i in range(3)}
    assert [each.bone for each in bone_curves(played, "scale")].count("Upper") == 3


def test_strips_and_the_action_put_aside_in_tweak_mode_are_found(empty_file: None) -> None:
    rig, action = _keyed()
    strip = rig.animation_data.nla_tracks.new().strips.new("walk", 1, action)
    rig.animation_data.action = None
    played = played_actions(rig)
    assert [(each.source, each.strips) for each in played] == [("NLA", (strip.name,))]
    rig.pose.bones["Lower"].keyframe_insert("location", frame=3)
    other = rig.animation_data.action
    rig.animation_data.nla_tracks[0].select = strip.select = True
    rig.animation_data.nla_tracks.active = rig.animation_data.nla_tracks[0]
    rig.animation_data.use_tweak_mode = True
    assert {each.action for each in played_actions(rig)} == {action, other}


def test_an_action_played_twice_is_listed_once_with_its_other_users(empty_file: None) -> None:
    rig, action = _keyed()
    rig.animation_data.nla_tracks.new().strips.new("walk", 1, action)
    twin = add_armature(name="Twin")
    _play_too(twin, action)
    played = played_actions(rig)
    assert [(each.source, len(each.strips)) for each in played] == [("ACTION", 1)]
    assert played[0].other_users(rig) == ["Twin"]


def test_actions_kept_for_a_rig_are_found_and_those_of_others_are_not(empty_file: None) -> None:
    rig, action = _keyed()
    action.use_fake_user = True
    assert not stored_actions(rig)
    rig.animation_data_clear()
    assert [each.action for each in stored_actions(rig)] == [action]
    assert not stored_actions(add_armature(["Spine"], name="Other"))


def test_multiplying_keys_multiplies_the_curve_between_them(empty_file: None) -> None:
    rig, _ = _keyed()
    curve = next(bone_curves(played_actions(rig), "location")).curve
    curve.keyframe_points[0].handle_right_type = "FREE"
    curve.keyframe_points[0].handle_right = (6.0, 7.0)
    frames = np.linspace(1, 10, 19)
    before = np.array([curve.evaluate(frame) for frame in frames])
    multiply_values(curve, -0.25)
    # float32, and Blender solves for the frame on the curve: a few steps of rounding.
    np.testing.assert_allclose(
        [curve.evaluate(frame) for frame in frames], -0.25 * before, atol=1e-5
    )
    np.testing.assert_allclose(key_points(curve), [[1, -0.25], [10, -2.5]])


def test_drivers_are_named_as_what_animates(empty_file: None) -> None:
    rig, action = _keyed()
    rig.driver_add("scale", 1)
    rig.pose.bones["Lower"].driver_add("scale", 2)
    rig.keyframe_insert("location", frame=1)
    assert [(each.bone, each.index) for each in bone_drivers(rig, "scale")] == [("Lower", 2)]
    animated = animated_paths(rig)
    assert animated["scale"] == "a driver"
    assert animated["location"] == f"the action {action.name}"

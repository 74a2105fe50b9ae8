"""The report of a character: against Blender's own modifier, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.wording import rounded
from tests.blender.bake_scenes import native
from tests.blender.command_runs import CommandLine, save_limb
from tests.kept_files import new_file_with_human
from tests.limb import BONE_LENGTH, RADIUS, build_posed_limb

# Of a limb of 1500 mm in float32.
EXACT = 1e-2


@pytest.fixture
def limb(addon: None) -> bpy.types.Object:
    return build_posed_limb()[0]


def joints_of(report: api.CharacterReport) -> dict[str, api.JointQuality]:
    return {joint.bone: joint for joint in report.joints}


def left_out_of(report: api.CharacterReport) -> dict[str, tuple[str, ...]]:
    return {each.reason: each.bones for each in report.left_out}


def test_bulge_and_pinch_are_those_of_blender_s_modifier(limb: bpy.types.Object) -> None:
    """The joint is half of 1 m along X, and its bone turns about its own X."""
    found = joints_of(api.report(limb))["Lower"]
    for bone in limb.parent.pose.bones:
        bone.rotation_euler = (np.pi / 2.0, 0.0, 0.0) if bone.name == "Lower" else (0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    head = np.array(limb.parent.pose.bones["Lower"].head)
    ray = np.array(limb.parent.pose.bones["Lower"].tail - limb.parent.pose.bones["Lower"].head)
    ray /= np.linalg.norm(ray)
    rest = np.array([vertex.co for vertex in limb.data.vertices])
    shared = (rest - head) @ ray < -1e-6  # on the outer side
    shared &= np.array([len(vertex.groups) > 1 for vertex in limb.data.vertices])
    shared &= np.abs(rest[:, 0] - BONE_LENGTH) < BONE_LENGTH / 2.0
    for preserved, expected in ((False, found.linear), (True, found.preserve_volume)):
        limb.modifiers["Armature"].use_deform_preserve_volume = preserved
        from_joint = native(limb)[shared] - head
        distances = [
            np.linalg.norm(from_joint - np.maximum(from_joint @ axis, 0.0)[:, None] * axis, axis=1)
            for axis in (ray, np.array([-1.0, 0.0, 0.0]))
        ]
        farther = 1000.0 * (np.minimum(*distances) - RADIUS)
        assert expected.bulge == pytest.approx(max(0.0, farther.max()), abs=EXACT)
        assert expected.pinch == pytest.approx(max(0.0, -farther.min()), abs=EXACT)
    assert found.vertices == np.count_nonzero(shared)
    assert found.radius == pytest.approx(1000.0 * RADIUS, abs=EXACT)
    assert found.own.bulge < 0.5 * found.preserve_volume.bulge
    assert found.linear.pinch > 10.0


@pytest.mark.parametrize("enabled", [False, True])
def test_nothing_is_left_behind(limb: bpy.types.Object, enabled: bool) -> None:
    if enabled:
        api.enable(limb)
    bpy.context.view_layer.update()

    def state() -> list[object]:
        collections = (bpy.data.objects, bpy.data.meshes, bpy.data.scenes, bpy.data.node_groups)
        bones = [tuple(bone.rotation_euler) for bone in limb.parent.pose.bones]
        shown = [(m.name, m.show_viewport) for m in limb.modifiers]
        return [[each.name for each in found] for found in collections] + [bones, shown]

    before, positions = state(), native(limb)
    api.report(limb)
    bpy.context.view_layer.update()
    assert state() == before
    assert np.array_equal(native(limb), positions)
    assert api.settings(limb).enabled == enabled


def test_numbers_have_no_exponent() -> None:
    shown = {4123.0: "4,123", 99.94: "99.9", 1.5: "1.5", 0.012345: "0.0123", 1e-7: "0.0000001"}
    assert {value: rounded(value) for value in (*shown, 0.0)} == {**shown, 0.0: "0"}


def test_bones_are_chosen_by_name(limb: bpy.types.Object) -> None:
    assert set(joints_of(api.report(limb))) == {"Lower", "Hand"}
    assert set(joints_of(api.report(limb, bones="Hand"))) == {"Hand"}
    with pytest.raises(api.UserError, match="Limb Rig has no bone Wing"):
        api.report(limb, bones=["Hand", "Wing"])
    with pytest.raises(api.UserError, match="from 1 to 180"):
        api.report(limb, degrees=0.0)


def test_what_slows_a_character_is_said(limb: bpy.types.Object) -> None:
    assert api.report(limb).slow_parts == ()
    limb.modifiers.new("Smooth Skin", "SUBSURF").levels = 1
    limb.modifiers.new("Ripple", "WAVE")
    limb.parent.pose.bones["Hand"].driver_add("location", 0)
    limb.dq_compensation.method = "SPHERICAL_JOINT"
    for number in range(3):
        copy = limb.copy()
        copy.name = f"Shirt {number}"
        bpy.context.scene.collection.objects.link(copy)
    meshes, subdivided, ripple, skins, driver = api.report(limb).slow_parts
    assert meshes.startswith("4 meshes follow Limb Rig.")
    assert subdivided.startswith("Smooth Skin of Limb makes 4 faces of each")
    assert ripple.startswith("Ripple after the Armature modifier of Limb")
    assert skins.startswith("Limb needs the method Spherical Joint")
    assert driver == "1 driver of Limb Rig and Limb: computed in every frame."


@pytest.mark.newest_only
def test_the_reason_for_own_skinning_is_the_one_that_acts(limb: bpy.types.Object) -> None:
    armature, chosen = limb.modifiers["Armature"], limb.dq_compensation
    # A blend group without weights blends nothing.
    chosen.blend_group = "None of these"
    assert api.report(limb).slow_parts == ()
    armature.vertex_group = "Hand"
    assert api.report(limb).slow_parts == ()
    chosen.blend_group = "Hand"
    assert api.report(limb).slow_parts == ()
    limb.parent.data.bones["Hand"].bbone_segments = 4
    assert api.report(limb).slow_parts == ()
    chosen.softness = 0.5
    (reason,) = api.report(limb).slow_parts
    assert reason.startswith("Limb needs the blend group Hand:")
    armature.vertex_group, chosen.method = "", "LINEAR"
    assert api.report(limb).slow_parts == ()


def test_the_command_prints_a_table_or_json(
    addon: None, command: CommandLine, tmp_path: Path
) -> None:
    path = save_limb(tmp_path / "hero.blend")
    outcome = command("report", "--file", path, "--bend", 60)
    assert outcome.code == 0
    assert "Joints bent by 60 degrees" in outcome.output
    outcome = command("report", "--file", path, "--bone", "Hand", "--json")
    (facts,) = outcome.document["files"][0]["objects"]
    assert (facts["name"], facts["degrees"]) == ("Limb", 90.0)
    assert [joint["bone"] for joint in facts["joints"]] == ["Hand"]
    expected = api.report(bpy.data.objects["Limb"], bones="Hand").facts()
    assert facts == {"name": "Limb"} | json.loads(json.dumps(expected))
    assert command("report", "--file", path, "--bend", 500).code == 2


@pytest.mark.usefixtures("addon")
def test_joints_of_twist_bones_are_measured_only_if_they_are_named() -> None:
    body, _ = new_file_with_human("default")
    whole = api.report(body)
    bones = set(joints_of(whole))
    assert {"lowerarm01.L", "wrist.L", "finger1-2.L", "lowerleg01.R"} <= bones
    pieces = {
        f"{name}02.{side}"
        for name in ("upperarm", "lowerarm", "upperleg", "lowerleg")
        for side in "LR"
    }
    assert not bones & pieces
    assert set(left_out_of(whole)["pieces of an arm or a leg"]) == pieces
    assert "Not bent, as pieces of an arm or a leg: " in whole.table()
    named = api.report(body, bones="lowerarm02.L")
    assert (set(joints_of(named)), named.left_out) == ({"lowerarm02.L"}, ())


def test_both_halves_of_a_leg_are_measured_though_numbers_tell_them_apart(addon: None) -> None:
    body, armature = new_file_with_human("game_engine")
    for side in "lr":
        armature.data.bones[f"thigh_{side}"].name = f"leg1_{side}"
        armature.data.bones[f"calf_{side}"].name = f"leg2_{side}"
    bpy.context.view_layer.update()
    assert {"leg2_l", "leg2_r"} <= set(joints_of(api.report(body)))


def test_bones_whose_joint_cannot_be_measured_are_named_with_the_reason(addon: None) -> None:
    body, _ = new_file_with_human("game_engine")
    whole = api.report(body)
    hips = {"thigh_l", "thigh_r", "clavicle_l", "clavicle_r", "spine_01"}
    assert {reason: set(bones) for reason, bones in left_out_of(whole).items()} == {
        "another part of the body begins there": hips,
        "too little skin bends there": {"spine_02"},
    }
    weighted = {body.vertex_groups[g.group].name for v in body.data.vertices for g in v.groups}
    named = {bone for each in whole.left_out for bone in each.bones} | set(joints_of(whole))
    # Nothing is before the pelvis.
    assert weighted - named == {"pelvis"}
    some = api.report(body, bones=["thigh_l", "Root", "calf_l"])
    assert set(joints_of(some)) == {"calf_l"}
    assert left_out_of(some) == {
        "another part of the body begins there": ("thigh_l",),
        "they have no joint that moves skin": ("Root",),
    }
    assert "Not bent, as another part of the body begins there: thigh_l." in some.table()

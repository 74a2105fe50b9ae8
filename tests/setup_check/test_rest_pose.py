"""A rest pose that no frame of the actions comes near to is named; others raise no alarm."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation.setup_check.checks.rest_pose import CHECK
from human.model import build_human
from human.motion import key_motion
from tests.blender.scene_builders import edit_mode
from tests.rigify_human import new_file_with_rigify_human

from .conftest import Human
from .moving_rigs import found_by
from .plant_rest_pose import folded, key_angle

pytestmark = pytest.mark.usefixtures("addon")


def test_elbows_that_are_never_near_rest_are_named_with_the_least_angle(human: Human) -> None:
    folded(human)
    (issue,) = found_by(CHECK, human.mesh_object)
    assert issue.severity == "WARNING"
    assert set(issue.bones) == {"lowerarm01.L", "lowerarm01.R"}
    assert "(160 degrees)" in issue.message


@pytest.mark.parametrize(
    ("degrees", "severity"), [(95.0, None), (125.0, "INFORMATION"), (150.0, "WARNING")]
)
def test_it_is_graded_by_the_angle(degrees: float, severity: str | None, human: Human) -> None:
    """Arms of a T-pose that hang, and knees of somebody who sits, are as they should be."""
    folded(human, degrees)
    found = found_by(CHECK, human.mesh_object)
    assert [issue.severity for issue in found] == ([severity] if severity else [])


def test_one_frame_of_one_action_near_rest_is_enough(human: Human) -> None:
    folded(human)
    rig = human.armature_object
    rig.animation_data.action.use_fake_user = True
    rig.animation_data.action = None
    folded(human, 20.0)
    assert not found_by(CHECK, human.mesh_object)
    near = rig.animation_data.action
    rig.animation_data.action = None
    bpy.data.actions.remove(near)
    assert found_by(CHECK, human.mesh_object)  # of what is only stored
    bpy.data.actions.remove(bpy.data.actions[0])
    for side in "LR":
        bone = rig.pose.bones[f"lowerarm01.{side}"]
        key_angle(bone, {**dict.fromkeys(range(1, 1000, 20), 160.0), 500: 30.0})
    assert not found_by(CHECK, human.mesh_object)


@pytest.mark.parametrize(
    ("off", "severity"), [(0.01, None), (0.06, "INFORMATION"), (0.2, "WARNING")]
)
def test_bones_that_are_always_pulled_off_are_named(
    off: float, severity: str | None, human: Human
) -> None:
    """The skin of an elbow has a radius of 4 cm."""
    with edit_mode(human.armature_object) as armature:
        for side in "LR":
            armature.data.edit_bones[f"lowerarm01.{side}"].use_connect = False
    for side in "LR":
        bone = human.armature_object.pose.bones[f"lowerarm01.{side}"]
        bone.location.z = off
        bone.keyframe_insert("location", frame=1)
        bone.keyframe_insert("location", frame=9)
    found = found_by(CHECK, human.mesh_object)
    assert [issue.severity for issue in found] == ([severity] if severity else [])
    if found:
        assert f"({100.0 * off:.0f} cm)" in found[0].message


def test_motion_capture_and_motions_of_all_kinds_raise_no_alarm() -> None:
    body, rig = build_human("cmu_mb")
    key_motion(rig, step=5)
    assert not found_by(CHECK, body)


def test_a_character_that_is_turned_as_a_whole_raises_no_alarm(human: Human) -> None:
    """Files with another axis up turn the root in every frame: no skin is bent."""
    root = human.armature_object.pose.bones["root"]
    key_angle(root, {1: 180.0, 9: 180.0})
    assert not found_by(CHECK, human.mesh_object)


@pytest.mark.newest_only
def test_control_rigs_are_left_to_their_constraints() -> None:
    body, rig = new_file_with_rigify_human()
    rng = np.random.default_rng(0)
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = rng.normal(size=4).tolist()
        bone.keyframe_insert("rotation_quaternion", frame=1)
    assert not [issue for issue in found_by(CHECK, body) if issue.severity != "INFORMATION"]

"""Names of helper bones: the side is where Blender looks for it."""

from __future__ import annotations

import pytest

from dq_compensation.pipeline.bones.helper_naming import helper_name, split_side
from dq_compensation.scene.blender.bone_names import flipped_name


@pytest.mark.parametrize(
    ("bone", "name"),
    [
        ("forearm.L", "forearm_helper1.L"),
        ("DEF-forearm.R.001", "forearm_helper1.R.001"),
        ("lowerarm_l", "lowerarm_helper1_l"),
        ("mixamorig:LeftForeArm", "mixamorig:LeftForeArm_helper1"),
        ("Arm-Right", "Arm_helper1-Right"),
        ("spine", "spine_helper1"),
    ],
)
def test_names_tell_the_side(bone: str, name: str) -> None:
    assert helper_name((bone,), "helper1", ()) == name
    assert helper_name((flipped_name(bone),), "helper1", ()) == flipped_name(name)
    assert "".join(split_side(bone)) == bone


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        ("upperleg.L", "spine", "upperleg_spine_helper1.L"),
        ("spine", "LeftLeg", "LeftLeg_spine_helper1"),
        ("LeftArm", "LeftShoulder", "LeftArm_Shoulder_helper1"),
        ("breast.R", "breast.L", "breast_breast_helper1"),
        ("eye_l", "brow_l", "eye_brow_helper1_l"),
    ],
)
def test_names_of_bones_that_are_not_above_each_other(one: str, other: str, name: str) -> None:
    assert helper_name((one, other), "helper1", ()) == name
    flipped = helper_name((flipped_name(one), flipped_name(other)), "helper1", ())
    assert flipped == flipped_name(name)


def test_names_are_free_and_short() -> None:
    assert helper_name(("arm.L",), "helper1", {"arm_helper1.L"}) == "arm_helper1_1.L"
    assert len(helper_name(("ä" * 31 + ".L",), "helper2", ()).encode()) <= 63

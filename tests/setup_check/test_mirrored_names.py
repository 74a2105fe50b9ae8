"""Bones whose names do not mirror although they do are named, on rigs whose names do."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.analysis.mirror_map import mirrored_bones
from dq_compensation.setup_check.checks.mirrored import MIRRORED_NAMES
from human.model import Rig
from tests.blender.scene_builders import edit_mode

from .animated_human import find
from .conftest import Human
from .plant_mirrored_names import one_bone

pytestmark = pytest.mark.usefixtures("addon")

# Blender takes Left and Right before a name for sides, but not L and R.
UNKNOWN_SIDES = {"LThumb", "RThumb", "LHipJoint", "RHipJoint"}


@pytest.mark.parametrize(
    ("rig", "expected"), [("default", set()), ("game_engine", set()), ("cmu_mb", UNKNOWN_SIDES)]
)
def test_what_the_rigs_have(
    rig: Rig, expected: set[str], body_with_rig: Callable[[Rig], Human]
) -> None:
    found = find(MIRRORED_NAMES, body_with_rig(rig))
    assert {name for issue in found.values() for name in issue.bones} == expected


def test_a_name_that_leads_nowhere_is_found_with_the_right_one(human: Human) -> None:
    one_bone(human)
    issue = find(MIRRORED_NAMES, human)["names"]
    assert issue.severity == "INFORMATION"
    assert issue.bones == ("upperarm01.L", "upperarm01_right")
    assert issue.message.startswith("1 pair of bones of Human Rig")
    assert "upperarm01.L and upperarm01_right (not upperarm01.R)." in issue.message


def test_more_than_three_pairs_are_counted(human: Human) -> None:
    bones = human.armature_object.data.bones
    for name in ("upperarm01", "upperarm02", "lowerarm01", "lowerarm02", "wrist"):
        bones[f"{name}.R"].name = f"{name}_right"
    issue = find(MIRRORED_NAMES, human)["names"]
    assert issue.message.startswith("5 pairs of bones")
    assert "and 2 more." in issue.message
    assert len(issue.bones) == 10


def test_a_rig_whose_sides_have_other_names_throughout_is_left_alone(human: Human) -> None:
    for bone in human.armature_object.data.bones:
        bone.name = bone.name.replace(".L", " links").replace(".R", " rechts")
    assert not find(MIRRORED_NAMES, human)


def test_a_bone_without_a_mirror_image_needs_no_other_side(human: Human) -> None:
    """A holster on one hip."""
    with edit_mode(human.armature_object) as armature:
        bone = armature.data.edit_bones.new("holster")
        bone.head, bone.tail = (0.2, 0.0, 0.0), (0.2, 0.0, -0.2)
    assert not find(MIRRORED_NAMES, human)


def test_names_without_a_side_are_both_to_be_renamed(human: Human) -> None:
    """Blender flips a side at an end of a name alone: no name of the other bone would do."""
    bones = human.armature_object.data.bones
    for side in "LR":
        bones[f"upperarm01.{side}"].name = f"upperarm01.{side}_end"
    (issue,) = find(MIRRORED_NAMES, human).values()
    assert "Rename both bones" in issue.message
    assert bpy.utils.flip_name("upperarm01.L_end") == "upperarm01.L_end"


def test_an_armature_without_bones_has_no_mirror_image(
    human: Human, caplog: pytest.LogCaptureFixture
) -> None:
    with edit_mode(human.armature_object):
        for bone in list(human.armature_object.data.edit_bones):
            human.armature_object.data.edit_bones.remove(bone)
    api.check(human.mesh_object)
    assert not [each for each in caplog.records if each.levelname == "ERROR"]
    none = np.zeros((0, 3))
    assert mirrored_bones(none, none).shape == (0,)

"""Bones that are rolled otherwise than their mirror images, where most are rolled alike."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from dq_compensation.setup_check.checks.mirrored import MIRRORED_ROLLS
from human.model import Rig
from tests.blender.scene_builders import edit_mode
from tests.setup_check.plant_mirrored_rolls import rolled

from .conftest import Human
from .moving_rigs import found_by

pytestmark = pytest.mark.usefixtures("addon")


@pytest.mark.parametrize("rig", ["default", "game_engine", "cmu_mb"])
def test_rigs_of_others_are_rolled_alike(body_with_rig: Callable[[Rig], Human], rig: Rig) -> None:
    assert found_by(MIRRORED_ROLLS, body_with_rig(rig).mesh_object) == []


def test_a_rolled_bone_is_named_with_its_image(human: Human) -> None:
    rolled(human)
    (issue,) = found_by(MIRRORED_ROLLS, human.mesh_object)
    assert set(issue.bones) == {"lowerarm01.L", "lowerarm01.R"}
    assert "(40 degrees)" in issue.message
    assert (issue.severity, issue.fixes) == ("INFORMATION", ())


def test_a_side_that_is_rolled_as_a_whole_is_meant(human: Human) -> None:
    """As the right side of rigs whose axes are turned about there."""
    with edit_mode(human.armature_object) as armature:
        for bone in armature.data.edit_bones:
            if bone.name.endswith(".R"):
                bone.roll += math.pi
    assert found_by(MIRRORED_ROLLS, human.mesh_object) == []
    rolled(human)
    (issue,) = found_by(MIRRORED_ROLLS, human.mesh_object)
    assert set(issue.bones) == {"lowerarm01.L", "lowerarm01.R"}

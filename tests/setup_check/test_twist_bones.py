"""Bones that share out a twist along a limb may have wide weights: nobody is to narrow them."""

from __future__ import annotations

import bpy
import pytest

from dq_compensation import api
from tests.setup_check.plant_weight_transition import cylinder

pytestmark = pytest.mark.usefixtures("addon")

TWIST_BONES = [
    ("LeftForeArm", "LeftForeArmTwist"),
    ("l_forearm", "l_forearm_roll_01"),
    ("DEF-forearm.L", "DEF-forearm.L.001"),
]


def transitions(parent: str, child: str, width: float, shift: float = 0.0) -> list[api.Issue]:
    """What is said of the weights of two bones, of equal length and in line."""
    limb, rig = cylinder(width, shift)
    limb.dq_compensation.curve = "MEASURED"
    for old, new in (("upper", parent), ("lower", child)):
        rig.data.bones[old].name = new
    bpy.context.view_layer.update()
    return [issue for issue in api.check(limb) if issue.check == "weight_transition"]


@pytest.mark.parametrize(("parent", "child"), TWIST_BONES)
def test_wide_weights_of_twist_bones_are_right(parent: str, child: str) -> None:
    assert transitions(parent, child, width=2.0) == []


@pytest.mark.parametrize(("parent", "child"), TWIST_BONES)
def test_narrow_ones_are_softened_and_not_fitted(parent: str, child: str) -> None:
    (issue,) = transitions(parent, child, width=0.25)
    assert [fix.name for fix in issue.fixes] == ["soften"]


@pytest.mark.parametrize(
    ("parent", "child"),
    [("ArmTwist", "ForeArm"), ("scroller", "controller"), ("tube1", "pipe2")],
)
def test_wide_weights_of_a_joint_that_bends_are_not(parent: str, child: str) -> None:
    (issue,) = transitions(parent, child, width=2.0)
    assert [fix.name for fix in issue.fixes] == ["reshape"]


def test_where_their_weights_change_says_nothing_of_their_place() -> None:
    assert transitions("LeftForeArm", "LeftForeArmTwist", width=1.2, shift=1.6) == []
    (issue,) = transitions("LeftArm", "LeftForeArm", width=1.2, shift=1.6)
    assert issue.key == "outside"

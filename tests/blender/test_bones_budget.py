"""How many helpers a bake gives: two for each bone behind a joint, where they are worth most."""

from __future__ import annotations

from collections import Counter

import bpy
import pytest

from dq_compensation import api
from dq_compensation.scene.blender.bone_names import flipped_name
from human.model import build_human
from tests.blender.enabled_scenes import enable

# Deforming bones of the rig, and those of them that turn against one above on the skin.
BONES, TURNING = 53, 51


@pytest.fixture
def human(addon: None) -> bpy.types.Object:
    obj, _ = build_human("game_engine")
    enable(obj)
    obj.dq_compensation.use_ball_joints = True
    return obj


def test_the_budget_is_spent_left_and_right_alike(human: bpy.types.Object) -> None:
    """The report says what half and twice as many would leave; that is so, within a fifth."""
    (report,) = api.bake_bones(human, estimate=True)
    assert TURNING < report.bones <= 2 * TURNING
    counts = {joint.bone: joint.helpers for joint in report.joints}
    assert counts == {bone: counts[flipped_name(bone)] for bone in counts}
    assert len(Counter(counts.values())) > 2
    (fewer, more_left), (more, less_left) = report.other_budgets
    assert (fewer, more) == (report.bones // 2, 2 * report.bones) or fewer < report.bones < more
    assert less_left < report.remaining.rms < more_left
    text = f" With {fewer} helpers about {100.0 * more_left:.2g} % (rms) remain."
    assert text in report.sentence()
    (half,) = api.bake_bones(human, estimate=True, budget=fewer)
    assert half.remaining.rms == pytest.approx(more_left, rel=0.2)


def test_no_more_helpers_come_than_the_budget(human: bpy.types.Object) -> None:
    """As many, or one less: mirror images come and go together."""
    (report,) = api.bake_bones(human, budget=20)
    assert 19 <= report.bones <= 20
    assert report.deforming == BONES + report.bones
    assert report.deforming == sum(bone.use_deform for bone in human.parent.data.bones)
    assert not human.dq_compensation.enabled


def test_twist_bones_leave_where_they_alone_are_more_than_the_budget(
    human: bpy.types.Object,
) -> None:
    human.dq_compensation.twist_spread = 1.0
    (every,) = api.bake_bones(human, estimate=True)
    assert every.bones > 4
    (report,) = api.bake_bones(human, budget=4)
    assert 3 <= report.bones <= 4
    assert not [bone.name for bone in human.parent.data.bones if "_twist" in bone.name]


def test_chosen_joints_may_have_what_all_would(human: bpy.types.Object) -> None:
    """Each gets as many as the tolerance needs: more than of the budget of all joints."""
    (every,) = api.bake_bones(human, estimate=True)
    counts = {joint.bone: joint.helpers for joint in every.joints}
    (some,) = api.bake_bones(human, bones=["lowerarm_l", "calf_l"], estimate=True)
    for joint in some.joints:
        assert joint.helpers >= counts[joint.bone]
    assert some.bones > sum(counts[joint.bone] for joint in some.joints)

"""Influences below a ten-thousandth are found, and cleaning them is not seen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dq_compensation.setup_check.checks.weight_sums import TINY_INFLUENCES
from human.model import RIGS, Rig
from tests.blender.conftest import Human
from tests.blender.scene_builders import pose_at_random
from tests.setup_check.plant_tiny_influences import far, sprinkled
from tests.setup_check.test_unweighted_vertices import dense_weights, subject_of

# In the converted weights of the 163-bone rig.
COUNTS = {"default": 26, "game_engine": 0, "cmu_mb": 0}


@pytest.mark.parametrize("rig", RIGS)
def test_what_the_human_has(human_with_rig: Callable[[Rig], Human], rig: Rig) -> None:
    """Independently counted in the arrays that it was made from."""
    human = human_with_rig(rig)
    assert (human.arrays.weight < np.float32(1e-4)).sum() == COUNTS[rig]
    found = TINY_INFLUENCES.find(subject_of(human.mesh_object))
    assert len(found) == (COUNTS[rig] > 0)
    if found:
        assert found[0].message.startswith(f"{COUNTS[rig]} influences")


@pytest.mark.parametrize("preserve_volume", [False, True])
def test_cleaning_is_not_seen(whole_human: Human, preserve_volume: bool) -> None:
    """1e-5 of the size with the leg raised by 30 degrees; further up it asks (1.2e-5 at 90)."""
    obj = whole_human.mesh_object
    obj.modifiers["Armature"].use_deform_preserve_volume = preserve_volume
    sprinkled(whole_human)
    bone = whole_human.armature_object.pose.bones["upperleg01.L"]
    bone.rotation_quaternion = (0.966, -0.259, 0.0, 0.0)
    look = whole_human.evaluated_positions()
    before = dense_weights(obj)
    (issue,) = TINY_INFLUENCES.find(subject_of(obj))
    assert issue.severity == "INFORMATION"
    assert issue.fixes[0].question == ""
    TINY_INFLUENCES.fix("clean", subject_of(obj), issue)
    assert TINY_INFLUENCES.find(subject_of(obj)) == []
    moved = np.linalg.norm(whole_human.evaluated_positions() - look, axis=1).max()
    assert moved <= 1e-5 * np.ptp(whole_human.arrays.vertices, axis=0).max()
    after = dense_weights(obj)
    assert after[(before > 0.0) & (before < 0.9999e-4)].max() == 0.0
    np.testing.assert_allclose(after.sum(axis=1), 1.0, atol=1e-6)


def test_what_would_be_seen_is_asked(human: Human) -> None:
    """A trace of a hand on the foot, with the hand a metre away in the pose."""
    obj = human.mesh_object
    far(human)
    (issue,) = TINY_INFLUENCES.find(subject_of(obj))
    assert issue.key == "seen"
    assert "moves by up to" in issue.fixes[0].question
    human.armature_object.pose.bones["upperarm01.L"].rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    (issue,) = TINY_INFLUENCES.find(subject_of(obj))
    assert issue.key == "tiny"
    assert issue.fixes[0].question == ""  # at rest nothing moves


def test_weights_of_exactly_0_count(whole_human: Human) -> None:
    obj = whole_human.mesh_object
    obj.vertex_groups["head"].add([0], 0.0, "REPLACE")
    before = TINY_INFLUENCES.find(subject_of(obj))[0]
    pose_at_random(whole_human.armature_object)
    assert before.message.startswith(f"{COUNTS['default'] + 1} influences")
    TINY_INFLUENCES.fix("clean", subject_of(obj), TINY_INFLUENCES.find(subject_of(obj))[0])
    assert TINY_INFLUENCES.find(subject_of(obj)) == []


def test_one_influence_counts(human: Human) -> None:
    obj = human.mesh_object
    clean = TINY_INFLUENCES.find(subject_of(obj))
    for issue in clean:
        TINY_INFLUENCES.fix("clean", subject_of(obj), issue)
    obj.vertex_groups["spine01"].add([0], 5e-5, "REPLACE")
    (issue,) = TINY_INFLUENCES.find(subject_of(obj))
    assert issue.message.startswith("1 influence on 1 vertex of Human is below 0.0001")
    assert "but it counts against" in issue.message

"""Sums that are off are found, and normalising changes weights but no look."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.setup_check.checks.weight_sums import WEIGHT_SUMS
from dq_compensation.setup_check.issue import FixError
from human.model import RIGS, Rig
from tests.blender.conftest import Human
from tests.blender.scene_builders import linked_copy, pose_at_random
from tests.setup_check.plant_weight_sums import halved
from tests.setup_check.test_unweighted_vertices import dense_weights, subject_of


@pytest.mark.parametrize("rig", RIGS)
def test_a_normalised_human_has_none(human_with_rig: Callable[[Rig], Human], rig: Rig) -> None:
    """Two of the rigs have sums of 0.9999, from rounding to four digits."""
    assert WEIGHT_SUMS.find(subject_of(human_with_rig(rig).mesh_object)) == []


@pytest.mark.parametrize("preserve_volume", [False, True])
def test_normalising_keeps_the_look(human: Human, preserve_volume: bool) -> None:
    """1e-5 of the size in a wild pose: Blender itself divides by the sum."""
    obj = human.mesh_object
    obj.modifiers["Armature"].use_deform_preserve_volume = preserve_volume
    obj.vertex_groups.new(name="not a bone").add([0, 7, 14], 0.3, "REPLACE")
    before = dense_weights(obj)
    halved(human)
    pose_at_random(human.armature_object)
    look = human.evaluated_positions()
    (issue,) = WEIGHT_SUMS.find(subject_of(obj))
    assert issue.severity == "WARNING"
    np.testing.assert_array_equal(issue.vertices, np.arange(0, len(before), 7))
    assert issue.fixes[0].question == ""
    summary = WEIGHT_SUMS.fix("normalize", subject_of(obj), issue)
    assert f"{len(issue.vertices):,} vertices" in summary
    assert WEIGHT_SUMS.find(subject_of(obj)) == []
    moved = np.linalg.norm(human.evaluated_positions() - look, axis=1).max()
    assert moved <= 1e-5 * np.ptp(human.arrays.vertices, axis=0).max()
    expected = before
    expected[:, -1][[0, 7, 14]] *= 0.5
    np.testing.assert_allclose(dense_weights(obj), expected, atol=1e-6)


def test_small_differences_are_information(human: Human) -> None:
    obj = human.mesh_object
    read = read_weights(obj.data)
    group = read.groups[0]
    name = obj.vertex_groups[int(group)].name
    vertices = read.vertices[read.groups == group]
    write_groups(obj, {name: 0.99 * read.weights[read.groups == group]}, vertices)
    (issue,) = WEIGHT_SUMS.find(subject_of(obj))
    assert issue.severity == "INFORMATION"
    assert set(issue.vertices.tolist()) <= set(vertices.tolist())


def test_locked_groups_are_refused(human: Human) -> None:
    obj = human.mesh_object
    halved(human)
    obj.vertex_groups["head"].lock_weight = True
    before = dense_weights(obj)
    (issue,) = WEIGHT_SUMS.find(subject_of(obj))
    with pytest.raises(FixError, match="head"):
        WEIGHT_SUMS.fix("normalize", subject_of(obj), issue)
    np.testing.assert_array_equal(dense_weights(obj), before)


def test_a_shared_mesh_is_asked_about(human: Human) -> None:
    halved(human)
    linked_copy(human.mesh_object)
    (issue,) = WEIGHT_SUMS.find(subject_of(human.mesh_object))
    assert "shared with 1 other object" in issue.fixes[0].question


def test_one_sum_is_no_range(human: Human) -> None:
    obj = human.mesh_object
    read = read_weights(obj.data)
    rows = read.vertices == 7
    for group, weight in zip(read.groups[rows].tolist(), read.weights[rows].tolist(), strict=True):
        obj.vertex_groups[group].add([7], 0.25 * weight, "REPLACE")
    (issue,) = WEIGHT_SUMS.find(subject_of(obj))
    assert "1 vertex of Human do not add up to 1 (the sum is 0.250)." in issue.message

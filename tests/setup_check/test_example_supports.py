"""The check of example poses: keys that are on, and supports that overlap."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.setup_check.checks.example_supports import CHECK
from dq_compensation.setup_check.issue import Issue
from dq_compensation.setup_check.subject import Subject
from tests.blender.enabled_scenes import select

from .conftest import Human
from .plant_example_supports import BONE, SHOULDER, overlap, shown, unmuted, with_example

pytestmark = pytest.mark.usefixtures("addon")


def found(human: Human) -> dict[str, Issue]:
    bpy.context.view_layer.update()
    subject = Subject(human.mesh_object, bpy.context.evaluated_depsgraph_get())
    return {issue.key: issue for issue in CHECK.find(subject)}


def test_muted_keys_and_supports_of_their_own_are_fine(human: Human) -> None:
    assert not found(human)
    with_example(human)
    with_example(human, SHOULDER)
    assert not found(human)


def test_an_unmuted_key_is_muted_and_the_character_looks_as_before(human: Human) -> None:
    unmuted(human)
    issue = found(human)["shown_keys"]
    assert (issue.severity, issue.fixes[0].question) == ("WARNING", "")
    before = api.evaluate(human.mesh_object)
    select(human.mesh_object)
    bpy.ops.dqc.fix(
        object_name="Human", check="example_supports", key="shown_keys", fix="mute_keys"
    )
    assert not found(human)
    assert np.array_equal(api.evaluate(human.mesh_object), before)


def test_a_key_with_a_value_is_an_error_and_asked_about(human: Human) -> None:
    shown(human)
    issue = found(human)["shown_keys"]
    assert issue.severity == "ERROR"
    assert f"Example {BONE} 1" in issue.message
    assert "added twice" in issue.message
    assert issue.fixes[0].question


def test_painted_supports_that_overlap_are_reported_with_their_vertices(human: Human) -> None:
    overlap(human)
    issue = found(human)["overlap"]
    assert issue.severity == "INFORMATION"
    assert issue.bones == (BONE, SHOULDER)
    assert f"{BONE} and {SHOULDER}" in issue.message
    assert np.array_equal(issue.vertices, np.arange(50))

"""Sides that are weighted differently are named, on meshes that are symmetric."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dq_compensation.scene.blender.bone_names import flipped_name
from dq_compensation.setup_check.checks.mirrored import MIRRORED_WEIGHTS
from human.model import RIGS, Rig
from tests.blender.conftest import Human
from tests.blender.scene_builders import add_armature, add_mesh
from tests.setup_check.plant_mirrored_weights import one_side
from tests.setup_check.test_unweighted_vertices import dense_weights, subject_of

# Largest difference of the two sides in the converted weights: two rigs have real ones.
DIFFERENCES = {"default": 0.0, "game_engine": 0.26, "cmu_mb": 0.26}


def partners_of(human: Human) -> np.ndarray:
    """By a sort of the rounded coordinates: the body is symmetric to the last bit."""
    rounded = np.round(human.arrays.vertices.astype(np.float64), 6) + 0.0
    there = {tuple(point): index for index, point in enumerate(rounded.tolist())}
    mirrored = rounded * (-1.0, 1.0, 1.0) + 0.0
    return np.array([there.get(tuple(point), -1) for point in mirrored.tolist()])


@pytest.mark.parametrize("rig", RIGS)
def test_what_the_human_has(human_with_rig: Callable[[Rig], Human], rig: Rig) -> None:
    human = human_with_rig(rig)
    names = [group.name for group in human.mesh_object.vertex_groups]
    weights, partners = dense_weights(human.mesh_object), partners_of(human)
    expected: set[str] = set()
    vertices: set[int] = set()
    largest = 0.0
    for group, name in enumerate(names):
        other = flipped_name(name)
        if other == name or other not in names:
            continue
        apart = np.abs(weights[:, group] - weights[partners, names.index(other)])
        apart[partners < 0] = 0.0
        largest = max(largest, float(apart.max()))
        if apart.max() > 0.01:
            expected |= {name, other}
            differs = np.flatnonzero(apart > 0.01)
            vertices |= set(differs.tolist()) | set(partners[differs].tolist())
    assert largest == pytest.approx(DIFFERENCES[rig], abs=0.01)
    found = MIRRORED_WEIGHTS.find(subject_of(human.mesh_object))
    assert len(found) == bool(expected)
    if found:
        assert set(found[0].bones) == expected
        assert set(found[0].vertices.tolist()) == vertices
        assert found[0].severity == "INFORMATION"


def test_a_side_that_was_changed_is_named_first(human: Human) -> None:
    one_side(human)
    (issue,) = MIRRORED_WEIGHTS.find(subject_of(human.mesh_object))
    assert set(issue.bones) == {
        "lowerarm01.L",
        "lowerarm01.R",
        "lowerarm02.L",
        "lowerarm02.R",
    }
    assert "lowerarm01.L / lowerarm01.R (0.50)" in issue.message
    x = human.arrays.vertices[issue.vertices, 0]
    assert (x > 0.0).sum() == (x < 0.0).sum() > 100
    assert issue.fixes == ()


def test_a_mesh_that_is_not_symmetric_is_not_judged(human: Human) -> None:
    one_side(human)
    mesh = human.mesh_object.data
    rng = np.random.default_rng(0)
    positions = human.arrays.vertices + rng.normal(0.0, 0.01, human.arrays.vertices.shape)
    mesh.vertices.foreach_set("co", positions.astype(np.float32).ravel())
    assert MIRRORED_WEIGHTS.find(subject_of(human.mesh_object)) == []


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("upperarm01.L", "upperarm01.R"),
        ("thigh_r", "thigh_l"),
        ("LeftArm", "RightArm"),
        ("mixamorig:LeftHand", "mixamorig:RightHand"),
        ("spine", "spine"),
    ],
)
def test_names_of_the_other_side(name: str, other: str) -> None:
    assert flipped_name(name) == other


def test_bones_that_do_not_deform_are_not_compared(human: Human) -> None:
    one_side(human)
    for name in ("lowerarm01.R", "lowerarm02.R"):
        human.armature_object.data.bones[name].use_deform = False
    assert MIRRORED_WEIGHTS.find(subject_of(human.mesh_object)) == []


def test_boxes_that_touch_are_alike() -> None:
    """A trunk and two arms, symmetric, with corners in one place that follow different bones."""
    rig = add_armature(("Body", "Arm.L", "Arm.R"))
    corners = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (0, 2)]
    vertices = [(x + at, y, z) for at in (0, -2, 2) for x, y, z in corners]
    obj = add_mesh(vertices, [], name="Player")
    for row, name in enumerate(("Body", "Arm.R", "Arm.L")):
        obj.vertex_groups.new(name=name).add(list(range(8 * row, 8 * row + 8)), 1.0, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    assert not MIRRORED_WEIGHTS.find(subject_of(obj))
    obj.vertex_groups["Arm.L"].add([16], 0.5, "REPLACE")
    assert MIRRORED_WEIGHTS.find(subject_of(obj))

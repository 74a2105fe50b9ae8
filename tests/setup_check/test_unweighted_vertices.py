"""Vertices that no bone moves are found, and given weights that continue the surface's."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.setup_check.checks.unweighted_vertices import CHECK
from dq_compensation.setup_check.issue import FixError, Issue
from dq_compensation.setup_check.subject import Subject
from human.model import RIGS, Rig
from tests.blender.conftest import Human
from tests.blender.scene_builders import evaluated_positions, linked_copy, write_no_numbers
from tests.limb import build_limb
from tests.setup_check.plant_unweighted_vertices import loose, patch, torn


def subject_of(obj: bpy.types.Object) -> Subject:
    bpy.context.view_layer.update()
    return Subject(obj, bpy.context.evaluated_depsgraph_get())


def found_in(obj: bpy.types.Object) -> list[Issue]:
    return CHECK.find(subject_of(obj))


def fix(obj: bpy.types.Object, issue: Issue) -> str:
    name = {"torn": "weight_from_neighbours", "loose": "weight_from_nearest"}[issue.key]
    return CHECK.fix(name, subject_of(obj), issue)


def dense_weights(obj: bpy.types.Object) -> np.ndarray:
    read = read_weights(obj.data)
    dense = np.zeros((read.vertex_count, len(obj.vertex_groups)))
    dense[read.vertices, read.groups] = read.weights
    return dense


@pytest.mark.parametrize("rig", RIGS)
def test_a_weighted_human_has_none(human_with_rig: Callable[[Rig], Human], rig: Rig) -> None:
    assert found_in(human_with_rig(rig).mesh_object) == []


@pytest.mark.parametrize("rig", RIGS)
def test_a_torn_patch_gets_the_weights_of_the_skin_around_it(
    human_with_rig: Callable[[Rig], Human], rig: Rig
) -> None:
    """As they were painted, but for 0.15: the patch is 60 vertices wide in a slope of weights."""
    human = human_with_rig(rig)
    obj = human.mesh_object
    before = dense_weights(obj)
    torn(human)
    (issue,) = found_in(obj)
    assert (issue.key, issue.severity) == ("torn", "ERROR")
    np.testing.assert_array_equal(issue.vertices, patch(human))
    assert "60 vertices" in issue.message
    assert "change" in issue.fixes[0].question
    assert "60 vertices" in fix(obj, issue)
    assert found_in(obj) == []
    after = dense_weights(obj)
    others = np.setdiff1d(np.arange(len(before)), patch(human))
    np.testing.assert_array_equal(after[others], before[others])
    np.testing.assert_allclose(after[patch(human)].sum(axis=1), 1.0, atol=1e-6)
    assert np.abs(after - before).max() < 0.15


def test_the_fixed_patch_moves_with_the_leg(human: Human) -> None:
    """It is where it was before, but for 5 mm of a leg that swings by half a metre."""
    bone = human.armature_object.pose.bones["upperleg01.L"]
    bone.rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    before = human.evaluated_positions()
    torn(human)
    left_behind = human.evaluated_positions()
    assert np.linalg.norm(left_behind - before, axis=1).max() > 0.1
    (issue,) = found_in(human.mesh_object)
    fix(human.mesh_object, issue)
    moved = np.linalg.norm(human.evaluated_positions() - before, axis=1)
    assert moved.max() < 0.005


def test_a_loose_part_gets_the_weights_of_the_nearest_skin(human: Human) -> None:
    obj = human.mesh_object
    loose(human)
    (issue,) = found_in(obj)
    assert (issue.key, issue.severity) == ("loose", "WARNING")
    assert "1 separate part" in issue.message
    assert len(issue.vertices) == 42
    fix(obj, issue)
    assert found_in(obj) == []
    weights = dense_weights(obj)
    distances = np.linalg.norm(human.arrays.vertices - [0.0, -0.19, 0.4], axis=1)
    nearest = weights[np.argmin(distances)]
    # The ball is 2 cm wide; the weights of the chest change little over that.
    np.testing.assert_allclose(weights[issue.vertices], np.tile(nearest, (42, 1)), atol=0.2)


def test_locked_groups_are_named_and_nothing_changes(human: Human) -> None:
    obj = human.mesh_object
    torn(human)
    obj.vertex_groups["upperleg02.L"].lock_weight = True
    before = dense_weights(obj)
    (issue,) = found_in(obj)
    with pytest.raises(FixError, match=r"upperleg02\.L"):
        fix(obj, issue)
    np.testing.assert_array_equal(dense_weights(obj), before)


@pytest.mark.parametrize("invert", [False, True])
def test_where_the_modifier_does_not_act_nothing_is_missed(human: Human, invert: bool) -> None:
    obj = human.mesh_object
    torn(human)
    mask = obj.vertex_groups.new(name="mask")
    rest = np.setdiff1d(np.arange(len(obj.data.vertices)), patch(human))
    mask.add((patch(human) if invert else rest).tolist(), 1.0, "REPLACE")
    modifier = obj.modifiers["Armature"]
    modifier.vertex_group, modifier.invert_vertex_group = "mask", invert
    assert found_in(obj) == []
    modifier.vertex_group = ""
    assert len(found_in(obj)) == 1


def test_a_mesh_without_any_weights_gets_an_instruction(human: Human) -> None:
    human.mesh_object.vertex_groups.clear()
    (issue,) = found_in(human.mesh_object)
    assert issue.severity == "ERROR"
    assert "Automatic Weights" in issue.message
    assert issue.fixes == ()


def test_broken_set_ups_are_left_to_other_checks(human: Human) -> None:
    obj = human.mesh_object
    obj.modifiers["Armature"].object = None
    assert found_in(obj) == []
    obj.modifiers.clear()
    assert found_in(obj) == []
    obj.data.clear_geometry()
    assert found_in(obj) == []


def test_a_shared_mesh_is_asked_about(human: Human) -> None:
    torn(human)
    linked_copy(human.mesh_object)
    (issue,) = found_in(human.mesh_object)
    assert "shared with 1 other object" in issue.fixes[0].question


def test_weights_that_are_no_numbers_are_found_and_replaced(human: Human) -> None:
    """Blender does not move such a vertex, whatever its other weights are; 1e-7: float32."""
    obj = human.mesh_object
    rest = evaluated_positions(obj)
    broken = patch(human)
    write_no_numbers(obj, broken)
    bone = human.armature_object.pose.bones["upperleg01.L"]
    bone.rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    np.testing.assert_allclose(human.evaluated_positions()[broken], rest[broken], atol=1e-7)
    (issue,) = found_in(obj)
    assert issue.key == "torn"
    assert "no weight on a deforming bone, or one that is not a number." in issue.message
    np.testing.assert_array_equal(issue.vertices, broken)
    fix(obj, issue)
    assert found_in(obj) == []
    assert np.isfinite(read_weights(obj.data).weights).all()
    assert not np.allclose(human.evaluated_positions()[broken], rest[broken], atol=0.1)


def test_weights_from_nearest_are_not_offered_into_a_locked_group(human: Human) -> None:
    """Which group is the nearest is found before there is a button."""
    loose(human)
    obj = human.mesh_object
    (issue,) = found_in(obj)
    assert [each.name for each in issue.fixes] == ["weight_from_nearest"]
    before = dense_weights(obj)
    fix(obj, issue)
    groups = obj.vertex_groups
    written = np.flatnonzero((dense_weights(obj) != before).any(axis=0)).tolist()
    other = next(group for group in groups if group.index not in written)
    none = np.zeros(len(issue.vertices))
    write_groups(obj, {group.name: none for group in groups}, issue.vertices)
    other.lock_weight = True
    (issue,) = found_in(obj)
    assert issue.fixes
    groups[written[0]].lock_weight = True
    (issue,) = found_in(obj)
    assert not issue.fixes
    assert "Weight From Nearest cannot mend it: " in issue.message
    assert groups[written[0]].name in issue.message


def live_weights(shirt: bpy.types.Object, body: bpy.types.Object, kind: str) -> bpy.types.Modifier:
    """A modifier first in the stack that gives the shirt the weights of the body."""
    if kind == "DATA_TRANSFER":
        modifier = shirt.modifiers.new("Weights", "DATA_TRANSFER")
        modifier.object, modifier.use_vert_data = body, True
        modifier.data_types_verts, modifier.vert_mapping = {"VGROUP_WEIGHTS"}, "NEAREST"
    else:
        modifier = shirt.modifiers.new("Weights", "VERTEX_WEIGHT_MIX")
        modifier.vertex_group_a, modifier.default_weight_b = "Upper", 1.0
        modifier.mix_set = "ALL"
    shirt.modifiers.move(len(shirt.modifiers) - 1, 0)
    return modifier


@pytest.mark.usefixtures("addon")
@pytest.mark.parametrize("enabled", [False, True])
@pytest.mark.parametrize("kind", ["DATA_TRANSFER", "VERTEX_WEIGHT_MIX"])
def test_weights_that_a_modifier_makes_are_weights(kind: str, enabled: bool) -> None:
    """All vertices follow the bones: none is at rest, and none is said to be."""
    body, rig = build_limb()
    shirt = body.copy()
    shirt.data, shirt.name = body.data.copy(), "Shirt"
    bpy.context.collection.objects.link(shirt)
    for group in shirt.vertex_groups:
        group.remove(range(len(shirt.data.vertices)))
    said = {issue.key for issue in api.check(shirt)}
    assert "all" in said
    modifier = live_weights(shirt, body, kind)
    if enabled:
        api.enable(shirt)
    rest = evaluated_positions(shirt)
    rig.pose.bones["Upper"].location = (0.0, 1.0, 0.0)
    bpy.context.view_layer.update()
    assert np.linalg.norm(evaluated_positions(shirt) - rest, axis=1).min() > 0.9
    said = {issue.key for issue in api.check(shirt)}
    assert not said & {"all", "torn", "loose", "refused"}
    assert not [i for i in api.check(body) + api.check(shirt) if i.key == "no_group"]
    if not enabled:
        modifier.show_viewport = False
        bpy.context.view_layer.update()
        assert "all" in {issue.key for issue in api.check(shirt)}

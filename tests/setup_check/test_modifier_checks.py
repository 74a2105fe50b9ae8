"""What armature_modifier and stale_binding say, and what they leave alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.reconcile import State, compare_with_file
from dq_compensation.modifier.attributes.vertex_attributes import CONTENT_PROPERTY
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.blender.own_objects import record_in
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.setup_check import fixing
from dq_compensation.setup_check.checks import refusal
from dq_compensation.setup_check.issue import Issue
from tests.blender.enabled_scenes import check, disable, enable, error, select
from tests.blender.scene_builders import (
    add_armature,
    add_grid,
    evaluated_positions,
    pose_at_random,
    save_and_open,
    skin,
)
from tests.replaced_functions import count_calls

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def body() -> bpy.types.Object:
    obj = add_grid()
    skin(obj, add_armature())
    select(obj)
    bpy.context.view_layer.update()
    return obj


def found(obj: bpy.types.Object, check: str) -> dict[str, Issue]:
    bpy.context.view_layer.update()
    return {issue.key: issue for issue in api.check(obj) if issue.check == check}


def fix(obj: bpy.types.Object, issue: Issue, number: int = 0) -> None:
    name = issue.fixes[number].name
    done = bpy.ops.dqc.fix(object_name=obj.name, check=issue.check, key=issue.key, fix=name)
    assert done == {"FINISHED"}


def test_without_a_modifier_the_parent_is_the_right_armature(body: bpy.types.Object) -> None:
    body.modifiers.clear()
    add_armature(name="Other")
    assert not found(body, "armature_modifier")["missing"].fixes, "two armatures have the bones"
    body.parent = bpy.data.objects["Rig"]
    issue = found(body, "armature_modifier")["missing"]
    assert issue.fixes[0].label == "Add Modifier for Rig"
    assert not issue.fixes[0].question, "at rest nothing changes"
    fix(body, issue)
    assert body.modifiers[0].object == bpy.data.objects["Rig"]


def test_an_armature_that_is_posed_is_asked_about(body: bpy.types.Object) -> None:
    body.modifiers[0].object = None
    rig = bpy.data.objects["Rig"]
    assert not found(body, "armature_modifier")["no_armature"].fixes[0].question
    rig.keyframe_insert("location")
    assert "animated" in found(body, "armature_modifier")["no_armature"].fixes[0].question
    rig.animation_data_clear()
    pose_at_random(rig)
    assert "posed" in found(body, "armature_modifier")["no_armature"].fixes[0].question
    rig.data.pose_position = "REST"
    assert not found(body, "armature_modifier")["no_armature"].fixes[0].question


def test_a_parent_that_deforms_by_itself_does_not_deform_twice_afterwards(
    body: bpy.types.Object,
) -> None:
    rig = bpy.data.objects["Rig"]
    pose_at_random(rig)
    once = evaluated_positions(body)
    body.modifiers.clear()
    body.parent, body.parent_type = rig, "ARMATURE"
    issue = found(body, "armature_modifier")["missing"]
    assert "parent type Armature" in issue.message
    fix(body, issue)
    # The same modifier deforms it as before.
    np.testing.assert_allclose(evaluated_positions(body), once, atol=1e-6)


def test_two_rigs_are_only_reported(body: bpy.types.Object) -> None:
    body.modifiers.new("Face", "ARMATURE").object = add_armature(("Jaw",), name="Face Rig")
    issue = found(body, "armature_modifier")["several"]
    assert (issue.severity, issue.fixes) == ("INFORMATION", ())
    assert "Face (Face Rig)" in issue.message


@pytest.mark.parametrize(
    ("name", "value"), [("vertex_group", "Root"), ("use_multi_modifier", True)]
)
def test_a_second_modifier_with_a_purpose_is_no_double(
    body: bpy.types.Object, name: str, value: object
) -> None:
    again = body.modifiers.new("Again", "ARMATURE")
    again.object = bpy.data.objects["Rig"]
    assert "double" in found(body, "armature_modifier")
    setattr(again, name, value)
    assert "double" not in found(body, "armature_modifier")


def test_turning_the_second_deformation_off_leaves_ours(body: bpy.types.Object) -> None:
    enable(body)
    body.dq_compensation.method = "SPHERICAL_JOINT"
    pose_at_random(bpy.data.objects["Rig"])
    body.modifiers["Armature"].show_viewport = True
    body.modifiers["Armature"].show_render = True
    issue = found(body, "armature_modifier")["twice"]
    assert "in the viewport and in renders" in issue.message
    assert error(body) > 0.01, "otherwise this tests nothing"
    fix(body, issue)
    # Nodes count in 32 bits.
    assert error(body) < 1e-4
    disable(body)


@pytest.mark.parametrize("name", ["Armature", "DQ Compensation"])
def test_turning_on_what_deforms_together(body: bpy.types.Object, name: str) -> None:
    """The Armature modifier as the base, and ours after it."""
    enable(body)
    pose_at_random(bpy.data.objects["Rig"])
    assert "twice" not in found(body, "armature_modifier")
    body.modifiers[name].show_viewport = False
    check()
    issue = found(body, "armature_modifier")["turned_off"]
    assert name in issue.message
    assert "in the viewport" in issue.message
    fix(body, issue)
    check()
    assert error(body) < 1e-4
    disable(body)


def test_nothing_is_turned_on_where_a_clean_up_has_removed_the_settings(
    body: bpy.types.Object,
) -> None:
    """As before Blender 5, where they are custom properties: ours alone deforms it on."""
    api.enable(body, method="SPHERICAL_JOINT")
    pose_at_random(bpy.data.objects["Rig"])
    shown = evaluated_positions(body)
    body.property_unset("dq_compensation")
    bpy.context.view_layer.update()
    assert not body.dq_compensation.is_enabled
    assert not body.modifiers["Armature"].show_viewport
    assert "turned_off" not in found(body, "armature_modifier")
    assert np.abs(evaluated_positions(body) - shown).max() == 0.0


def test_ours_goes_back_to_its_place(body: bpy.types.Object) -> None:
    enable(body)
    body.modifiers.new("Subdivision", "SUBSURF")
    body.modifiers.move(1, 2)
    bpy.context.view_layer.update()
    assert [one.type for one in body.modifiers] == ["ARMATURE", "NODES", "SUBSURF"]
    disable(body)


def test_posing_and_what_is_followed_leave_no_stale_binding(body: bpy.types.Object) -> None:
    enable(body)
    pose_at_random(bpy.data.objects["Rig"])
    assert not found(body, "stale_binding")
    body.vertex_groups["Root"].add([0, 1, 2], 0.5, "REPLACE")
    assert not found(body, "stale_binding")
    disable(body)
    assert not found(body, "stale_binding")


def move_vertices(body: bpy.types.Object) -> None:
    places = np.zeros(3 * len(body.data.vertices), np.float32)
    body.data.vertices.foreach_get("co", places)
    body.data.vertices.foreach_set("co", places + 0.01)


def let_bones_be(body: bpy.types.Object) -> None:
    bones = body.modifiers[0].object.data.bones
    bones.foreach_set("use_deform", np.arange(len(bones)) > 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [(move_vertices, "vertices"), (let_bones_be, "bones")],
)
def test_what_blender_does_not_report_is_compared_and_nothing_else(
    body: bpy.types.Object,
    change: Callable[[bpy.types.Object], None],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    enable(body)
    calls = count_calls(monkeypatch, compare_with_file, within=refusal)
    pose_at_random(bpy.data.objects["Rig"])
    body.vertex_groups["Root"].add([0, 1, 2], 0.5, "REPLACE")
    assert not found(body, "stale_binding")
    assert not calls, "what is followed needs no comparison"
    change(body)
    issue = found(body, "stale_binding")["stale"]
    assert words in issue.message
    assert calls
    fix(body, issue)
    calls.clear()
    assert not found(body, "stale_binding")
    assert not calls
    disable(body)


@pytest.mark.parametrize("reported", [True, False])
def test_after_an_undo_the_check_says_what_a_comparison_says(
    body: bpy.types.Object, reported: bool
) -> None:
    """The mesh may be of one step, and what Python knows of another."""
    enable(body)
    bpy.ops.ed.undo_push(message="Before")
    move_vertices(body)
    if reported:
        body.data.update()
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="Vertices")
    assert bpy.ops.ed.undo() == {"FINISHED"}
    body = bpy.data.objects["Body"]
    issues = [issue for issue in api.check(body) if issue.check == "stale_binding"]
    depsgraph = bpy.context.evaluated_depsgraph_get()
    now = compare_with_file(SkinnedObject(body), depsgraph, bind(body, depsgraph))
    assert bool(issues) == (now.state is not State.CURRENT)
    check()
    assert not found(body, "stale_binding")
    assert error(body) < 1e-4


@pytest.mark.usefixtures("with_timers")
def test_a_mesh_that_is_dragged_is_stale_until_it_rests(body: bpy.types.Object) -> None:
    enable(body)
    body.location.x += 0.2
    issue = found(body, "stale_binding")["stale"]
    assert "place by the armature" in issue.message
    fix(body, issue)
    assert not found(body, "stale_binding")
    disable(body)


def test_a_basis_that_differs_from_the_mesh_is_not_stale(body: bpy.types.Object) -> None:
    """Blender keeps the mesh's own vertices beside the basis; after scripts they differ."""
    basis = body.shape_key_add(name="Basis")
    basis.points[0].co.x += 0.5
    enable(body)
    assert not found(body, "stale_binding")
    disable(body)


@pytest.mark.parametrize(
    ("method", "bones"),
    [("COMPENSATED", 1), ("COMPENSATED", 6), ("SPHERICAL_JOINT", 3), ("LINEAR", 5)],
)
def test_every_method_and_any_number_of_influences_is_recognised_after_reopening(
    body: bpy.types.Object, method: str, bones: int, tmp_path: Path
) -> None:
    """In a new session nothing but the file says what the modifier was made from."""
    names = [f"Bone {number}" for number in range(bones)]
    body.vertex_groups.clear()
    body.modifiers.clear()
    skin(body, add_armature(names, name="Many"), groups=names)
    body.dq_compensation.method = method
    enable(body)
    save_and_open(tmp_path / "body.blend")
    body = bpy.data.objects["Body"]
    record = record_in(body.data, CONTENT_PROPERTY)
    assert not found(body, "stale_binding")
    assert record_in(body.data, CONTENT_PROPERTY) == record
    if bones > 1:
        body.vertex_groups[0].add([0], 0.77, "REPLACE")
        assert not found(body, "stale_binding")
        assert record_in(body.data, CONTENT_PROPERTY) != record
    select(body)
    disable(body)


def test_a_new_armature_modifier_is_the_first_one_before_pinned_ones(
    body: bpy.types.Object,
) -> None:
    body.parent = body.modifiers["Armature"].object
    body.modifiers.remove(body.modifiers["Armature"])
    body.modifiers.new("Triangulate", "TRIANGULATE")
    body.modifiers.new("Smooth", "SMOOTH").use_pin_to_last = True
    fix(body, found(body, "armature_modifier")["missing"])
    assert [each.name for each in body.modifiers] == ["Armature", "Triangulate", "Smooth"]


def test_what_is_turned_on_is_done_where_another_modifier_is_left(body: bpy.types.Object) -> None:
    api.enable(body)
    body.modifiers["Armature"].show_render = False
    ours = SkinnedObject(body).ours
    assert ours is not None
    ours.show_render = False
    said = fixing.fix(body, "armature_modifier", "turned_off", "turn_on")
    assert said.startswith("Armature of Body is on in the viewport and in renders. Left: DQ")

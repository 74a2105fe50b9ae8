"""Enabled objects shown as real geometry: what reaches the evaluated mesh, and when.

Distances are in parts of the object's size. 1e-4 is what all evaluators promise: nodes compute in
float32.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.deform import METHODS
from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.lifecycle.following import check_all
from dq_compensation.modifier.installation import install
from dq_compensation.modifier.palette_object import find_palette
from dq_compensation.scene.binding.bind import bind
from human.poses import apply_pose, named_poses
from tests.blender.enabled_scenes import (
    check,
    description,
    disable,
    distance,
    enable,
    enabled_character,
    error,
    hidden_armature_modifier,
    is_base,
    ours,
    select,
)
from tests.blender.scene_builders import (
    add_armature,
    add_grid,
    character,
    edit_mode,
    evaluated_positions,
    linked_copy,
    new_file,
    pose_at_random,
    skin,
    write_no_numbers,
)
from tests.replaced_functions import count_calls

from .conftest import Human

TOLERANCE = 1e-4


pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def body(human: Human) -> bpy.types.Object:
    apply_pose(human.armature_object, named_poses("default")["elbow"].rotations)
    bpy.context.view_layer.update()
    return human.mesh_object


def test_every_method_and_curve_reaches_the_human(body: bpy.types.Object) -> None:
    enable(body)
    for method in METHODS:
        body.dq_compensation.method = method
        assert error(body) <= TOLERANCE
    body.dq_compensation.method = "COMPENSATED"
    for curve in ("FITTED", "MEASURED"):
        body.dq_compensation.curve = curve
        assert error(body) <= TOLERANCE
    assert is_base(body)
    body.dq_compensation.method = "SPHERICAL_JOINT"
    assert hidden_armature_modifier(body)


CHANGES: tuple[tuple[str, Any], ...] = (
    ("method", "LINEAR"),
    ("method", "SPHERICAL_JOINT"),
    ("curve", "FITTED"),
    ("limb_axis", "-Z"),
    ("vertex_group", "Compensation"),
    ("blend_group", "Compensation"),
    ("factor", 0.4),
)


@pytest.mark.parametrize(("name", "value"), CHANGES)
def test_a_setting_acts_at_once(name: str, value: Any) -> None:
    obj, armature = character()
    obj.vertex_groups.new(name="Compensation").add(list(range(18)), 0.3, "REPLACE")
    if name == "limb_axis":
        obj.dq_compensation.curve = "FITTED"
    enable(obj)
    pose_at_random(armature)
    before = evaluated_positions(obj)
    assert error(obj) <= TOLERANCE
    setattr(obj.dq_compensation, name, value)
    assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), before) > 1e-3


@pytest.mark.parametrize("enabled", [True, False])
def test_the_api_evaluates_by_a_modifier_and_leaves_nothing(enabled: bool) -> None:
    obj, armature = character()
    obj.shape_key_add(name="Basis")
    smile = obj.shape_key_add(name="Smile")
    for vertex in range(12):
        smile.points[vertex].co.z += 0.2
    for frame, value in ((1, 0.0), (11, 1.0)):
        smile.value = value
        smile.keyframe_insert("value", frame=frame)
    obj.keyframe_insert("location", frame=1)
    if enabled:
        enable(obj)
    bpy.context.scene.frame_set(6)
    obj.location.z = 0.1
    pose_at_random(armature)
    check()
    before = description(obj)
    for method in METHODS:
        by_nodes = api.evaluate(obj, method=method, factor=0.7, evaluator="MODIFIER")
        assert distance(by_nodes, api.evaluate(obj, method=method, factor=0.7)) <= TOLERANCE
    assert description(obj) == before
    if enabled:
        assert error(obj) <= TOLERANCE


@pytest.mark.parametrize("display", ["MODIFIER", "GPU"])
def test_an_animated_factor_reaches_the_evaluated_mesh(display: str) -> None:
    obj, armature = enabled_character(display)
    pose_at_random(armature)
    for frame, factor in ((1, 0.0), (11, 1.0)):
        obj.dq_compensation.factor = factor
        obj.keyframe_insert("dq_compensation.factor", frame=frame)
    shapes = []
    for frame in (1, 6, 11):
        bpy.context.scene.frame_set(frame)
        assert error(obj) <= TOLERANCE
        shapes.append(evaluated_positions(obj))
    assert distance(shapes[0], shapes[1]) > 1e-3
    assert distance(shapes[1], shapes[2]) > 1e-3
    plain = api.evaluate(obj, method="DUAL_QUATERNION")
    assert distance(shapes[0], plain) <= TOLERANCE


def test_a_driven_factor_reaches_the_evaluated_mesh() -> None:
    obj, armature = enabled_character()
    pose_at_random(armature)
    driver = obj.driver_add("dq_compensation.factor").driver
    slider = bpy.data.objects.new("Slider", None)
    bpy.context.scene.collection.objects.link(slider)
    driver.type = "AVERAGE"
    target = driver.variables.new().targets[0]
    target.id, target.data_path = slider, "location.x"
    shapes = []
    for value in (0.0, 0.5, 1.0):
        slider.location.x = value
        assert error(obj) <= TOLERANCE
        shapes.append(evaluated_positions(obj))
    assert distance(shapes[0], api.evaluate(obj, method="DUAL_QUATERNION")) <= TOLERANCE
    assert distance(shapes[0], shapes[1]) > 1e-3
    assert distance(shapes[1], shapes[2]) > 1e-3
    disable(obj)
    assert [curve.data_path for curve in obj.animation_data.drivers] == ["dq_compensation.factor"]


@pytest.mark.parametrize(
    ("display", "animated"),
    [("MODIFIER", ""), ("MODIFIER", "action"), ("GPU", ""), ("GPU", "driver")],
)
def test_disable_leaves_the_file_as_it_was(display: str, animated: str) -> None:
    obj, armature = character()
    obj.data.attributes.new("mine", "FLOAT", "POINT")
    obj.modifiers.new("Subdivision", "SUBSURF")
    obj["my property"], obj.data["another"] = 3, "text"
    obj.dq_compensation.display = display
    if animated == "action":
        obj.keyframe_insert("hide_render", frame=1)
    if animated == "driver":
        obj.driver_add("hide_render").driver.expression = "0"
    bpy.context.view_layer.update()
    before = description(obj)
    enable(obj, display)
    pose_at_random(armature)
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    obj.dq_compensation.method = "COMPENSATED"
    bpy.ops.dqc.refresh()
    check()
    assert description(obj) != before
    disable(obj)
    assert description(obj) == before


@pytest.mark.parametrize("how", ["copy", "copy of the mesh too", "duplicate", "linked duplicate"])
def test_copies_are_right_and_on_their_own(how: str) -> None:
    obj, armature = enabled_character()
    obj.dq_compensation.factor = 0.8
    if "duplicate" in how:
        select(obj)
        bpy.ops.object.duplicate(linked=how.startswith("linked"))
        twin = bpy.context.view_layer.objects.active
    else:
        twin = obj.copy()
        if how != "copy":
            twin.data = obj.data.copy()
        bpy.context.scene.collection.objects.link(twin)
    assert twin != obj
    check()
    pose_at_random(armature)
    assert error(twin) <= TOLERANCE
    twin.dq_compensation.factor = 0.2
    assert error(twin) <= TOLERANCE
    assert error(obj) <= TOLERANCE
    obj.dq_compensation.factor = 0.6
    assert error(twin) <= TOLERANCE
    assert error(obj) <= TOLERANCE
    disable(twin)
    check()
    assert error(obj) <= TOLERANCE
    assert twin.modifiers["Armature"].show_viewport
    linear = api.evaluate(twin, method="LINEAR")
    assert distance(evaluated_positions(twin), linear) <= TOLERANCE
    disable(obj)
    assert not bpy.data.node_groups
    assert find_palette(armature) is None


def test_a_copy_may_have_another_method() -> None:
    obj, armature = enabled_character()
    twin = linked_copy(obj)
    pose_at_random(armature)
    for method in METHODS:
        twin.dq_compensation.method = method
        check()
        assert error(twin) <= TOLERANCE
        assert error(obj) <= TOLERANCE


def test_a_copied_character_has_its_own_palette() -> None:
    obj, armature = enabled_character()
    select(obj, armature)
    bpy.ops.object.duplicate()
    chosen = bpy.context.selected_objects
    twin = next(each for each in chosen if each.type == "MESH")
    rig = next(each for each in chosen if each.type == "ARMATURE")
    twin.modifiers["Armature"].object = rig
    check()
    pose_at_random(rig, seed=5)
    pose_at_random(armature, seed=6)
    assert error(obj) <= TOLERANCE
    assert error(twin) <= TOLERANCE
    disable(obj)
    assert error(twin) <= TOLERANCE


def test_two_meshes_share_a_palette() -> None:
    obj, armature = character()
    shirt = add_grid(name="Shirt")
    skin(shirt, armature, seed=1)
    select(armature)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    pose_at_random(armature)
    palettes = [each for each in bpy.data.objects if not each.users_collection]
    assert palettes == [find_palette(armature)]
    assert error(obj) <= TOLERANCE
    assert error(shirt) <= TOLERANCE
    disable(obj)
    assert find_palette(armature) is not None
    check()
    pose_at_random(armature, seed=4)
    assert error(shirt) <= TOLERANCE


def test_renaming_keeps_everything_right() -> None:
    obj, armature = enabled_character()
    obj.vertex_groups.new(name="Compensation").add(list(range(18)), 0.3, "REPLACE")
    obj.dq_compensation.vertex_group = "Compensation"
    armature.data.bones["Upper"].name = "Oberarm"
    obj.name, armature.name, armature.data.name = "Tänzerin", "舞者", "Rig.001"
    ours(obj).name = "Something"
    check()
    pose_at_random(armature)
    assert error(obj) <= TOLERANCE
    obj.dq_compensation.factor = 0.3
    assert error(obj) <= TOLERANCE
    assert ours(obj).name == "Something"
    # A bone whose group has left it moves nothing, and moves again when it is back.
    obj.vertex_groups["Oberarm"].name = "nobody"
    check()
    assert error(obj) <= TOLERANCE
    obj.vertex_groups["nobody"].name = "Oberarm"
    check()
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert obj.animation_data is None


def test_new_bones_and_their_weights_are_followed() -> None:
    obj, armature = enabled_character()
    with edit_mode(armature):
        bone = armature.data.edit_bones.new("Hand")
        bone.head, bone.tail = (1.5, 0.0, 0.0), (2.0, 0.0, 0.0)
        bone.parent = armature.data.edit_bones["Lower"]
    obj.vertex_groups.new(name="Hand").add([3, 4, 5, 6], 0.6, "REPLACE")
    check()
    pose_at_random(armature)
    assert error(obj) <= TOLERANCE
    with edit_mode(armature):
        armature.data.edit_bones["Lower"].tail = (1.5, 0.3, 0.1)
        armature.data.edit_bones.remove(armature.data.edit_bones["Hand"])
    check()
    pose_at_random(armature, seed=2)
    assert error(obj) <= TOLERANCE


def test_edited_weights_are_followed() -> None:
    obj, armature = enabled_character()
    pose_at_random(armature)
    before = evaluated_positions(obj)
    obj.vertex_groups["Root"].add(list(range(12)), 1.0, "REPLACE")
    obj.vertex_groups["Lower"].remove(list(range(12)))
    check()
    assert distance(evaluated_positions(obj), before) > 1e-3
    assert error(obj) <= TOLERANCE


def test_edited_vertices_are_followed() -> None:
    obj, armature = enabled_character()
    pose_at_random(armature)
    with edit_mode(obj):
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
        bpy.ops.transform.resize(value=(1.1, 0.9, 1.3))
    check()
    assert error(obj) <= TOLERANCE


def test_a_painted_compensation_group_acts_by_itself() -> None:
    obj, armature = character()
    group = obj.vertex_groups.new(name="Compensation")
    group.add(list(range(36)), 1.0, "REPLACE")
    obj.dq_compensation.vertex_group = "Compensation"
    enable(obj)
    pose_at_random(armature)
    before = evaluated_positions(obj)
    group.add(list(range(18)), 0.0, "REPLACE")
    assert error(obj) <= TOLERANCE
    plain = api.evaluate(obj, method="DUAL_QUATERNION")
    assert distance(evaluated_positions(obj)[:18], plain[:18]) <= TOLERANCE
    assert distance(evaluated_positions(obj), before) > 1e-3


@pytest.mark.parametrize(
    ("way", "display"),
    [
        ("LINEAR", "MODIFIER"),
        ("SPHERICAL_JOINT", "MODIFIER"),
        ("FITTED", "MODIFIER"),
        ("MEASURED", "MODIFIER"),
        ("MEASURED", "GPU"),
    ],
)
def test_an_object_that_moves_by_its_armature_is_followed(way: str, display: str) -> None:
    obj, armature = character()
    if way in METHODS:
        obj.dq_compensation.method = way
    else:
        obj.dq_compensation.curve = way
    enable(obj, display)
    pose_at_random(armature)
    check()
    obj.location, obj.scale = (0.1, -0.3, 0.2), (1.5, 1.0, 0.8)
    obj.rotation_euler = (0.3, 0.2, -0.1)
    check()
    assert error(obj) <= TOLERANCE
    armature.location, armature.rotation_euler = (0.2, 0.1, 0.0), (0.0, 0.1, 0.0)
    check()
    assert error(obj) <= TOLERANCE
    if way == "LINEAR":
        obj.dq_compensation.method = "COMPENSATED"
        assert error(obj) <= TOLERANCE


def test_a_weight_that_is_no_number_leaves_its_vertex_where_it_is() -> None:
    """As in Blender, whatever other weights the vertex has; 1e-6: float32."""
    body, armature = character()
    broken = np.arange(0, len(body.data.vertices), 5)
    rest = np.array([body.data.vertices[vertex].co for vertex in broken.tolist()])
    write_no_numbers(body, broken)
    pose_at_random(armature)
    bpy.context.view_layer.update()
    linear = evaluated_positions(body)
    assert distance(api.evaluate(body, method="LINEAR"), linear) <= TOLERANCE
    np.testing.assert_allclose(linear[broken], rest, atol=1e-6)
    enable(body)
    for method in METHODS:
        body.dq_compensation.method = method
        assert error(body) <= TOLERANCE
        np.testing.assert_allclose(evaluated_positions(body)[broken], rest, atol=1e-6)


def test_a_move_is_followed_at_once_where_there_is_no_window() -> None:
    obj, armature = enabled_character()
    pose_at_random(armature)
    bpy.context.view_layer.update()
    before = evaluated_positions(obj)
    for step in range(1, 4):
        obj.location.y = -0.1 * step
        bpy.context.view_layer.update()
        assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), before) > 100.0 * TOLERANCE


@pytest.mark.usefixtures("with_timers")
def test_a_move_is_followed_when_it_has_ended() -> None:
    obj, armature = enabled_character()
    pose_at_random(armature)
    check()
    for step in range(1, 4):
        obj.location.y = -0.1 * step
        bpy.context.view_layer.update()
    assert error(obj) > TOLERANCE
    assert not check_all(bpy.context.evaluated_depsgraph_get())
    assert error(obj) <= TOLERANCE


def test_walking_far_away_binds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """World matrices round more the farther away they are."""
    obj, armature = character()
    armature.scale = (0.01, 0.01, 0.01)
    obj.parent = armature
    enable(obj)
    installed = count_calls(monkeypatch, install)
    for step in range(5):
        armature.location = (321.7 * step, -77.3 * step, 13.1)
        armature.rotation_euler = (0.3 * step, 0.1, 0.7 * step)
        check()
    assert not installed


def test_checking_again_neither_binds_nor_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    obj, armature = enabled_character()
    drawn = linked_copy(obj, own_data=True)
    drawn.dq_compensation.display = "GPU"
    check()
    pose_at_random(armature)
    check()
    calls = count_calls(monkeypatch, install, bind)
    for seed in range(3):
        check()
        pose_at_random(armature, seed)
        armature.location.x += 0.1
        obj.location.x += 0.1
        drawn.location.x += 0.1
    check()
    assert not calls
    obj.vertex_groups["Root"].add([0, 1], 1.0, "REPLACE")
    check()
    check()
    assert calls["install"] == 1


def test_custom_normals_survive_as_with_an_armature_modifier() -> None:
    obj, armature = character()
    mesh = obj.data
    rng = np.random.default_rng(3)
    normals = rng.normal(size=(len(mesh.loops), 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    mesh.normals_split_custom_set(normals.tolist())
    turn = Euler((0.4, -0.8, 1.1)).to_quaternion()
    root = armature.pose.bones["Root"]
    root.rotation_mode, root.rotation_quaternion = "QUATERNION", turn
    before = _corner_normals(obj)
    enable(obj)
    after = _corner_normals(obj)
    assert before.shape == after.shape
    assert obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.has_custom_normals
    # Custom normals are kept as 16-bit angles to the surface's own.
    np.testing.assert_allclose(after, before, atol=1e-3)


def _corner_normals(obj: bpy.types.Object) -> NDArray[np.float32]:
    bpy.context.view_layer.update()
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    normals = np.empty(3 * len(mesh.corner_normals), np.float32)
    mesh.corner_normals.foreach_get("vector", normals)
    return normals.reshape(-1, 3)


@pytest.mark.parametrize("inverted", [False, True])
def test_the_mask_of_the_armature_modifier_is_honoured(inverted: bool) -> None:
    obj, armature = character()
    mask = obj.vertex_groups.new(name="Mask")
    for vertex in range(24):
        mask.add([vertex], vertex / 23.0, "REPLACE")
    modifier = obj.modifiers["Armature"]
    modifier.vertex_group, modifier.invert_vertex_group = "Mask", inverted
    pose_at_random(armature)
    masked = evaluated_positions(obj)
    obj.dq_compensation.method = "LINEAR"
    enable(obj)
    assert distance(evaluated_positions(obj), masked) <= TOLERANCE
    modifier.invert_vertex_group = not inverted
    check()
    other_way = evaluated_positions(obj)
    assert distance(other_way, masked) > 1e-3
    disable(obj)
    assert distance(evaluated_positions(obj), other_way) <= TOLERANCE


def test_modifiers_after_it_see_the_deformed_mesh() -> None:
    obj, armature = character()
    obj.dq_compensation.method = "LINEAR"
    smooth = obj.modifiers.new("Subdivision", "SUBSURF")
    smooth.levels = 1
    pose_at_random(armature)
    expected = evaluated_positions(obj)
    assert len(expected) > len(obj.data.vertices)
    enable(obj)
    assert distance(evaluated_positions(obj), expected) <= TOLERANCE
    assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE", "NODES", "SUBSURF"]


@pytest.mark.usefixtures("with_viewport")
def test_the_display_is_one_property() -> None:
    obj, armature = enabled_character()
    pose_at_random(armature)
    before = description(obj)
    for _ in range(2):
        obj.dq_compensation.display = "GPU"
        assert obj.display_type == "BOUNDS"
        assert not ours(obj).show_viewport
        assert ours(obj).show_render
        assert not obj.modifiers["Armature"].show_viewport
        assert obj.modifiers["Armature"].show_render
        obj.dq_compensation.display = "MODIFIER"
        assert description(obj) == before
        assert error(obj) <= TOLERANCE


def test_quotes_and_brackets_in_names_break_nothing() -> None:
    new_file()
    names = ['Ro"ot', "Up]per.L", "Löwer\\"]
    obj, armature = add_grid(name='Bo"dy]'), add_armature(names, name="Ri'g")
    skin(obj, armature, groups=names)
    enable(obj)
    ours(obj).name = 'no"des]'
    obj.dq_compensation.factor = 0.5
    check()
    pose_at_random(armature)
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert obj.animation_data is None
    assert not bpy.data.node_groups


def test_a_second_window_does_not_bind_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each view layer tells of what we have written, at a time of its own."""
    obj, _armature = enabled_character()
    other = bpy.context.scene.view_layers.new("Other")
    other.update()
    check()
    installed = count_calls(monkeypatch, install)
    obj.vertex_groups["Root"].add([0, 1], 1.0, "REPLACE")
    for _ in range(5):
        other.update()
        check()
    assert installed == {"install": 1}


def test_an_object_that_is_no_mesh_any_more_is_reported() -> None:
    obj, _armature = enabled_character()
    select(obj)
    bpy.ops.object.convert(target="CURVE")
    check()
    assert "not a mesh" in str(problem_of(obj))


def test_other_edits_of_the_mesh_write_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Materials, UV maps, seams: Blender reports them as edits of the mesh as well."""
    obj, _armature = enabled_character()
    check()
    installed = count_calls(monkeypatch, install)
    obj.data.uv_layers.new(name="UV")
    obj.data.materials.append(bpy.data.materials.new("Skin"))
    obj.data.edges[0].use_seam = True
    obj.data.update()
    check()
    assert not installed

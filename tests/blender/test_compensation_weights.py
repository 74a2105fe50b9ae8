"""Painted weights of real characters: what the operators write, and that it acts at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle import enabling
from dq_compensation.painting.compensation_weights import is_painted
from dq_compensation.scene.blender.mesh import read_weights
from dq_compensation.scene.vertex_groups import write_groups
from dq_compensation.session.status import status_of
from human.model import RIGS, Rig
from human.poses import apply_pose, named_poses
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, description, distance, enable, rest_of, select
from tests.blender.libraries import load_objects
from tests.blender.scene_builders import edit_mode, evaluated_positions, link

# Of the object's size: two evaluators of one deformation, in float32.
TOLERANCE = 1e-4


@pytest.fixture
def enabled_tube(addon: None) -> Object:
    body = _tube()
    enable(body)
    return body


@pytest.fixture
def enabled_human(addon: None, human: Human) -> Human:
    enable(human.mesh_object)
    return human


def _weights(obj: Object, group: str = "Compensation") -> NDArray[np.float32]:
    return read_weights(obj.data).of_group(obj.vertex_groups[group].index)


def _random_weights(obj: Object, seed: int = 0) -> NDArray[np.float32]:
    """Write weights of a few levels, so that writing them is quick; returns them."""
    levels = np.linspace(0.1, 0.9, 9, dtype=np.float32)
    weights = np.random.default_rng(seed).choice(levels, len(obj.data.vertices))
    group = obj.vertex_groups["Compensation"]
    for level in levels:
        group.add(np.flatnonzero(weights == level).tolist(), float(level), "REPLACE")
    return weights


def _bend_elbow(human: Human, rig: Rig = "default") -> None:
    apply_pose(human.armature_object, named_poses(rig)["elbow"].rotations)
    bpy.context.view_layer.update()


def _bend(tube: Object, degrees: float) -> None:
    bone = tube.parent.pose.bones["Lower"]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler.x = np.radians(degrees)
    bpy.context.view_layer.update()


def _size(human: Human) -> float:
    return float(np.ptp(human.arrays.vertices, axis=0).max())


def _object_mode() -> None:
    bpy.ops.object.mode_set(mode="OBJECT")


def test_painting_starts_on_a_group_that_changes_nothing_yet(enabled_tube: Object) -> None:
    body = enabled_tube
    _bend(body, 80.0)
    before = evaluated_positions(body)
    assert bpy.ops.dqc.paint_weights() == {"FINISHED"}
    assert body.mode == "WEIGHT_PAINT"
    assert body.dq_compensation.vertex_group == "Compensation"
    assert body.vertex_groups.active.name == "Compensation"
    assert (_weights(body) == 1.0).all()
    assert distance(evaluated_positions(body), before) < 1e-6  # metres; float32


def brush_weight() -> float:
    """What the next stroke of Weight Paint paints."""
    tools = bpy.context.tool_settings
    paint = tools.weight_paint
    unified = getattr(paint, "unified_paint_settings", None) or tools.unified_paint_settings
    return unified.weight if unified.use_unified_weight else paint.brush.weight


@pytest.mark.parametrize("unified", [False, True])
def test_the_first_stroke_on_a_new_group_changes_something(
    enabled_tube: Object, capfd: pytest.CaptureFixture[str], unified: bool
) -> None:
    tools = bpy.context.tool_settings
    bpy.ops.dqc.paint_weights()
    paint = tools.weight_paint
    settings = getattr(paint, "unified_paint_settings", None) or tools.unified_paint_settings
    settings.use_unified_weight = unified
    settings.weight = paint.brush.weight = 1.0
    bpy.ops.dqc.paint_weights()
    assert brush_weight() == 0.0
    assert "1 everywhere, so the brush weight is 0" in capfd.readouterr().out
    # On a painted group the brush stays as the artist has set it.
    settings.weight = paint.brush.weight = 0.7
    enabled_tube.vertex_groups["Compensation"].add([3], 0.5, "REPLACE")
    bpy.ops.dqc.paint_weights()
    assert brush_weight() == pytest.approx(0.7)


def test_the_blend_to_linear_is_painted_in_a_group_of_its_own(enabled_tube: Object) -> None:
    body = enabled_tube
    bpy.ops.dqc.paint_weights()
    bpy.ops.dqc.paint_weights(group="BLEND")
    assert body.dq_compensation.vertex_group == "Compensation"
    assert body.dq_compensation.blend_group == "Blend"
    assert body.vertex_groups.active.name == "Blend"
    _bend(body, 80.0)
    bpy.ops.dqc.weights_fill(group="BLEND", value=0.0)
    assert (_weights(body) == 1.0).all()
    linear = api.evaluate(body, method="LINEAR")
    assert distance(evaluated_positions(body), linear) < TOLERANCE * 2.0


def test_a_group_that_is_there_is_painted_on_as_it_is(enabled_tube: Object) -> None:
    body = enabled_tube
    body.vertex_groups.new(name="Mine").add([7], 0.25, "REPLACE")
    body.dq_compensation.vertex_group = "Mine"
    body.vertex_groups.active_index = 0
    count = len(body.vertex_groups)
    bpy.ops.dqc.paint_weights()
    assert body.vertex_groups.active.name == "Mine"
    assert len(body.vertex_groups) == count
    assert np.flatnonzero(_weights(body, "Mine")).tolist() == [7]


def test_a_group_that_was_lost_comes_back_by_its_name(enabled_tube: Object) -> None:
    enabled_tube.dq_compensation.vertex_group = "Lost"
    bpy.ops.dqc.paint_weights()
    assert enabled_tube.dq_compensation.vertex_group == "Lost"
    assert (_weights(enabled_tube, "Lost") == 1.0).all()


def test_from_pose_mode_the_armature_stays_posable(enabled_tube: Object) -> None:
    rig = enabled_tube.parent
    select(rig)
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.dqc.paint_weights() == {"FINISHED"}
    assert bpy.context.view_layer.objects.active == enabled_tube
    assert enabled_tube.mode == "WEIGHT_PAINT"
    assert rig.mode == "POSE"
    assert enabled_tube.vertex_groups.active.name == "Compensation"


def test_what_cannot_be_painted_says_why(addon: None) -> None:
    body = _tube()
    select(body)
    with pytest.raises(RuntimeError, match="Press Enable first"):
        bpy.ops.dqc.paint_weights()
    enable(body)
    with pytest.raises(RuntimeError, match="Press Paint Compensation first"):
        bpy.ops.dqc.weights_invert()
    with edit_mode(body), pytest.raises(RuntimeError, match="Tube is in Edit Mode"):
        bpy.ops.dqc.paint_weights()
    select()
    with pytest.raises(RuntimeError, match="Select a mesh"):
        bpy.ops.dqc.paint_weights()


def test_a_hidden_character_is_not_painted(enabled_tube: Object) -> None:
    enabled_tube.hide_set(True)
    bpy.context.view_layer.objects.active = enabled_tube
    with pytest.raises(RuntimeError, match="hidden"):
        bpy.ops.dqc.paint_weights()
    assert "Compensation" not in enabled_tube.vertex_groups


def test_filling_and_inverting_report_numbers(
    enabled_tube: Object, capfd: pytest.CaptureFixture[str]
) -> None:
    bpy.ops.dqc.weights_fill(value=0.25)
    assert (_weights(enabled_tube) == 0.25).all()
    assert "656 of 656 vertices set to 0.25" in capfd.readouterr().out
    weights = _random_weights(enabled_tube)
    bpy.ops.dqc.weights_invert()
    np.testing.assert_array_equal(_weights(enabled_tube), np.float32(1.0) - weights)


@pytest.mark.parametrize("mode", ["OBJECT", "WEIGHT_PAINT"])
@pytest.mark.parametrize("display", ["MODIFIER", "GPU"])
def test_weights_act_at_once(with_viewport: None, human: Human, display: str, mode: str) -> None:
    """While painting Blender itself shows the modifier's result, whatever the display."""
    body = human.mesh_object
    _bend_elbow(human)
    enable(body, display)
    check()
    bpy.ops.dqc.paint_weights()
    bpy.ops.object.mode_set(mode=mode)
    bpy.ops.dqc.weights_fill(value=0.0)
    if display == "GPU" and mode == "OBJECT":
        check()
        assert body.dq_compensation.native.hidden
        painted = status_of(body).binding.painted("Compensation")
        assert (painted == 0.0).all()
        return
    assert not body.dq_compensation.native.hidden
    check()
    assert enabling.notes_of(body) == []
    plain = api.evaluate(body, method="DUAL_QUATERNION")
    full = api.evaluate(body, method="COMPENSATED", factor=1.0)
    assert distance(full, plain) < 1e-6
    assert distance(human.evaluated_positions(), plain, _size(human)) < TOLERANCE
    bpy.ops.dqc.weights_fill(value=1.0)
    compensated = api.evaluate(body)
    assert distance(compensated, plain) > 0.005  # metres: the elbow's bulge
    assert distance(human.evaluated_positions(), compensated, _size(human)) < TOLERANCE


def _choose_left_half(body: Object, mask: str) -> NDArray[np.bool_]:
    """Select the half of positive X for a paint mask; which vertices that is."""
    mesh, left = body.data, rest_of(body)[:, 0] > 0.0
    if mask == "vertices":
        mesh.use_paint_mask_vertex = True
        mesh.vertices.foreach_set("select", left)
        return left
    mesh.use_paint_mask = True
    corners = np.empty(len(mesh.loops), np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    quads = corners.reshape(-1, 4)  # every face of the human is one
    faces = left[quads].all(axis=1)
    mesh.polygons.foreach_set("select", faces)
    return np.isin(np.arange(len(left)), quads[faces])


@pytest.mark.parametrize("mask", ["vertices", "faces"])
def test_only_what_the_paint_mask_lets_through_changes(enabled_human: Human, mask: str) -> None:
    body = enabled_human.mesh_object
    bpy.ops.dqc.paint_weights()
    chosen = _choose_left_half(body, mask)
    assert 0 < np.count_nonzero(chosen) < len(chosen)
    bpy.ops.dqc.weights_fill(value=0.5)
    np.testing.assert_array_equal(_weights(body), np.where(chosen, 0.5, 1.0))
    bpy.ops.dqc.weights_invert()
    np.testing.assert_array_equal(_weights(body), np.where(chosen, 0.5, 1.0))
    _object_mode()
    bpy.ops.dqc.weights_fill(value=0.0)
    assert not _weights(body).any()


def _bulge(human: Human) -> NDArray[np.float32]:
    """Shape (n,): how far the compensation moves each vertex in the current pose."""
    body = human.mesh_object
    plain = api.evaluate(body, method="COMPENSATED", factor=0.0)
    return np.linalg.norm(api.evaluate(body) - plain, axis=1)


@pytest.mark.parametrize("rig", RIGS)
def test_the_start_from_the_transitions_keeps_what_takes_the_bulge_out(
    addon: None, human_with_rig: Callable[[Rig], Human], rig: Rig
) -> None:
    human = human_with_rig(rig)
    enable(human.mesh_object)
    _bend_elbow(human, rig)
    full = _bulge(human)
    bpy.ops.dqc.weights_from_transition()
    kept, weights = _bulge(human), _weights(human.mesh_object)
    assert full.max() > 0.005
    # A ninth (0.7 of 6.3 mm) where a third bone has a say.
    assert (full - kept).max() < 0.12 * full.max()
    # Most of the body has no joint to compensate, and the start does not touch it.
    assert np.count_nonzero(weights) < 0.5 * len(weights)


def test_the_start_from_the_transitions_spares_the_inner_side(enabled_human: Human) -> None:
    """The published curves push the inner side as well; this keeps them from it."""
    body = enabled_human.mesh_object
    body.dq_compensation.curve = "FITTED"
    _bend_elbow(enabled_human)
    full = _bulge(enabled_human)
    bpy.ops.dqc.weights_from_transition()
    kept = _bulge(enabled_human)
    arrays, rig = enabled_human.arrays, enabled_human.armature_object
    elbow = arrays.heads[arrays.names.index("lowerarm01.L")]
    shoulder = arrays.heads[arrays.names.index("upperarm01.L")]
    wrist = arrays.heads[arrays.names.index("wrist.L")]
    assert rig.matrix_world == body.matrix_world
    inwards = (shoulder - elbow) / np.linalg.norm(shoulder - elbow)
    inwards = inwards + (wrist - elbow) / np.linalg.norm(wrist - elbow)
    inwards /= np.linalg.norm(inwards)
    away = arrays.vertices - elbow
    near = np.linalg.norm(away, axis=1) < 0.07
    depth = away @ inwards
    # At rest the limbs are 133 degrees apart: 7 cm along either of them is 2.8 cm inwards, on any
    # side of it. What is deeper is on the inner side.
    inner, outer = near & (depth > 0.035), near & (depth < 0.0)
    assert full[inner].max() > 0.001
    assert kept[inner].max() < 0.1 * full[inner].max()
    # At most 1.1 of 6 mm, at the transition's edge, where one bone has a fortieth of the weight.
    assert (full - kept)[outer].max() < 0.2 * full[outer].max()


def test_a_straight_joint_has_an_outer_side_all_around(enabled_tube: Object) -> None:
    body = enabled_tube
    bpy.ops.dqc.weights_from_transition()
    weights, rest = _weights(body), rest_of(body)
    at_joint = np.abs(rest[:, 2] - 1.0) < 0.01
    np.testing.assert_allclose(weights[at_joint], 1.0, atol=1e-6)
    assert not weights[np.abs(rest[:, 2] - 1.0) > 0.75].any()
    _bend(body, 60.0)
    bpy.ops.dqc.weights_from_transition()
    bent = _weights(body)
    inside = np.sign(body.parent.pose.bones["Lower"].tail.y) * rest[:, 1]
    assert (bent[at_joint & (inside < 0.01)] > 0.999).all()
    assert (bent[at_joint & (inside > 0.09)] < 0.001).all()


def test_a_mesh_without_vertices_gets_an_empty_group(enabled_tube: Object) -> None:
    enabled_tube.data.clear_geometry()
    write_groups(enabled_tube, {"Compensation": np.empty(0)})
    assert "Compensation" in enabled_tube.vertex_groups
    assert not len(_weights(enabled_tube))


def test_filling_from_joints_keeps_painted_weights_that_it_multiplies(enabled_tube: Object) -> None:
    body = enabled_tube
    bpy.ops.dqc.weights_from_transition()
    filled = _weights(body)
    bpy.ops.dqc.weights_fill(value=1.0)
    painted = _random_weights(body)
    bpy.ops.dqc.weights_from_transition(combine="MULTIPLY")
    np.testing.assert_allclose(_weights(body), painted * filled, atol=1e-6)
    # A bent pose and its mirror image take both sides; what is 0 stays 0.
    bpy.ops.dqc.weights_fill(value=1.0)
    for degrees in (60.0, -60.0):
        _bend(body, degrees)
        bpy.ops.dqc.weights_from_transition(combine="MULTIPLY")
    at_joint = np.abs(rest_of(body)[:, 2] - 1.0) < 0.01
    assert (_weights(body)[at_joint & (np.abs(rest_of(body)[:, 1]) > 0.09)] < 0.001).all()


def test_only_a_painted_group_is_asked_about(enabled_tube: Object) -> None:
    body = enabled_tube
    assert not is_painted(body, "COMPENSATION")
    bpy.ops.dqc.paint_weights()
    assert not is_painted(body, "COMPENSATION")
    body.vertex_groups["Compensation"].add([3], 0.5, "REPLACE")
    assert is_painted(body, "COMPENSATION")
    assert not is_painted(body, "BLEND")
    # Painting takes the group again, even where the field is empty.
    body.dq_compensation.vertex_group = ""
    assert is_painted(body, "COMPENSATION")


def _tube() -> Object:
    """A tube of radius 0.1 along Z on two bones that meet in its middle, in a straight line."""
    rings, around = 41, 16
    heights, angles = np.linspace(0.0, 2.0, rings), np.arange(around) * 2.0 * np.pi / around
    z, angle = (grid.ravel() for grid in np.meshgrid(heights, angles, indexing="ij"))
    vertices = np.column_stack((0.1 * np.cos(angle), 0.1 * np.sin(angle), z))
    faces = [
        (r * around + a, r * around + b, (r + 1) * around + b, (r + 1) * around + a)
        for r in range(rings - 1)
        for a, b in zip(range(around), [*range(1, around), 0], strict=True)
    ]
    mesh = bpy.data.meshes.new("Tube")
    mesh.from_pydata(vertices.tolist(), [], faces)
    body = link(bpy.data.objects.new("Tube", mesh))
    rig = link(bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig")))
    with edit_mode(rig):
        upper, lower = (rig.data.edit_bones.new(name) for name in ("Upper", "Lower"))
        upper.head, upper.tail = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
        lower.head, lower.tail = (0.0, 0.0, 1.0), (0.0, 0.0, 2.0)
        lower.parent = upper
    shares = np.clip((z - 0.5) / 1.0, 0.0, 1.0)
    for name, weights in (("Upper", 1.0 - shares), ("Lower", shares)):
        group = body.vertex_groups.new(name=name)
        for height in np.unique(z):
            rows = np.flatnonzero(z == height)
            if weights[rows[0]] > 0.0:
                group.add(rows.tolist(), float(weights[rows[0]]), "REPLACE")
    body.parent = rig
    body.modifiers.new("Armature", "ARMATURE").object = rig
    bpy.context.view_layer.update()
    return body


OPERATORS: dict[str, Callable[[], Any]] = {
    "fill": partial(bpy.ops.dqc.weights_fill, value=0.5),
    "invert": bpy.ops.dqc.weights_invert,
    "from transition": bpy.ops.dqc.weights_from_transition,
}


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("obstacle", ["locked", "linked"])
def test_refused_weights_stay_as_they_are(
    enabled_tube: Object, tmp_path: Path, operator: str, obstacle: str
) -> None:
    body = enabled_tube
    bpy.ops.dqc.weights_fill(value=0.25)
    if obstacle == "locked":
        body.vertex_groups["Compensation"].lock_weight = True
        expected = "Locked vertex groups of Tube"
    else:
        path = str(tmp_path / "tube.blend")
        bpy.data.libraries.write(path, {body, body.parent})
        bpy.ops.wm.read_factory_settings(use_empty=True)
        body, _ = load_objects(path, "Tube", "Rig")
        select(body)
        expected = "linked from another file"
    with pytest.raises(RuntimeError, match=expected):
        OPERATORS[operator]()
    assert (_weights(body) == 0.25).all()


def test_objects_that_share_the_mesh_are_named(
    enabled_tube: Object, capfd: pytest.CaptureFixture[str]
) -> None:
    twin = link(enabled_tube.copy())
    assert twin.data == enabled_tube.data
    bpy.ops.dqc.weights_fill(value=0.5)
    assert f"The mesh is shared: {twin.name} changed as well." in capfd.readouterr().out


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("mode", ["OBJECT", "WEIGHT_PAINT"])
def test_one_undo_step_brings_everything_back(
    enabled_tube: Object, operator: str, mode: str
) -> None:
    bpy.ops.dqc.weights_fill(value=1.0)
    _random_weights(enabled_tube)
    bpy.ops.object.mode_set(mode=mode)
    before = _weights(enabled_tube)
    bpy.ops.ed.undo_push(message="Before")
    OPERATORS[operator]()
    assert not np.array_equal(_weights(enabled_tube), before)
    bpy.ops.ed.undo_push(message="After")
    bpy.ops.ed.undo()
    np.testing.assert_array_equal(_weights(bpy.data.objects["Tube"]), before)


def test_nothing_else_of_the_object_changes(enabled_tube: Object) -> None:
    bpy.ops.dqc.weights_fill(value=1.0)
    before = description(enabled_tube)
    bpy.ops.dqc.weights_from_transition()
    bpy.ops.dqc.weights_invert()
    bpy.ops.dqc.weights_fill(value=1.0)
    assert description(enabled_tube) == before

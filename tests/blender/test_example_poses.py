"""Example poses on the human: what the artist made is what the character shows in that pose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.core.example_poses import ExampleError
from dq_compensation.core.pose import Pose
from dq_compensation.examples import authoring, posed_copy
from dq_compensation.examples.authoring import mirror_example, remove_example
from dq_compensation.examples.posed_copy import apply_copy, go_to_pose, positions_in
from dq_compensation.modifier.attribute_names import (
    ARRIVING,
    EXAMPLE_OFFSETS,
    EXAMPLES_REACH,
    numbered,
)
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.blender.bulk_arrays import AttributeType, read_attribute
from dq_compensation.scene.copies import posed_copy_of
from dq_compensation.session.status import mesh_edited
from human.model import Rig
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, disable, enable
from tests.blender.example_scenes import (
    ELBOW,
    IN_AND_BETWEEN,
    SHOULDER,
    add_example,
    add_examples,
    add_rows,
    bulged,
    flexing,
    largest,
    settings_for,
    size_of,
    turn,
)


@pytest.mark.parametrize("base", ["SPHERICAL_JOINT", "COMPENSATED"])
@pytest.mark.parametrize("rig", ["default", "game_engine", "cmu_mb"])
def test_at_an_example_pose_the_surface_is_the_artists(
    addon: None, body_with_rig: Callable[[Rig], Human], rig: Rig, base: str
) -> None:
    human = body_with_rig(rig)
    settings_for(human, base)
    rest = api.evaluate(human.mesh_object)
    turn(human, ELBOW[rig], 100.0)
    wanted, plain = bulged(human, ELBOW[rig])
    assert largest(wanted, plain) > 0.01
    error = add_example(human, ELBOW[rig], "flexed", wanted)
    # What the artist made comes back to a ten-thousandth of the size: float32 offsets in a key.
    assert error < 1e-5 * size_of(human)
    assert largest(api.evaluate(human.mesh_object), wanted) < 1e-4 * size_of(human)
    turn(human, ELBOW[rig], 0.0)
    assert largest(api.evaluate(human.mesh_object), rest) < 1e-6 * size_of(human)


def test_between_poses_the_surface_goes_smoothly_and_never_beyond_the_examples(
    addon: None, human: Human
) -> None:
    bone = ELBOW["default"]
    wanted = flexing(human)
    plain = api.evaluate(human.mesh_object, method="SPHERICAL_JOINT")
    most = largest(wanted, plain)
    heights: list[float] = []
    for degrees in np.linspace(0.0, 180.0, 13):
        turn(human, bone, float(degrees))
        with_example = api.evaluate(human.mesh_object)
        without = api.evaluate(human.mesh_object, method="SPHERICAL_JOINT")
        heights.append(largest(with_example, without))
    assert max(heights) <= 1.001 * most
    assert heights[0] < 1e-6
    rising = np.diff(heights[:7])
    assert rising.min() > 0.0
    assert rising.max() < 0.5 * most


def test_examples_do_not_show_with_another_method(addon: None, human: Human) -> None:
    bone = ELBOW["default"]
    settings_for(human, "SPHERICAL_JOINT")
    turn(human, bone, 90.0)
    wanted, plain = bulged(human, bone)
    add_example(human, bone, "flexed", wanted)
    other = api.evaluate(human.mesh_object, method="SPHERICAL_JOINT")
    assert largest(other, plain) < 1e-6 * size_of(human)


def test_examples_that_have_lost_their_bone_or_key_say_so_and_the_rest_acts(
    addon: None, human: Human
) -> None:
    bone = ELBOW["default"]
    wanted = flexing(human)
    turn(human, bone, 50.0)
    half, _ = bulged(human, bone, 0.005)
    add_example(human, bone, "half", half)
    chosen = human.mesh_object.dq_compensation
    chosen.examples[1].key = "gone"
    assert _problems(human) == (
        "The example pose half of Human has lost its shape key gone. Choose the key again, or "
        "remove the pose.",
    )
    turn(human, bone, 100.0)
    assert largest(api.evaluate(human.mesh_object), wanted) < 1e-4 * size_of(human)
    chosen.examples[0].bone = "tail"
    assert "belongs to the bone tail, which is not there" in " ".join(_problems(human))


def _problems(human: Human) -> Sequence[str]:
    return bind(human.mesh_object).examples("AUTO").problems


def test_a_second_example_of_a_bone_begins_with_the_current_look(addon: None, human: Human) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    wanted = flexing(human)
    turn(human, bone, 60.0)
    look = api.evaluate(obj)
    authoring.add_example(obj, bone, bpy.context.evaluated_depsgraph_get(), "half")
    bpy.context.view_layer.update()
    assert largest(api.evaluate(obj), look) < 1e-6 * size_of(human)
    turn(human, bone, 100.0)
    assert largest(api.evaluate(obj), wanted) < 1e-4 * size_of(human)


def test_a_pose_that_there_is_already_is_refused_and_nothing_is_stored(
    addon: None, human: Human
) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, "SPHERICAL_JOINT")
    graph = bpy.context.evaluated_depsgraph_get()
    with pytest.raises(ExampleError, match=r"nearly the pose rest of lowerarm01\.L"):
        authoring.add_example(obj, bone, graph, "flexed")
    assert obj.data.shape_keys is None
    turn(human, bone, 90.0)
    authoring.add_example(obj, bone, bpy.context.evaluated_depsgraph_get(), "flexed")
    turn(human, bone, 91.0)
    with pytest.raises(ExampleError, match="The pose again is nearly the pose flexed"):
        authoring.add_example(obj, bone, bpy.context.evaluated_depsgraph_get(), "again")
    assert len(obj.dq_compensation.examples) == 1
    assert len(obj.data.shape_keys.key_blocks) == 2


def test_other_keys_and_examples_of_other_bones_go_on_acting(addon: None, human: Human) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, "SPHERICAL_JOINT")
    obj.shape_key_add(name="Basis")
    fat = obj.shape_key_add(name="fat", from_mix=False)
    points = human.arrays.vertices * np.float32(1.02)
    fat.points.foreach_set("co", points.ravel())
    fat.value = 1.0
    turn(human, "upperarm01.L", 40.0)
    wanted_shoulder, _ = bulged(human, "upperarm01.L", 0.01)
    add_example(human, "upperarm01.L", "raised", wanted_shoulder)
    turn(human, bone, 100.0)
    wanted, _ = bulged(human, bone)
    add_example(human, bone, "flexed", wanted)
    assert largest(api.evaluate(obj), wanted) < 1e-4 * size_of(human)
    turn(human, bone, 0.0)
    assert largest(api.evaluate(obj), wanted_shoulder) < 1e-4 * size_of(human)


def test_a_removed_example_takes_its_key_along(addon: None, human: Human) -> None:
    obj = human.mesh_object
    flexing(human)
    plain = api.evaluate(human.mesh_object, method="SPHERICAL_JOINT")
    assert remove_example(obj, 0) == "flexed"
    assert len(obj.dq_compensation.examples) == len(obj.dq_compensation.example_bones) == 0
    assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis"]
    assert largest(api.evaluate(obj), plain) < 1e-6 * size_of(human)


def test_go_to_pose_brings_the_example_back_whatever_the_parents_do(
    addon: None, human: Human
) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    flexing(human)
    turn(human, bone, 13.0, "Z")
    human.armature_object.pose.bones[bone].location = (0.01, 0.0, 0.0)
    turn(human, "upperarm01.L", 60.0, "Z")
    name, radians_off = go_to_pose(obj, 0, bpy.context.evaluated_depsgraph_get())
    assert name == bone
    # A quaternion of float32 holds an angle to about 1e-3 where arccos is flat.
    assert radians_off < 2e-3
    assert tuple(human.armature_object.pose.bones[bone].location) == pytest.approx((0.01, 0, 0))
    binding = bind(obj)
    evaluated = bpy.context.evaluated_depsgraph_get()
    armature = human.armature_object.evaluated_get(evaluated)
    pose = Pose.from_matrices(binding.pose_matrices(armature), binding.skeleton)
    assert binding.examples().poses.alphas(pose) == pytest.approx([1.0], abs=1e-4)


def test_a_mirrored_example_gives_the_mirrored_character(addon: None, human: Human) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, "SPHERICAL_JOINT")
    turn(human, bone, 100.0)
    wanted, _ = bulged(human, bone)
    add_example(human, bone, "flexed.L", wanted)
    assert mirror_example(obj, 0) == "flexed.R"
    assert [item.bone for item in obj.dq_compensation.examples] == [bone, "lowerarm01.R"]
    bpy.context.view_layer.update()
    left = api.evaluate(obj) - api.evaluate(obj, method="SPHERICAL_JOINT")
    turn(human, bone, 0.0)
    pose_left = go_to_pose(obj, 1, bpy.context.evaluated_depsgraph_get())
    assert pose_left[1] < 2e-3
    right = api.evaluate(obj) - api.evaluate(obj, method="SPHERICAL_JOINT")
    assert np.abs(left).max() > 0.005
    # The bulges are as large, on the other side; the body's halves differ by a few millimetres in
    # weights and joints, hence a tenth.
    assert np.abs(right).max() == pytest.approx(np.abs(left).max(), rel=0.1)
    moved_left = human.arrays.vertices[np.linalg.norm(left, axis=1) > 0.003]
    moved_right = human.arrays.vertices[np.linalg.norm(right, axis=1) > 0.003]
    assert moved_left[:, 0].min() > 0.0 > moved_right[:, 0].max()
    again = mirror_example(obj, 0)
    assert (again, len(obj.dq_compensation.examples)) == ("flexed.R", 2)


def test_a_bone_without_a_side_cannot_be_mirrored(addon: None, human: Human) -> None:
    settings_for(human, "SPHERICAL_JOINT")
    turn(human, "spine01", 30.0)
    wanted, _ = bulged(human, "spine01")
    add_example(human, "spine01", "bent", wanted)
    with pytest.raises(ExampleError, match="spine01 has no side in its name"):
        mirror_example(human.mesh_object, 0)


@pytest.mark.parametrize("base", ["SPHERICAL_JOINT", "COMPENSATED"])
def test_what_is_sculpted_on_the_posed_copy_is_what_the_character_shows(
    addon: None, human: Human, base: str
) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, base)
    turn(human, "upperarm01.L", 30.0, "Z")
    turn(human, bone, 100.0)
    look = api.evaluate(obj)
    wanted, _ = bulged(human, bone)
    graph = bpy.context.evaluated_depsgraph_get()
    index, captured = authoring.add_example(obj, bone, graph, "flexed")
    copy = posed_copy.begin(obj, index, captured, bpy.context.evaluated_depsgraph_get())
    assert obj.hide_get()
    assert bpy.context.view_layer.objects.active == copy
    assert largest(positions_in(copy, obj), look) < 1e-6 * size_of(human)
    # Posed elsewhere meanwhile: the copy stays in the pose in which it was begun.
    turn(human, bone, 20.0)
    copy.data.attributes["position"].data.foreach_set("vector", wanted.astype(np.float32).ravel())
    summary, is_complete = apply_copy(copy)
    assert summary.startswith("flexed has your shape")
    assert is_complete
    assert not obj.hide_get()
    assert posed_copy_of(obj) is None
    turn(human, bone, 100.0)
    assert largest(api.evaluate(obj), wanted) < 1e-4 * size_of(human)


def test_a_copy_with_other_vertices_is_refused_and_stays(addon: None, human: Human) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, "SPHERICAL_JOINT")
    turn(human, bone, 90.0)
    index, captured = authoring.add_example(obj, bone, bpy.context.evaluated_depsgraph_get())
    copy = posed_copy.begin(obj, index, captured, bpy.context.evaluated_depsgraph_get())
    copy.data.vertices.add(1)
    with pytest.raises(ExampleError, match="4007 vertices and 3930 faces, Human 4006"):
        apply_copy(copy)
    assert posed_copy_of(obj) == copy
    posed_copy.end(copy)
    assert not obj.hide_get()


@pytest.mark.parametrize(("base", "twists"), [("SPHERICAL_JOINT", True), ("COMPENSATED", False)])
def test_the_modifier_shows_what_numpy_computes(
    addon: None, human: Human, base: str, twists: bool
) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, base)
    add_examples(human, twists=twists)
    obj.dq_compensation.examples[0].factor = 0.5
    enable(obj)
    for elbow, axis, shoulder in IN_AND_BETWEEN:
        turn(human, bone, elbow, axis)
        turn(human, SHOULDER, shoulder, "Z")
        computed = api.evaluate(obj)
        # As of the other methods: single precision in nodes, a ten-thousandth of the size.
        assert largest(human.evaluated_positions(), computed) < 1e-4 * size_of(human)


@pytest.mark.parametrize("twists", [False, True])
def test_the_modifier_shows_linear_weights(addon: None, human: Human, twists: bool) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, "COMPENSATED")
    add_rows(human, twists)
    assert len(bind(obj).examples().poses.linear) == 2
    enable(obj)
    for elbow, axis, shoulder in (*IN_AND_BETWEEN, (170.0, "X", -30.0), (45.0, "X", 80.0)):
        turn(human, bone, elbow, axis)
        turn(human, SHOULDER, shoulder, "X" if elbow == 50.0 else "Z")
        # As above.
        assert largest(human.evaluated_positions(), api.evaluate(obj)) < 1e-4 * size_of(human)
    linear = human.evaluated_positions()
    obj.dq_compensation.example_bones[SHOULDER].weights = "SMOOTH"
    turn(human, SHOULDER, 60.0, "Z")
    smooth = human.evaluated_positions()
    assert largest(smooth, api.evaluate(obj)) < 1e-4 * size_of(human) < largest(linear, smooth)


def test_files_from_before_linear_weights_keep_their_look(addon: None, human: Human) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, "COMPENSATED")
    add_rows(human)
    turn(human, bone, 65.0)
    shared = obj.dq_compensation.example_bones[bone]
    assert shared.weights == "AUTO"
    new = api.evaluate(obj)
    shared.weights = "SMOOTH"
    smooth = api.evaluate(obj)
    shared.property_unset("weights")
    assert np.array_equal(api.evaluate(obj), smooth)
    # Half a millimetre, and no vertex moved above.
    assert largest(new, smooth) > 0.0003


@pytest.mark.parametrize("bone", [ELBOW["default"], SHOULDER])
def test_a_mirrored_bone_acts_as_numpy_computes(addon: None, human: Human, bone: str) -> None:
    settings_for(human, "COMPENSATED")
    add_examples(human, twists=True)
    enable(human.mesh_object)
    turn(human, ELBOW["default"], 80.0)
    turn(human, SHOULDER, 30.0, "Z")
    # No edge of a palette's points has another length.
    human.armature_object.pose.bones[bone].scale = (-1.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    # Blender's own result of such bones is another one: the shape that arrives there is compared.
    binding, graph = bind(human.mesh_object), bpy.context.evaluated_depsgraph_get()
    mesh = human.mesh_object.evaluated_get(graph).data
    shape = read_attribute(mesh, ARRIVING, AttributeType.VECTOR, len(mesh.vertices))
    matrices = binding.pose_matrices(human.armature_object.evaluated_get(graph))
    examples = binding.examples()
    alphas = examples.values(Pose.from_matrices(matrices, binding.skeleton))
    assert alphas.max() > 0.1
    offsets = np.tensordot(alphas, binding.shape_keys.offsets[examples.rows], 1)
    assert largest(shape, human.arrays.vertices + offsets) < 1e-4 * size_of(human)


def test_poses_of_many_bones_add_up_where_they_meet(addon: None, human: Human) -> None:
    obj, rng = human.mesh_object, np.random.default_rng(0)
    settings_for(human, "SPHERICAL_JOINT")
    add_examples(human, twists=False)
    # Poses of both bones, and more of one than a vector has numbers, move every vertex.
    for number, degrees in enumerate((30.0, 60.0, 90.0, 120.0)):
        turn(human, SHOULDER, degrees, "X")
        add_example(human, SHOULDER, f"{number}", api.evaluate(obj))
    for key in obj.data.shape_keys.key_blocks[1:-1]:
        moved = human.arrays.vertices + 0.01 * rng.normal(size=human.arrays.vertices.shape)
        key.points.foreach_set("co", moved.astype(np.float32).ravel())
    enable(obj)
    for elbow, axis, shoulder in IN_AND_BETWEEN:
        turn(human, ELBOW["default"], elbow, axis)
        turn(human, SHOULDER, shoulder)
        computed = api.evaluate(obj)
        assert largest(human.evaluated_positions(), computed) < 1e-4 * size_of(human)


def test_what_rounding_leaves_in_a_key_moves_no_vertex(addon: None, human: Human) -> None:
    obj, rng = human.mesh_object, np.random.default_rng(0)
    flexing(human)
    moved = human.arrays.vertices + 1e-7 * rng.uniform(size=human.arrays.vertices.shape)
    moved[7, 0] += 0.05
    key = obj.data.shape_keys.key_blocks[1]
    key.points.foreach_set("co", moved.astype(np.float32).ravel())
    enable(obj)
    reach = read_attribute(obj.data, EXAMPLES_REACH, AttributeType.INTEGER, len(moved))
    assert np.flatnonzero(reach).tolist() == [7]


def test_the_offsets_of_poses_that_do_not_act_are_not_read(addon: None, human: Human) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, "SPHERICAL_JOINT")
    for degrees in (50.0, 100.0):
        turn(human, bone, degrees)
        wanted, _ = bulged(human, bone, 0.0002 * degrees)
        add_example(human, bone, f"{degrees:.0f}", wanted)
    enable(obj)
    turn(human, bone, 0.0)
    shown = human.evaluated_positions()
    # Not a number times nothing is not a number: it would show if it were added.
    offsets = obj.data.attributes[numbered(numbered(EXAMPLE_OFFSETS, 0), 0)]
    offsets.data.foreach_set("value", np.full(16 * len(obj.data.vertices), np.nan))
    obj.data.update_tag()
    assert np.array_equal(human.evaluated_positions(), shown)
    turn(human, bone, 50.0)
    assert np.isnan(human.evaluated_positions()).any()


def test_an_enabled_character_follows_its_examples(addon: None, human: Human) -> None:
    bone, obj = ELBOW["default"], human.mesh_object
    settings_for(human, "SPHERICAL_JOINT")
    enable(obj)
    turn(human, bone, 100.0)
    wanted, plain = bulged(human, bone)
    add_example(human, bone, "flexed", wanted)
    check()
    assert largest(human.evaluated_positions(), wanted) < 1e-4 * size_of(human)
    obj.dq_compensation.examples[0].factor = 0.0
    check()
    assert largest(human.evaluated_positions(), plain) < 1e-4 * size_of(human)
    obj.dq_compensation.examples[0].factor = 1.0
    key = obj.data.shape_keys.key_blocks[obj.dq_compensation.examples[0].key]
    key.points.foreach_set("co", human.arrays.vertices.ravel())
    obj.data.update_tag()
    mesh_edited(obj.data)
    check()
    assert largest(human.evaluated_positions(), plain) < 1e-4 * size_of(human)
    disable(obj)
    assert not [a.name for a in obj.data.attributes if a.name.startswith(".dqc")]

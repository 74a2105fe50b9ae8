"""Soften Weights on real characters: what it writes, leaves alone, keeps and gives back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np
import pytest
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.reconcile import compare_with_file
from dq_compensation.painting.compensation_weights import ensure_group
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.blender.mesh import VertexGroupWeights, read_weights
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.kept_weights import PAINTED, kept_record
from dq_compensation.scene.settings.addon_preferences import soft_weights_are_proved
from dq_compensation.scene.vertex_groups import write_groups
from human.poses import rotation
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable, select
from tests.blender.scene_builders import add_mesh, evaluated_positions, link, save_and_open
from tests.replaced_functions import replace_everywhere
from tests.setup_check.plant_weight_transition import cylinder

# Weights are float32, and each is written once.
TOLERANCE = 1e-6
EXPRESSIONS = {
    "jaw open": {"jaw": (15.0, 0.0, 0.0)},
    "eyes closed": {
        f"orbicularis0{row}.{side}": (angle, 0.0, 0.0)
        for row, angle in ((3, 20.0), (4, -10.0))
        for side in "LR"
    },
    "lips up": {f"oris03.{side}": (10.0, 0.0, 0.0) for side in "LR"},
    "mouth wide": {f"oris07.{side}": (0.0, 0.0, 12.0) for side in "LR"},
    "cheeks": {f"risorius03.{side}": (0.0, 10.0, 10.0) for side in "LR"},
    "brows": {f"oculi01.{side}": (12.0, 0.0, 0.0) for side in "LR"},
}


def matrix_of(obj: bpy.types.Object) -> NDArray[np.float32]:
    """All weights, shape (n, groups)."""
    read = read_weights(obj.data)
    found = np.zeros((read.vertex_count, len(obj.vertex_groups)), np.float32)
    found[read.vertices, read.groups] = read.weights
    return found


def same_entries(one: VertexGroupWeights, other: VertexGroupWeights) -> bool:
    names = ("vertices", "groups", "weights")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def posed(human: Human, turns: dict[str, tuple[float, float, float]]) -> NDArray[np.floating]:
    """The evaluated positions with these bones turned, in degrees; back at rest afterwards."""
    bones = human.armature_object.pose.bones
    for name, angles in turns.items():
        bones[name].rotation_quaternion = rotation(*angles)
    bpy.context.view_layer.update()
    found = evaluated_positions(human.mesh_object)
    for name in turns:
        bones[name].rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    return found


@pytest.fixture
def limb(addon: None) -> bpy.types.Object:
    """A cylinder whose weights change over a fifth of the radius."""
    return cylinder(0.1)[0]


def test_the_human_is_softened_and_gets_its_weights_back(addon: None, whole_human: Human) -> None:
    body = whole_human.mesh_object
    before, rest = read_weights(body.data), evaluated_positions(body)
    (report,) = api.soften_weights(body)
    assert report.changed > 5000
    assert "jaw" in report.features
    after = matrix_of(body)
    changed = (after != _dense(before, body)).any(axis=1)
    assert np.count_nonzero(after[changed] > 0.0, axis=1).max() <= 8
    assert np.abs(after.sum(axis=1) - 1.0).max() < 1e-5
    assert np.abs(evaluated_positions(body) - rest).max() < 1e-6
    api.restore_weights(body)
    assert same_entries(read_weights(body.data), before)
    with pytest.raises(api.UserError, match="not softened"):
        api.restore_weights(body)


def test_faces_keep_their_weights_and_expressions(addon: None, whole_human: Human) -> None:
    human, body = whole_human, whole_human.mesh_object
    before = matrix_of(body)
    looks = {name: posed(human, turns) for name, turns in EXPRESSIONS.items()}
    (report,) = api.soften_weights(body)
    after = matrix_of(body)
    own = (before * after).sum(axis=0) / np.maximum((before * before).sum(axis=0), 1e-12)
    for name in (*report.features, *(bone for turns in EXPRESSIONS.values() for bone in turns)):
        assert own[body.vertex_groups[name].index] > 0.97, name
    for name, turns in EXPRESSIONS.items():
        # Metres, of a face of 20 cm; 0.75 mm are on the neck below the open jaw.
        assert np.abs(posed(human, turns) - looks[name]).max() < 1e-3, name


def test_parts_of_a_face_are_named_where_they_were_to_be_softened(
    addon: None, whole_human: Human
) -> None:
    """The mask of Softness is 1 around one elbow, then in the face."""
    body = whole_human.mesh_object
    read, groups = read_weights(body.data), body.vertex_groups
    for bone, is_of_face in (("lowerarm01.L", False), ("jaw", True)):
        amounts = np.zeros(len(body.data.vertices), np.float32)
        amounts[read.of_group(groups[bone].index) > 0.0] = 1.0
        write_groups(body, {"Region": amounts})
        body.dq_compensation.softness_group = "Region"
        (report,) = api.soften_weights(body)
        assert ("jaw" in report.features) == is_of_face, bone
        assert bool(report.features) == is_of_face
        assert ("parts of a face" in report.sentence()) == is_of_face
        api.restore_weights(body)


def _dense(read: VertexGroupWeights, obj: bpy.types.Object) -> NDArray[np.float32]:
    found = np.zeros((read.vertex_count, len(obj.vertex_groups)), np.float32)
    found[read.vertices, read.groups] = read.weights
    return found


def test_weights_come_back_from_a_saved_file(limb: bpy.types.Object, tmp_path: Path) -> None:
    before = read_weights(limb.data)
    api.soften_weights(limb)
    assert not same_entries(read_weights(limb.data), before)
    save_and_open(tmp_path / "soft.blend")
    opened = bpy.data.objects["Limb"]
    api.restore_weights(opened)
    assert same_entries(read_weights(opened.data), before)
    assert not [name for name in opened.data.attributes.keys() if name.startswith(".dqb")]  # noqa: SIM118


def test_the_first_painted_weights_come_back(limb: bpy.types.Object) -> None:
    before = read_weights(limb.data)
    api.soften_weights(limb, amount=0.3)
    once = matrix_of(limb)
    api.soften_weights(limb, amount=0.3)
    assert np.abs(matrix_of(limb) - once).max() > 0.01
    api.restore_weights(limb)
    assert same_entries(read_weights(limb.data), before)


def test_a_mesh_without_weights_is_right_when_none_are_put_back(limb: bpy.types.Object) -> None:
    """Hidden, it is not evaluated, and only the record of kept weights goes: no vertex moves."""
    enable(limb)
    limb.data.clear_geometry()
    for bone in ("upper", "lower"):  # they went with the vertices
        limb.vertex_groups.new(name=bone)
    bpy.context.view_layer.update()
    beside = cylinder(0.1)[0]
    beside.modifiers[0].object = limb.modifiers[0].object  # type: ignore[attr-defined]
    api.soften_weights([limb, beside])
    bpy.context.view_layer.update()
    assert kept_record(limb, PAINTED) is not None
    limb.hide_viewport = True
    bpy.context.view_layer.update()
    api.restore_weights(limb)
    bpy.context.view_layer.update()
    assert kept_record(limb, PAINTED) is None
    depsgraph = bpy.context.evaluated_depsgraph_get()
    assert compare_with_file(SkinnedObject(limb), depsgraph, bind(limb)).parts == ()


def test_one_undo_takes_it_back(limb: bpy.types.Object) -> None:
    before = read_weights(limb.data)
    select(limb)
    bpy.ops.ed.undo_push(message="before")
    assert bpy.ops.dqc.soften_weights(amount=0.5) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="softened")
    bpy.ops.ed.undo()
    limb = bpy.data.objects["Limb"]
    assert same_entries(read_weights(limb.data), before)
    assert not bpy.ops.dqc.restore_weights.poll()


def test_the_operators_do_what_scripts_do(limb: bpy.types.Object) -> None:
    before = read_weights(limb.data)
    api.soften_weights(limb, amount=0.7, influences=4)
    expected = matrix_of(limb)
    api.restore_weights(limb)
    select(limb)
    assert bpy.ops.dqc.soften_weights(amount=0.7, influences=4) == {"FINISHED"}
    # The amount of an operator is a float32.
    assert np.abs(matrix_of(limb) - expected).max() < TOLERANCE
    assert bpy.ops.dqc.restore_weights() == {"FINISHED"}
    assert same_entries(read_weights(limb.data), before)


def test_only_chosen_vertices_change_in_weight_paint(limb: bpy.types.Object) -> None:
    before = matrix_of(limb)
    upper = np.array([vertex.co.x > 0.0 for vertex in limb.data.vertices])
    limb.data.vertices.foreach_set("select", upper)
    select(limb)
    limb.data.use_paint_mask_vertex = True
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    assert bpy.ops.dqc.soften_weights() == {"FINISHED"}
    bpy.ops.object.mode_set(mode="OBJECT")
    changed = (matrix_of(limb) != before).any(axis=1)
    assert changed.any()
    assert not changed[~upper].any()


def test_the_softness_group_says_how_much(limb: bpy.types.Object) -> None:
    before = matrix_of(limb)[:, :2]
    enable(limb)
    group, _ = ensure_group(limb, "SOFTNESS")
    right = np.array([vertex.co.x > 0.0 for vertex in limb.data.vertices])
    write_groups(limb, {group: right.astype(np.float32)})
    api.soften_weights(limb)
    changed = (matrix_of(limb)[:, :2] != before).any(axis=1)
    assert changed[right].any()
    assert not changed[~right].any()


def test_locked_groups_stay_and_what_is_in_them(addon: None, human: Human) -> None:
    body = human.mesh_object
    locked = body.vertex_groups["upperarm02.L"]
    locked.lock_weight = True
    before = matrix_of(body)
    api.soften_weights(body)
    after = matrix_of(body)
    held = before[:, locked.index] > 0.0
    assert np.array_equal(after[held], before[held])
    assert np.array_equal(after[:, locked.index], before[:, locked.index])
    assert not np.array_equal(after, before)


def test_a_group_that_was_locked_at_first_is_put_back(addon: None, human: Human) -> None:
    body = human.mesh_object
    locked = body.vertex_groups["upperarm02.L"]
    locked.lock_weight = True
    before, painted = matrix_of(body), bind(body).first_influences
    api.soften_weights(body)
    # The locked group is one of the painted weights all the time: joints are measured by these.
    assert bind(body).first_influences.moves_like(painted)
    locked.lock_weight = False
    api.soften_weights(body)
    assert not np.array_equal(matrix_of(body)[:, locked.index], before[:, locked.index])
    api.restore_weights(body)
    assert np.array_equal(matrix_of(body), before)


def test_unnormalised_weights_keep_their_sums(limb: bpy.types.Object) -> None:
    for group in limb.vertex_groups:
        write_groups(limb, {group.name: 0.5 * read_weights(limb.data).of_group(group.index)})
    api.soften_weights(limb)
    assert np.abs(matrix_of(limb).sum(axis=1) - 0.5).max() < 1e-5


def test_a_shirt_follows_its_body(addon: None, human: Human) -> None:
    """The trunk and the arms as a shirt, 3 mm above the skin: no more skin comes through."""
    body = human.mesh_object
    shirt = _shirt_of(human)
    turns = {
        "arm raised": {"upperarm01.L": (0.0, 0.0, 80.0)},
        "elbow": {"lowerarm01.L": (80.0, 0.0, 0.0)},
        "bent over": {"spine03": (30.0, 0.0, 0.0)},
    }
    before = {name: _skin_outside(human, shirt, turn) for name, turn in turns.items()}
    reports = api.soften_weights([shirt, body], body=body.name)
    assert [each.body for each in reports] == [body.name, ""]
    for name, turn in turns.items():
        assert _skin_outside(human, shirt, turn) <= before[name], name


def test_a_shirt_that_is_softened_after_its_body_gets_the_same(
    addon: None, human: Human, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no joint acts less: what the test of them finds for both, the body has already."""
    replace_everywhere(monkeypatch, soft_weights_are_proved, lambda: False)
    body, shirt = human.mesh_object, _shirt_of(human)
    api.soften_weights([shirt, body], body=body.name)
    together = matrix_of(shirt)
    api.restore_weights(shirt)
    api.soften_weights(shirt, body=body.name)
    assert np.abs(matrix_of(shirt) - together).max() < TOLERANCE


def _shirt_of(human: Human) -> bpy.types.Object:
    body = human.mesh_object
    rest = np.array([vertex.co for vertex in body.data.vertices])
    normals = np.array([vertex.normal for vertex in body.data.vertices])
    faces = np.array([face.vertices[:] for face in body.data.polygons])
    trunk = (rest[faces][:, :, 2].mean(axis=1) > 0.05) & (rest[faces][:, :, 2].max(axis=1) < 0.5)
    used, corners = np.unique(faces[trunk], return_inverse=True)
    places = rest[used] + 0.003 * normals[used]
    shirt = add_mesh(places.tolist(), corners.reshape(-1, 4).tolist(), name="Shirt")
    weights = matrix_of(body)[used]
    for group in body.vertex_groups:
        shirt.vertex_groups.new(name=group.name)
        if weights[:, group.index].any():
            write_groups(shirt, {group.name: weights[:, group.index]})
    shirt.parent = human.armature_object
    shirt.modifiers.new("Armature", "ARMATURE").object = human.armature_object
    return shirt


def _skin_outside(
    human: Human, shirt: bpy.types.Object, turns: dict[str, tuple[float, float, float]]
) -> int:
    """How many vertices of the body below the shirt lie outside of it in a pose."""
    bones = human.armature_object.pose.bones
    for name, angles in turns.items():
        bones[name].rotation_quaternion = rotation(*angles)
    bpy.context.view_layer.update()
    skin, cloth = evaluated_positions(human.mesh_object), evaluated_positions(shirt)
    for name in turns:
        bones[name].rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    faces = [face.vertices[:] for face in shirt.data.polygons]
    tree = BVHTree.FromPolygons(cloth.tolist(), faces)
    count = 0
    for point in skin.tolist():
        place, normal, _, distance = cast("Any", tree.find_nearest(point))
        if distance < 0.02:
            count += sum((a - b) * c for a, b, c in zip(point, place, normal, strict=True)) > 0.0
    return count


def _two_users(limb: bpy.types.Object) -> None:
    link(bpy.data.objects.new("Twin", limb.data))


def _one_bone(limb: bpy.types.Object) -> None:
    limb.vertex_groups.remove(limb.vertex_groups["lower"])


def _no_groups(limb: bpy.types.Object) -> None:
    limb.vertex_groups.clear()


def _not_a_number(limb: bpy.types.Object) -> None:
    limb.data.vertices[7].co.x = float("nan")


def _no_area(limb: bpy.types.Object) -> None:
    limb.data.vertices.foreach_set("co", np.zeros(3 * len(limb.data.vertices), np.float32))


def _no_rig(limb: bpy.types.Object) -> None:
    limb.modifiers.clear()


def _envelopes(limb: bpy.types.Object) -> None:
    limb.modifiers["Armature"].use_bone_envelopes = True


def _edit_mode(limb: bpy.types.Object) -> None:
    select(limb)
    bpy.ops.object.mode_set(mode="EDIT")


def _baked(limb: bpy.types.Object) -> None:
    enable(limb)
    api.bake_bones(limb, budget=2)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (_two_users, "1 object shares the mesh"),
        (_one_bone, "follows 1 bone"),
        (_no_groups, "no vertex group"),
        (_not_a_number, "not a number"),
        (_no_area, "no faces with an area"),
        (_no_rig, "no Armature modifier"),
        (_envelopes, "envelopes"),
        (_edit_mode, "Edit Mode"),
        (_baked, "helper bones of a bake"),
    ],
)
def test_what_cannot_be_softened_stays(
    limb: bpy.types.Object, spoil: Callable[[bpy.types.Object], None], sentence: str
) -> None:
    spoil(limb)
    before = None if limb.mode == "EDIT" else read_weights(limb.data)
    with pytest.raises(api.UserError, match=sentence):
        api.soften_weights(limb)
    if before is not None:
        assert same_entries(read_weights(limb.data), before)
        assert kept_record(limb, PAINTED) is None


def test_a_mesh_in_pieces_and_with_loose_vertices_is_softened(limb: bpy.types.Object) -> None:
    """Every vertex by itself beside the limb, and one of no group."""
    before = matrix_of(limb)
    count = len(limb.data.vertices)
    limb.data.vertices.add(3)
    limb.vertex_groups["upper"].add([count, count + 1], 1.0, "REPLACE")
    api.soften_weights(limb)
    after = matrix_of(limb)
    assert np.abs(after[:count] - before).max() > 0.1
    assert after[count:].tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]


def test_a_thousand_groups(limb: bpy.types.Object) -> None:
    for number in range(1000):
        limb.vertex_groups.new(name=f"Selection {number}")
    (report,) = api.soften_weights(limb)
    assert report.changed


def test_helpers_of_bakes_fit_softened_weights(limb: bpy.types.Object) -> None:
    """Bake to Bones keeps the softened weights, and both can be taken back, the bake first."""
    painted = read_weights(limb.data)
    api.soften_weights(limb)
    soft = read_weights(limb.data)
    _baked(limb)
    with pytest.raises(api.UserError, match="helper bones of a bake"):
        api.restore_weights(limb)
    api.bake_bones(limb, budget=2)
    assert kept_record(limb, PAINTED) is not None
    assert not same_entries(read_weights(limb.data), soft)
    assert not same_entries(read_weights(limb.data), painted)


def test_the_check_finds_weights_that_change_too_fast(limb: bpy.types.Object) -> None:
    limb.dq_compensation.curve = "MEASURED"
    (issue,) = _transition_issues(limb)
    assert "These weights are hard: skin folds there." in issue.message
    assert issue.fixes[0].name == "soften"
    far = np.setdiff1d(np.arange(len(limb.data.vertices)), issue.vertices)
    before = matrix_of(limb)
    results = api.fix(limb, "weight_transition", fix="soften", agree=True)
    assert [each.state for each in results] == ["FIXED"]
    assert np.array_equal(matrix_of(limb)[far], before[far])
    assert not _transition_issues(limb)


def _transition_issues(obj: bpy.types.Object) -> list[api.Issue]:
    return [issue for issue in api.check(obj) if issue.check == "weight_transition"]

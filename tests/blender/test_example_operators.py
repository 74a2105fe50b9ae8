"""By Example as the artist uses it: the operators, leaving the mode, undo, files, export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion
from numpy.typing import NDArray

import dq_compensation
from dq_compensation import api
from dq_compensation.examples import posed_copy, shown_weights
from dq_compensation.examples.operators import active_bone
from dq_compensation.examples.posed_copy import failure_of, take_for_granted
from dq_compensation.lifecycle import enabling
from dq_compensation.modifier.attributes.vertex_attributes import CONTENT_PROPERTY, attribute_names
from dq_compensation.modifier.installation import replace_armature_modifier
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.capture import support_weights
from dq_compensation.scene.copies import posed_copy_of
from dq_compensation.session.status import status_of
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import check, disable, enable, select, without_addon
from tests.blender.scene_builders import save_and_open
from tests.kept_files import new_file
from tests.replaced_functions import count_calls

pytestmark = pytest.mark.usefixtures("addon")

BONE = "lowerarm01.L"
SUPPORT = "Arm"
# Of the object's size: float32 positions and offsets, through the node modifier.
TOLERANCE = 1e-4
HEIGHT = 0.02


def turn(human: Human, degrees: float, bone: str = BONE) -> None:
    pose_bone = human.armature_object.pose.bones[bone]
    pose_bone.rotation_mode = "QUATERNION"
    pose_bone.rotation_quaternion = Quaternion((1, 0, 0), np.radians(degrees))
    bpy.context.view_layer.update()


def size_of(human: Human) -> float:
    return float(np.ptp(human.arrays.vertices, axis=0).max())


def apart(one: NDArray, other: NDArray) -> float:
    return float(np.linalg.norm(one - other, axis=1).max())


def positions(obj: bpy.types.Object) -> NDArray[np.float32]:
    found = np.empty(3 * len(obj.data.vertices), np.float32)
    obj.data.attributes["position"].data.foreach_get("vector", found)
    return found.reshape(-1, 3)


def sculpt(copy: bpy.types.Object, height: float = HEIGHT) -> NDArray[np.float32]:
    """Push what the mask leaves free upwards; the wanted positions."""
    mask = np.empty(len(copy.data.vertices), np.float32)
    copy.data.attributes[".sculpt_mask"].data.foreach_get("value", mask)
    wanted = positions(copy) + (1.0 - mask)[:, None] * np.float32([0.0, 0.0, height])
    copy.data.attributes["position"].data.foreach_set("vector", wanted.ravel())
    copy.data.update()
    return wanted


def leave_mode() -> None:
    """Leave the mode, and do what handlers and timer of a session with a window do then."""
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    posed_copy.observe()
    posed_copy.follow()
    bpy.context.view_layer.update()


def report_of(operator: str, **arguments: object) -> str:
    """What an operator that fails says."""
    with pytest.raises(RuntimeError) as raised:
        getattr(bpy.ops.dqc, operator)(**arguments)
    return str(raised.value)


@pytest.fixture
def posing(human: Human) -> Human:
    """The human enabled, its armature active in Pose Mode, the elbow bent."""
    obj = human.mesh_object
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    obj.dq_compensation.example_base = "SPHERICAL_JOINT"
    enable(obj)
    select(human.armature_object)
    bpy.ops.object.mode_set(mode="POSE")
    bones = human.armature_object.data.bones
    bones.active = bones[BONE]
    turn(human, 100.0)
    return human


@pytest.fixture
def shaped(posing: Human) -> tuple[Human, NDArray[np.float32]]:
    """With an example whose shape was sculpted; the wanted positions."""
    bpy.ops.dqc.example_add(name="flexed")
    wanted = sculpt(bpy.context.active_object)
    leave_mode()
    return posing, wanted


def test_add_sculpt_and_leave_the_mode(posing: Human) -> None:
    obj, before = posing.mesh_object, posing.evaluated_positions()
    assert active_bone(obj) == BONE
    assert bpy.ops.dqc.example_add() == {"FINISHED"}
    copy = bpy.context.active_object
    assert (copy.mode, obj.hide_get(), copy.hide_render) == ("SCULPT", True, True)
    assert obj.dq_compensation.method == "SPHERICAL_JOINT_BY_EXAMPLE"
    assert apart(positions(copy), before) < 1e-5 * size_of(posing)
    wanted = sculpt(copy)
    leave_mode()
    assert bpy.context.active_object == posing.armature_object
    assert bpy.context.mode == "POSE"
    assert not obj.hide_get()
    assert len(bpy.data.objects) == 3, "body, armature, palette"
    assert apart(posing.evaluated_positions(), wanted) < TOLERANCE * size_of(posing)
    assert apart(wanted, before) > 0.9 * HEIGHT
    result = status_of(obj).example_result
    assert result is not None
    assert "lowerarm01.L 1 has your shape" in result
    turn(posing, 0.0)
    rest = api.evaluate(obj, method="SPHERICAL_JOINT")
    assert apart(posing.evaluated_positions(), rest) < TOLERANCE * size_of(posing)


def test_the_first_example_corrects_what_was_seen(posing: Human) -> None:
    settings = posing.mesh_object.dq_compensation
    settings.method = "COMPENSATED"
    before = posing.evaluated_positions()
    assert bpy.ops.dqc.example_add(mode="NONE") == {"FINISHED"}
    assert settings.example_base == "COMPENSATED"
    assert apart(posing.evaluated_positions(), before) < TOLERANCE * size_of(posing)


def test_adding_brings_the_character_up_to_date_once(
    posing: Human, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for each setting that is written: each would build another node tree."""
    calls = count_calls(monkeypatch, replace_armature_modifier)
    assert bpy.ops.dqc.example_add(mode="NONE") == {"FINISHED"}
    assert [arguments[0].obj for arguments in calls.arguments] == [posing.mesh_object]


def test_add_in_edit_mode_and_without_a_mode(posing: Human) -> None:
    obj = posing.mesh_object
    bpy.ops.dqc.example_add(mode="EDIT", name="flexed")
    assert bpy.context.mode == "EDIT_MESH"
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.transform.translate(value=(0.0, 0.0, 0.01))
    assert bpy.ops.dqc.example_apply() == {"FINISHED"}
    shown = api.evaluate(obj) - api.evaluate(obj, method="SPHERICAL_JOINT")
    assert np.abs(shown).max() == pytest.approx(0.01, rel=0.01)
    turn(posing, 50.0)
    bpy.ops.dqc.example_add(mode="NONE", name="half")
    assert bpy.context.active_object == posing.armature_object
    assert [item.name for item in obj.dq_compensation.examples] == ["flexed", "half"]


def test_adding_is_one_undo_step_and_so_is_what_leaving_applies(posing: Human) -> None:
    bpy.ops.ed.undo_push(message="Before")
    bpy.ops.dqc.example_add(name="flexed")
    bpy.ops.ed.undo_push(message="Add Example")
    sculpt(bpy.context.active_object)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.ed.undo_push(message="Leave")
    posed_copy.observe()
    posed_copy.follow()
    assert posed_copy_of(bpy.data.objects["Human"]) is None
    bpy.ops.ed.undo()
    obj = bpy.data.objects["Human"]
    copy = posed_copy_of(obj)
    assert copy is not None
    assert obj.hide_get()
    # The user wanted to go back: it is not applied again by itself.
    posed_copy.observe()
    posed_copy.follow()
    assert posed_copy_of(obj) is not None
    bpy.ops.ed.redo()
    obj = bpy.data.objects["Human"]
    assert posed_copy_of(obj) is None
    assert not obj.hide_get()
    for _ in range(3):
        bpy.ops.ed.undo()
    obj = bpy.data.objects["Human"]
    assert (len(obj.dq_compensation.examples), obj.data.shape_keys) == (0, None)
    assert not obj.hide_get()
    assert obj.dq_compensation.method == "SPHERICAL_JOINT"


def test_what_cannot_be_applied_stays_and_is_reported_once(posing: Human) -> None:
    obj = posing.mesh_object
    bpy.ops.dqc.example_add(name="flexed")
    copy = bpy.context.active_object
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide()
    bpy.context.view_layer.update()
    leave_mode()
    failure = failure_of(copy)
    assert failure is not None
    assert "Both must have the same mesh" in str(failure)
    assert posed_copy_of(obj) == copy
    posed_copy.observe()
    posed_copy.follow()
    assert posed_copy_of(obj) == copy
    assert "Both must have the same mesh" in report_of("example_apply")
    assert posed_copy_of(obj) == copy
    assert bpy.ops.dqc.example_cancel() == {"FINISHED"}
    assert not obj.hide_get()
    assert len(obj.dq_compensation.examples) == 0, "it was added for this shape"


def test_edit_goes_to_the_pose_and_cancel_keeps_the_shape(
    shaped: tuple[Human, NDArray[np.float32]],
) -> None:
    human, wanted = shaped
    turn(human, 20.0)
    assert bpy.ops.dqc.example_edit() == {"FINISHED"}
    copy = bpy.context.active_object
    # A quaternion of float32 brings the bone back to a thousandth of a radian.
    assert apart(positions(copy), wanted) < 1e-3
    sculpt(copy, 0.05)
    assert bpy.ops.dqc.example_cancel() == {"FINISHED"}
    assert len(human.mesh_object.dq_compensation.examples) == 1
    assert apart(human.evaluated_positions(), wanted) < 1e-3
    assert bpy.ops.dqc.example_edit(mode="EDIT") == {"FINISHED"}
    assert bpy.context.mode == "EDIT_MESH"
    leave_mode()
    assert apart(human.evaluated_positions(), wanted) < 1e-3


def test_edit_is_refused_where_a_constraint_holds_the_bone(
    shaped: tuple[Human, NDArray[np.float32]],
) -> None:
    human, _ = shaped
    turn(human, 20.0)
    pose_bone = human.armature_object.pose.bones[BONE]
    limit = pose_bone.constraints.new("LIMIT_ROTATION")
    limit.use_limit_x = limit.use_limit_y = limit.use_limit_z = True
    limit.owner_space = "LOCAL"
    before = tuple(pose_bone.rotation_quaternion)
    assert "constraints, drivers or locks" in report_of("example_edit")
    assert tuple(pose_bone.rotation_quaternion) == pytest.approx(before)
    assert posed_copy_of(human.mesh_object) is None


def test_update_from_a_mesh_asks_for_the_pose_and_the_same_vertices(
    shaped: tuple[Human, NDArray[np.float32]],
) -> None:
    human, wanted = shaped
    obj = human.mesh_object
    mesh = obj.data.copy()
    other = bpy.data.objects.new("From ZBrush", mesh)
    other.shape_key_clear()
    bpy.context.scene.collection.objects.link(other)
    higher = wanted + (wanted - api.evaluate(obj, method="SPHERICAL_JOINT"))
    other.matrix_world = obj.matrix_world @ Matrix.Translation((1.0, 0.0, 0.0))
    moved = (higher - [1.0, 0.0, 0.0]).astype(np.float32)
    mesh.attributes["position"].data.foreach_set("vector", moved.ravel())
    bpy.context.view_layer.update()
    turn(human, 30.0)
    assert "Press Go to Pose first" in report_of("example_update", source=other.name)
    assert bpy.ops.dqc.example_go_to_pose() == {"FINISHED"}
    assert bpy.ops.dqc.example_update(source=other.name) == {"FINISHED"}
    inside = support_weights(bind(obj), BONE) >= 1.0
    assert apart(human.evaluated_positions()[inside], higher[inside]) < 1e-3
    mesh.vertices.add(1)
    assert f"{len(wanted) + 1} vertices" in report_of("example_update", source=other.name)
    assert "Choose the mesh" in report_of("example_update")


def test_mirror_and_remove_tell_what_they_did(shaped: tuple[Human, NDArray[np.float32]]) -> None:
    human, _ = shaped
    obj = human.mesh_object
    assert bpy.ops.dqc.example_mirror() == {"FINISHED"}
    names = [(item.name, item.bone) for item in obj.dq_compensation.examples]
    assert [bone for _, bone in names] == [BONE, "lowerarm01.R"]
    assert bpy.ops.dqc.example_remove(index=1) == {"FINISHED"}
    assert bpy.ops.dqc.example_remove() == {"FINISHED"}
    assert len(obj.dq_compensation.examples) == 0
    assert not bpy.ops.dqc.example_remove.poll()


def test_a_bone_of_the_panel_comes_before_the_active_one(posing: Human) -> None:
    obj = posing.mesh_object
    obj.dq_compensation.example_bone = "upperarm01.L"
    assert active_bone(obj) == "upperarm01.L"
    assert "nearly the pose rest of upperarm01.L" in report_of("example_add", mode="NONE")
    obj.dq_compensation.example_bone = "tail"
    assert "has no bone tail" in report_of("example_add", mode="SCULPT")
    assert obj.data.shape_keys is None
    assert not obj.hide_get()


def test_shared_linked_and_disabled_characters_are_refused(posing: Human) -> None:
    obj = posing.mesh_object
    twin = bpy.data.objects.new("Twin", obj.data)
    bpy.context.scene.collection.objects.link(twin)
    assert not bpy.ops.dqc.example_add.poll()
    bpy.data.objects.remove(twin)
    assert bpy.ops.dqc.example_add.poll()
    bpy.ops.object.mode_set(mode="OBJECT")
    select(obj)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    assert not bpy.ops.dqc.example_add.poll()
    bpy.ops.object.mode_set(mode="OBJECT")
    disable(obj)
    assert not bpy.ops.dqc.example_add.poll()
    assert not bpy.ops.dqc.example_apply.poll()


def test_support_is_shown_and_hidden(posing: Human) -> None:
    settings = posing.mesh_object.dq_compensation
    assert bpy.ops.dqc.support_show() == {"FINISHED"}
    assert (settings.overlay, settings.support_bone) == ("SUPPORT", BONE)
    assert bpy.ops.dqc.support_show(bone="upperarm01.L") == {"FINISHED"}
    assert (settings.overlay, settings.support_bone) == ("SUPPORT", "upperarm01.L")
    assert bpy.ops.dqc.support_show(bone="upperarm01.L") == {"FINISHED"}
    assert settings.overlay == "NONE"
    assert "has no bone tail" in report_of("support_show", bone="tail")


def test_live_values_follow_the_pose(shaped: tuple[Human, NDArray[np.float32]]) -> None:
    human, _ = shaped
    check()
    status = status_of(human.mesh_object)
    shown_weights.look()
    assert status.example_values == pytest.approx([1.0], abs=1e-3)
    assert not shown_weights.look(), "nothing has changed"
    turn(human, 50.0)
    assert shown_weights.look()
    assert 0.2 < status.example_values[0] < 0.8
    turn(human, 0.0)
    shown_weights.look()
    assert status.example_values == pytest.approx([0.0], abs=1e-3)


def test_a_lost_key_is_named_in_the_panel_and_can_be_chosen_again(
    shaped: tuple[Human, NDArray[np.float32]],
) -> None:
    human, _ = shaped
    obj = human.mesh_object
    key = obj.data.shape_keys.key_blocks[obj.dq_compensation.examples[0].key]
    key.name = "Biceps"
    check()
    assert any("has lost its shape key" in note for note in enabling.notes_of(obj))
    shown_weights.look()
    assert status_of(obj).example_values == (-1.0,)
    obj.dq_compensation.examples[0].key = "Biceps"
    check()
    assert not enabling.notes_of(obj)


def test_settings_of_a_bone_follow_when_another_bone_is_chosen(
    shaped: tuple[Human, NDArray[np.float32]],
) -> None:
    human, wanted = shaped
    obj = human.mesh_object
    obj.dq_compensation.example_bones[0].sigma = 0.7
    disable(obj)  # or the examples would follow
    human.armature_object.data.bones[BONE].name = "elbow.L"
    enable(obj)
    check()
    assert any("belongs to the bone lowerarm01.L" in note for note in enabling.notes_of(obj))
    obj.dq_compensation.examples[0].bone = "elbow.L"
    assert [(b.name, b.sigma) for b in obj.dq_compensation.example_bones] == [
        ("elbow.L", pytest.approx(0.7))
    ]
    check()
    assert apart(human.evaluated_positions(), wanted) < TOLERANCE * size_of(human)


@pytest.mark.parametrize("deleted", ["copy", "character"])
def test_deleting_by_hand_leaves_a_right_state(posing: Human, deleted: str) -> None:
    obj = posing.mesh_object
    bpy.ops.dqc.example_add(name="flexed")
    copy = bpy.context.active_object
    bpy.ops.object.mode_set(mode="OBJECT")
    take_for_granted()
    if deleted == "copy":
        select(copy)
        bpy.ops.object.delete()
        posed_copy.follow()
        assert not obj.hide_get()
        assert bpy.ops.object.mode_set.poll() or bpy.context.active_object is None
        select(obj)
        assert bpy.ops.dqc.example_edit.poll()
    else:
        obj.hide_set(False)
        select(obj)
        bpy.ops.object.delete()
        select(copy)
        assert "was deleted" in report_of("example_apply")
        assert bpy.ops.dqc.example_cancel() == {"FINISHED"}
        assert posing.armature_object.name in bpy.context.scene.objects


@pytest.mark.parametrize("operator", ["example_edit", "example_apply"])
def test_a_copy_that_is_disabled_in_viewports_is_shown_and_gone_on_with(
    posing: Human, operator: str
) -> None:
    bpy.ops.dqc.example_add(name="flexed")
    copy = bpy.context.active_object
    if operator == "example_edit":
        bpy.ops.object.mode_set(mode="OBJECT")
        take_for_granted()
    copy.hide_viewport = True
    select(posing.mesh_object)
    assert getattr(bpy.ops.dqc, operator)() == {"FINISHED"}
    assert (bpy.context.mode == "SCULPT") == (operator == "example_edit")
    assert posing.mesh_object.hide_get() == (operator == "example_edit")


def test_a_copy_whose_collection_is_excluded_is_named(posing: Human) -> None:
    obj = posing.mesh_object
    bpy.ops.dqc.example_add(name="flexed")
    copy = bpy.context.active_object
    bpy.ops.object.mode_set(mode="OBJECT")
    take_for_granted()
    folder = bpy.data.collections.new("Work")
    bpy.context.scene.collection.children.link(folder)
    for each in copy.users_collection:
        each.objects.unlink(copy)
    folder.objects.link(copy)
    bpy.context.view_layer.layer_collection.children["Work"].exclude = True
    select(obj)
    assert "The collection of" in report_of("example_edit")
    assert posed_copy_of(obj) == copy


@pytest.mark.parametrize("is_local", [False, True])
def test_a_copy_from_another_file_is_not_gone_on_with(
    posing: Human, tmp_path: Path, is_local: bool
) -> None:
    bpy.ops.dqc.example_add(name="flexed")
    bpy.ops.object.mode_set(mode="OBJECT")
    name, path = bpy.context.active_object.name, str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    new_file()
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = [name]
    (copy,) = wanted.objects
    bpy.context.scene.collection.objects.link(copy)
    if is_local:
        copy = copy.make_local()
    select(copy)
    assert "is linked from another file" in report_of("example_edit")


def test_the_copy_has_nothing_that_modifiers_of_ours_read(posing: Human) -> None:
    """It stays where the character is disabled, and where its file is opened without the add-on."""
    enable(posing.mesh_object)
    assert attribute_names(posing.mesh_object.data)
    bpy.ops.dqc.example_add(name="flexed")
    mesh: Any = bpy.context.active_object.data
    assert mesh != posing.mesh_object.data
    assert not attribute_names(mesh)
    assert CONTENT_PROPERTY not in mesh


def test_the_character_may_be_posed_and_moved_while_a_copy_is_open(posing: Human) -> None:
    obj = posing.mesh_object
    bpy.ops.dqc.example_add(name="flexed")
    wanted = sculpt(bpy.context.active_object)
    turn(posing, 10.0)
    posing.armature_object.location = (0.0, 3.0, 0.0)
    bpy.context.view_layer.update()
    leave_mode()
    turn(posing, 100.0)
    assert apart(posing.evaluated_positions(), wanted) < TOLERANCE * size_of(posing)
    assert not obj.hide_get()


def test_saved_and_reopened_with_an_open_copy(posing: Human, tmp_path: Path) -> None:
    size = size_of(posing)
    bpy.ops.dqc.example_add(name="flexed")
    path = tmp_path / "open.blend"
    bpy.ops.object.mode_set(mode="OBJECT")
    wanted = sculpt(bpy.context.active_object)
    save_and_open(path)
    obj = bpy.data.objects["Human"]
    copy = posed_copy_of(obj)
    assert copy is not None
    posed_copy.follow()
    assert obj.hide_get(), "it is still being shaped"
    assert len(bpy.data.shape_keys) == 1, "the copy has none, and leaves none behind"
    assert bpy.ops.dqc.example_edit() == {"FINISHED"}
    assert bpy.context.mode == "SCULPT"
    leave_mode()
    assert not obj.hide_get()
    assert apart(api.evaluate(obj), wanted) < TOLERANCE * size
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bare = np.array(without_addon(path, "shown('Human')"))
    assert apart(bare, wanted) < TOLERANCE * size


def test_the_look_stays_while_the_add_on_is_off(shaped: tuple[Human, NDArray[np.float32]]) -> None:
    human, wanted = shaped
    dq_compensation.unregister()
    try:
        assert apart(human.evaluated_positions(), wanted) < TOLERANCE * size_of(human)
    finally:
        dq_compensation.register()
    check()
    assert apart(human.evaluated_positions(), wanted) < TOLERANCE * size_of(human)


def test_gltf_gets_no_look_from_examples(
    shaped: tuple[Human, NDArray[np.float32]], tmp_path: Path
) -> None:
    human, _ = shaped
    obj = human.mesh_object
    bpy.ops.object.mode_set(mode="OBJECT")
    disabled_look = api.evaluate(obj, method="LINEAR")
    path = tmp_path / "human.glb"
    bpy.ops.export_scene.gltf(filepath=str(path), export_animations=False)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_scene.gltf(filepath=str(path))
    found = next(o for o in bpy.data.objects if o.type == "MESH" and "Human" in o.name)
    keys = found.data.shape_keys
    assert keys is None or all(key.value == 0.0 for key in keys.key_blocks[1:])
    assert len(disabled_look) <= len(found.data.vertices)

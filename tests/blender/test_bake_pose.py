"""A pose as a shape key: Blender's own Armature modifier with it gives what the add-on gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector

from dq_compensation import api
from dq_compensation.bake.options import PoseOptions
from dq_compensation.bake.pose_bake import bake_current_pose
from dq_compensation.errors import UserError
from dq_compensation.lifecycle.reconcile import State, compare_with_file
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.stack import armature_modifier
from human.poses import apply_pose, named_poses, random_pose, rotation
from tests.blender.bake_scenes import (
    TOLERANCE,
    add_playing_keys,
    animate,
    key_description,
    native,
    ours_without,
    shows_armature_alone,
    size_of,
)
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import (
    datablocks,
    description,
    disable,
    distance,
    enable,
    error,
    select,
)
from tests.blender.scene_builders import add_grid, character, pose_at_random
from tests.limb import build_posed_limb
from tests.replaced_functions import count_calls

TARGETS = ("LINEAR", "DUAL_QUATERNION")


def pose_mildly(armature: bpy.types.Object) -> None:
    """So that a linear blend of all bones keeps a volume, and every vertex can be reached."""
    for number, bone in enumerate(armature.pose.bones):
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = (0.3, 0.2 * number, -0.4)
    bpy.context.view_layer.update()


def native_with_key(obj: bpy.types.Object, name: str, target: str) -> np.ndarray:
    """Blender's own result with the key at 1; the object is disabled for it."""
    disable(obj)
    armature_modifier(obj).use_deform_preserve_volume = target == "DUAL_QUATERNION"
    obj.data.shape_keys.key_blocks[name].value = 1.0
    return native(obj)


@pytest.mark.parametrize("target", TARGETS)
def test_the_baked_human_is_the_shown_one(addon: None, human: Human, target: str) -> None:
    obj = human.mesh_object
    apply_pose(human.armature_object, random_pose(np.random.default_rng(1)))
    enable(obj)
    wanted = native(obj)
    report = api.bake_pose(obj, "Pose", target=target)
    # At 0 the key changes nothing; a mesh with keys has another base, which rounds otherwise.
    assert distance(wanted, native(obj), size_of(obj)) <= 1e-6
    assert report.unreached == 0
    assert report.deviation.largest <= 1000.0 * TOLERANCE * size_of(obj)
    baked = native_with_key(obj, "Pose", target)
    assert distance(baked, api.evaluate(obj), size_of(obj)) > 1e-3  # the key deforms, doubly here
    assert distance(baked, wanted, size_of(obj)) <= 4e-5  # the node modifier is float32


@pytest.mark.parametrize("target", TARGETS)
def test_scaled_bones_and_objects_of_unequal_scale(
    addon: None, body_with_rig: Callable[[str], Human], target: str
) -> None:
    human = body_with_rig("game_engine")
    obj, armature = human.mesh_object, human.armature_object
    rng = np.random.default_rng(2)
    apply_pose(armature, random_pose(rng, "game_engine"))
    for bone in armature.pose.bones:
        bone.scale = Vector(rng.uniform(0.85, 1.2, 3))
    obj.parent = None
    armature.matrix_world = Matrix.LocRotScale(
        Vector((1.0, -2.0, 0.3)), Euler((0.2, 0.4, -0.6)), Vector((1.3, 0.8, 1.0))
    )
    obj.matrix_world = Matrix.LocRotScale(
        Vector((0.8, -1.7, 0.1)), Euler((0.5, -0.1, 0.9)), Vector((0.7, 1.2, -0.9))
    )
    bpy.context.view_layer.update()
    wanted = api.evaluate(obj)
    api.bake_pose(obj, "Pose", target=target)
    armature_modifier(obj).use_deform_preserve_volume = target == "DUAL_QUATERNION"
    obj.data.shape_keys.key_blocks["Pose"].value = 1.0
    assert distance(native(obj), wanted, size_of(obj)) <= TOLERANCE


def test_the_key_is_new_off_last_and_relative_to_a_basis(addon: None) -> None:
    obj, armature = character()
    pose_at_random(armature)
    assert obj.data.shape_keys is None
    api.bake_pose(obj, "Pose")
    api.bake_pose(obj, "Pose")
    key = obj.data.shape_keys
    assert [block.name for block in key.key_blocks] == ["Basis", "Pose", "Pose.001"]
    assert [block.value for block in key.key_blocks][1:] == [0.0, 0.0]
    assert all(block.relative_key == key.reference_key for block in key.key_blocks)


def test_one_look_at_each_character_follows_a_first_key(
    addon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy that the bake is compared with comes and goes, which names the whole scene again."""
    obj, _ = build_posed_limb()
    other, _ = build_posed_limb("Other")
    for each in (other, obj):
        enable(each)
    bpy.context.view_layer.update()
    calls = count_calls(monkeypatch, compare_with_file)
    assert bpy.ops.dqc.bake_pose() == {"FINISHED"}
    bpy.context.view_layer.update()
    assert sorted(skinned.obj.name for skinned, *_ in calls.arguments) == ["Limb", "Other"]
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for each in (obj, other):
        now = compare_with_file(SkinnedObject(each), depsgraph, bind(each, depsgraph))
        assert now.state is State.CURRENT
        assert error(each) < 1e-4  # nodes compute in float32


def test_overwriting_keeps_the_key_and_its_driver(addon: None) -> None:
    obj, armature = character()
    api.bake_pose(obj, "Pose")
    block = obj.data.shape_keys.key_blocks["Pose"]
    block.driver_add("value").driver.expression = "0.75"
    obj.shape_key_add(name="After", from_mix=False).value = 0.0
    pose_at_random(armature)
    wanted = ours_without(obj, {"Pose"})
    api.bake_pose(obj, "Pose", target="DUAL_QUATERNION", overwrite=True)
    key = obj.data.shape_keys
    assert [block.name for block in key.key_blocks] == ["Basis", "Pose", "After"]
    assert len(key.animation_data.drivers) == 1
    key.animation_data.drivers[0].driver.expression = "1.0"
    armature_modifier(obj).use_deform_preserve_volume = True
    assert distance(native(obj), wanted) <= TOLERANCE


def test_other_keys_play_on(addon: None, body_with_rig: Callable[[str], Human]) -> None:
    """What is baked is what the other keys of that moment leave to be done."""
    human = body_with_rig("game_engine")
    obj = human.mesh_object
    animate(human)
    add_playing_keys(human)
    wanted = api.evaluate(obj)
    before = key_description(obj, {"Basis", "Breath", "Driven"})
    report = api.bake_pose(obj, "Pose")
    assert key_description(obj, {"Basis", "Breath", "Driven"}) == before
    assert report.deviation.largest <= 1000.0 * TOLERANCE * size_of(obj)
    obj.data.shape_keys.key_blocks["Pose"].value = 1.0
    assert distance(native(obj), wanted, size_of(obj)) <= TOLERANCE


def test_the_mask_of_the_armature_modifier_counts(addon: None) -> None:
    obj, armature = character()
    pose_mildly(armature)
    group = obj.vertex_groups.new(name="Mask")
    for vertex in range(len(obj.data.vertices)):
        group.add([vertex], vertex / len(obj.data.vertices), "REPLACE")
    armature_modifier(obj).vertex_group = "Mask"
    enable(obj)
    wanted = native(obj)
    api.bake_pose(obj, "Pose")
    assert distance(native_with_key(obj, "Pose", "LINEAR"), wanted) <= TOLERANCE


def test_a_half_twist_is_baked_as_far_as_it_can_be(addon: None, human: Human) -> None:
    obj = human.mesh_object
    apply_pose(human.armature_object, {"wrist.L": rotation(0.0, 180.0, 0.0)})
    obj.dq_compensation.method = "DUAL_QUATERNION"
    wanted = api.evaluate(obj)
    plain = distance(native(obj), wanted)
    report = api.bake_pose(obj, "Twist")
    basis, block = obj.data.shape_keys.key_blocks
    offsets = np.array([a.co - b.co for a, b in zip(block.data, basis.data, strict=True)])
    assert np.linalg.norm(offsets, axis=1).max() <= 0.25 * size_of(obj) + 1e-5
    assert 0 < report.unreached < 400
    block.value = 1.0
    remaining = np.linalg.norm(native(obj) - wanted, axis=1)
    assert remaining.max() <= plain
    assert np.count_nonzero(remaining > 1.001e-4 * size_of(obj)) <= report.unreached
    assert abs(report.deviation.largest - 1000.0 * remaining.max()) <= 1e-2  # mm, float32


def test_a_copy_gets_the_key_and_the_character_stays(addon: None, human: Human) -> None:
    obj = human.mesh_object
    apply_pose(human.armature_object, named_poses()["elbow"].rotations)
    enable(obj)
    bpy.context.view_layer.update()
    select(obj)
    before = description(obj)
    wanted = native(obj)
    bake_current_pose([obj], PoseOptions("Pose", onto="COPY"))
    copy = bpy.data.objects["Human Baked"]
    after = description(obj)
    for kind in datablocks():
        del before[kind], after[kind]
    assert after == before
    assert obj.dq_compensation.enabled
    assert not copy.dq_compensation.enabled
    assert shows_armature_alone(copy, False)
    assert copy.matrix_world == obj.matrix_world
    # What is baked is seen, and the character does not flicker through it.
    assert bpy.context.selected_objects == [copy]
    assert bpy.context.active_object == copy
    assert obj.hide_get()
    assert not obj.hide_viewport
    assert not copy.hide_get()
    copy.data.shape_keys.key_blocks["Pose"].value = 1.0
    assert distance(native(copy), wanted, size_of(obj)) <= 4e-5


def test_the_operator_is_one_undo_step(addon: None) -> None:
    obj, armature = character()
    pose_at_random(armature)
    enable(obj)
    bpy.ops.ed.undo_push(message="before")
    before = description(obj)
    assert bpy.ops.dqc.bake_pose("EXEC_DEFAULT", True, key_name="Pose") == {"FINISHED"}
    assert description(bpy.data.objects["Body"]) != before
    bpy.ops.ed.undo()
    assert description(bpy.data.objects["Body"]) == before


def test_a_failed_bake_leaves_no_copy_behind(addon: None) -> None:
    obj, _ = character()
    obj.shape_key_add(name="Basis", from_mix=False)
    before = datablocks()
    with pytest.raises(UserError, match="basis"):
        bake_current_pose([obj], PoseOptions("Basis", onto="COPY", overwrite=True))
    with pytest.raises(UserError, match="name"):
        bake_current_pose([obj], PoseOptions("  ", onto="COPY"))
    assert datablocks() == before


def test_a_shared_mesh_is_refused_and_a_copy_of_it_is_not(addon: None) -> None:
    obj, armature = character()
    twin = bpy.data.objects.new("Twin", obj.data)
    bpy.context.scene.collection.objects.link(twin)
    pose_at_random(armature)
    with pytest.raises(UserError, match="2 objects share the mesh of Body"):
        bake_current_pose([obj], PoseOptions("Pose"))
    assert obj.data.shape_keys is None
    bake_current_pose([obj], PoseOptions("Pose", onto="COPY"))
    assert obj.data.shape_keys is None
    assert bpy.data.objects["Body Baked"].data.shape_keys is not None


def test_a_linked_character_is_refused_and_a_copy_of_it_is_not(addon: None, tmp_path: Path) -> None:
    _, armature = character()
    pose_mildly(armature)
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Body"]
    obj = bpy.data.objects["Body"]
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    with pytest.raises(UserError, match="linked from another file"):
        bake_current_pose([obj], PoseOptions("Pose"))
    shown = api.evaluate(obj)
    bake_current_pose([obj], PoseOptions("Pose", onto="COPY"))
    copy = bpy.data.objects[("Body Baked", None)]
    copy.data.shape_keys.key_blocks["Pose"].value = 1.0
    assert distance(native(copy), shown) <= TOLERANCE


def test_what_stands_in_the_way_is_named(addon: None) -> None:
    obj, armature = character()
    modifier = obj.modifiers.new("Lattice first", "LATTICE")
    obj.modifiers.move(1, 0)
    with pytest.raises(UserError, match="Lattice first"):
        bake_current_pose([obj], PoseOptions("Pose"))
    modifier.show_viewport = False
    bake_current_pose([obj], PoseOptions("Pose"))
    obj.show_only_shape_key = True
    with pytest.raises(UserError, match="Solo Active Shape Key"):
        bake_current_pose([obj], PoseOptions("Other"))
    obj.show_only_shape_key = False
    armature.data.pose_position = "REST"
    with pytest.raises(UserError, match="Rig is in Rest Position"):
        bake_current_pose([obj], PoseOptions("Other"))
    armature.data.pose_position = "POSE"
    obj.hide_set(True)
    with pytest.raises(UserError, match="hidden"):
        bake_current_pose([obj], PoseOptions("Other"))


def test_without_a_character_the_operator_says_what_to_select(addon: None) -> None:
    select(add_grid())
    assert not bpy.ops.dqc.bake_pose.poll()
    with pytest.raises(RuntimeError, match="no Armature modifier"):
        bpy.ops.dqc.bake_pose()

"""The skeleton and the pose as Blender has them."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation.errors import BindingError
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.blender.armature import (
    deforming_bones,
    pose_matrices,
    pose_order,
    read_skeleton,
)
from dq_compensation.scene.blender.placement import object_to_armature
from human.model import build_human
from tests.blender.scene_builders import (
    add_armature,
    character,
    edit_mode,
    evaluated_positions,
    new_file,
    pose_at_random,
)

pytestmark = pytest.mark.usefixtures("addon")


def evaluated(obj: bpy.types.Object) -> bpy.types.Object:
    return obj.evaluated_get(bpy.context.evaluated_depsgraph_get())


def test_the_skeleton_of_the_human() -> None:
    new_file()
    _obj, armature = build_human()
    skeleton = read_skeleton(armature)
    bones = armature.data.bones
    assert sorted(skeleton.names) == sorted(bone.name for bone in bones)
    for index, name in enumerate(skeleton.names):
        bone, parent = bones[name], skeleton.parents[index]
        assert (bone.parent.name if bone.parent else None) == (
            skeleton.names[parent] if parent >= 0 else None
        )
        np.testing.assert_allclose(skeleton.rest[index], np.array(bone.matrix_local), atol=1e-7)
        np.testing.assert_allclose(skeleton.tails[index], bone.tail_local, atol=1e-7)
        np.testing.assert_allclose(skeleton.heads[index], bone.head_local, atol=1e-6)


def test_pose_matrices_are_pose_times_inverse_rest_in_the_skeletons_order() -> None:
    new_file()
    _obj, armature = build_human()
    pose_at_random(armature)
    skeleton = read_skeleton(armature)
    matrices = pose_matrices(evaluated(armature), pose_order(armature, skeleton))
    for index, name in enumerate(skeleton.names):
        bone = armature.pose.bones[name]
        expected = np.array(bone.matrix @ bone.bone.matrix_local.inverted())
        np.testing.assert_allclose(matrices[index], expected, atol=1e-5)


def test_bones_reparented_out_of_order_come_parents_first() -> None:
    new_file()
    armature = add_armature(("A", "B", "C", "D"))
    with edit_mode(armature):
        bones = armature.data.edit_bones
        bones["B"].parent = None
        bones["A"].parent = bones["D"]
    skeleton = read_skeleton(armature)
    assert np.all(skeleton.parents < np.arange(4))
    assert skeleton.names[skeleton.parents[skeleton.names.index("A")]] == "D"
    pose_at_random(armature)
    matrices = pose_matrices(evaluated(armature), pose_order(armature, skeleton))
    for index, name in enumerate(skeleton.names):
        expected = np.array(armature.pose.bones[name].matrix_channel)
        np.testing.assert_allclose(matrices[index], expected, atol=1e-6)


def test_only_bones_with_deform_on_deform() -> None:
    new_file()
    armature = add_armature()
    armature.data.bones["Root"].use_deform = False
    assert deforming_bones(armature) == {"Upper", "Lower"}


def test_rest_position_is_the_identity() -> None:
    obj, armature = character()
    pose_at_random(armature)
    armature.data.pose_position = "REST"
    bpy.context.view_layer.update()
    binding = bind(obj)
    matrices = binding.pose_matrices(evaluated(armature))
    np.testing.assert_allclose(matrices, np.tile(np.eye(4), (3, 1, 1)), atol=1e-6)


def test_an_armature_in_edit_mode_shows_at_rest_as_in_blender() -> None:
    obj, armature = character()
    pose_at_random(armature)
    binding = bind(obj)
    with edit_mode(armature):
        np.testing.assert_allclose(evaluated_positions(obj), binding.rest, atol=1e-6)
        matrices = binding.pose_matrices(evaluated(armature))
        np.testing.assert_array_equal(matrices, np.tile(np.eye(4), (3, 1, 1)))
        assert bind(obj).skeleton.names == binding.skeleton.names
    bpy.context.view_layer.update()
    assert np.abs(binding.pose_matrices(evaluated(armature)) - np.eye(4)).max() > 0.1


def test_a_pose_with_other_bones_than_at_binding_is_refused() -> None:
    obj, armature = character()
    binding = bind(obj)
    with edit_mode(armature):
        armature.data.edit_bones.remove(armature.data.edit_bones["Lower"])
    bpy.context.view_layer.update()
    with pytest.raises(BindingError, match=r"bones of Rig have changed.*Refresh"):
        binding.pose_matrices(evaluated(armature))
    with pytest.raises(BindingError, match="bones of Rig have changed"):
        pose_order(armature, binding.skeleton)


def test_object_to_armature_takes_points_between_the_spaces() -> None:
    obj, armature = character()
    obj.location, armature.rotation_euler, armature.scale = (1, 2, 3), (0.1, 0.2, 0.3), (2, 1, 1)
    bpy.context.view_layer.update()
    expected = np.array(armature.matrix_world.inverted() @ obj.matrix_world)
    np.testing.assert_allclose(object_to_armature(obj, armature), expected, atol=1e-6)


def test_object_to_armature_names_the_object_without_size() -> None:
    obj, armature = character()
    armature.scale = (0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    with pytest.raises(BindingError, match="Rig has a scale of zero"):
        object_to_armature(obj, armature)

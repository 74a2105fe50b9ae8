"""What users and other tools do to an enabled character: the picture stays Blender's, or we say so.

The method is Dual Quaternion: what shows must be what Blender's own Armature modifier with Preserve
Volume makes of the same object. 1e-4 of the size is what all evaluators promise.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from bpy.types import Object
from numpy.typing import NDArray

from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.stack import armature_modifier
from tests.blender.enabled_scenes import check, enable, select
from tests.blender.scene_builders import evaluated_positions, linked_copy
from tests.limb import build_limb, build_posed_limb, pose_limb

TOLERANCE = 1e-4


def native_positions(obj: Object) -> NDArray[np.float32]:
    """What Blender alone makes of an object: a copy of it without our modifier."""
    copy = linked_copy(obj, own_data=True)
    copy.dq_compensation.is_enabled = False
    while (ours := SkinnedObject(copy).ours) is not None:
        copy.modifiers.remove(ours)
    native = armature_modifier(copy)
    assert native is not None
    native.show_viewport = True
    native.use_deform_preserve_volume = True
    positions = evaluated_positions(copy)
    mesh = copy.data
    bpy.data.objects.remove(copy)
    bpy.data.meshes.remove(mesh)
    return positions


def deviation(obj: Object) -> float:
    """How far what shows is from Blender's own result, in parts of the size."""
    expected = native_positions(obj)
    shown = evaluated_positions(obj)
    assert len(shown) == len(expected)
    size = float(np.ptp(expected, axis=0).max())
    return float(np.linalg.norm(shown - expected, axis=1).max() / size)


def joined_with_a_cube(obj: Object, armature: Object) -> Object:
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.active_object
    select(obj, cube)
    bpy.ops.object.join()
    return obj


def duplicated_with_its_rig(obj: Object, armature: Object) -> Object:
    select(obj, armature)
    bpy.ops.object.duplicate()
    pose_limb(bpy.data.objects["Limb Rig.001"], bend=0.4)
    return bpy.data.objects["Limb.001"]


def duplicated_while_another_is_deleted(obj: Object, armature: Object) -> Object:
    other = bpy.data.objects.new("Other", None)
    bpy.context.scene.collection.objects.link(other)
    check()
    select(obj)
    bpy.ops.object.duplicate()
    copy = bpy.context.active_object
    bpy.data.objects.remove(other)
    copy.data.vertices[0].co.x += 0.1
    copy.data.update()
    return copy


def separated(obj: Object, armature: Object) -> Object:
    for polygon in obj.data.polygons:
        polygon.select = polygon.index < 300
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.separate(type="SELECTED")
    bpy.ops.object.mode_set(mode="OBJECT")
    return bpy.data.objects["Limb.001"]


def made_real(obj: Object, armature: Object) -> Object:
    collection = bpy.data.collections.new("Characters")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(obj)
    instance = bpy.data.objects.new("Instance", None)
    instance.instance_type = "COLLECTION"
    instance.instance_collection = collection
    bpy.context.scene.collection.objects.link(instance)
    bpy.context.view_layer.update()
    select(instance)
    bpy.ops.object.duplicates_make_real()
    return bpy.data.objects["Limb.001"]


def groups_sorted(obj: Object, armature: Object) -> Object:
    obj.vertex_groups.active_index = 0
    bpy.ops.object.vertex_group_move(direction="DOWN")
    bpy.ops.object.vertex_group_sort(sort_type="NAME")
    return obj


def mesh_swapped(obj: Object, armature: Object) -> Object:
    other = obj.data.copy()
    other.vertices[5].co.z += 0.05
    obj.data = other
    return obj


def parented_by_armature_deform(obj: Object, armature: Object) -> Object:
    obj.parent_type = "ARMATURE"
    return obj


def rig_swapped(obj: Object, armature: Object) -> Object:
    _, other = build_limb("Other")
    pose_limb(other, bend=-0.8)
    obj.modifiers["Armature"].object = other
    return obj


def pose_broken_and_fixed(obj: Object, armature: Object) -> Object:
    armature.pose.bones["Lower"].location.x = float("nan")
    check()
    assert "not a finite number" in str(problem_of(obj))
    armature.pose.bones["Lower"].location.x = 0.0
    return obj


@pytest.mark.parametrize(
    "mishap",
    [
        joined_with_a_cube,
        duplicated_with_its_rig,
        duplicated_while_another_is_deleted,
        separated,
        made_real,
        groups_sorted,
        mesh_swapped,
        parented_by_armature_deform,
        rig_swapped,
        pose_broken_and_fixed,
    ],
)
@pytest.mark.usefixtures("addon")
def test_the_picture_stays_blenders(mishap: Callable[[Object, Object], Object]) -> None:
    obj, armature = build_posed_limb()
    obj.dq_compensation.method = "DUAL_QUATERNION"
    enable(obj)
    shown = mishap(obj, armature)
    check()
    assert shown.dq_compensation.enabled
    assert problem_of(shown) is None
    assert deviation(shown) < TOLERANCE


def remeshed(obj: Object, armature: Object) -> None:
    obj.data.remesh_voxel_size = 0.05
    bpy.ops.object.voxel_remesh()


def renamed_like_ours(obj: Object, armature: Object) -> None:
    obj.modifiers["Armature"].name = "DQ Compensation"


def scaled_bones_and_written_weights(obj: Object, armature: Object) -> None:
    armature.pose.bones["Lower"].scale = (1.2, 0.9, 1.5)
    obj.vertex_groups["Lower"].add(list(range(100)), 0.7, "REPLACE")


@pytest.mark.parametrize(
    "before",
    [
        remeshed,
        renamed_like_ours,
        scaled_bones_and_written_weights,
        parented_by_armature_deform,
    ],
)
@pytest.mark.usefixtures("addon")
def test_the_picture_is_blenders_after_enabling(before: Callable[[Object, Object], object]) -> None:
    obj, armature = build_posed_limb()
    obj.dq_compensation.method = "DUAL_QUATERNION"
    before(obj, armature)
    enable(obj)
    check()
    assert deviation(obj) < TOLERANCE

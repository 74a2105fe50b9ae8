"""Example poses on the human whose shape keys are on, or whose supports overlap."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Quaternion

from dq_compensation.examples.authoring import add_example, bone_settings
from tests.blender.conftest import Human

BONE = "lowerarm01.L"
SHOULDER = "upperarm01.L"


def with_example(human: Human, bone: str = BONE) -> bpy.types.ShapeKey:
    """An example of the bone a right angle from rest, with a shape of its own; returns its key."""
    obj = human.mesh_object
    pose_bone = human.armature_object.pose.bones[bone]
    pose_bone.rotation_mode = "QUATERNION"
    # A swing for limbs along Y and for those along X.
    pose_bone.rotation_quaternion = Quaternion((1, 0, 1), np.pi / 2.0)
    bpy.context.view_layer.update()
    index, _ = add_example(obj, bone, bpy.context.evaluated_depsgraph_get())
    obj.dq_compensation.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    key = obj.data.shape_keys.key_blocks[obj.dq_compensation.examples[index].key]
    for vertex in range(100):
        key.points[vertex].co.z += 0.01
    bpy.context.view_layer.update()
    return key


def unmuted(human: Human) -> None:
    """The key is not muted, and its slider at 0."""
    with_example(human).mute = False


def shown(human: Human) -> None:
    """The key is not muted, and on."""
    key = with_example(human)
    key.mute, key.value = False, 1.0


def overlap(human: Human) -> None:
    """The support of the elbow is painted into that of the shoulder."""
    with_example(human)
    with_example(human, SHOULDER)
    obj = human.mesh_object
    for bone, count in ((BONE, len(obj.data.vertices)), (SHOULDER, 50)):
        group = obj.vertex_groups.new(name=f"Support {bone}")
        group.add(range(count), 1.0, "REPLACE")
        bone_settings(obj, bone).support = group.name


PLANTED = {
    "example_supports/unmuted": unmuted,
    "example_supports/shown": shown,
    "example_supports/overlap": overlap,
}

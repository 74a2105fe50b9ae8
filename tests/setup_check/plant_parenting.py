"""Humans whose mesh hangs where it should not."""

from __future__ import annotations

import bpy
from mathutils import Matrix

from tests.blender.conftest import Human


def on_bone(human: Human) -> None:
    """Parented to the head's bone and posed there."""
    obj, rig = human.mesh_object, human.armature_object
    obj.parent_type, obj.parent_bone = "BONE", "head"
    bone = rig.data.bones["head"]
    tail = bone.matrix_local @ Matrix.Translation((0.0, bone.length, 0.0))
    obj.matrix_parent_inverse = tail.inverted()
    rig.pose.bones["head"].rotation_quaternion = (0.9, 0.4, 0.0, 0.1)
    rig.pose.bones["spine03"].rotation_quaternion = (0.9, 0.2, 0.1, 0.0)


def _deformed_twice(human: Human) -> None:
    human.mesh_object.parent_type = "ARMATURE"
    human.armature_object.pose.bones["lowerarm01.L"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)


def _apart(human: Human) -> None:
    human.mesh_object.parent = None


def _apart_and_moving(human: Human) -> None:
    human.mesh_object.parent = None
    for frame in (1, 10):
        human.armature_object.location.x = 0.1 * frame
        human.armature_object.keyframe_insert("location", frame=frame)


def _parent_inverse(human: Human) -> None:
    inverse = Matrix.Translation((0.1, 0.2, 0.3)) @ Matrix.Rotation(0.4, 4, "Z")
    human.mesh_object.matrix_parent_inverse = inverse


def _constrained(human: Human) -> None:
    human.mesh_object.parent = None
    target = bpy.data.objects.new("Elsewhere", None)
    human.mesh_object.constraints.new("COPY_LOCATION").target = target


PLANTED = {
    "parenting/on_bone": on_bone,
    "parenting/deformed_twice": _deformed_twice,
    "parenting/apart": _apart,
    "parenting/apart_and_moving": _apart_and_moving,
    "parenting/parent_inverse": _parent_inverse,
    "parenting/refuses_constrained": _constrained,
}

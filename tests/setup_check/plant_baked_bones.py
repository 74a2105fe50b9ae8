"""Humans with helper bones of a bake: enabled all the same, or without the bones."""

from __future__ import annotations

import bpy

from dq_compensation.scene.blender.armature import armature_of, is_helper_bone
from dq_compensation.scene.blender.bone_editing import edited_bones
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import select
from tests.setup_check.plant_stale_binding import enable_as_it_may_be


def _bake(human: Human) -> None:
    select(human.mesh_object)
    options = {"bone_names": "upperleg01.L", "mirror": False, "budget": 2}
    assert bpy.ops.dqc.bake_bones(**options) == {"FINISHED"}


def twice(human: Human) -> None:
    enable_as_it_may_be(human)
    _bake(human)
    enable_as_it_may_be(human)


def generated_anew(human: Human) -> None:
    """Rigify removes all bones and makes its own ones again."""
    _bake(human)
    armature = human.armature_object
    names = [bone.name for bone in armature_of(armature).bones if is_helper_bone(bone)]
    with edited_bones(armature) as bones:
        for name in names:
            bones.remove(bones[name])


PLANTED = {"baked_bones/twice": twice, "baked_bones/generated_anew": generated_anew}

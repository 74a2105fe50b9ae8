"""Planted scenes for the check armature_modifier."""

from __future__ import annotations

import bpy

from dq_compensation.scene.blender.skinned_object import SkinnedObject
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable


def _enable(human: Human) -> None:
    """With the smallest node tree: how it is deformed does not matter here."""
    human.mesh_object.dq_compensation.method = "DUAL_QUATERNION"
    enable(human.mesh_object)


def removed(human: Human) -> None:
    """The modifier is gone; the parent says which armature is meant."""
    human.mesh_object.modifiers.clear()


def removed_at_rest(human: Human) -> None:
    """The modifier is gone, and without a parent the names of the groups tell the armature."""
    for bone in human.armature_object.pose.bones:
        bone.matrix_basis.identity()
    human.mesh_object.parent = None
    human.mesh_object.modifiers.clear()
    human.mesh_object.modifiers.new("Subdivision", "SUBSURF").levels = 0
    stranger = bpy.data.objects.new("Stranger", bpy.data.armatures.new("Stranger"))
    bpy.context.scene.collection.objects.link(stranger)
    bpy.context.view_layer.update()


def parent_type_armature(human: Human) -> None:
    """Deformed by its parent, as Blender did before it had modifiers."""
    human.mesh_object.modifiers.clear()
    human.mesh_object.parent_type = "ARMATURE"


def no_armature(human: Human) -> None:
    human.mesh_object.modifiers[0].object = None


def other_armature(human: Human) -> None:
    """The modifier follows an armature without the bones; the right one is there as well."""
    stranger = bpy.data.objects.new("Stranger", bpy.data.armatures.new("Stranger"))
    bpy.context.scene.collection.objects.link(stranger)
    human.mesh_object.modifiers[0].object = stranger


def idle(human: Human) -> None:
    human.mesh_object.modifiers.new("Forgotten", "ARMATURE")


def double(human: Human) -> None:
    again = human.mesh_object.modifiers.new("Again", "ARMATURE")
    again.object = human.armature_object


def several(human: Human) -> None:
    """A second rig, as for a face: nothing to fix, good to know."""
    face = bpy.data.objects.new("Face Rig", bpy.data.armatures.new("Face Rig"))
    bpy.context.scene.collection.objects.link(face)
    human.mesh_object.modifiers.new("Face", "ARMATURE").object = face


def twice(human: Human) -> None:
    """Where our own tree skins the mesh."""
    _enable(human)
    human.mesh_object.dq_compensation.method = "SPHERICAL_JOINT"
    human.mesh_object.modifiers["Armature"].show_viewport = True


def turned_off(human: Human) -> None:
    human.mesh_object.modifiers["Armature"].show_render = False


def ours_turned_off(human: Human) -> None:
    _enable(human)
    SkinnedObject(human.mesh_object).ours.show_viewport = False


def preserve_volume(human: Human) -> None:
    human.mesh_object.modifiers["Armature"].use_deform_preserve_volume = True
    _enable(human)


PLANTED = {
    "armature_modifier/idle": idle,
    "armature_modifier/double": double,
    "armature_modifier/no_armature": no_armature,
    "armature_modifier/other_armature": other_armature,
    "armature_modifier/ours_turned_off": ours_turned_off,
    "armature_modifier/parent_type_armature": parent_type_armature,
    "armature_modifier/preserve_volume": preserve_volume,
    "armature_modifier/removed": removed,
    "armature_modifier/removed_at_rest": removed_at_rest,
    "armature_modifier/several": several,
    "armature_modifier/turned_off": turned_off,
    "armature_modifier/twice": twice,
}

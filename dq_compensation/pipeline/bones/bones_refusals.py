"""Why helper bones cannot be written for a character."""

from __future__ import annotations

import bpy

from ...bake.bake_targets import BakeOnto
from ...scene.blender.armature import armature_of, deforming_bones
from ...scene.blender.mesh import mesh_of, other_users
from ...scene.blender.own_objects import linked_refusal
from ...scene.blender.rigging import rig_of
from ...scene.kept_weights import kept_record, restore_refusal
from ...scene.vertex_groups import writing_refusal

_ADVICE_LINKED = "Bake onto a copy."
_REFUSAL_SHARED_BONES = (
    "{count} objects share the bones of {armature} and would all get the helpers. Bake onto a "
    "copy, or make {armature} single user (Object, Relations, Make Single User)."
)
_REFUSAL_SHARED_MESH = (
    "{count} objects share the mesh of {obj} and would all get the weights. Bake onto a copy, or "
    "make {obj} single user (Object, Relations, Make Single User)."
)
_REFUSAL_SCULPT = "{obj} is in Sculpt Mode. Leave it to change weights."
_REFUSAL_BAKED = "{obj} follows helper bones of an earlier bake. Turn on Replace Earlier Bake."


def writing_bones_refusal(obj: bpy.types.Object, onto: BakeOnto, *, overwrite: bool) -> str | None:
    """Why helper bones and weights cannot be written for an object, or None."""
    if kept_record(obj) is not None:
        reason = restore_refusal(obj) if overwrite else _REFUSAL_BAKED.format(obj=obj.name)
        if reason is not None:
            return reason
    return _own_refusal(obj) if onto == "THIS" else None


def _own_refusal(obj: bpy.types.Object) -> str | None:
    """Why neither the armature nor the mesh of an object itself can be changed, or None."""
    armature, mesh = rig_of(obj), mesh_of(obj)
    blocks = (armature, armature_of(armature))
    if reason := linked_refusal(armature.name, blocks, _ADVICE_LINKED, overridden=True):
        return reason
    sharing = [other for other in bpy.data.objects if other.data == armature.data]
    if len(sharing) > 1:
        return _REFUSAL_SHARED_BONES.format(count=len(sharing), armature=armature.name)
    named = f"{obj.name} or its mesh"
    if reason := linked_refusal(named, (obj, mesh), _ADVICE_LINKED, overridden=True):
        return reason
    if others := other_users(mesh):
        return _REFUSAL_SHARED_MESH.format(count=others + 1, obj=obj.name)
    if obj.mode == "SCULPT":
        return _REFUSAL_SCULPT.format(obj=obj.name)
    return writing_refusal(obj, deforming_bones(armature))

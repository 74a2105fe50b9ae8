"""Why helper bones cannot be written for a character; the removal of those of an earlier bake."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import bpy

from ...bake.bake_source import BakeOnto
from ...errors import raise_refusal
from ...modifier.base import choose_preserve_volume
from ...scene.blender.animation_curves import all_actions, bone_channel
from ...scene.blender.armature import armature_of, deforming_bones
from ...scene.blender.mesh import mesh_of, other_users
from ...scene.blender.own_objects import linked_refusal
from ...scene.blender.rigging import rig_of
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.key_writing import remove_curves, remove_keys, remove_made_basis
from ...scene.stack import find_rig
from ...scene.vertex_groups import (
    kept_record,
    restore_refusal,
    restore_weights,
    writing_refusal,
)
from .helper_rig import gauges_of, helper_names, remove_helpers

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


# Takes back what an earlier bake of helper bones has made: bones, weights, keys, animation.


def remove_bones_bake(objects: Sequence[bpy.types.Object]) -> int:
    """Give objects the weights and Preserve Volume that they had before they got helper bones.

    Helper bones that no other mesh follows are removed, with their animation.

    Args:
        objects: mesh objects on one armature, which is of this file. Those without a bake stay as
            they are.

    Returns:
        how many bones were removed.

    Raises:
        UserError: the weights of one cannot be put back; see `restore_refusal`.
    """
    armature = rig_of(objects[0])
    known = set(helper_names(armature))
    for obj in objects:
        record = kept_record(obj)
        if record is None:
            continue
        raise_refusal(restore_refusal(obj))
        # First, because removing a group changes the order of a vertex's other entries.
        for name in known.union(record["added"]):
            if (group := obj.vertex_groups.get(name)) is not None:
                obj.vertex_groups.remove(group)
        restore_weights(obj)
        choose_preserve_volume(SkinnedObject(obj), preserved=record["preserve_volume"])
        _remove_correctives(obj, record)
    unused = helpers_without(armature)
    _remove_channels(armature, unused)
    remove_helpers(armature, unused)
    return len(unused)


def helpers_without(
    armature: bpy.types.Object, objects: Collection[bpy.types.Object] = ()
) -> list[str]:
    """The helper bones of an armature that no mesh but these has weights for, and their gauges."""
    groups = {
        group.name
        for obj in bpy.data.objects
        if obj.type == "MESH" and find_rig(obj) == armature and obj not in objects
        if kept_record(obj) is not None
        for group in obj.vertex_groups
    }
    names = helper_names(armature)
    gauges = {each for name in names if name in groups for each in gauges_of(armature, name)}
    return [name for name in names if name not in groups | gauges]


def _remove_channels(armature: bpy.types.Object, bones: Collection[str]) -> None:
    """Remove the animation of bones from all actions of an armature that are of this file."""
    for played in all_actions(armature):
        if played.action.library is not None:
            continue
        for curve in list(played.curves):
            channel = bone_channel(curve.data_path)
            if channel is not None and channel[0] in bones:
                played.curves.remove(curve)
        for group in list(played.groups):
            if group.name in bones and not len(group.channels):
                played.groups.remove(group)


def _remove_correctives(obj: bpy.types.Object, record: dict[str, Any]) -> None:
    """Remove the shape keys that a bake has listed, and the basis where a bake has made it."""
    key = mesh_of(obj).shape_keys
    if key is None:
        return
    names = [name for name in record.get("keys", ()) if name in key.key_blocks]
    remove_curves(obj, names)
    remove_keys(obj, names)
    remove_made_basis(obj)

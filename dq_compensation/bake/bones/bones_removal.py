"""Takes back what an earlier bake of helper bones has made: bones, weights, keys, animation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import bpy

from ...errors import raise_refusal
from ...modifier.armature_base import choose_preserve_volume
from ...scene.blender.animation_curves import all_actions, bone_channel
from ...scene.blender.mesh import mesh_of
from ...scene.blender.rigging import armature_modifier, find_rig, rig_of
from ...scene.copies.helper_rig import gauges_of, helper_names, remove_helpers
from ...scene.shape_keys.key_animation import remove_curves
from ...scene.shape_keys.key_writing import remove_keys
from ...scene.weights.kept_weights import kept_record, restore_refusal, restore_weights


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
        if (modifier := armature_modifier(obj)) is not None:
            choose_preserve_volume(obj, modifier, preserved=record["preserve_volume"])
        _remove_correctives(obj, record)
    unused = helpers_without(armature)
    remove_channels(armature, unused)
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


def remove_channels(armature: bpy.types.Object, bones: Collection[str]) -> None:
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
    """Remove the shape keys that a bake has listed, and the basis where it came with them."""
    key = mesh_of(obj).shape_keys
    if key is None:
        return
    names = [name for name in record.get("keys", ()) if name in key.key_blocks]
    remove_curves(obj, names)
    remove_keys(obj, names)
    if record.get("made_basis") and len(key.key_blocks) == 1:
        obj.shape_key_clear()

"""Removes bakes from the characters that have them: helper bones, correctives, keys of frames."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import bpy

from ...bake.bake_reports import forget_report
from ...bake.rig_source import REFUSAL_EDIT_MODE
from ...errors import UserError, raise_refusal
from ...modifier.base import choose_preserve_volume
from ...scene.blender.animation_curves import all_actions, bone_channel
from ...scene.blender.armature import armature_of
from ...scene.blender.mesh import mesh_of
from ...scene.blender.rigging import rig_of
from ...scene.blender.scenes import evaluate_unkeyed
from ...scene.blender.skinned_object import SkinnedObject
from ...scene.kept_weights import kept_record, restore_refusal, restore_weights
from ...scene.key_animation import remove_curves
from ...scene.key_writing import keys_refusal, remove_keys, remove_made_basis
from ...scene.settings.object_settings import is_enabled
from ...scene.stack import find_rig
from ...wording import counted
from ..correctives.baked_keys import baked_keys, remove_properties
from .bones_refusals import writing_bones_refusal
from .helper_rig import gauges_of, helper_names, remove_helpers

_REFUSAL_NO_BAKE = "{obj} has no helper bones and no shape keys of a bake"


@dataclass(frozen=True)
class RemovalReport:
    """What was removed of the bakes of one object.

    Attributes:
        bones: helper bones, gauges included, that no other mesh follows.
        key_names: shape keys.
        enabled: whether DQ Compensation deforms the object.
    """

    object_name: str
    bones: int
    key_names: tuple[str, ...]
    enabled: bool

    def sentence(self) -> str:
        """For the status line."""
        parts = []
        if self.bones or not self.key_names:
            parts.append(counted(self.bones, "helper bone"))
        if self.key_names:
            parts.append(counted(len(self.key_names), "shape key"))
        back = ", and put its weights back" if self.bones or not self.key_names else ""
        text = f"Removed {' and '.join(reversed(parts))} of {self.object_name}{back}."
        return text if self.enabled else f"{text} Press Enable to see DQ Compensation again."


def removal_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object has no bake that could be removed, or None."""
    if kept_record(obj) is None and not baked_keys(obj):
        return _REFUSAL_NO_BAKE.format(obj=obj.name)
    return None


def remove_bakes(objects: Sequence[bpy.types.Object]) -> list[RemovalReport]:
    """Remove helper bones, with the weights that came with them, and baked shape keys of objects.

    Shape keys of *Bake Pose* stay. The basis goes where a bake has made it and nothing needs it.

    Args:
        objects: skinned mesh objects; those without a bake stay as they are.

    Raises:
        UserError: none of them has a bake, or one cannot be changed; nothing has changed then.
    """
    keys = {obj: baked_keys(obj) for obj in objects}
    found = [obj for obj in objects if removal_refusal(obj) is None]
    if not found:
        raise UserError(" ".join(f"{_REFUSAL_NO_BAKE.format(obj=obj.name)}." for obj in objects))
    for obj in found:
        armature = rig_of(obj)
        if obj.mode == "EDIT" or armature_of(armature).is_editmode:
            edited = obj if obj.mode == "EDIT" else armature
            raise UserError(REFUSAL_EDIT_MODE.format(armature=edited.name))
        if kept_record(obj) is not None:
            raise_refusal(writing_bones_refusal(obj, "THIS", overwrite=True))
        if keys[obj]:
            raise_refusal(keys_refusal(obj))
    removed = [_removed(obj, keys[obj]) for obj in found]
    evaluate_unkeyed()
    return removed


def _removed(obj: bpy.types.Object, names: Sequence[str]) -> RemovalReport:
    """Remove the bakes of one object."""
    forget_report(obj)
    bones = remove_bones_bake([obj])
    remove_curves(obj, names)
    remove_keys(obj, names)
    remove_properties(obj)
    remove_made_basis(obj)
    return RemovalReport(obj.name, bones, tuple(names), is_enabled(obj))


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

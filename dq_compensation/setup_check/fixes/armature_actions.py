"""The objects of one armature, and the actions of their bones: a fix rewrites them all."""

from __future__ import annotations

import bpy

from ...scene.blender.animation_curves import PlayedAction, played_actions, stored_actions
from .requirements import require_local, require_own_action


def objects_with(armature: bpy.types.Armature) -> list[bpy.types.Object]:
    """The objects of this armature datablock; FixError if one of them, or it, is linked."""
    owners = [obj for obj in bpy.data.objects if obj.data == armature]
    for block in (armature, *owners):
        require_local(block)
    return owners


def actions_of(owners: list[bpy.types.Object]) -> list[tuple[PlayedAction, bpy.types.Object]]:
    """The actions of these armature objects, each slot once, with an object that plays it.

    Those that are kept in the file without being played count when they fit no other armature.

    Raises:
        FixError: an action is linked, or other objects play it, too.
    """
    found: dict[tuple[int, int], tuple[PlayedAction, bpy.types.Object]] = {}
    for owner in owners:
        for played in played_actions(owner) + _stored_for(owner):
            found.setdefault((played.action.session_uid, played.slot_handle), (played, owner))
    names = {owner.name for owner in owners}
    for played, owner in found.values():
        others = [name for name in played.other_users(owner) if name not in names]
        require_own_action(played.action, others)
    return list(found.values())


def _stored_for(owner: bpy.types.Object) -> list[PlayedAction]:
    """The unused actions that can be of no other armature."""
    names = {bone.name for bone in owner.pose.bones}
    others = [other for other in bpy.data.objects if other.pose and other.data != owner.data]
    shared = any(bone.name in names for other in others for bone in other.pose.bones)
    return [] if shared else stored_actions(owner)

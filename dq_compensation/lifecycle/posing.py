"""Tells posing from editing: a pose evaluates every mesh of a character, but changes none of it.

Blender names all objects of an evaluation. A mesh object that was only evaluated again, because
it depends on something else, comes with changed geometry and nothing else; what the user edits or
moves comes with more, or with no flag at all. So does a palette, together with its armature.

An armature comes with every flag in each pose, and its object with changed geometry. Its place,
and what can be edited of its bones outside of Edit Mode, are compared with those of the last
evaluation; what leaving Edit Mode changes comes with the scene. Without any flag comes an
armature that has drivers, as Rigify's have, or whose bones were renamed: their names are
compared. In a frame only where meshes were evaluated, too: a renamed bone evaluates those that it
deforms.
"""

from __future__ import annotations

from typing import Any

import bpy

from ..modifier.misfit import vertex_count_difference
from ..modifier.modifier_inputs import FOLLOWED_PATHS
from ..scene.blender.animation_curves import is_played
from ..scene.blender.armature import armature_of
from ..scene.blender.bendy_bones import rest_state
from ..scene.blender.own_objects import is_hidden, is_palette
from ..scene.blender.rigging import broken_pose
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import has_settings
from ..session.changes import Changes, Update, remember_pose
from ..session.memory import memories, memory_of


class _LastPose:
    """The state of an armature, or of its object, in the last evaluation."""

    state: tuple[object, ...] = ()


def only_posed(update: Update, changes: Changes) -> bool:
    """Whether nothing has happened to a data-block but a pose that needs no other look at it."""
    changed = update.data
    if isinstance(changed, bpy.types.Armature):
        with_bones = update.geometry
        driven = changes.is_frame and not with_bones and not _may_be_renamed(changes)
        # A drag poses bones, and edits none of them at rest.
        driven |= with_bones and changes.is_dragged
        return driven or _keeps_rest(changed, with_bones=with_bones)
    if not (update.geometry and isinstance(changed, bpy.types.Object)):
        return False
    if changed.type == "ARMATURE":
        # Also when it is animated: we read no settings of its own.
        return _keeps_place(changed, is_dragged=changes.is_dragged)
    # What a palette hangs on moves it along.
    if update.shading or (update.transform and not is_palette(changed)):
        return False
    if is_hidden(changed):
        modifiers: list[Any] = list(changed.modifiers)
        rig = next((each.object for each in modifiers if each.type == "ARMATURE"), None)
        return rig is not None and rig.session_uid in changes.uids
    skinned = SkinnedObject(changed)
    # Modifiers before ours may make other vertices in every pose.
    passes = skinned.before_enable.passing
    fits = not (passes or vertex_count_difference(skinned, changes.depsgraph))
    return skinned.settings.is_enabled and fits


def _may_be_renamed(changes: Changes) -> bool:
    """Whether bones may have been renamed before a frame, not only moved by drivers."""
    # While it plays, a renamed bone comes as an edit of its own, too.
    return not changes.is_playing and changes.depsgraph.id_type_updated("MESH")


def _keeps_place(rig: bpy.types.Object, *, is_dragged: bool = False) -> bool:
    """Whether an armature object is where it was, its pose as sound, its twists as animated.

    A drag animates no settings.
    """
    known = memory_of(rig, _LastPose)
    if is_dragged and known.state:
        spreads = known.state[-1]
    else:
        spreads = rig.animation_data is not None and has_settings(rig)
        spreads = spreads and is_played(rig, FOLLOWED_PATHS["twist_spread"])
    now = rig.matrix_world.copy(), broken_pose(rig), spreads
    same, known.state = known.state == now, now
    return same


def _keeps_rest(armature: bpy.types.Armature, *, with_bones: bool) -> bool:
    known, names = memory_of(armature, _LastPose), armature.bones.keys()
    now = names, *(rest_state(armature, names) if with_bones else known.state[1:])
    same, known.state = known.state == now, now
    return same


def remember_armature(rig: bpy.types.Object) -> None:
    """Remember the state of an armature with whose bones and place meshes are right."""
    remember_pose(rig)
    poses = memories(_LastPose)
    if rig.session_uid not in poses:
        _keeps_place(rig)
    if rig.data is not None and rig.data.session_uid not in poses:
        _keeps_rest(armature_of(rig), with_bones=True)

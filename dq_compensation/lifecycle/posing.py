"""Tells posing from editing: a pose re-evaluates every mesh of a character, but changes none of it.

Blender names all objects of an evaluation. A mesh object that was only evaluated again, because it
depends on something else, comes with changed geometry and nothing else; what the user edits or
moves comes with more, or with no flag at all. So does a palette, together with its armature.

An armature comes with every flag in each pose, and its object with changed geometry. Its place,
and what can be edited of its bones outside of Edit Mode, are compared with those of the last
evaluation; what leaving Edit Mode changes comes with the scene. Without any flag comes an armature
that has drivers, as Rigify's have, or whose bones were renamed: their names are compared. In a
frame only where meshes were evaluated, too: a renamed bone evaluates those that it deforms.
"""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ..modifier.modifier_stack import surplus_vertices
from ..modifier.palette.palette_object import armature_of_palette
from ..scene.blender.attributes import read_properties
from ..scene.blender.bendy_segments import bendy_state
from ..scene.blender.own_objects import is_hidden, is_palette
from ..scene.blender.rigging import broken_pose, find_rig
from ..scene.settings.object_settings import settings_of
from ..session.changes import Changes, Update
from ..session.memory import memory_of

_EDITED_OUTSIDE_OF_EDIT_MODE = (
    ("matrix_local", np.float32, (16,)),  # by `Armature.transform`
    ("use_deform", np.bool_, ()),
    ("use_envelope_multiply", np.bool_, ()),
)


@dataclass
class _LastPose:
    """The state of an armature, or of its object, in the last evaluation."""

    names: tuple[str, ...] = ()
    rest: tuple[object, ...] = ()
    place: Matrix | None = None
    broken: str | None = None


def only_posed(update: Update, changes: Changes) -> bool:
    """Whether nothing has happened to a data-block but a pose that needs no other look at it."""
    changed = update.data
    if isinstance(changed, bpy.types.Armature):
        with_bones = update.geometry
        driven = changes.is_frame and not with_bones and not _may_be_renamed(changes)
        return driven or _keeps_rest(changed, with_bones=with_bones)
    if not (update.geometry and isinstance(changed, bpy.types.Object)):
        return False
    if changed.type == "ARMATURE":
        # Also when it is animated: we read no settings of its own.
        return _keeps_place(changed)
    if update.transform or update.shading:
        return False
    if is_hidden(changed):
        rig = armature_of_palette(changed) if is_palette(changed) else find_rig(changed)
        return rig is not None and rig.session_uid in changes.uids
    # Modifiers before ours may make other vertices in every pose.
    chosen = settings_of(changed)
    fits = not (chosen.native.passing or surplus_vertices(changed, changes.depsgraph))
    return chosen.is_enabled and fits


def _may_be_renamed(changes: Changes) -> bool:
    """Whether bones may have been renamed before a frame, not only moved by drivers."""
    # While it plays, a renamed bone comes as an edit of its own, too.
    return not changes.is_playing and changes.depsgraph.id_type_updated("MESH")


def _keeps_place(rig: bpy.types.Object) -> bool:
    """Whether an armature object is where it was, and its pose as sound."""
    known, place, broken = memory_of(rig, _LastPose), rig.matrix_world.copy(), broken_pose(rig)
    same = (known.place, known.broken) == (place, broken)
    known.place, known.broken = place, broken
    return same


def _keeps_rest(armature: bpy.types.Armature, *, with_bones: bool) -> bool:
    known, names = memory_of(armature, _LastPose), tuple(armature.bones.keys())
    same, known.names = known.names == names, names
    if with_bones:
        rest = _rest(armature, names)
        same, known.rest = same and known.rest == rest, rest
    return same


def _rest(armature: bpy.types.Armature, names: tuple[str, ...]) -> tuple[object, ...]:
    bones = armature.bones
    read = [each.tobytes() for each in read_properties(bones, _EDITED_OUTSIDE_OF_EDIT_MODE)]
    return (
        *read,
        *bendy_state(bones, dict(zip(names, names, strict=True))),
        armature.pose_position,
        armature.is_editmode,
    )

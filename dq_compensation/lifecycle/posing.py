"""Tells posing from editing: a pose re-evaluates every mesh of a character, but changes none of it.

Blender names all objects of an evaluation. A mesh object that was only evaluated again, because it
depends on something else, comes with changed geometry and nothing else; what the user edits or
moves comes with more, or with no flag at all. An armature comes with every flag in each pose: its
place and its bones at rest are compared with those of the last evaluation. Without any flag comes
one that has drivers, as Rigify's have, or whose bones were renamed: their names are compared.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..modifier.palette_object import armature_of_palette, is_intact
from ..modifier.stack import surplus_vertices
from ..scene.content import digest_of_bones
from ..scene.object_settings import settings_of
from ..scene.own_objects import is_palette
from ..scene.setup import broken_pose

# By the session_uid of an armature object: its place, and whether its pose is broken.
_rigs: dict[int, tuple[object, ...]] = {}
# By the session_uid of an armature: what poses do not change.
_armatures: dict[int, tuple[object, ...]] = {}
# By the session_uid of an armature: the names of its bones.
_names: dict[int, tuple[object, ...]] = {}


def only_posed(update: bpy.types.DepsgraphUpdate, depsgraph: bpy.types.Depsgraph) -> bool:
    """Whether nothing has happened to a data-block but a pose that needs no other look at it."""
    changed = update.id.original
    if isinstance(changed, bpy.types.Armature):
        if update.is_updated_geometry:
            return not _is_new(_armatures, changed, _shape(changed))
        return not _is_new(_names, changed, tuple(changed.bones.keys()))
    if not update.is_updated_geometry:
        return False
    if not isinstance(changed, bpy.types.Object):
        return False
    if changed.type == "ARMATURE":
        # Also when it is animated: we read no settings of its own.
        return not _is_new(_rigs, changed, _place(changed))
    followed = not (update.is_updated_transform or update.is_updated_shading)
    still_right = _still_poses if is_palette(changed) else _still_fits
    return followed and still_right(changed, depsgraph)


def _still_poses(palette: bpy.types.Object, _depsgraph: bpy.types.Depsgraph) -> bool:
    """Whether a palette object is unchanged: what edits its mesh may look like a pose."""
    rig = armature_of_palette(palette)
    return rig is not None and is_intact(palette, rig)


def _still_fits(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> bool:
    """Whether an object is enabled and has the vertices that its modifier was made for.

    Modifiers before ours may make others in every pose.
    """
    chosen = settings_of(obj)
    return chosen.is_enabled and not (chosen.native.passing or surplus_vertices(obj, depsgraph))


def forget_poses() -> None:
    """Take the next pose of every armature for an edit."""
    _rigs.clear()
    _armatures.clear()
    _names.clear()


def _place(rig: bpy.types.Object) -> tuple[object, ...]:
    return np.array(rig.matrix_world).tobytes(), broken_pose(rig)


def _shape(armature: bpy.types.Armature) -> tuple[object, ...]:
    return digest_of_bones(armature), armature.pose_position, armature.is_editmode


def _is_new(
    known: dict[int, tuple[object, ...]], owner: bpy.types.ID, found: tuple[object, ...]
) -> bool:
    before, known[owner.session_uid] = known.get(owner.session_uid), found
    return before != found

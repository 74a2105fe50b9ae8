"""Finds the new names of bones that an object's settings name.

Blender renames the groups of the palette object with the bones, but not our settings. So an object
remembers the palette row of each bone that its settings name: a row belongs to one bone for as long
as the palette lives.
"""

from __future__ import annotations

import json
import uuid

import bpy

from ..scene.armature import armature_of
from ..scene.named_bones import named_bones
from .palette_object import armature_of_palette, palette_rows

# Custom properties: of the object, its palette's identity and the rows; of the palette.
_ROWS_PROPERTY = "dq_compensation_bone_rows"
_IDENTITY_PROPERTY = "dq_compensation_identity"


def remember_bones(obj: bpy.types.Object, palette: bpy.types.Object) -> None:
    """Remember the rows of the bones that an object's settings name; known rows stay."""
    named = named_bones(obj)
    if not named:
        forget_bones(obj)
        return
    if _IDENTITY_PROPERTY not in palette:
        palette[_IDENTITY_PROPERTY] = uuid.uuid4().hex
    rows = palette_rows(palette) | _rows(obj, palette)
    record = {name: rows[name] for name in sorted(named & rows.keys())}
    text = json.dumps([palette[_IDENTITY_PROPERTY], record])
    if obj.get(_ROWS_PROPERTY) != text:
        obj[_ROWS_PROPERTY] = text


def forget_bones(obj: bpy.types.Object) -> None:
    """Remove the record of an object."""
    if _ROWS_PROPERTY in obj:
        del obj[_ROWS_PROPERTY]


def renamed_bones(obj: bpy.types.Object, palette: bpy.types.Object) -> dict[str, str]:
    """The new names of the bones that an object's settings name, by the old ones.

    A bone that is renamed in Edit Mode counts when the mode is left.
    """
    remembered, rig = _rows(obj, palette), armature_of_palette(palette)
    if not remembered or rig is None or armature_of(rig).is_editmode:
        return {}
    names = {row: name for name, row in palette_rows(palette).items()}
    now = {name: names.get(row, name) for name, row in remembered.items()}
    bones = armature_of(rig).bones
    return {name: new for name, new in now.items() if new != name and new in bones}


def _rows(obj: bpy.types.Object, palette: bpy.types.Object) -> dict[str, int]:
    """The rows that an object remembers of a palette; of another one nothing."""
    if _ROWS_PROPERTY not in obj:
        return {}
    identity, rows = json.loads(obj[_ROWS_PROPERTY])
    return rows if identity == palette.get(_IDENTITY_PROPERTY) else {}

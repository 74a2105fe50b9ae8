"""The armature of a mesh object, and whether the mesh goes with the settings of its character."""

from __future__ import annotations

from typing import Any, cast

import bpy


def armature_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier | None:
    """The Armature modifier that our modifier works with; None without any.

    The first one that has an armature; when none has, the first one. Of an enabled object it
    stays the same one when another tool adds its own above it.
    """
    found = [each for each in obj.modifiers if each.type == "ARMATURE"]
    found = cast("list[bpy.types.ArmatureModifier]", found)
    complete = [each for each in found if each.object is not None]
    if len(complete) > 1:
        before: Any = obj.dq_compensation.native  # type: ignore[attr-defined]
        uid, name = before.replaced_uid, before.replaced_modifier
        for each in complete:
            if each.persistent_uid == uid if uid else each.name == name:
                return each
    return next(iter(complete or found), None)


def find_rig(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature object of `armature_modifier`; None without one."""
    modifier = armature_modifier(obj)
    return modifier.object if modifier is not None else None


def armature_with_settings(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature with whose settings a mesh object goes; None where it has settings of its own.

    The mesh has the mark of its character, and so has the armature object. It is a text: a pointer
    would keep an armature that the user has deleted in the file, and let it deform the mesh. It
    counts for the present armature alone. Objects that are duplicated together keep it.

    Returns:
        of an evaluated object the evaluated armature, with animated and driven values.
    """
    settings: Any = obj.dq_compensation  # type: ignore[attr-defined]
    mark = settings.character
    modifier = armature_modifier(obj) if mark else None
    armature: Any = modifier.object if modifier is not None else None
    return armature if armature is not None and armature.dq_compensation.character == mark else None

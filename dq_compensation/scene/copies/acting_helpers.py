"""Finds the helper bones of a bake that move a mesh, and those that it has lost."""

from __future__ import annotations

from dataclasses import replace

import bpy

from ...wording import listed
from ..blender.rigging import find_rig
from ..weights.kept_weights import kept_record
from .helper_rig import HelperBone, Turn, helper_names

WARNING_TWICE = (
    "{obj} is corrected twice: helper bones of a bake move it, too: {names}. Press Check and "
    "Remove Baked Helpers."
)


def acting_helpers(obj: bpy.types.Object) -> list[str]:
    """The helper bones that a mesh object has weights for."""
    rig = find_rig(obj)
    if rig is None or kept_record(obj) is None:
        return []
    return [name for name in helper_names(rig) if name in obj.vertex_groups]


def acting_helpers_warning(obj: bpy.types.Object) -> str | None:
    """The warning for an enabled object that helper bones move, or None."""
    names = acting_helpers(obj)
    return WARNING_TWICE.format(obj=obj.name, names=listed(names)) if names else None


def missing_helpers(obj: bpy.types.Object) -> list[HelperBone]:
    """The helper bones that a mesh object has weights for and its armature does not have."""
    rig = find_rig(obj)
    if rig is None or rig.pose is None:
        return []
    known, groups = rig.pose.bones, obj.vertex_groups
    return [each for each in kept_helpers(obj) if each.name not in known and each.name in groups]


def kept_helpers(obj: bpy.types.Object) -> list[HelperBone]:
    """The helper bones that a mesh object got from a bake, as its mesh remembers them."""
    record = kept_record(obj) or {"helpers": []}
    found = [HelperBone(**each) for each in record["helpers"]]
    return [
        replace(each, axes=tuple(each.axes), turns=tuple(Turn(*turn) for turn in each.turns))
        for each in found
    ]

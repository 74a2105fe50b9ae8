"""Which characters of the open file a command works on."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

import bpy

from .. import api
from ..errors import FileError, UserError
from ..wording import listed
from .blend_files import missing_data_refusal


def chosen_objects(file: Path, patterns: Sequence[str]) -> list[bpy.types.Object]:
    """The objects of the scene that names and patterns mean; without any, all skinned meshes.

    Args:
        file: that is open, for messages.

    Raises:
        UserError: there is none.
        FileError: a part of one of them is in a library that is missing.
    """
    skinned = api.skinned_meshes()
    found: dict[bpy.types.Object, None] = {} if patterns else dict.fromkeys(skinned)
    for pattern in patterns:
        matches = _matches(pattern, skinned)
        if not matches:
            raise UserError(_unknown(file, pattern, skinned))
        found.update(dict.fromkeys(matches))
    if not found:
        raise UserError(f"{file} has no skinned mesh: no mesh with an Armature modifier.")
    for obj in found:
        if (reason := missing_data_refusal(obj)) is not None:
            raise FileError(reason)
    return list(found)


def _matches(pattern: str, skinned: list[bpy.types.Object]) -> list[bpy.types.Object]:
    """The objects of a name, or the skinned meshes that fit a pattern."""
    named = [obj for obj in bpy.context.scene.objects if pattern in {obj.name, obj.name_full}]
    return named or [obj for obj in skinned if fnmatchcase(obj.name, pattern)]


def _unknown(file: Path, name: str, skinned: list[bpy.types.Object]) -> str:
    names = [obj.name for obj in skinned]
    folded = {each.casefold(): each for each in names}
    near = [folded[each] for each in get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]
    if near:
        return f"{file} has no object {name}. Did you mean {listed(near)}?"
    if names:
        return f"{file} has no object {name}. Its skinned meshes: {listed(names)}."
    return f"{file} has no object {name}, and no skinned mesh."

"""The objects that a command works on: what the options name in the open file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

import bpy
from bpy.types import Object

from .. import api
from ..errors import FileError, UserError, raise_refusal
from ..scene.stack import find_rig
from ..wording import listed
from .blend_files import missing_data_refusal


@dataclass(frozen=True)
class Kind:
    """The kind of objects that a command works on.

    Attributes:
        one, several: in sentences.
        meaning: what makes an object one.
        found: all that the scene has.
    """

    one: str
    several: str
    meaning: str
    found: Callable[[], list[Object]]


SKINNED = Kind(
    "skinned mesh", "skinned meshes", "no mesh with an Armature modifier", api.skinned_meshes
)


def chosen_objects(file: Path, patterns: Sequence[str], kind: Kind = SKINNED) -> list[Object]:
    """The objects of the scene that names and patterns mean; without any, all of the kind.

    The name of an armature means all its meshes.

    Args:
        file: that is open, for messages.

    Raises:
        UserError: there is none.
        FileError: a part of one of them is in a library that is missing.
    """
    among = kind.found()
    found: dict[Object, None] = {} if patterns else dict.fromkeys(among)
    for pattern in patterns:
        named = [
            each
            for obj in bpy.context.scene.objects
            if pattern in {obj.name, obj.name_full}
            for each in ([mesh for mesh in among if find_rig(mesh) == obj] or [obj])
        ]
        matches = named or [obj for obj in among if fnmatchcase(obj.name, pattern)]
        if not matches:
            raise UserError(_unknown(file, pattern, among, kind))
        found.update(dict.fromkeys(matches))
    if not found:
        raise UserError(f"{file} has no {kind.one}: {kind.meaning}.")
    for obj in found:
        raise_refusal(missing_data_refusal(obj), FileError)
    return list(found)


def _unknown(file: Path, name: str, among: list[Object], kind: Kind) -> str:
    names = [obj.name for obj in among]
    folded = {each.casefold(): each for each in names}
    near = [folded[each] for each in get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]
    if near:
        return f"{file} has no object {name}. Did you mean {listed(near)}?"
    if names:
        return f"{file} has no object {name}. Its {kind.several}: {listed(names)}."
    return f"{file} has no object {name}, and no {kind.one}."

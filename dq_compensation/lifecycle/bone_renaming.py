"""Lets the settings of an object follow bones that the user renames."""

from __future__ import annotations

import bpy

from ..modifier.renamed_bones import forget_bones, remember_bones, renamed_bones
from ..scene.named_bones import rename_bones

_renaming = False


def follow_renamed_bones(obj: bpy.types.Object, palette: bpy.types.Object) -> None:
    """Write the new names of renamed bones into the settings of an enabled object."""
    global _renaming
    renamed = renamed_bones(obj, palette)
    if not renamed:
        return
    _renaming = True
    try:
        rename_bones(obj, renamed)
    finally:
        _renaming = False
    forget_bones(obj)
    remember_bones(obj, palette)


def is_renaming() -> bool:
    """Whether settings change because bones have new names; the object is reconciled already."""
    return _renaming

"""Recognises objects that the add-on has made by a custom property, never by their name."""

from __future__ import annotations

import bpy

# Of a posed copy: its character.
CHARACTER_PROPERTY = "dq_compensation_example_of"
# Of a palette: True. Files of the first versions have the armature here, which kept it alive.
PALETTE_PROPERTY = "dq_compensation_palette_of"


def is_palette(obj: bpy.types.Object) -> bool:
    """Whether an object is the palette of an armature."""
    return PALETTE_PROPERTY in obj


def is_posed_copy(obj: bpy.types.Object) -> bool:
    """Whether an object replaces a character while the artist shapes an example."""
    return CHARACTER_PROPERTY in obj

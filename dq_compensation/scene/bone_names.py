"""Names of bones and vertex groups, and those of the other side."""

from __future__ import annotations

import bpy


def flipped_name(name: str) -> str:
    """The name of the bone on the other side, the same for a bone in the middle.

    As Blender does it, also behind a prefix such as ``mixamorig:``.
    """
    prefix, colon, rest = name.rpartition(":")
    return prefix + colon + bpy.utils.flip_name(rest)

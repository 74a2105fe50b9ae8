"""The side in the names of bones and vertex groups, and the names of the other side."""

from __future__ import annotations

from functools import lru_cache

import bpy


def flipped_name(name: str) -> str:
    """The name of the bone on the other side, the same for a bone in the middle.

    As Blender does it, also behind a prefix such as ``mixamorig:``.
    """
    prefix, colon, rest = name.rpartition(":")
    return prefix + colon + bpy.utils.flip_name(rest)


@lru_cache(maxsize=4096)
def bone_side(name: str) -> int:
    """The side that a name stands for: -1 left, 1 right, 0 the middle."""
    rest = name.rpartition(":")[2]
    letters = zip(rest, bpy.utils.flip_name(rest), strict=False)
    differing = next((letter for letter, other in letters if letter != other), "")
    return {"l": -1, "r": 1}.get(differing.lower(), 0)

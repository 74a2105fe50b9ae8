"""The human as a suit over its own skin, whose legs follow the bones of the other side."""

from __future__ import annotations

import bpy

from tests.blender.conftest import Human

# How far the skin lies below, in metres.
BELOW = 0.004
LEGS = ("upperleg01", "upperleg02", "lowerleg01", "lowerleg02")


def add_skin(human: Human) -> bpy.types.Object:
    """Add the same mesh with the same weights below that of the human."""
    suit = human.mesh_object
    skin = suit.copy()
    skin.data, skin.name = suit.data.copy(), "Skin"
    bpy.context.collection.objects.link(skin)
    for vertex, normal in zip(skin.data.vertices, suit.data.vertex_normals, strict=True):
        vertex.co -= BELOW * normal.vector
    return skin


def other_legs(human: Human) -> None:
    """Let the suit's legs follow those of the other side."""
    add_skin(human)
    groups = human.mesh_object.vertex_groups
    for name in LEGS:
        left, right = groups[f"{name}.L"], groups[f"{name}.R"]
        left.name, right.name = "left", "right"
        left.name, right.name = f"{name}.R", f"{name}.L"


PLANTED = {"clothes_weights/other_legs": other_legs}

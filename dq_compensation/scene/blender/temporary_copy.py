"""Makes a temporary copy of an object."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

import bpy

from ..settings.object_settings import settings_of
from .mesh import mesh_of


@contextmanager
def temporary_copy(
    obj: bpy.types.Object, scene: bpy.types.Scene | None = None
) -> Generator[bpy.types.Object]:
    """A copy of an object and its mesh in a scene, the current one by default, hidden from nothing.

    What is animated in the object has its current value; its shape keys are animated as they were.
    """
    copy = cast("bpy.types.Object", obj.copy())
    mesh = cast("bpy.types.Mesh", mesh_of(obj).copy())
    copy.data = mesh
    # A driver that was copied along would drive ours.
    copy.animation_data_clear()
    copy.hide_viewport = False
    if hasattr(copy, "dq_compensation"):
        settings_of(copy).is_enabled = False  # nobody follows it
    collection = (scene or bpy.context.scene).collection
    collection.objects.link(copy)
    try:
        yield copy
    finally:
        collection.objects.unlink(copy)
        bpy.data.objects.remove(copy)
        bpy.data.meshes.remove(mesh)

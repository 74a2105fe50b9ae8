"""Edit Mode of one armature, for what only edit bones can do; everything as it was afterwards."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import bpy

from ..scene.armature import armature_of
from .issue import FixError


def require_edit_mode(armature: bpy.types.Object) -> None:
    """Raise unless the Edit Mode of an armature object can be entered.

    Raises:
        FixError: it is not to be seen in this view layer.
    """
    view_layer = bpy.context.view_layer
    if armature.name not in view_layer.objects or armature.hide_viewport:
        raise FixError(
            f"{armature.name} is hidden or not in this view layer, so its bones cannot be edited. "
            "Show it first."
        )


@contextmanager
def edit_bones(armature: bpy.types.Object) -> Generator[bpy.types.ArmatureEditBones]:
    """The edit bones of an armature object; mode, active object and selection come back.

    Args:
        armature: an armature object that `require_edit_mode` lets pass.
    """
    view_layer = bpy.context.view_layer
    active = view_layer.objects.active
    mode = active.mode if active is not None else "OBJECT"
    own_mode = armature.mode  # Pose Mode, too, while its mesh is being painted
    selected = [obj for obj in view_layer.objects if obj.select_get()]
    if active is not None and mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    # Blender takes all selected armatures along into Edit Mode.
    for obj in selected:
        obj.select_set(False)
    view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        yield armature_of(armature).edit_bones
    finally:
        bpy.ops.object.mode_set(mode="POSE" if own_mode == "POSE" else "OBJECT")
        for obj in selected:
            obj.select_set(True)
        view_layer.objects.active = active
        if active is not None and active.mode != mode:
            bpy.ops.object.mode_set(mode=mode)

"""Whether the user drags a tool, or an animation plays: nothing must interrupt them."""

from __future__ import annotations

import bpy

# The operators that run while a tool is dragged or a stroke drawn.
_GESTURES = (
    *("TRANSFORM_OT_", "PAINT_OT_", "SCULPT_OT_", "POSE_OT_", "MESH_OT_", "ARMATURE_OT_"),
    "OBJECT_OT_",
)


def is_playing() -> bool:
    """Whether an animation plays in any window."""
    windows = bpy.context.window_manager.windows
    return any(window.screen.is_animation_playing for window in windows)


def is_in_a_gesture() -> bool:
    """Whether a tool is being dragged, or a stroke drawn, in any window."""
    return any(
        operator.bl_idname.startswith(_GESTURES)
        for window in bpy.context.window_manager.windows
        for operator in window.modal_operators
    )

"""Whether the user is in the middle of something that must not be interrupted."""

from __future__ import annotations

import bpy

# What goes on while one of these runs is not finished yet.
_GESTURES = (
    *("TRANSFORM_OT_", "PAINT_OT_", "SCULPT_OT_", "POSE_OT_", "MESH_OT_", "ARMATURE_OT_"),
    "OBJECT_OT_",
)


def is_in_a_gesture() -> bool:
    """Whether a tool is being dragged, or a stroke drawn, in any window."""
    return any(
        operator.bl_idname.startswith(_GESTURES)
        for window in bpy.context.window_manager.windows
        for operator in window.modal_operators
    )

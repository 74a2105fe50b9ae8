"""Whether the user drags a tool, an animation plays, or a final render runs."""

from __future__ import annotations

import bpy

# The operators that run while a tool is dragged or a stroke drawn.
_GESTURES = (
    *("TRANSFORM_OT_", "PAINT_OT_", "SCULPT_OT_", "POSE_OT_", "MESH_OT_", "ARMATURE_OT_"),
    "OBJECT_OT_",
)
_final_render_runs = False


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


def set_final_render_runs(runs: bool) -> None:
    """Remember whether a final render runs."""
    global _final_render_runs
    _final_render_runs = runs


def final_render_runs() -> bool:
    """Whether a final render runs."""
    return _final_render_runs

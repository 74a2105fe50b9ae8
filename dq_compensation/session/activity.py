"""What goes on in Blender: a tool that is dragged, an animation that plays, a final render."""

from __future__ import annotations

import bpy

# The operators that run while bones or objects are dragged, and all while a tool is dragged or a
# stroke drawn.
_POSING = ("TRANSFORM_OT_", "POSE_OT_")
_GESTURES = (*_POSING, "PAINT_OT_", "SCULPT_OT_", "MESH_OT_", "ARMATURE_OT_", "OBJECT_OT_")
_final_render_runs = False


def is_playing() -> bool:
    """Whether an animation plays in any window."""
    windows = bpy.context.window_manager.windows
    return any(window.screen.is_animation_playing for window in windows)


def is_in_a_gesture(kinds: tuple[str, ...] = _GESTURES) -> bool:
    """Whether a tool is being dragged, or a stroke drawn, in any window."""
    return any(
        operator.bl_idname.startswith(kinds)
        for window in bpy.context.window_manager.windows
        for operator in window.modal_operators
    )


def is_posing() -> bool:
    """Whether bones or objects are being dragged, in any window."""
    return is_in_a_gesture(_POSING)


def set_final_render_runs(runs: bool) -> None:
    """Remember whether a final render runs."""
    global _final_render_runs
    _final_render_runs = runs


def final_render_runs() -> bool:
    """Whether a final render runs."""
    return _final_render_runs

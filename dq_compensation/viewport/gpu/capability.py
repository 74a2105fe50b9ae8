"""Whether the GPU display works in this session."""

from __future__ import annotations

import bpy
import gpu


def drawing_refusal() -> str | None:
    """Why nothing can be drawn in this session, or None."""
    return _refusal("drawing needs. Update the driver; until then choose the display Modifier.")


def crowd_refusal() -> str | None:
    """Why no crowd can be drawn in this session, or None."""
    return _refusal("crowds need. Update the driver, or bake the crowd.")


def _refusal(needed: str) -> str | None:
    if bpy.app.background:
        return "Blender runs without a window: nothing is drawn."
    # Gone from the versions that cannot run without compute shaders.
    has_compute = getattr(gpu.capabilities, "compute_shader_support_get", lambda: True)
    if gpu.platform.backend_type_get() == "NONE" or not has_compute():
        return f"This graphics driver cannot run compute shaders, which {needed}"
    return None

"""Whether the GPU display works in this session."""

from __future__ import annotations

import bpy
import gpu

NO_WINDOW = "Blender runs without a window: nothing is drawn."
NO_COMPUTE = (
    "This graphics driver cannot run compute shaders, which drawing needs. Update the driver; "
    "until then choose the display Modifier."
)
NO_COMPUTE_FOR_CROWDS = (
    "This graphics driver cannot run compute shaders, which crowds need. Update the driver, or "
    "bake the crowd."
)


def drawing_refusal() -> str | None:
    """Why nothing can be drawn in this session, or None."""
    return _refusal(NO_COMPUTE)


def crowd_refusal() -> str | None:
    """Why no crowd can be drawn in this session, or None."""
    return _refusal(NO_COMPUTE_FOR_CROWDS)


def _refusal(without_compute: str) -> str | None:
    if bpy.app.background:
        return NO_WINDOW
    # Gone from the versions that cannot run without compute shaders.
    has_compute = getattr(gpu.capabilities, "compute_shader_support_get", lambda: True)
    if gpu.platform.backend_type_get() == "NONE" or not has_compute():
        return without_compute
    return None

"""Whether the GPU display works in this session."""

from __future__ import annotations

import bpy
import gpu

NO_WINDOW = "Blender runs without a window: nothing is drawn."
NO_COMPUTE = (
    "This graphics driver cannot run compute shaders, which drawing needs. Update the driver; "
    "until then choose the display Modifier."
)


def drawing_refusal() -> str | None:
    """Why nothing can be drawn in this session, or None."""
    if bpy.app.background:
        return NO_WINDOW
    if gpu.platform.backend_type_get() == "NONE" or not _has_compute():
        return NO_COMPUTE
    return None


def _has_compute() -> bool:
    # Gone from the versions that cannot run without compute shaders.
    ask = getattr(gpu.capabilities, "compute_shader_support_get", None)
    return ask is None or bool(ask())

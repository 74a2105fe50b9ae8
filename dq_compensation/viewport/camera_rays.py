"""Tells when the objects that we draw must be hidden from camera rays.

Material Preview and Rendered show objects that are displayed as bounds, unless camera rays do not
see them. But camera rays make the final renders, too, so they must see the objects there.
"""

from __future__ import annotations

import bpy
from bpy.types import Object

from ..scene.settings.object_settings import settings_of
from ..session.activity import final_render_runs


def hidden_from_camera_rays() -> bool:
    """Whether the objects that we draw should be hidden from camera rays now."""
    return not final_render_runs() and rendering_viewport_open()


def camera_visibility_is_current(obj: Object) -> bool:
    """Whether the visibility of an object for camera rays is as it must be now."""
    if hidden_from_camera_rays():
        return not obj.visible_camera
    return not settings_of(obj).native.hidden_from_camera


def rendering_viewport_open() -> bool:
    """Whether some 3D viewport shows a render, in Material Preview or Rendered."""
    return any(
        space.type == "VIEW_3D" and space.shading.type in {"MATERIAL", "RENDERED"}
        for window in bpy.context.window_manager.windows
        for area in window.screen.areas
        for space in area.spaces
    )

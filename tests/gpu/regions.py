"""A region of a 3D viewport, where no window is: its context, and the picture that it gets."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import bpy
import gpu
import numpy as np
import pytest
from mathutils import Matrix
from numpy.typing import NDArray

from dq_compensation.viewport import draw_handler
from dq_compensation.viewport.draw_handler import draw


def region(patch: pytest.MonkeyPatch, wires: bool = False, **shading: object) -> Any:
    """The context of a region, which the draw handler finds until the test ends.

    Args:
        wires: whether wires are shown on surfaces.
        shading: of the viewport, as Blender names it.
    """
    spaces = (area.spaces[0] for screen in bpy.data.screens for area in screen.areas)
    space: Any = next(each for each in spaces if each.type == "VIEW_3D")
    for name, value in shading.items():
        patch.setattr(space.shading, name, value)
    overlay = SimpleNamespace(
        show_overlays=True, show_wireframes=wires, show_xray_bone=False, show_bones=True
    )
    context = SimpleNamespace(
        space_data=SimpleNamespace(shading=space.shading, overlay=overlay),
        mode="OBJECT",
        view_layer=bpy.context.view_layer,
        scene=bpy.context.scene,
        preferences=bpy.context.preferences,
        evaluated_depsgraph_get=bpy.context.evaluated_depsgraph_get,
    )
    patch.setattr(draw_handler, "bpy", SimpleNamespace(context=context, types=bpy.types))
    return context


def pixels_of(draw: Callable[[], object], size: int = 128) -> NDArray[np.float32]:
    """What a function draws on nothing, shape (size, size, 4), rows from the bottom up."""
    offscreen: Any = gpu.types.GPUOffScreen(size, size, format="RGBA32F")
    with offscreen.bind():
        frame = gpu.state.active_framebuffer_get()
        frame.clear(color=(0.0, 0.0, 0.0, 0.0), depth=1.0)
        draw()
        pixels = frame.read_color(0, 0, size, size, 4, 0, "FLOAT")
    offscreen.free()
    pixels.dimensions = size * size * 4
    return np.array(pixels, np.float32).reshape(size, size, 4)


def picture(
    to_view: Matrix, to_clip: Matrix, draw: Callable[[], object] = draw, size: int = 128
) -> NDArray[np.float32]:
    """What a function draws that takes its view from Blender, by default the draw handler."""

    def draw_in_view() -> None:
        with gpu.matrix.push_pop(), gpu.matrix.push_pop_projection():
            gpu.matrix.load_matrix(to_view)
            gpu.matrix.load_projection_matrix(to_clip)
            draw()

    return pixels_of(draw_in_view, size)

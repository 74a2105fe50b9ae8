"""Draws a deformed mesh offscreen with the add-on's own shaders, lit as a Solid viewport is."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import gpu
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray
from PIL import Image, ImageFont

from dq_compensation.viewport.deformed_mesh import DeformedMesh
from dq_compensation.viewport.look import (
    SurfaceMaterial,
    ViewUniforms,
    draw_solid,
    drawing_state,
    placements_texture,
)
from dq_compensation.viewport.shading import studio_lights

# Every pixel of a picture is the mean of this many, squared.
SUPERSAMPLING = 3
# Linear: behind a character, and the outline of the one that it is compared with.
BACKGROUND = np.array([0.045, 0.045, 0.048])
OUTLINE = np.array([1.0, 0.30, 0.04])
OUTLINE_WIDTH = 4  # of the fine pixels

CLAY = SurfaceMaterial(colour=(0.80, 0.64, 0.54, 1.0), roughness=0.7)


@dataclass(frozen=True, eq=False)
class Camera:
    """An orthographic view of what lies around a point.

    Attributes:
        view: shape (4, 4), world to view; the point is the origin, the eye looks along -Z.
        half_height: how far the picture reaches from its middle up and down, in metres.
        depth: how far it reaches from the point to and from the eye, in metres; what lies beyond
            is not drawn.
    """

    view: NDArray[np.float64]
    half_height: float
    depth: float

    @classmethod
    def looking_at(
        cls,
        target: NDArray[np.floating],
        towards_eye: NDArray[np.floating],
        up: NDArray[np.floating],
        half_height: float,
        depth: float,
    ) -> Camera:
        """Look at a point from a direction, with another one upwards in the picture; world space.

        Raises:
            ValueError: the two directions are parallel.
        """
        z = np.asarray(towards_eye, np.float64) / np.linalg.norm(towards_eye)
        x = np.cross(up, z)
        if np.linalg.norm(x) < 1e-6:
            raise ValueError("The camera looks along its own upward direction")
        x /= np.linalg.norm(x)
        view = np.eye(4)
        view[:3, :3] = (x, np.cross(z, x), z)
        view[:3, 3] = -view[:3, :3] @ target
        return cls(view, half_height, depth)

    def projection(self, width: int, height: int) -> NDArray[np.float64]:
        """Shape (4, 4), view to clip space."""
        half_width = self.half_height * width / height
        return np.diag([1.0 / half_width, 1.0 / self.half_height, -1.0 / self.depth, 1.0])


@dataclass(frozen=True, eq=False)
class Drawing:
    """What was drawn, in fine pixels.

    Attributes:
        fine: shape (height * SUPERSAMPLING, width * SUPERSAMPLING, 4), float32, rows from the top
            down; linear colours, alpha 1 where the mesh is and 0 elsewhere.
    """

    fine: NDArray[np.float32]

    def over(self, background: NDArray[np.floating]) -> NDArray[np.float32]:
        """Lay it over a colour, anti-aliased; shape (height, width, 3), linear."""
        covered = self.fine[:, :, 3:] > 0.0
        return _means(np.where(covered, self.fine[:, :, :3], background.astype(np.float32)))

    def outline(self) -> NDArray[np.float32]:
        """How much of each pixel the silhouette's outline covers; shape (height, width, 1)."""
        inside = self.fine[:, :, 3] > 0.0
        core = inside.copy()
        for _ in range(OUTLINE_WIDTH):
            padded = np.pad(core, 1, constant_values=True)
            core = core & padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2]
            core &= padded[1:-1, 2:]
        return _means((inside & ~core)[:, :, None].astype(np.float32))

    @property
    def coverage(self) -> float:
        """The share of the picture that the mesh covers, 0 to 1."""
        return float((self.fine[:, :, 3] > 0.0).mean())


def draw(
    deformed: DeformedMesh,
    camera: Camera,
    object_matrix: NDArray[np.floating],
    width: int,
    height: int,
) -> Drawing:
    """Draw a deformed mesh.

    Args:
        deformed: after `deform` with normals; of one instance.
        camera: of the picture.
        object_matrix: shape (4, 4), object to world.
        width: of the picture, in pixels.
        height: of the picture, in pixels.
    """
    lights, ambient = studio_lights(_solid_shading(), Matrix(camera.view.tolist()))
    view = ViewUniforms()
    view.update(camera.view, camera.projection(width, height), lights, ambient)
    fine_width, fine_height = width * SUPERSAMPLING, height * SUPERSAMPLING
    offscreen = gpu.types.GPUOffScreen(fine_width, fine_height, format="RGBA16F")
    try:
        with offscreen.bind():
            frame = gpu.state.active_framebuffer_get()
            frame.clear(color=(0.0, 0.0, 0.0, 0.0), depth=1.0)
            with drawing_state():
                draw_solid(deformed, view, placements_texture([object_matrix]), [CLAY])
            read = frame.read_color(0, 0, fine_width, fine_height, 4, 0, "FLOAT")
    finally:
        offscreen.free()
    read.dimensions = fine_width * fine_height * 4
    fine = np.array(read, np.float32).reshape(fine_height, fine_width, 4)
    return Drawing(np.ascontiguousarray(fine[::-1]))


def encoded(linear: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Linear colours as the bytes of an sRGB picture."""
    light = np.clip(linear, 0.0, 1.0)
    curved = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1.0 / 2.4) - 0.055)
    return np.round(255.0 * curved).astype(np.uint8)


def _means(fine: NDArray[np.float32]) -> NDArray[np.float32]:
    height, width, channels = fine.shape
    step = SUPERSAMPLING
    return fine.reshape(height // step, step, width // step, step, channels).mean(axis=(1, 3))


def _solid_shading() -> bpy.types.View3DShading:
    """The shading of a viewport as a new Blender has it."""
    for screen in bpy.data.screens:
        for area in screen.areas:
            if area.type == "VIEW_3D" and area.spaces.active.shading.light == "STUDIO":
                return area.spaces.active.shading
    raise RuntimeError("The start-up file has no 3D viewport with studio light.")


def picture(drawing: Drawing, reference: Drawing | None) -> Image.Image:
    """A drawing, with the outline of another one over it."""
    linear = drawing.over(BACKGROUND)
    if reference is not None:
        linear = linear + 0.9 * reference.outline() * (OUTLINE - linear)
    return Image.fromarray(encoded(linear))


def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font: the same on every machine."""
    return ImageFont.load_default(size)

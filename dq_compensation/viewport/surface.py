"""Draws a deformed mesh: solid with studio light, or as wire.

The caller sets depth test and blending, with `drawing_state`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gpu
import numpy as np
from numpy.typing import NDArray

from . import shaders
from .gpu_objects import new_uniform_buffer, set_matrix, update_uniform_buffer
from .shader_building import VIEW_TEXELS
from .skinning import DeformedMesh

MAX_LIGHTS = 4
# In units of normalised depth: as little as keeps edges in front of their own surface.
WIRE_DEPTH_BIAS = 2e-5


@dataclass(frozen=True)
class StudioLight:
    """One lamp of the studio. Colours are linear.

    Attributes:
        direction: unit, towards the lamp, in view space.
        diffuse: (r, g, b).
        specular: (r, g, b).
        wrap: 0 is hard, 1 reaches around the object; Blender calls it Smooth.
    """

    direction: tuple[float, float, float]
    diffuse: tuple[float, float, float]
    specular: tuple[float, float, float] = (0.0, 0.0, 0.0)
    wrap: float = 0.0


@dataclass(frozen=True)
class SurfaceMaterial:
    """The look of the triangles of one material slot.

    Attributes:
        colour: (r, g, b, a), linear; a is what blending uses (X-ray).
        metallic: 0 to 1.
        roughness: 0 to 1.
        flat: shade every triangle by its own normal.
    """

    colour: tuple[float, float, float, float] = (0.8, 0.8, 0.8, 1.0)
    metallic: float = 0.0
    roughness: float = 0.6324555
    flat: bool = False


class ViewUniforms:
    """The view of a region and its lights, on the GPU; make one and update it for each region.

    Attributes:
        to_view, to_clip: the matrices from world to view space and on to clip space.
    """

    def __init__(self) -> None:
        self.to_view = self.to_clip = np.eye(4)
        self._texels = np.zeros((VIEW_TEXELS, 4), np.float32)
        self.block = new_uniform_buffer(self._texels)

    def update(
        self,
        view_matrix: NDArray[np.floating],
        projection_matrix: NDArray[np.floating],
        lights: Sequence[StudioLight],
        ambient: tuple[float, float, float],
        *,
        highlights: bool = True,
    ) -> None:
        """Take the region's view.

        Args:
            view_matrix: (4, 4), world to view; an array or a mathutils Matrix.
            projection_matrix: (4, 4), view to clip space (`region_data.window_matrix`).
            lights: at most four are used.
            ambient: linear colour.
            highlights: whether materials reflect the lamps.
        """
        self.to_view, self.to_clip = np.array(view_matrix), np.array(projection_matrix)
        texels = self._texels
        texels[0:4] = np.asarray(view_matrix, np.float32).T
        texels[4:8] = np.asarray(projection_matrix, np.float32).T
        texels[8:20] = 0.0
        for number, light in enumerate(lights[:MAX_LIGHTS]):
            texels[8 + number, :3] = light.direction
            texels[8 + number, 3] = light.wrap
            texels[12 + number, :3] = light.diffuse
            texels[16 + number, :3] = light.specular
        texels[20, :3] = ambient
        texels[20, 3] = 1.0 if highlights else 0.0
        update_uniform_buffer(self.block, texels)


def draw_solid(
    deformed: DeformedMesh,
    view: ViewUniforms,
    object_matrix: NDArray[np.floating],
    materials: Sequence[SurfaceMaterial],
) -> None:
    """Draw the surface.

    Args:
        deformed: after `deform` with normals.
        object_matrix: (4, 4), object to world; an array or a mathutils Matrix.
        materials: by material slot; slots past the last look like the last.
    """
    mesh = deformed.mesh
    if not materials or not mesh.group_count or deformed.normals is None:
        return
    batch = mesh.triangle_batch
    if batch is None:
        return
    shader = shaders.surface_shader()
    try:
        shader.bind()
        shader.uniform_block("view", view.block)
        shader.uniform_sampler("positions", deformed.positions)
        shader.uniform_sampler("normals", deformed.normals)
        shader.uniform_sampler("groups", mesh.groups)
        set_matrix(shader, "object_matrix", object_matrix)
        drawn: SurfaceMaterial | None = None
        for part in mesh.material_ranges:
            material = materials[min(part.slot, len(materials) - 1)]
            if material is not drawn:
                shader.uniform_float("base_colour", material.colour)
                flat = 1.0 if material.flat else 0.0
                shader.uniform_float("material", (material.metallic, material.roughness, flat, 0.0))
                drawn = material
            batch.draw_range(shader, elem_start=part.start, elem_count=part.count)
    finally:
        gpu.shader.unbind()


def draw_wire(
    deformed: DeformedMesh,
    view: ViewUniforms,
    object_matrix: NDArray[np.floating],
    colour: tuple[float, float, float, float],
) -> None:
    """Draw the edges.

    Args:
        deformed: after `deform`.
        object_matrix: (4, 4), object to world; an array or a mathutils Matrix.
        colour: (r, g, b, a), linear.
    """
    mesh = deformed.mesh
    if mesh.topology is None or not mesh.vertex_count:
        return
    batch = mesh.edge_batch
    if batch is None:
        return
    shader = shaders.wire_shader()
    try:
        shader.bind()
        shader.uniform_block("view", view.block)
        shader.uniform_sampler("positions", deformed.positions)
        set_matrix(shader, "object_matrix", object_matrix)
        shader.uniform_float("wire_colour", colour)
        shader.uniform_float("depth_bias", WIRE_DEPTH_BIAS)
        batch.draw(shader)
    finally:
        gpu.shader.unbind()


@contextmanager
def drawing_state(
    *,
    depth_test: str = "LESS_EQUAL",
    depth_mask: bool = True,
    blend: str = "NONE",
    line_width: float = 1.0,
) -> Generator[None]:
    """Set the GPU's state for drawing and restore it, also after an error."""
    state: Any = gpu.state
    settings = (
        (state.depth_test_get, state.depth_test_set, depth_test),
        (state.depth_mask_get, state.depth_mask_set, depth_mask),
        (state.blend_get, state.blend_set, blend),
        (state.line_width_get, state.line_width_set, line_width),
    )
    before = [get() for get, _, _ in settings]
    try:
        for _, set_to, value in settings:
            set_to(value)
        yield
    finally:
        for (_, set_to, _), value in zip(settings, before, strict=True):
            set_to(value)

"""Draws surfaces and wires in a viewport's shading mode.

The caller sets depth test and blending, with `drawing_state`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import gpu
import numpy as np
from gpu.types import GPUShader, GPUTexture

from ..arrays import Float64s, Floats
from .array_textures import texture_from_array
from .deformed_mesh import DeformedMesh
from .gpu_objects import new_uniform_buffer, set_ints, set_matrix, update_uniform_buffer
from .instance_poses import ListPart
from .shaders import VIEW_TEXELS, surface_shader, wire_shader

_MAX_LIGHTS = 4
# In units of normalised depth: as little as keeps edges in front of their own surface.
_WIRE_DEPTH_BIAS = 2e-5


@dataclass(frozen=True)
class StudioLight:
    """One lamp of the studio. Colours are (r, g, b), linear.

    Attributes:
        direction: unit, towards the lamp, in view space.
        wrap: 0 is hard, 1 reaches around the object; Blender calls it Smooth.
    """

    direction: tuple[float, float, float]
    diffuse: tuple[float, float, float]
    specular: tuple[float, float, float] = (0.0, 0.0, 0.0)
    wrap: float = 0.0


@dataclass(frozen=True)
class SurfaceMaterial:
    """The surface of the triangles of one material slot.

    Attributes:
        colour: (r, g, b, a), linear; a is what blending uses (X-ray).
        metallic, roughness: 0 to 1.
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
        self.to_view: Floats = np.eye(4)
        self.to_clip: Floats = np.eye(4)
        self._texels = np.zeros((VIEW_TEXELS, 4), np.float32)
        self.block = new_uniform_buffer(self._texels)

    def update(
        self,
        view_matrix: Floats,
        projection_matrix: Floats,
        lights: Sequence[StudioLight],
        ambient: tuple[float, float, float],
        *,
        highlights: bool = True,
    ) -> None:
        """Take the view of a region.

        Args:
            view_matrix: (4, 4), world to view; an array or a mathutils Matrix.
            projection_matrix: (4, 4), view to clip space (`region_data.window_matrix`).
            lights: at most `_MAX_LIGHTS` are used.
            ambient: linear colour.
            highlights: whether materials reflect the lamps.
        """
        self.to_view, self.to_clip = np.array(view_matrix), np.array(projection_matrix)
        texels = self._texels
        texels[0:4] = np.asarray(view_matrix, np.float32).T
        texels[4:8] = np.asarray(projection_matrix, np.float32).T
        texels[8:20] = 0.0
        for number, light in enumerate(lights[:_MAX_LIGHTS]):
            texels[8 + number, :3] = light.direction
            texels[8 + number, 3] = light.wrap
            texels[12 + number, :3] = light.diffuse
            texels[16 + number, :3] = light.specular
        texels[20, :3] = ambient
        texels[20, 3] = 1.0 if highlights else 0.0
        update_uniform_buffer(self.block, texels)

    def moved(self, way: Floats) -> ViewUniforms:
        """The view in which everything is drawn by a way (3,) further off, world space."""
        found, shift = ViewUniforms(), np.eye(4)
        shift[:3, 3] = way
        found.to_view, found.to_clip = self.to_view @ shift, self.to_clip
        found._texels[:] = self._texels
        found._texels[0:4] = found.to_view.T
        update_uniform_buffer(found.block, found._texels)
        return found


@contextmanager
def drawing_state(
    *, depth_test: str = "LESS_EQUAL", depth_mask: bool = True, blend: str = "NONE"
) -> Generator[None]:
    """Set the GPU's state for drawing and restore it, also after an error."""
    state: Any = gpu.state
    settings = (
        (state.depth_test_get, state.depth_test_set, depth_test),
        (state.depth_mask_get, state.depth_mask_set, depth_mask),
        (state.blend_get, state.blend_set, blend),
    )
    before = [get() for get, _, _ in settings]
    try:
        for _, set_to, value in settings:
            set_to(value)
        yield
    finally:
        for (_, set_to, _), value in zip(settings, before, strict=True):
            set_to(value)


def placements_texture(matrices: Floats) -> GPUTexture:
    """The places of instances as a texture; shape (I, 4, 4), object to world."""
    return texture_from_array(np.asarray(matrices)[:, :3].reshape(-1, 4), 4)


@dataclass(frozen=True)
class DrawnRun:
    """The drawn instances of a mesh, which are neighbours."""

    first: int
    count: int

    def bind(self, shader: GPUShader) -> None:
        """Give the instances to a bound shader."""
        set_ints(shader, {"first_instance": self.first})


@dataclass(frozen=True, eq=False)
class DrawnFigures:
    """The instances of a mesh that are drawn, out of a list, with the place of the mesh in each.

    Attributes:
        matrix: shape (4, 4), from the object to the space that placements take to the world.
    """

    chosen: ListPart
    matrix: Float64s

    @property
    def count(self) -> int:
        """The number of the instances."""
        return self.chosen.count

    def bind(self, shader: GPUShader) -> None:
        """Give the instances to a bound shader that was made for lists."""
        self.chosen.bind(shader)
        set_matrix(shader, "figure_from_object", self.matrix)


def draw_solid(
    deformed: DeformedMesh,
    view: ViewUniforms,
    placements: GPUTexture,
    materials: Sequence[SurfaceMaterial],
    drawn: DrawnRun | DrawnFigures | None = None,
) -> None:
    """Draw the surfaces of instances: one batch for each material slot.

    Args:
        deformed: after `deform` with normals.
        placements: of `placements_texture`; of all instances of all meshes for `DrawnFigures`.
        materials: by material slot; slots past the last look like the last.
        drawn: by default all instances.
    """
    mesh, drawn = deformed.mesh, drawn or DrawnRun(0, deformed.count)
    if not materials or not mesh.group_count or deformed.normals is None or not drawn.count:
        return
    shader = surface_shader(isinstance(drawn, DrawnFigures))
    try:
        _bind(shader, deformed, view, placements, drawn)
        shader.uniform_sampler("normals", deformed.normals)
        shader.uniform_sampler("groups", mesh.groups)
        set_ints(shader, {"group_rows": deformed.group_rows})
        for slot, batch in mesh.material_batches:
            material = materials[min(slot, len(materials) - 1)]
            shader.uniform_float("base_colour", material.colour)
            flat = 1.0 if material.flat else 0.0
            shader.uniform_float("material", (material.metallic, material.roughness, flat, 0.0))
            untyped: Any = batch
            untyped.draw_instanced(shader, instance_start=0, instance_count=drawn.count)
    finally:
        gpu.shader.unbind()


def draw_wire(
    deformed: DeformedMesh,
    view: ViewUniforms,
    placements: GPUTexture,
    colour: tuple[float, float, float, float],
    drawn: DrawnRun | DrawnFigures | None = None,
) -> None:
    """Draw the edges of instances: one batch.

    Args:
        deformed: after `deform`.
        colour: (r, g, b, a), linear.
        placements, drawn: as for `draw_solid`.
    """
    mesh, drawn = deformed.mesh, drawn or DrawnRun(0, deformed.count)
    batch: Any = mesh.edge_batch if mesh.topology is not None and mesh.vertex_count else None
    if batch is None or not drawn.count:
        return
    shader = wire_shader(isinstance(drawn, DrawnFigures))
    try:
        _bind(shader, deformed, view, placements, drawn)
        shader.uniform_float("wire_colour", colour)
        shader.uniform_float("depth_bias", _WIRE_DEPTH_BIAS)
        batch.draw_instanced(shader, instance_start=0, instance_count=drawn.count)
    finally:
        gpu.shader.unbind()


def _bind(
    shader: GPUShader,
    deformed: DeformedMesh,
    view: ViewUniforms,
    placements: GPUTexture,
    drawn: DrawnRun | DrawnFigures,
) -> None:
    """Bind a shader with the inputs that surfaces and wires share."""
    shader.bind()
    shader.uniform_block("view", view.block)
    shader.uniform_sampler("positions", deformed.positions)
    shader.uniform_sampler("placements", placements)
    set_ints(shader, {"mesh_rows": deformed.mesh_rows})
    drawn.bind(shader)

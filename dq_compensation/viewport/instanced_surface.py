"""Draws all instances of a deformed mesh together: solid with studio light, or as wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gpu
import numpy as np
from gpu.types import GPUShader, GPUTexture
from numpy.typing import NDArray

from .gpu_objects import set_ints, set_matrix
from .instance_lists import ListPart
from .instance_shaders import instanced_surface_shader, instanced_wire_shader
from .instanced_mesh import InstancedMesh
from .surface import WIRE_DEPTH_BIAS, SurfaceMaterial, ViewUniforms
from .textures import texture_from_array


def placements_texture(matrices: NDArray[np.floating]) -> GPUTexture:
    """The places of instances for `draw_instances`: shape (I, 4, 4), object to world."""
    return texture_from_array(np.asarray(matrices)[:, :3].reshape(-1, 4), 4)


@dataclass(frozen=True, eq=False)
class DrawnFigures:
    """Which instances of a mesh are drawn, out of a list, and where the mesh is in each.

    Attributes:
        chosen: the instances.
        matrix: shape (4, 4), from the object to the space that placements take to the world.
    """

    chosen: ListPart
    matrix: NDArray[np.float64]

    def bind(self, shader: GPUShader) -> None:
        """Give them to a bound shader that was made for lists."""
        self.chosen.bind(shader)
        set_matrix(shader, "figure_from_object", self.matrix)


def draw_instances(
    instances: InstancedMesh,
    view: ViewUniforms,
    placements: GPUTexture,
    materials: Sequence[SurfaceMaterial],
    *,
    first: int = 0,
    count: int | None = None,
    figures: DrawnFigures | None = None,
) -> None:
    """Draw the surfaces of instances: one batch for each material slot.

    The caller sets depth test and blending, with `drawing_state`.

    Args:
        instances: after `deform` with normals.
        placements: of `placements_texture`.
        materials: by material slot; slots past the last look like the last.
        first, count: which instances; by default all.
        figures: which, instead; placements are then those of all instances of all meshes.
    """
    mesh = instances.mesh
    count = _count(instances, first, count, figures)
    if not materials or not mesh.group_count or instances.normals is None or not count:
        return
    shader = instanced_surface_shader(figures is not None)
    try:
        shader.bind()
        shader.uniform_block("view", view.block)
        shader.uniform_sampler("positions", instances.positions)
        shader.uniform_sampler("normals", instances.normals)
        shader.uniform_sampler("groups", mesh.groups)
        shader.uniform_sampler("placements", placements)
        rows = {"mesh_rows": instances.mesh_rows, "group_rows": instances.group_rows}
        set_ints(shader, rows)
        _bind_instances(shader, first, figures)
        for slot, batch in mesh.material_batches:
            material = materials[min(slot, len(materials) - 1)]
            shader.uniform_float("base_colour", material.colour)
            flat = 1.0 if material.flat else 0.0
            shader.uniform_float("material", (material.metallic, material.roughness, flat, 0.0))
            untyped: Any = batch
            untyped.draw_instanced(shader, instance_start=0, instance_count=count)
    finally:
        gpu.shader.unbind()


def draw_wires_of_instances(
    instances: InstancedMesh,
    view: ViewUniforms,
    placements: GPUTexture,
    colour: tuple[float, float, float, float],
    *,
    first: int = 0,
    count: int | None = None,
    figures: DrawnFigures | None = None,
) -> None:
    """Draw the edges of instances: one batch.

    Args:
        instances: after `deform`.
        placements: of `placements_texture`.
        colour: (r, g, b, a), linear.
        first, count, figures: as for `draw_instances`.
    """
    mesh = instances.mesh
    count = _count(instances, first, count, figures)
    batch: Any = mesh.edge_batch if mesh.topology is not None and mesh.vertex_count else None
    if batch is None or not count:
        return
    shader = instanced_wire_shader(figures is not None)
    try:
        shader.bind()
        shader.uniform_block("view", view.block)
        shader.uniform_sampler("positions", instances.positions)
        shader.uniform_sampler("placements", placements)
        set_ints(shader, {"mesh_rows": instances.mesh_rows})
        _bind_instances(shader, first, figures)
        shader.uniform_float("wire_colour", colour)
        shader.uniform_float("depth_bias", WIRE_DEPTH_BIAS)
        batch.draw_instanced(shader, instance_start=0, instance_count=count)
    finally:
        gpu.shader.unbind()


def _count(
    instances: InstancedMesh, first: int, count: int | None, figures: DrawnFigures | None
) -> int:
    if figures is not None:
        return figures.chosen.count
    return instances.count - first if count is None else count


def _bind_instances(shader: GPUShader, first: int, figures: DrawnFigures | None) -> None:
    if figures is None:
        set_ints(shader, {"first_instance": first})
    else:
        figures.bind(shader)

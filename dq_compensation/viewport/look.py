"""Draws surfaces and wires in a viewport's shading mode: light, colours, X-ray, camera rays."""

from __future__ import annotations

import math
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import gpu
import numpy as np
from bpy.types import Context, Object, View3DShading
from gpu.types import GPUShader, GPUTexture
from mathutils import Color, Matrix, Vector

from ..arrays import Float64s, Floats
from ..scene.settings.object_settings import settings_of
from ..scene.stack import find_rig
from ..session.activity import final_render_runs
from ..session.status import is_coloured, is_drawn
from .deformed_mesh import DeformedMesh
from .gpu_objects import (
    new_uniform_buffer,
    set_ints,
    set_matrix,
    texture_from_array,
    update_uniform_buffer,
)
from .instance_poses import ListPart
from .shaders import VIEW_TEXELS, surface_shader, wire_shader

# The caller sets depth test and blending, with `drawing_state`.

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


# Reads the lights and colours of Solid shading in a viewport, as far as Python can.


Rgb = tuple[float, float, float]

_GREY: Rgb = (0.8, 0.8, 0.8)


def studio_lights(shading: View3DShading, view_matrix: Matrix) -> tuple[Sequence[StudioLight], Rgb]:
    """The lamps and the ambient colour of a viewport.

    Flat is ambient light alone. Matcaps are pictures that Python cannot reach; they get the studio
    light of the Preferences instead.

    Args:
        view_matrix: world to view.
    """
    if shading.light == "FLAT":
        return (), (1.0, 1.0, 1.0)
    system = bpy.context.preferences.system
    lamps, ambient, turn = system.solid_lights, system.light_ambient, Matrix.Identity(3)
    if shading.light == "STUDIO":
        studio = shading.selected_studio_light
        if studio is not None and studio.type == "STUDIO":
            lamps, ambient = studio.solid_lights, studio.light_ambient
        if shading.use_world_space_lighting:
            turn = view_matrix.to_3x3() @ Matrix.Rotation(-shading.studiolight_rotate_z, 3, "Z")
            # World lights are defined as seen from the front: their Y is the world's Z.
            turn = turn @ Matrix.Rotation(1.5707963267948966, 3, "X")
    lights = [
        StudioLight(
            _triple((turn @ Vector(lamp.direction[:])).normalized()),
            _triple(lamp.diffuse_color),
            _triple(lamp.specular_color),
            lamp.smooth,
        )
        for lamp in lamps
        if lamp.use
    ]
    return lights, _triple(ambient)


def surface_materials(obj: Object, shading: View3DShading, alpha: float) -> list[SurfaceMaterial]:
    """The surface of each material slot by the viewport's Color setting, with X-ray's alpha.

    Args:
        obj: evaluated.
    """
    kind = shading.color_type
    if kind == "OBJECT":
        return [_plain(_triple(obj.color), alpha)]
    if kind == "SINGLE":
        return [_plain(_triple(shading.single_color), alpha)]
    if kind == "RANDOM":
        return [_plain(_random_colour(obj.name), alpha)]
    materials = []
    for slot in obj.material_slots:
        material = slot.material
        if material is None:
            materials.append(_plain(_GREY, alpha))
        else:
            colour = (*_triple(material.diffuse_color), alpha)
            # Solid shading takes the root, as EEVEE's roughness is the square of what shows.
            roughness = math.sqrt(material.roughness)
            materials.append(SurfaceMaterial(colour, material.metallic, roughness))
    return materials or [_plain(_GREY, alpha)]


def wire_colour(obj: Object, shading: View3DShading, *, active: bool, selected: bool) -> Rgb:
    """The colour of an evaluated object's wire, linear."""
    if selected:
        theme = bpy.context.preferences.themes[0].view_3d
        return linear(theme.object_active if active else theme.object_selected)
    if shading.wireframe_color_type == "OBJECT":
        return _triple(obj.color)
    if shading.wireframe_color_type == "RANDOM":
        return _random_colour(obj.name)
    return linear(bpy.context.preferences.themes[0].view_3d.wire)


def linear(colour: Any) -> Rgb:
    """The linear colour of a theme's colour, which is stored as sRGB."""
    return _triple(Color(_triple(colour)).from_srgb_to_scene_linear())


def _triple(values: Any) -> Rgb:
    """The first three numbers of a Blender colour, vector or array."""
    return (values[0], values[1], values[2])


def _plain(colour: Rgb, alpha: float) -> SurfaceMaterial:
    return SurfaceMaterial((*colour, alpha))


def _random_colour(name: str) -> Rgb:
    """A colour of the object's own, the same in every session."""
    colour = Color()
    colour.hsv = (zlib.crc32(name.encode()) % 997 / 997.0, 0.5, 0.8)
    return linear(colour)


# X-ray of the surfaces that we draw, and the hints in the panel of a viewport.


def surface_alpha(space: Any, mode: str) -> float:
    """The opacity of a surface in a 3D viewport; 1 without X-ray.

    Args:
        space: the viewport (SpaceView3D).
        mode: of the context. In Pose Mode, Bone X-Ray counts as well.
    """
    shading, overlay = space.shading, space.overlay
    xray = shading.type == "SOLID" and shading.show_xray
    bone_xray = mode == "POSE" and overlay.show_overlays and overlay.show_xray_bone
    # Bone X-Ray has an opacity of its own, but that is 0 in new files: Blender draws bones on top.
    return shading.xray_alpha if xray or bone_xray else 1.0


def display_hints(obj: Object, context: Context) -> list[str]:
    """Hints for the panel: what this viewport hides of an enabled object, and what to do."""
    space: Any = context.space_data
    if space is None or space.type != "VIEW_3D":
        return []
    hints = []
    rendered = space.shading.type in {"MATERIAL", "RENDERED"}
    drawn = settings_of(obj).native.hidden and is_drawn(obj)
    if drawn and rendered:
        hints.append(
            f"The GPU display shows {obj.name} without its materials here. Choose the display "
            "Modifier to see them."
        )
    rig = find_rig(obj)
    covers = space.shading.type != "WIREFRAME" and (drawn or is_coloured(obj))
    posing = context.mode == "POSE"
    if rig is None or not rig.show_in_front or not rig.visible_get():
        return hints
    if not covers or (rendered and not posing):
        return hints
    if surface_alpha(space, context.mode) == 1.0:
        xray = "Bone X-Ray" if posing else "X-ray"
        picture = "GPU picture" if drawn else "overlay"
        hints.append(
            f"{rig.name} is set to In Front, but the {picture} covers its bones. Turn on {xray} "
            "(Alt Z) to see them through the surface."
        )
    return hints


# Tells when the objects that we draw must be hidden from camera rays.
#
# Material Preview and Rendered show objects that are displayed as bounds, unless camera rays do not
# see them. But camera rays make the final renders, too, so they must see the objects there.


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

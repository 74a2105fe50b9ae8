"""Reads the lights and colours of Solid shading in a viewport, as far as Python can."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import bpy
from bpy.types import Object, View3DShading
from mathutils import Color, Matrix, Vector

from .look import StudioLight, SurfaceMaterial

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

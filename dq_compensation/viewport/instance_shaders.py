"""The shaders of many instances: what each one reads and writes; compiled when first used."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gpu.types import GPUShader

from .gpu_objects import new_stage_interface
from .kernels import (
    JOINTS_LAYOUT,
    KERNELS,
    SWING_DEFINES,
    SWING_SAMPLERS,
    Kernel,
    PosePaletteLayout,
)
from .shader_building import VIEW_TEXELS, Bindings, compute_shader, draw_shader
from .take_tables import BONE_STRIDE, INSTANCE_STRIDE

_Constants = tuple[tuple[str, str], ...]
_ROWS: _Constants = (("INT", "instance_first_row"), ("INT", "instance_rows"))


@cache
def interpolate_keys_shader(scaled: bool) -> GPUShader:
    """The pass that finds the transforms between keys."""
    return compute_shader(
        "interpolate_keys",
        Bindings(
            samplers=("instances", "tracks", "key_frames", "keys"),
            images=(("locals", "RGBA32F"),),
            push_constants=(("FLOAT", "frame"),),
            defines=_of_rows(scaled),
        ),
    )


@cache
def chain_bones_shader(layout: PosePaletteLayout, scaled: bool, given: bool = False) -> GPUShader:
    """The pass that writes the palettes.

    Args:
        given: the matrices of the poses are, so that nothing has to be chained.
    """
    defines = _of_rows(scaled) | layout.places | ({"GIVEN": "1"} if given else {})
    return compute_shader(
        "chain_bones",
        Bindings(
            samplers=("instances", "bones", "matrices" if given else "locals"),
            images=(("palettes", "RGBA32F"),),
            defines=defines,
        ),
    )


@cache
def pose_limbs_shader(layout: PosePaletteLayout) -> GPUShader:
    """The pass that finds the posed limbs for the published curves."""
    return compute_shader(
        "pose_limbs",
        _instanced(
            layout,
            Bindings(samplers=("limb_directions", "bone_limbs"), images=(("limbs", "RGBA32F"),)),
        ),
    )


@cache
def pose_joints_shader(layout: PosePaletteLayout, scaled: bool) -> GPUShader:
    """The pass that finds the posed joints for MEASURED."""
    defines = {"JOINT_STRIDE": str(JOINTS_LAYOUT.stride)} | ({"SCALED": "1"} if scaled else {})
    return compute_shader(
        "pose_joints",
        _instanced(
            layout,
            Bindings(
                samplers=("rest_joints", "bone_limbs"),
                images=(("joints", "RGBA32F"),),
                push_constants=(("INT", "joint_count"),),
                defines=defines,
            ),
        ),
    )


@cache
def key_values_shader(layout: PosePaletteLayout, key_stride: int) -> GPUShader:
    """The pass that finds the values of shape keys."""
    return compute_shader(
        "key_values",
        _instanced(
            layout,
            Bindings(
                samplers=("key_sources", "given_values", "locals", "examples"),
                images=(("key_values", "R32F"),),
                push_constants=(("INT", "key_count"),),
                defines={"KEY_STRIDE": str(key_stride)},
            ),
        ),
    )


@cache
def instanced_centres_shader(layout: PosePaletteLayout) -> GPUShader:
    """The pass that finds the centres of SPHERICAL_JOINT."""
    return compute_shader(
        "joint_centres",
        _instanced(
            layout,
            Bindings(
                samplers=("joint_sets", "joint_bones"),
                images=(("centres", "RGBA32F"),),
                push_constants=(("INT", "set_count"),),
            ),
        ),
    )


@cache
def instanced_skinning_shader(
    kernel: Kernel, layout: PosePaletteLayout, scaled: bool, of_vertices: tuple[str, ...]
) -> GPUShader:
    """The pass that deforms the vertices of all instances of a mesh.

    Args:
        of_vertices: which of `blend`, `mask`, `shape_keys` and `swings` there are.
    """
    traits = KERNELS[kernel]
    defines = dict.fromkeys((*traits.defines, *map(str.upper, of_vertices)), "1")
    samplers: tuple[str, ...] = ("rest", "influences", "object_space", *traits.samplers)
    constants: _Constants = (("INT", "mesh_rows"),)
    if scaled and traits.scales:
        defines["SCALED"] = "1"
    if traits.with_joints:
        defines |= {"JOINT_STRIDE": str(JOINTS_LAYOUT.stride), "JOINTS_IN_TEXTURE": "1"}
        samplers, constants = (*samplers, "joints_texture"), (*constants, ("INT", "joint_count"))
    if "COMPENSATE" in defines:
        samplers = (*samplers, "limbs")
    if "centres" in traits.samplers:
        constants = (*constants, ("INT", "set_count"))
    for name in of_vertices:
        if name == "shape_keys":
            samplers = (*samplers, "key_starts", "key_offsets", "key_values")
            constants = (*constants, ("INT", "key_count"))
        elif name == "swings":
            samplers, defines = (*samplers, *SWING_SAMPLERS), defines | SWING_DEFINES
        else:
            samplers = (*samplers, name)
    bindings = Bindings(
        samplers=samplers,
        images=(("positions", "RGBA32F"),),
        push_constants=constants,
        defines=defines,
    )
    return compute_shader(traits.source, _instanced(layout, bindings))


@cache
def instanced_normals_shader() -> GPUShader:
    """The pass that finds the normals of the deformed surfaces."""
    return compute_shader(
        "normals",
        Bindings(
            samplers=("positions", "groups", "fans"),
            images=(("normals", "RGBA16F"),),
            push_constants=(("INT", "mesh_rows"), ("INT", "group_rows")),
            defines={"INSTANCED": "1"},
        ),
    )


@cache
def instanced_surface_shader() -> GPUShader:
    """Draws all instances of a deformed surface with studio light."""
    interface = new_stage_interface("instanced_surface_interface")
    interface.smooth("VEC3", "view_normal")
    interface.smooth("VEC3", "view_position")
    interface.flat("FLOAT", "mirrored")
    return draw_shader(
        "surface",
        Bindings(
            samplers=("positions", "normals", "groups", "placements"),
            blocks=(("view", VIEW_TEXELS),),
            push_constants=(
                ("INT", "first_instance"),
                ("INT", "mesh_rows"),
                ("INT", "group_rows"),
                ("VEC4", "base_colour"),
                ("VEC4", "material"),
            ),
            defines={"INSTANCED": "1"},
        ),
        interface,
    )


@cache
def instanced_wire_shader() -> GPUShader:
    """Draws the edges of all instances of a deformed mesh."""
    return draw_shader(
        "wire",
        Bindings(
            samplers=("positions", "placements"),
            blocks=(("view", VIEW_TEXELS),),
            push_constants=(
                ("INT", "first_instance"),
                ("INT", "mesh_rows"),
                ("VEC4", "wire_colour"),
                ("FLOAT", "depth_bias"),
            ),
            defines={"INSTANCED": "1"},
        ),
        None,
    )


def free_instance_shaders() -> None:
    """Forget the compiled shaders; the next use compiles them again."""
    for cached in (
        interpolate_keys_shader,
        chain_bones_shader,
        pose_limbs_shader,
        pose_joints_shader,
        key_values_shader,
        instanced_centres_shader,
        instanced_skinning_shader,
        instanced_normals_shader,
        instanced_surface_shader,
        instanced_wire_shader,
    ):
        cached.cache_clear()


def _of_rows(scaled: bool) -> dict[str, str]:
    defines = {
        "INSTANCE_STRIDE": str(INSTANCE_STRIDE),
        "BONE_STRIDE": str(BONE_STRIDE),
        "KEY_STRIDE": "3" if scaled else "2",
    }
    return defines | ({"SCALED": "1"} if scaled else {})


def _instanced(layout: PosePaletteLayout, bindings: Bindings) -> Bindings:
    """With the palettes of all instances."""
    return replace(
        bindings,
        samplers=(*bindings.samplers, "palette_texture"),
        push_constants=(*_ROWS, *bindings.push_constants),
        defines={**bindings.defines, **layout.places, "INSTANCED": "1"},
    )

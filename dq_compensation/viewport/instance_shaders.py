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
_LIST: _Constants = (("INT", "list_start"), ("INT", "list_first"))


@cache
def interpolate_keys_shader(scaled: bool, listed: bool = False) -> GPUShader:
    """The pass that finds the transforms between keys.

    Args:
        listed: for instances of a list alone, here as in the other shaders; see `ListPart`.
    """
    bindings = Bindings(
        samplers=("instances", "tracks", "key_frames", "keys"),
        images=(("locals", "RGBA32F"),),
        push_constants=(("FLOAT", "frame"),),
        defines=_of_rows(scaled),
    )
    return compute_shader("interpolate_keys", _listed(bindings, listed))


@cache
def chain_bones_shader(
    layout: PosePaletteLayout, scaled: bool, given: bool = False, listed: bool = False
) -> GPUShader:
    """The pass that writes the palettes.

    Args:
        given: the matrices of the poses are, so that nothing has to be chained.
    """
    defines = _of_rows(scaled) | layout.places | ({"GIVEN": "1"} if given else {})
    bindings = Bindings(
        samplers=("instances", "bones", "matrices" if given else "locals"),
        images=(("palettes", "RGBA32F"),),
        defines=defines,
    )
    return compute_shader("chain_bones", _listed(bindings, listed))


@cache
def pose_limbs_shader(layout: PosePaletteLayout, listed: bool = False) -> GPUShader:
    """The pass that finds the posed limbs for the published curves."""
    return compute_shader(
        "pose_limbs",
        _instanced(
            layout,
            Bindings(samplers=("limb_directions", "bone_limbs"), images=(("limbs", "RGBA32F"),)),
            listed,
        ),
    )


@cache
def pose_joints_shader(layout: PosePaletteLayout, scaled: bool, listed: bool = False) -> GPUShader:
    """The pass that finds the posed joints for MEASURED."""
    defines = {"JOINT_STRIDE": str(JOINTS_LAYOUT.stride)}
    defines |= {"SCALED": "1"} if scaled else {}
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
            listed,
        ),
    )


@cache
def key_values_shader(
    layout: PosePaletteLayout, key_stride: int, listed: bool = False
) -> GPUShader:
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
            listed,
        ),
    )


@cache
def instanced_centres_shader(layout: PosePaletteLayout, listed: bool = False) -> GPUShader:
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
            listed,
        ),
    )


@cache
def instanced_skinning_shader(
    kernel: Kernel,
    layout: PosePaletteLayout,
    scaled: bool,
    of_vertices: tuple[str, ...],
    *,
    shared_space: bool,
    listed: bool,
) -> GPUShader:
    """The pass that deforms the vertices of all instances of a mesh.

    Args:
        of_vertices: which of `blend`, `mask`, `shape_keys` and `swings` there are.
        shared_space: whether all are at the same place in their armatures, with the same factor.
    """
    traits = KERNELS[kernel]
    defines = dict.fromkeys((*traits.defines, *map(str.upper, of_vertices)), "1")
    samplers: tuple[str, ...] = ("rest", "influences", "object_space", *traits.samplers)
    constants: _Constants = (("INT", "mesh_rows"),)
    if shared_space:
        defines["SHARED_SPACE"] = "1"
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
    return compute_shader(traits.source, _instanced(layout, bindings, listed))


@cache
def instanced_normals_shader(listed: bool = False) -> GPUShader:
    """The pass that finds the normals of the deformed surfaces."""
    bindings = Bindings(
        samplers=("positions", "groups", "fans"),
        images=(("normals", "RGBA16F"),),
        push_constants=(("INT", "mesh_rows"), ("INT", "group_rows")),
        defines={"INSTANCED": "1"},
    )
    return compute_shader("normals", _listed(bindings, listed))


@cache
def instanced_surface_shader(listed: bool = False) -> GPUShader:
    """Draws all instances of a deformed surface with studio light."""
    interface = new_stage_interface("instanced_surface_interface")
    interface.smooth("VEC3", "view_normal")
    interface.smooth("VEC3", "view_position")
    interface.flat("FLOAT", "mirrored")
    placed = _placed(listed)
    return draw_shader(
        "surface",
        Bindings(
            samplers=("positions", "normals", "groups", *placed.samplers),
            blocks=(("view", VIEW_TEXELS),),
            push_constants=(
                ("INT", "mesh_rows"),
                ("INT", "group_rows"),
                *placed.push_constants,
                ("VEC4", "base_colour"),
                ("VEC4", "material"),
            ),
            defines=placed.defines,
        ),
        interface,
    )


@cache
def instanced_wire_shader(listed: bool = False) -> GPUShader:
    """Draws the edges of all instances of a deformed mesh."""
    placed = _placed(listed)
    return draw_shader(
        "wire",
        Bindings(
            samplers=("positions", *placed.samplers),
            blocks=(("view", VIEW_TEXELS),),
            push_constants=(
                ("INT", "mesh_rows"),
                ("FLOAT", "depth_bias"),
                *placed.push_constants,
                ("VEC4", "wire_colour"),
            ),
            defines=placed.defines,
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


def _instanced(layout: PosePaletteLayout, bindings: Bindings, listed: bool) -> Bindings:
    """With the palettes of all instances."""
    found = replace(
        bindings,
        samplers=(*bindings.samplers, "palette_texture"),
        push_constants=(*_ROWS, *bindings.push_constants),
        defines={**bindings.defines, **layout.places, "INSTANCED": "1"},
    )
    return _listed(found, listed)


def _listed(bindings: Bindings, listed: bool) -> Bindings:
    """With a list of instances, if there is one."""
    if not listed:
        return bindings
    return replace(
        bindings,
        samplers=(*bindings.samplers, "listed"),
        push_constants=(*bindings.push_constants, *_LIST),
        defines={**bindings.defines, "LISTED": "1"},
    )


def _placed(listed: bool) -> Bindings:
    """The places of what is drawn."""
    drawn = Bindings(samplers=("placements",), defines={"INSTANCED": "1"})
    if not listed:
        return replace(drawn, push_constants=(("INT", "first_instance"),))
    found = _listed(drawn, listed)
    return replace(found, push_constants=(*_LIST, ("MAT4", "figure_from_object")))

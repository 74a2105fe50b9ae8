"""The inputs and outputs of each shader, which is compiled when first used."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gpu.types import GPUShader

from .gpu_objects import new_stage_interface
from .kernels import JOINT_STRIDE, KERNELS, SWING_DEFINES, SWING_SAMPLERS, Kernel, PosePaletteLayout
from .shader_building import COLOUR_STOPS, VIEW_TEXELS, Bindings, compute_shader, draw_shader
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
        _posed(
            layout,
            Bindings(samplers=("limb_directions", "bone_limbs"), images=(("limbs", "RGBA32F"),)),
            listed,
        ),
    )


@cache
def pose_joints_shader(layout: PosePaletteLayout, scaled: bool, listed: bool = False) -> GPUShader:
    """The pass that finds the posed joints for MEASURED."""
    defines = {"JOINT_STRIDE": str(JOINT_STRIDE)}
    defines |= {"SCALED": "1"} if scaled else {}
    return compute_shader(
        "pose_joints",
        _posed(
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
    """The pass that finds the values of the shape keys that follow poses."""
    return compute_shader(
        "key_values",
        _posed(
            layout,
            Bindings(
                samplers=("key_sources", "locals", "examples"),
                images=(("key_values", "R32F"),),
                push_constants=(("INT", "key_count"),),
                defines={"KEY_STRIDE": str(key_stride)},
            ),
            listed,
        ),
    )


@cache
def shape_keys_shader() -> GPUShader:
    """The pass that adds shape keys to the rest positions."""
    return compute_shader(
        "shape_keys",
        Bindings(
            samplers=("rest", "key_starts", "key_offsets", "key_values"),
            images=(("shaped", "RGBA32F"),),
            push_constants=(("INT", "mesh_rows"), ("INT", "key_count")),
        ),
    )


@cache
def joint_centres_shader(layout: PosePaletteLayout, listed: bool = False) -> GPUShader:
    """The pass that finds the centres of SPHERICAL_JOINT."""
    return compute_shader(
        "joint_centres",
        _posed(
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
def skinning_shader(
    kernel: Kernel,
    layout: PosePaletteLayout,
    scaled: bool,
    of_vertices: tuple[str, ...],
    listed: bool = False,
) -> GPUShader:
    """The pass that deforms the vertices of all instances of a mesh.

    Args:
        of_vertices: which of `blend`, `mask`, `shape_keys` and `swings` there are.
    """
    traits = KERNELS[kernel]
    defines = dict.fromkeys((*traits.defines, *map(str.upper, of_vertices)), "1")
    samplers: tuple[str, ...] = ("rest", "influences", "object_space", *traits.samplers)
    constants: _Constants = tuple(
        ("INT", name) for name in ("mesh_rows", "rest_rows", "space_stride")
    )
    if scaled and traits.scales:
        defines["SCALED"] = "1"
    if traits.with_joints:
        defines["JOINT_STRIDE"] = str(JOINT_STRIDE)
        samplers, constants = (*samplers, "joints"), (*constants, ("INT", "joint_count"))
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
    return compute_shader(traits.source, _posed(layout, bindings, listed))


@cache
def normals_shader(listed: bool = False) -> GPUShader:
    """The pass that finds the normals of the deformed surfaces."""
    bindings = Bindings(
        samplers=("positions", "groups", "fans"),
        images=(("normals", "RGBA16F"),),
        push_constants=(("INT", "mesh_rows"), ("INT", "group_rows")),
    )
    return compute_shader("normals", _listed(bindings, listed))


@cache
def surface_shader(listed: bool = False) -> GPUShader:
    """Draws all instances of a deformed surface with studio light."""
    interface = new_stage_interface("surface_interface")
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
def wire_shader(listed: bool = False) -> GPUShader:
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


@cache
def overlay_distances_shader() -> GPUShader:
    """The pass that finds how far two deformations of a mesh are apart."""
    return compute_shader(
        "overlay_distances",
        Bindings(
            samplers=("positions", "reference"),
            images=(("distances", "R32F"),),
            push_constants=(("MAT4", "object_matrix"),),
        ),
    )


@cache
def overlay_shader() -> GPUShader:
    """Draws the deformed surface in the colours of distances."""
    interface = new_stage_interface("overlay_interface")
    interface.smooth("VEC3", "view_normal")
    interface.smooth("VEC3", "view_position")
    interface.smooth("FLOAT", "share")
    return draw_shader(
        "overlay",
        Bindings(
            samplers=("positions", "normals", "groups", "distances"),
            blocks=(("view", VIEW_TEXELS), ("colours", COLOUR_STOPS)),
            push_constants=(
                ("MAT4", "object_matrix"),
                ("FLOAT", "maximum"),
                ("FLOAT", "lift"),
                ("FLOAT", "alpha"),
            ),
        ),
        interface,
    )


def free_shaders() -> None:
    """Forget the compiled shaders; the next use compiles them again."""
    for cached in (
        interpolate_keys_shader,
        chain_bones_shader,
        pose_limbs_shader,
        pose_joints_shader,
        key_values_shader,
        shape_keys_shader,
        joint_centres_shader,
        skinning_shader,
        normals_shader,
        surface_shader,
        wire_shader,
        overlay_distances_shader,
        overlay_shader,
    ):
        cached.cache_clear()


def _of_rows(scaled: bool) -> dict[str, str]:
    defines = {
        "INSTANCE_STRIDE": str(INSTANCE_STRIDE),
        "BONE_STRIDE": str(BONE_STRIDE),
        "KEY_STRIDE": "3" if scaled else "2",
    }
    return defines | ({"SCALED": "1"} if scaled else {})


def _posed(layout: PosePaletteLayout, bindings: Bindings, listed: bool) -> Bindings:
    """With the palettes of all instances."""
    found = replace(
        bindings,
        samplers=(*bindings.samplers, "palettes"),
        push_constants=(*_ROWS, *bindings.push_constants),
        defines={**bindings.defines, **layout.places},
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
    drawn = Bindings(samplers=("placements",))
    if not listed:
        return replace(drawn, push_constants=(("INT", "first_instance"),))
    found = _listed(drawn, listed)
    return replace(found, push_constants=(*_LIST, ("MAT4", "figure_from_object")))

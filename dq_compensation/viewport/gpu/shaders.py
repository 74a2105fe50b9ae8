"""The inputs and outputs of each shader, which is compiled when first used.

With `listed`, a shader is for the instances of a list alone; see `ListPart`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gpu.types import GPUShader

from .kernels import (
    KERNELS,
    SWING_DEFINES,
    SWING_SAMPLERS,
    TWIST_DEFINES,
    TWIST_SAMPLERS,
    Kernel,
    PosePaletteLayout,
)
from .shader_building import COLOUR_STOPS, VIEW_TEXELS, Bindings, compute_shader, draw_shader

_LIST = (("INT", "list_start"), ("INT", "list_first"))

PASSES = {
    # Finds the transforms between keys.
    "interpolate_keys": Bindings(
        samplers=("instances", "tracks", "key_frames", "keys"),
        images=(("locals", "RGBA32F"),),
        push_constants=(("FLOAT", "frame"),),
    ),
    # Finds the posed limbs for the published curves.
    "pose_limbs": Bindings(
        samplers=("limb_directions", "bone_limbs"), images=(("limbs", "RGBA32F"),)
    ),
    # Finds the posed joints for MEASURED.
    "pose_joints": Bindings(
        samplers=("rest_joints", "bone_limbs"),
        images=(("joints", "RGBA32F"),),
        push_constants=(("INT", "joint_count"),),
    ),
    # Finds the values of the shape keys that follow poses.
    "key_values": Bindings(
        samplers=("key_sources", "locals", "examples"),
        images=(("key_values", "R32F"),),
        push_constants=(("INT", "key_count"),),
    ),
    # Adds shape keys to the rest positions.
    "shape_keys": Bindings(
        samplers=("rest", "key_starts", "key_offsets", "key_values"),
        images=(("shaped", "RGBA32F"),),
        push_constants=(("INT", "mesh_rows"), ("INT", "key_count")),
    ),
    # Finds the centres of SPHERICAL_JOINT.
    "joint_centres": Bindings(
        samplers=("joint_sets", "joint_bones"),
        images=(("centres", "RGBA32F"),),
        push_constants=(("INT", "set_count"),),
    ),
    # Finds the normals of the deformed surfaces.
    "normals": Bindings(
        samplers=("positions", "groups", "fans"),
        images=(("normals", "RGBA16F"),),
        push_constants=(("INT", "mesh_rows"), ("INT", "group_rows")),
    ),
    # Finds how far two deformations of a mesh are apart.
    "overlay_distances": Bindings(
        samplers=("positions", "reference"),
        images=(("distances", "R32F"),),
        push_constants=(("MAT4", "object_matrix"),),
    ),
}


@cache
def pass_shader(
    name: str,
    layout: PosePaletteLayout | None = None,
    *,
    scaled: bool = False,
    listed: bool = False,
) -> GPUShader:
    """The shader of one of the `PASSES`.

    Args:
        layout: of the palettes that it reads; None: it reads none.
        scaled: whether bones may have a scale.
    """
    bindings = replace(PASSES[name], defines=_of_scale(scaled))
    if layout is not None:
        bindings = _posed(layout, bindings)
    return compute_shader(name, _listed(bindings, listed))


@cache
def chain_bones_shader(
    layout: PosePaletteLayout, scaled: bool, given: bool = False, listed: bool = False
) -> GPUShader:
    """The pass that writes the palettes; `given`: of matrices, so that nothing is chained."""
    bindings = Bindings(
        samplers=("instances", "bones", "matrices" if given else "locals"),
        images=(("palettes", "RGBA32F"),),
        defines=_of_scale(scaled) | layout.places | ({"GIVEN": "1"} if given else {}),
    )
    return compute_shader("chain_bones", _listed(bindings, listed))


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
        of_vertices: which of `blend`, `mask`, `shape_keys`, `swings` and `twists` there are.
    """
    traits = KERNELS[kernel]
    defines = dict.fromkeys((*traits.defines, *map(str.upper, of_vertices)), "1")
    samplers = ["rest", "influences", "object_space", *traits.samplers]
    constants = ["mesh_rows", "rest_rows", "space_stride", *traits.constants]
    if scaled and traits.scales:
        defines["SCALED"] = "1"
    for name in of_vertices:
        if name == "shape_keys":
            samplers += ("key_starts", "key_offsets", "key_values")
            constants.append("key_count")
        elif name == "swings":
            samplers += SWING_SAMPLERS
            defines |= SWING_DEFINES
        elif name == "twists":
            samplers += TWIST_SAMPLERS
            defines |= TWIST_DEFINES
        else:
            samplers.append(name)
    bindings = Bindings(
        samplers=tuple(samplers),
        images=(("positions", "RGBA32F"),),
        push_constants=tuple(("INT", name) for name in constants),
        defines=defines,
    )
    return compute_shader(traits.source, _listed(_posed(layout, bindings), listed))


@cache
def surface_shader(listed: bool = False) -> GPUShader:
    """Draws all instances of a deformed surface with studio light."""
    bindings = Bindings(
        samplers=("positions", "normals", "groups"),
        blocks=(("view", VIEW_TEXELS),),
        push_constants=(
            ("INT", "mesh_rows"),
            ("INT", "group_rows"),
            ("VEC4", "base_colour"),
            ("VEC4", "material"),
        ),
        smooth=(("VEC3", "view_normal"), ("VEC3", "view_position")),
        flat=(("FLOAT", "mirrored"),),
    )
    return draw_shader("surface", _placed(bindings, listed))


@cache
def wire_shader(listed: bool = False) -> GPUShader:
    """Draws the edges of all instances of a deformed mesh."""
    bindings = Bindings(
        samplers=("positions",),
        blocks=(("view", VIEW_TEXELS),),
        push_constants=(("INT", "mesh_rows"), ("FLOAT", "depth_bias"), ("VEC4", "wire_colour")),
    )
    return draw_shader("wire", _placed(bindings, listed))


@cache
def overlay_shader() -> GPUShader:
    """Draws the deformed surface in the colours of distances."""
    bindings = Bindings(
        samplers=("positions", "normals", "groups", "distances"),
        blocks=(("view", VIEW_TEXELS), ("colours", COLOUR_STOPS)),
        push_constants=(
            ("MAT4", "object_matrix"),
            ("FLOAT", "maximum"),
            ("FLOAT", "lift"),
            ("FLOAT", "alpha"),
        ),
        smooth=(("VEC3", "view_normal"), ("VEC3", "view_position"), ("FLOAT", "share")),
    )
    return draw_shader("overlay", bindings)


def free_shaders() -> None:
    """Forget the compiled shaders; the next use compiles them again."""
    for cached in (
        pass_shader,
        chain_bones_shader,
        skinning_shader,
        surface_shader,
        wire_shader,
        overlay_shader,
    ):
        cached.cache_clear()


def _of_scale(scaled: bool) -> dict[str, str]:
    return {"KEY_STRIDE": "3", "SCALED": "1"} if scaled else {"KEY_STRIDE": "2"}


def _posed(layout: PosePaletteLayout, bindings: Bindings) -> Bindings:
    """With the palettes of all instances."""
    return replace(
        bindings,
        samplers=(*bindings.samplers, "palettes"),
        push_constants=(
            ("INT", "instance_first_row"),
            ("INT", "instance_rows"),
            *bindings.push_constants,
        ),
        defines=bindings.defines | layout.places,
    )


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


def _placed(bindings: Bindings, listed: bool) -> Bindings:
    """With the places of what is drawn."""
    given = bindings.push_constants
    place = ("MAT4", "figure_from_object") if listed else ("INT", "first_instance")
    samplers = (*bindings.samplers, "placements")
    return _listed(replace(bindings, samplers=samplers, push_constants=(place, *given)), listed)

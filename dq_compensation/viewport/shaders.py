"""The shaders of a single object: what each one reads and writes; compiled when first used."""

from __future__ import annotations

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
    pose_palette_layout,
)
from .shader_building import (
    COLOUR_STOPS,
    KEY_VALUES_TEXELS,
    OBJECT_SPACE_TEXELS,
    PALETTE_BLOCK_TEXELS,
    VIEW_TEXELS,
    Bindings,
    compute_shader,
    draw_shader,
)


@cache
def skinning_shader(
    kernel: Kernel,
    scaled: bool,
    palette_in_texture: bool,
    joints_in_texture: bool = False,
    *,
    blended: bool = False,
    masked: bool = False,
    swung: bool = False,
) -> GPUShader:
    """The pass that deforms the vertices.

    Args:
        scaled: some bone has a scale; or `blended`, which needs the same of each bone.
        palette_in_texture: the palette is too large for a uniform buffer.
        joints_in_texture: likewise the joints of MEASURED.
        blended: blend weights take one of the `BLENDED_METHODS` back to LINEAR.
        masked: the vertex group of the Armature modifier takes vertices back to rest.
        swung: joints of MEASURED take vertices along chords.
    """
    traits = KERNELS[kernel]
    samplers, defines = traits.samplers, dict.fromkeys(traits.defines, "1")
    if scaled and traits.scales:
        defines["SCALED"] = "1"
    if masked:
        samplers = (*samplers, "mask")
        defines["MASK"] = "1"
    if swung:
        samplers = (*samplers, *SWING_SAMPLERS)
        defines |= SWING_DEFINES
    if blended:
        samplers = (*samplers, "blend")
        defines["BLEND"] = "1"
    blocks: tuple[tuple[str, int], ...] = (("object_space", OBJECT_SPACE_TEXELS),)
    if traits.with_joints:
        defines["JOINT_STRIDE"] = str(JOINTS_LAYOUT.stride)
        if joints_in_texture:
            samplers = (*samplers, "joints_texture")
            defines["JOINTS_IN_TEXTURE"] = "1"
        else:
            blocks = (*blocks, ("joints", PALETTE_BLOCK_TEXELS))
    return compute_shader(
        traits.source,
        _with_palette(
            pose_palette_layout(kernel, scaled),
            palette_in_texture,
            Bindings(
                samplers=("rest", "influences", *samplers),
                blocks=blocks,
                images=(("positions", "RGBA32F"),),
                defines=defines,
            ),
        ),
    )


@cache
def joint_centres_shader(palette_in_texture: bool) -> GPUShader:
    """The pass that finds the centres of SPHERICAL_JOINT."""
    layout = pose_palette_layout("SPHERICAL_JOINT", scaled=False)
    bindings = Bindings(samplers=("joint_sets", "joint_bones"), images=(("centres", "RGBA32F"),))
    return compute_shader("joint_centres", _with_palette(layout, palette_in_texture, bindings))


@cache
def shape_keys_shader() -> GPUShader:
    """The pass that applies shape keys to the rest positions."""
    return compute_shader(
        "shape_keys",
        Bindings(
            samplers=("basis", "key_starts", "key_offsets"),
            blocks=(("key_values", KEY_VALUES_TEXELS),),
            images=(("shaped", "RGBA32F"),),
        ),
    )


@cache
def normals_shader() -> GPUShader:
    """The pass that finds the normals of the deformed surface."""
    return compute_shader(
        "normals",
        Bindings(samplers=("positions", "groups", "fans"), images=(("normals", "RGBA16F"),)),
    )


@cache
def surface_shader() -> GPUShader:
    """Draws the deformed surface with studio light."""
    interface = new_stage_interface("surface_interface")
    interface.smooth("VEC3", "view_normal")
    interface.smooth("VEC3", "view_position")
    return draw_shader(
        "surface",
        Bindings(
            samplers=("positions", "normals", "groups"),
            blocks=(("view", VIEW_TEXELS),),
            push_constants=(
                ("MAT4", "object_matrix"),
                ("VEC4", "base_colour"),
                ("VEC4", "material"),
            ),
        ),
        interface,
    )


@cache
def wire_shader() -> GPUShader:
    """Draws the edges of the deformed mesh."""
    return draw_shader(
        "wire",
        Bindings(
            samplers=("positions",),
            blocks=(("view", VIEW_TEXELS),),
            push_constants=(
                ("MAT4", "object_matrix"),
                ("VEC4", "wire_colour"),
                ("FLOAT", "depth_bias"),
            ),
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
        skinning_shader,
        joint_centres_shader,
        shape_keys_shader,
        normals_shader,
        surface_shader,
        wire_shader,
        overlay_distances_shader,
        overlay_shader,
    ):
        cached.cache_clear()


def _with_palette(
    layout: PosePaletteLayout, palette_in_texture: bool, bindings: Bindings
) -> Bindings:
    samplers, blocks = bindings.samplers, bindings.blocks
    defines = {**bindings.defines, **layout.places}
    if palette_in_texture:
        samplers = (*samplers, "palette_texture")
        defines["PALETTE_IN_TEXTURE"] = "1"
    else:
        blocks = (*blocks, ("palette", PALETTE_BLOCK_TEXELS))
    return Bindings(samplers, blocks, bindings.images, bindings.push_constants, defines)

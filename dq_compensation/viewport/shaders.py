"""The shaders: what each one reads and writes, declared once, and compiled when first used.

A shader's body is a file in ``shaders``; no binding is declared there. Everything here needs the
GPU: call it from a draw handler, a timer or a frame handler, never from a thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from gpu.types import GPUShader, GPUShaderCreateInfo, GPUStageInterfaceInfo

from ..core.deform import Method
from .gpu_objects import compile_shader, new_stage_interface
from .shader_sources import shader_source

# Pixel i of an array is at (i % TEXTURE_WIDTH, i // TEXTURE_WIDTH); the shaders say `& 1023`.
TEXTURE_WIDTH = 1024
# One invocation for each pixel of a row.
LOCAL_SIZE = 64
# 16 KB, which every driver allows for a uniform buffer.
PALETTE_BLOCK_TEXELS = 1024
KEY_VALUES_TEXELS = 1024
OBJECT_SPACE_TEXELS = 7
VIEW_TEXELS = 21


class ShaderError(RuntimeError):
    """A shader does not compile on this GPU; the driver's own message is in the console."""


@dataclass(frozen=True)
class PaletteLayout:
    """What the palette holds for a bone, in this order; each part is one vec4 but the matrix.

    Attributes:
        rotation: the unit quaternion of the rigid part.
        dual: the dual part.
        matrix: the first three rows of D.
        limb: the posed limb direction.
        joints: the joint at the bone's head, posed and at rest, four vec4; alone.
    """

    rotation: bool = False
    dual: bool = False
    matrix: bool = False
    limb: bool = False
    joints: bool = False

    @property
    def stride(self) -> int:
        """The number of vec4 of a bone."""
        return self.rotation + self.dual + 3 * self.matrix + self.limb + 4 * self.joints


JOINTS_LAYOUT = PaletteLayout(joints=True)


def palette_layout(method: Method, scaled: bool, measured: bool = False) -> PaletteLayout:
    """What a method needs of each bone.

    Args:
        method: which deformation.
        scaled: some bone of the pose has a scale.
        measured: COMPENSATED is MEASURED, whose joints have a palette of their own.
    """
    if method == "LINEAR":
        return PaletteLayout(matrix=True)
    if method == "SPHERICAL_JOINT":
        return PaletteLayout(rotation=True, matrix=True)
    if method in ("DUAL_QUATERNION", "COMPENSATED"):
        limb = method == "COMPENSATED" and not measured
        return PaletteLayout(rotation=True, dual=not scaled, matrix=scaled, limb=limb)
    raise ValueError(f"unknown method {method!r}")


@dataclass(frozen=True)
class Bindings:
    """What a shader reads and writes.

    Attributes:
        samplers: names of the textures it fetches from.
        blocks: names of the uniform buffers, with their number of vec4.
        images: names of the images that it writes, with their formats.
        push_constants: types and names; 128 bytes at most.
    """

    samplers: tuple[str, ...] = ()
    blocks: tuple[tuple[str, int], ...] = ()
    images: tuple[tuple[str, str], ...] = ()
    push_constants: tuple[tuple[str, str], ...] = ()
    defines: dict[str, str] = field(default_factory=dict)

    def declare(self, info: GPUShaderCreateInfo) -> None:
        """Declare everything, each kind numbered in its order here."""
        declared: Any = info  # its published types name no formats but literal ones
        for slot, name in enumerate(self.samplers):
            declared.sampler(slot, "FLOAT_2D", name)
        for slot, (name, texels) in enumerate(self.blocks):
            declared.uniform_buf(slot, "vec4", f"{name}[{texels}]")
        for slot, (name, image_format) in enumerate(self.images):
            declared.image(slot, image_format, "FLOAT_2D", name, qualifiers={"WRITE"})
        for kind, name in self.push_constants:
            declared.push_constant(kind, name)
        for name, value in self.defines.items():
            declared.define(name, value)


@cache
def skinning_shader(
    method: Method,
    scaled: bool,
    palette_in_texture: bool,
    joints_in_texture: bool | None = None,
    *,
    blended: bool = False,
) -> GPUShader:
    """The pass that deforms the vertices.

    Args:
        method: which deformation.
        scaled: some bone has a scale; or `blended`, which needs the same of each bone.
        palette_in_texture: the palette is too large for a uniform buffer.
        joints_in_texture: likewise the joints of MEASURED; None: COMPENSATED is not MEASURED.
        blended: blend weights take one of the `BLENDED_METHODS` back to LINEAR.
    """
    name, samplers, defines = {
        "LINEAR": ("skin_linear", (), {}),
        "DUAL_QUATERNION": ("skin_dual_quaternion", (), {}),
        "COMPENSATED": ("skin_dual_quaternion", ("amounts",), {"COMPENSATE": "1"}),
        "SPHERICAL_JOINT": ("skin_spherical_joint", ("joint_of_vertex", "centres"), {}),
    }[method]
    if scaled and method != "LINEAR":
        defines["SCALED"] = "1"
    if blended:
        samplers = (*samplers, "blend")
        defines["BLEND"] = "1"
    blocks: tuple[tuple[str, int], ...] = (("object_space", OBJECT_SPACE_TEXELS),)
    if joints_in_texture is not None:
        defines["MEASURE"] = "1"
        if joints_in_texture:
            samplers = (*samplers, "joints_texture")
            defines["JOINTS_IN_TEXTURE"] = "1"
        else:
            blocks = (*blocks, ("joints", PALETTE_BLOCK_TEXELS))
    stride = palette_layout(method, scaled, joints_in_texture is not None).stride
    return _compute_shader(
        name,
        _with_palette(
            stride,
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
    stride = palette_layout("SPHERICAL_JOINT", scaled=False).stride
    bindings = Bindings(samplers=("joint_sets", "joint_bones"), images=(("centres", "RGBA32F"),))
    return _compute_shader("joint_centres", _with_palette(stride, palette_in_texture, bindings))


@cache
def shape_keys_shader() -> GPUShader:
    """The pass that applies shape keys to the rest positions."""
    return _compute_shader(
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
    return _compute_shader(
        "normals",
        Bindings(samplers=("positions", "groups", "fans"), images=(("normals", "RGBA16F"),)),
    )


@cache
def surface_shader() -> GPUShader:
    """Draws the deformed surface with studio light."""
    interface = new_stage_interface("surface_interface")
    interface.smooth("VEC3", "view_normal")
    interface.smooth("VEC3", "view_position")
    return _draw_shader(
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
    return _draw_shader(
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


def free_shaders() -> None:
    """Forget the compiled shaders; the next use compiles them again."""
    for cached in (
        skinning_shader,
        joint_centres_shader,
        shape_keys_shader,
        normals_shader,
        surface_shader,
        wire_shader,
    ):
        cached.cache_clear()


def _with_palette(stride: int, palette_in_texture: bool, bindings: Bindings) -> Bindings:
    samplers, blocks = bindings.samplers, bindings.blocks
    defines = {**bindings.defines, "PALETTE_STRIDE": str(stride)}
    if palette_in_texture:
        samplers = (*samplers, "palette_texture")
        defines["PALETTE_IN_TEXTURE"] = "1"
    else:
        blocks = (*blocks, ("palette", PALETTE_BLOCK_TEXELS))
    return Bindings(samplers, blocks, bindings.images, bindings.push_constants, defines)


def _compute_shader(name: str, bindings: Bindings) -> GPUShader:
    info = GPUShaderCreateInfo()
    info.local_group_size(LOCAL_SIZE, 1, 1)
    bindings.declare(info)
    info.compute_source(shader_source(f"{name}.glsl"))
    return _compiled(name, info)


def _draw_shader(
    name: str, bindings: Bindings, interface: GPUStageInterfaceInfo | None
) -> GPUShader:
    info = GPUShaderCreateInfo()
    bindings.declare(info)
    if interface is not None:
        info.vertex_out(interface)
    info.fragment_out(0, "VEC4", "fragment_colour")
    info.vertex_source(shader_source(f"{name}_vertex.glsl"))
    info.fragment_source(shader_source(f"{name}_fragment.glsl"))
    return _compiled(name, info)


def _compiled(name: str, info: GPUShaderCreateInfo) -> GPUShader:
    try:
        return compile_shader(info)
    except Exception as error:
        raise ShaderError(f"The shader {name} does not compile on this GPU") from error

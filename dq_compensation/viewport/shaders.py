"""The shaders: declares what each one reads and writes, and compiles it when it is first used.

A shader's body is a file in ``shaders``; no binding is declared there. Everything here needs the
GPU: call it from a draw handler, a timer or a frame handler, never from a thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

from gpu.types import GPUShader, GPUShaderCreateInfo, GPUStageInterfaceInfo

from ..core.compensation import LEAST_BISECTOR, LEAST_SINE
from ..core.deform import Deformation
from ..core.dual_quaternion import FACING_TOLERANCE
from ..core.measured_joints import MeasuredJoints
from ..core.spherical_joint import CENTRE_DAMPING
from .gpu_objects import compile_shader, new_stage_interface
from .influence_packing import WEIGHT_SUM
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
COLOUR_STOPS = 10


# The numbers that shaders have in common with `core` and with what we upload.
SHARED_CONSTANTS = {
    "FACING_TOLERANCE": f"{FACING_TOLERANCE}",
    "LEAST_SINE": f"{LEAST_SINE}",
    "LEAST_BISECTOR": f"{LEAST_BISECTOR}",
    "CENTRE_DAMPING": f"{CENTRE_DAMPING}",
    "WEIGHT_SUM": f"{WEIGHT_SUM}u",
}


class ShaderError(RuntimeError):
    """A shader does not compile on this GPU; the driver's own message is in the console."""


Kernel = Literal["LINEAR", "DUAL_QUATERNION", "PUBLISHED", "MEASURED", "SPHERICAL_JOINT"]
"""What skins the vertices: the methods, with COMPENSATED by the published curves and MEASURED."""


@dataclass(frozen=True)
class PosePaletteLayout:
    """The parts of a bone in the pose palette, in this order; each is one vec4 but the matrix.

    Attributes:
        rotation: the unit quaternion of the rigid part.
        matrix: the first three rows of D.
        limb: the posed limb direction, and how much the limb is straight.
        joints: of each joint, not of each bone: posed and at rest, six vec4; alone.
    """

    rotation: bool = False
    dual: bool = False
    matrix: bool = False
    limb: bool = False
    joints: bool = False

    @property
    def stride(self) -> int:
        """The number of vec4 of a bone."""
        return self.rotation + self.dual + 3 * self.matrix + self.limb + 6 * self.joints

    def with_scales(self) -> PosePaletteLayout:
        """The same with the scales of bones, which a dual quaternion cannot represent."""
        return replace(self, dual=False, matrix=True) if self.dual else self


JOINTS_LAYOUT = PosePaletteLayout(joints=True)


@dataclass(frozen=True)
class KernelTraits:
    """How a kernel is compiled, and what it reads beside rest positions and influences.

    Attributes:
        source: its file, without the suffix.
        palette: what it needs of each bone.
        samplers: the textures of `DeformedMesh` that it reads, by name.
        defines: for the compiler.
        scales: whether it has another way for bones with a scale, which SCALED chooses.
    """

    source: str
    palette: PosePaletteLayout
    samplers: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    scales: bool = True

    @property
    def with_joints(self) -> bool:
        """Whether it reads `JOINTS_LAYOUT` too."""
        return "MEASURE" in self.defines


_RIGID = PosePaletteLayout(rotation=True, dual=True)
KERNELS: dict[Kernel, KernelTraits] = {
    "LINEAR": KernelTraits("skin_linear", PosePaletteLayout(matrix=True), scales=False),
    "DUAL_QUATERNION": KernelTraits("skin_dual_quaternion", _RIGID),
    "PUBLISHED": KernelTraits(
        "skin_dual_quaternion", replace(_RIGID, limb=True), ("amounts",), ("COMPENSATE",)
    ),
    "MEASURED": KernelTraits("skin_dual_quaternion", _RIGID, ("amounts",), ("MEASURE",)),
    "SPHERICAL_JOINT": KernelTraits(
        "skin_spherical_joint",
        PosePaletteLayout(rotation=True, matrix=True),
        ("joint_of_vertex", "centres"),
    ),
}


def kernel_of(deformation: Deformation) -> Kernel:
    """The kernel of a method; where compensation does not act, that of dual quaternions."""
    if deformation.method != "COMPENSATED":
        return deformation.method
    if deformation.factor == 0.0:
        return "DUAL_QUATERNION"
    return "MEASURED" if isinstance(deformation.compensation, MeasuredJoints) else "PUBLISHED"


def pose_palette_layout(kernel: Kernel, scaled: bool) -> PosePaletteLayout:
    """The layout that a kernel needs; `scaled`: some bone of the pose has a scale."""
    layout = KERNELS[kernel].palette
    return layout.with_scales() if scaled else layout


@dataclass(frozen=True)
class Bindings:
    """The inputs and outputs of a shader.

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
    kernel: Kernel,
    scaled: bool,
    palette_in_texture: bool,
    joints_in_texture: bool = False,
    *,
    blended: bool = False,
    masked: bool = False,
) -> GPUShader:
    """The pass that deforms the vertices.

    Args:
        scaled: some bone has a scale; or `blended`, which needs the same of each bone.
        palette_in_texture: the palette is too large for a uniform buffer.
        joints_in_texture: likewise the joints of MEASURED.
        blended: blend weights take one of the `BLENDED_METHODS` back to LINEAR.
        masked: the vertex group of the Armature modifier takes vertices back to rest.
    """
    traits = KERNELS[kernel]
    samplers, defines = traits.samplers, dict.fromkeys(traits.defines, "1")
    if scaled and traits.scales:
        defines["SCALED"] = "1"
    if masked:
        samplers = (*samplers, "mask")
        defines["MASK"] = "1"
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
    return _compute_shader(
        traits.source,
        _with_palette(
            pose_palette_layout(kernel, scaled).stride,
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
    stride = pose_palette_layout("SPHERICAL_JOINT", scaled=False).stride
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


@cache
def overlay_distances_shader() -> GPUShader:
    """The pass that finds how far two deformations of a mesh are apart."""
    return _compute_shader(
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
    return _draw_shader(
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
    for constant, value in SHARED_CONSTANTS.items():
        info.define(constant, value)
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

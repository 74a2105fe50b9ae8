"""Declares what a shader reads and writes, and compiles it.

A shader's body is a file in ``shaders``; no binding is declared there. Everything here needs the
GPU: call it from a draw handler, a timer or a frame handler, never from a thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpu.types import GPUShader, GPUShaderCreateInfo

from ...core.compensation import LEAST_BISECTOR, LEAST_SINE
from ...core.dual_quaternion import FACING_TOLERANCE
from ...core.limb_joints import SHORTEST_RAY
from ...core.limb_straightness import CURVED, STRAIGHT
from ...core.local_poses import ALIKE
from ...core.pose import NO_LENGTH, NOT_ORTHONORMAL
from ...core.spherical_joint import CENTRE_DAMPING
from ...core.swing_joints import MOST_SWUNG, SWUNG_BACK
from ...core.twist_limbs import SWUNG_FAR
from .gpu_objects import compile_shader, new_stage_interface
from .influence_packing import WEIGHT_SUM
from .kernels import JOINT_STRIDE
from .shader_sources import shader_source
from .take_tables import BONE_STRIDE, INSTANCE_STRIDE

# Pixel i of an array is at (i % TEXTURE_WIDTH, i // TEXTURE_WIDTH); the shaders say `& 1023`.
TEXTURE_WIDTH = 1024
# One invocation for each pixel of a row.
LOCAL_SIZE = 64
VIEW_TEXELS = 21
COLOUR_STOPS = 10


# The numbers that shaders have in common with `core` and with what we upload.
SHARED_CONSTANTS = {
    "FACING_TOLERANCE": f"{FACING_TOLERANCE}",
    "LEAST_SINE": f"{LEAST_SINE}",
    "LEAST_BISECTOR": f"{LEAST_BISECTOR}",
    "CENTRE_DAMPING": f"{CENTRE_DAMPING}",
    "ALIKE": f"{ALIKE}",
    "NO_LENGTH": f"{NO_LENGTH}",
    "NOT_ORTHONORMAL": f"{NOT_ORTHONORMAL}",
    "CURVED": f"{CURVED}",
    "STRAIGHT": f"{STRAIGHT}",
    "SWUNG_BACK": f"{SWUNG_BACK}",
    "SWUNG_FAR": f"{SWUNG_FAR}",
    "SHORTEST_RAY": f"{SHORTEST_RAY:f}",
    "MOST_SWUNG": f"{MOST_SWUNG}",
    "WEIGHT_SUM": f"{WEIGHT_SUM}u",
    "JOINT_STRIDE": f"{JOINT_STRIDE}",
    "INSTANCE_STRIDE": f"{INSTANCE_STRIDE}",
    "BONE_STRIDE": f"{BONE_STRIDE}",
}


class ShaderError(RuntimeError):
    """A shader does not compile on this GPU; the driver's own message is in the console."""


@dataclass(frozen=True)
class Bindings:
    """The inputs and outputs of a shader.

    Attributes:
        samplers: names of the textures it fetches from.
        blocks: names of the uniform buffers, with their number of vec4.
        images: names of the images that it writes, with their formats.
        push_constants: types and names; 128 bytes at most.
        smooth, flat: types and names of what the vertex shader passes on to the fragment shader.
    """

    samplers: tuple[str, ...] = ()
    blocks: tuple[tuple[str, int], ...] = ()
    images: tuple[tuple[str, str], ...] = ()
    push_constants: tuple[tuple[str, str], ...] = ()
    defines: dict[str, str] = field(default_factory=dict)
    smooth: tuple[tuple[str, str], ...] = ()
    flat: tuple[tuple[str, str], ...] = ()

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


def compute_shader(name: str, bindings: Bindings) -> GPUShader:
    """Compile the compute shader of a file.

    Raises:
        ShaderError: the driver refuses it.
    """
    info = GPUShaderCreateInfo()
    info.local_group_size(LOCAL_SIZE, 1, 1)
    bindings.declare(info)
    for constant, value in SHARED_CONSTANTS.items():
        info.define(constant, value)
    info.compute_source(shader_source(f"{name}.glsl"))
    return _compiled(name, info)


def draw_shader(name: str, bindings: Bindings) -> GPUShader:
    """Compile the shader of two files, name_vertex.glsl and name_fragment.glsl.

    Raises:
        ShaderError: the driver refuses it.
    """
    info = GPUShaderCreateInfo()
    bindings.declare(info)
    if bindings.smooth or bindings.flat:
        info.vertex_out(new_stage_interface(f"{name}_interface", bindings.smooth, bindings.flat))
    info.fragment_out(0, "VEC4", "fragment_colour")
    info.vertex_source(shader_source(f"{name}_vertex.glsl"))
    info.fragment_source(shader_source(f"{name}_fragment.glsl"))
    return _compiled(name, info)


def _compiled(name: str, info: GPUShaderCreateInfo) -> GPUShader:
    try:
        return compile_shader(info)
    except Exception as error:
        raise ShaderError(f"The shader {name} does not compile on this GPU") from error

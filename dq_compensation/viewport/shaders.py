"""Lists the shaders with their inputs and outputs, and compiles each at its first use.

A shader's body is a file in ``shaders``; no binding is declared there. Everything here needs the
GPU: call it from a draw handler, a timer or a frame handler, never from a thread. With `listed`, a
shader is for the instances of a list alone; see `ListPart`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from gpu.types import GPUShader, GPUShaderCreateInfo

from ..core.compensation import LEAST_BISECTOR, LEAST_SINE
from ..core.dual_quaternion import ALIKE, FACING_TOLERANCE
from ..core.limb_joints import BENT_AS_TURNED, LEAST_TURN, LOOSENED, SHORTEST_RAY
from ..core.pose import CURVED, NO_LENGTH, NOT_ORTHONORMAL, STRAIGHT
from ..core.solved_shapes import BALL, FADE, HINGE, OFF_PLANE, ROTATES, TURNED_ROUND
from ..core.spherical_joints import CENTRE_DAMPING
from ..core.swing_joints import MOST_SWUNG, SWUNG_BACK
from ..core.twist_limbs import SWUNG_FAR
from .array_textures import LOCAL_SIZE
from .gpu_objects import compile_shader, new_stage_interface
from .kernels import (
    BONE_STRIDE,
    INSTANCE_STRIDE,
    JOINT_STRIDE,
    KERNELS,
    OPTIONS,
    WEIGHT_SUM,
    Kernel,
    PosePaletteLayout,
)
from .shape_textures import OFFSETS, WEIGHTS

SHADERS_DIRECTORY = Path(__file__).resolve().parents[2] / "shaders"

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[ \t]*$', re.MULTILINE)


class ShaderSourceError(FileNotFoundError):
    """A shader file is missing; the message names it and the file that includes it."""


@cache
def shader_source(name: str, directory: Path = SHADERS_DIRECTORY) -> str:
    """The text of a shader file with its `#include "file"` lines replaced, each file once.

    Args:
        name: the file's name in `directory`.
        directory: where the file and all that it includes are.

    Raises:
        ShaderSourceError: the file, or one that it includes, does not exist.
    """
    included: set[str] = set()

    def resolved(name: str, included_by: str) -> str:
        if name in included:
            return ""
        included.add(name)
        try:
            text = (directory / name).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise ShaderSourceError(
                f"The shader file {name}{included_by} is missing from {directory}; "
                "install the extension again"
            ) from error
        return _INCLUDE.sub(lambda match: resolved(match[1], f", which {name} includes,"), text)

    return resolved(name, "")


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
    "BALL": f"{BALL:.1f}",
    "HINGE": f"{HINGE:.1f}",
    "ROTATES": f"{ROTATES:.1f}",
    "FADE": f"{FADE}",
    "OFF_PLANE": f"{OFF_PLANE}",
    "TURNED_ROUND": f"{TURNED_ROUND}",
    "SWUNG_FAR": f"{SWUNG_FAR}",
    "SHORTEST_RAY": f"{SHORTEST_RAY:f}",
    "LOOSENED": f"{LOOSENED:f}",
    "BENT_AS_TURNED": f"{BENT_AS_TURNED:f}",
    "LEAST_TURN": f"{LEAST_TURN:f}",
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
        image: name and format of the image that a compute shader writes.
        reads_image: whether it reads that, too.
        push_constants: types by names; 128 bytes at most.
        blocks: names of the uniform buffers, with their number of vec4.
        smooth, flat: types and names of what the vertex shader passes on to the fragment shader.
    """

    samplers: tuple[str, ...]
    image: tuple[str, str] | None = None
    push_constants: dict[str, str] = field(default_factory=dict)
    defines: dict[str, str] = field(default_factory=dict)
    blocks: tuple[tuple[str, int], ...] = ()
    smooth: tuple[tuple[str, str], ...] = ()
    flat: tuple[tuple[str, str], ...] = ()
    reads_image: bool = False

    def declare(self, info: GPUShaderCreateInfo) -> None:
        """Declare all inputs and outputs, numbered within their kind."""
        declared: Any = info  # its published types name no formats but literal ones
        for slot, name in enumerate(self.samplers):
            declared.sampler(slot, "FLOAT_2D", name)
        for slot, (name, texels) in enumerate(self.blocks):
            declared.uniform_buf(slot, "vec4", f"{name}[{texels}]")
        if self.image is not None:
            name, image_format = self.image
            access = {"READ", "WRITE"} if self.reads_image else {"WRITE"}
            declared.image(0, image_format, "FLOAT_2D", name, qualifiers=access)
        for name, kind in self.push_constants.items():
            declared.push_constant(kind, name)
        for name, value in self.defines.items():
            declared.define(name, value)


def _ints(*names: str) -> dict[str, str]:
    """Push constants that are integers."""
    return dict.fromkeys(names, "INT")


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


PASSES = {
    # Finds the transforms between keys.
    "interpolate_keys": Bindings(
        ("instances", "tracks", "key_frames", "keys"), ("locals", "RGBA32F"), {"frame": "FLOAT"}
    ),
    # Finds the values of the shape keys that follow poses.
    "key_values": Bindings(
        ("key_sources", "locals", "examples"), ("key_values", "R32F"), _ints("key_count")
    ),
    # Adds shape keys to the rest positions.
    "shape_keys": Bindings(
        ("rest", "key_starts", "key_offsets", "key_values"),
        ("shaped", "RGBA32F"),
        _ints("mesh_rows", "key_count"),
    ),
    # Finds the weights of solved shapes.
    "shape_weights": Bindings(
        WEIGHTS.samplers, ("shape_weights", "RGBA32F"), _ints("block_count", "weight_count")
    ),
    # Adds them to the deformed positions.
    "add_shapes": Bindings(
        (*OFFSETS.samplers, "shape_weights", "object_space"),
        ("positions", "RGBA32F"),
        _ints("mesh_rows", "moved_count", "weight_count", "space_stride", "by_factor"),
        reads_image=True,
    ),
    # Finds the normals of the deformed surfaces.
    "normals": Bindings(
        ("positions", "groups", "fans"), ("normals", "RGBA16F"), _ints("mesh_rows", "group_rows")
    ),
    # Finds how far two deformations of a mesh are apart.
    "overlay_distances": Bindings(
        ("positions", "reference"), ("distances", "R32F"), {"object_matrix": "MAT4"}
    ),
    # Those before the kernels.
    **{
        posed.shader: Bindings(
            posed.at_rest.samplers, (posed.name, "RGBA32F"), _ints(*traits.constants)
        )
        for traits in KERNELS.values()
        if (posed := traits.posed) is not None
    },
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
    """The pass that writes the palettes; `given`: from matrices, without chaining bones."""
    bindings = Bindings(
        ("instances", "bones", "matrices" if given else "locals"),
        ("palettes", "RGBA32F"),
        defines=_of_scale(scaled) | layout.places | ({"GIVEN": "1"} if given else {}),
    )
    return compute_shader("chain_bones", _listed(bindings, listed))


@cache
def skinning_shader(
    kernel: Kernel,
    layout: PosePaletteLayout,
    scaled: bool,
    options: tuple[str, ...],
    listed: bool = False,
) -> GPUShader:
    """The pass that deforms the vertices of all instances of a mesh.

    Args:
        options: the `kernels.OPTIONS` that act, and `shape_keys` where some follow the pose.
    """
    traits = KERNELS[kernel]
    defines = dict.fromkeys((*traits.defines, *map(str.upper, options)), "1")
    samplers = ["rest", "influences", "object_space", *traits.samplers]
    constants = ["mesh_rows", "rest_rows", "space_stride", *traits.constants]
    if scaled and traits.scales:
        defines["SCALED"] = "1"
    for name in options:
        if name == "shape_keys":
            samplers += ("key_starts", "key_offsets", "key_values")
            constants.append("key_count")
        else:
            samplers += OPTIONS[name].at_rest.samplers
            defines |= OPTIONS[name].defines
    bindings = Bindings(tuple(samplers), ("positions", "RGBA32F"), _ints(*constants), defines)
    return compute_shader(traits.source, _listed(_posed(layout, bindings), listed))


@cache
def surface_shader(listed: bool = False) -> GPUShader:
    """Draws all instances of a deformed surface with studio light."""
    bindings = Bindings(
        ("positions", "normals", "groups"),
        push_constants=_ints("mesh_rows", "group_rows")
        | dict.fromkeys(("base_colour", "material"), "VEC4"),
        blocks=(("view", VIEW_TEXELS),),
        smooth=(("VEC3", "view_normal"), ("VEC3", "view_position")),
        flat=(("FLOAT", "mirrored"),),
    )
    return draw_shader("surface", _placed(bindings, listed))


@cache
def wire_shader(listed: bool = False) -> GPUShader:
    """Draws the edges of all instances of a deformed mesh."""
    bindings = Bindings(
        ("positions",),
        push_constants={"mesh_rows": "INT", "depth_bias": "FLOAT", "wire_colour": "VEC4"},
        blocks=(("view", VIEW_TEXELS),),
    )
    return draw_shader("wire", _placed(bindings, listed))


@cache
def overlay_shader() -> GPUShader:
    """Draws the deformed surface in the colours of distances."""
    bindings = Bindings(
        ("positions", "normals", "groups", "distances"),
        push_constants={"object_matrix": "MAT4"}
        | dict.fromkeys(("maximum", "lift", "alpha"), "FLOAT"),
        blocks=(("view", VIEW_TEXELS), ("colours", COLOUR_STOPS)),
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
    """The bindings of a shader that reads the palettes of all instances."""
    return replace(
        bindings,
        samplers=(*bindings.samplers, "palettes"),
        push_constants=_ints("instance_first_row", "instance_rows") | bindings.push_constants,
        defines=bindings.defines | layout.places,
    )


def _listed(bindings: Bindings, listed: bool) -> Bindings:
    """The bindings of a shader that may read a list of instances."""
    if not listed:
        return bindings
    return replace(
        bindings,
        samplers=(*bindings.samplers, "listed"),
        push_constants=bindings.push_constants | _ints("list_start", "list_first"),
        defines=bindings.defines | {"LISTED": "1"},
    )


def _placed(bindings: Bindings, listed: bool) -> Bindings:
    """The bindings of a shader that draws instances at their places."""
    place = {"figure_from_object": "MAT4"} if listed else {"first_instance": "INT"}
    samplers = (*bindings.samplers, "placements")
    constants = place | bindings.push_constants
    return _listed(replace(bindings, samplers=samplers, push_constants=constants), listed)

"""Makes the objects of Blender's gpu module from arrays, with checks that Blender leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import gpu
import numpy as np
from gpu.types import (
    GPUBatch,
    GPUShader,
    GPUShaderCreateInfo,
    GPUStageInterfaceInfo,
    GPUTexture,
    GPUUniformBuf,
)

from ..arrays import Float32s, Floats, Int32s


def drawing_refusal() -> str | None:
    """The reason why nothing can be drawn in this session, or None."""
    return refusal_of_gpu(
        "drawing needs. Update the driver; until then choose the display Modifier."
    )


def refusal_of_gpu(needed: str) -> str | None:
    """The reason why something cannot be drawn in this session, or None.

    Args:
        needed: the rest of the sentence: who needs compute shaders, and what to do without them.
    """
    if bpy.app.background:
        return "Blender runs without a window: nothing is drawn."
    # Gone from the versions that cannot run without compute shaders.
    has_compute = getattr(gpu.capabilities, "compute_shader_support_get", lambda: True)
    if gpu.platform.backend_type_get() == "NONE" or not has_compute():
        return f"This graphics driver cannot run compute shaders, which {needed}"
    return None


# The published types of that module lack its constructors' arguments and many results: they are set
# right here, once.
_gpu: Any = gpu


def new_texture(
    size: tuple[int, int], texture_format: str, pixels: Float32s | None = None
) -> GPUTexture:
    """A 2D texture of a width and height, of an array or without content.

    Args:
        pixels: float32, contiguous, width x height x channels numbers.
    """
    if pixels is None:
        return _gpu.types.GPUTexture(size, format=texture_format)
    _require_float32(pixels)
    buffer = _gpu.types.Buffer("FLOAT", pixels.size, pixels)
    return _gpu.types.GPUTexture(size, format=texture_format, data=buffer)


def new_uniform_buffer(texels: Float32s) -> GPUUniformBuf:
    """A uniform buffer of an array of vec4, shape (n, 4), float32."""
    _require_float32(texels)
    return _gpu.types.GPUUniformBuf(texels)


def update_uniform_buffer(block: GPUUniformBuf, texels: Float32s) -> None:
    """Replace the content of a uniform buffer; `texels` as when it was made."""
    _require_float32(texels)
    untyped: Any = block
    untyped.update(texels)


def set_matrix(shader: GPUShader, name: str, matrix: Floats) -> None:
    """Set a mat4 of a bound shader: shape (4, 4), an array or a mathutils Matrix."""
    untyped: Any = shader
    columns = np.asarray(matrix, np.float32).T
    untyped.uniform_float(name, np.ascontiguousarray(columns).ravel())


def indexed_batch(kind: str, indices: Int32s) -> GPUBatch | None:
    """A batch with indices alone, for shaders that fetch everything by gl_VertexID.

    Args:
        kind: TRIS or LINES.
        indices: shape (m, 3) or (m, 2); None is returned where m is 0.
    """
    if not len(indices):
        return None
    types = _gpu.types
    vertex_format = types.GPUVertFormat()
    vertex_format.attr_add(id="unused", comp_type="F32", len=1, fetch_mode="FLOAT")
    vertices = types.GPUVertBuf(vertex_format, 3)
    vertices.attr_fill("unused", np.zeros((3, 1), np.float32))
    index_buffer = types.GPUIndexBuf(type=kind, seq=np.ascontiguousarray(indices, np.int32))
    return types.GPUBatch(type=kind, buf=vertices, elem=index_buffer)


def new_stage_interface(
    name: str, smooth: Sequence[tuple[str, str]], flat: Sequence[tuple[str, str]]
) -> GPUStageInterfaceInfo:
    """The interface from a vertex shader to its fragment shader, of types and names."""
    interface = _gpu.types.GPUStageInterfaceInfo(name)
    for kind, varying in smooth:
        interface.smooth(kind, varying)
    for kind, varying in flat:
        interface.flat(kind, varying)
    return interface


def compile_shader(info: GPUShaderCreateInfo) -> GPUShader:
    """Compile a shader; raises a plain Exception when the driver refuses."""
    return _gpu.shader.create_from_info(info)


def run_compute(shader: GPUShader, groups_x: int, groups_y: int, groups_z: int) -> None:
    """Run a compute shader. The next commands see what it writes."""
    _gpu.compute.dispatch(shader, groups_x, groups_y, groups_z)


def set_ints(shader: GPUShader, values: dict[str, int]) -> None:
    """Set int push constants of a bound shader."""
    untyped: Any = shader
    for name, value in values.items():
        untyped.uniform_int(name, value)


def read_floats(texture: GPUTexture) -> Float32s:
    """All the numbers of a float texture in one row; waits for the GPU."""
    pixels: Any = texture.read()
    # Until Blender 5.0 the strides of a buffer of several dimensions are wrong; of one, right.
    pixels.dimensions = int(np.prod(pixels.dimensions))
    return np.array(pixels, dtype=np.float32)


def _require_float32(array: Float32s) -> None:
    """Refuse arrays of other types, which Blender would read as if they were float32."""
    if array.dtype != np.float32 or not array.flags.c_contiguous:
        raise TypeError("the GPU takes contiguous float32 arrays only")

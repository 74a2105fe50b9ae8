"""Makes the objects of Blender's gpu module from arrays, with the checks that Blender leaves out.

The published types of that module lack its constructors' arguments and many results: they are set
right here, once.
"""

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
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.vectors import places_in_rows

# Whether the GPU display works in this session.


def drawing_refusal() -> str | None:
    """Why nothing can be drawn in this session, or None."""
    return _refusal("drawing needs. Update the driver; until then choose the display Modifier.")


def crowd_refusal() -> str | None:
    """Why no crowd can be drawn in this session, or None."""
    return _refusal("crowds need. Update the driver, or bake the crowd.")


def _refusal(needed: str) -> str | None:
    if bpy.app.background:
        return "Blender runs without a window: nothing is drawn."
    # Gone from the versions that cannot run without compute shaders.
    has_compute = getattr(gpu.capabilities, "compute_shader_support_get", lambda: True)
    if gpu.platform.backend_type_get() == "NONE" or not has_compute():
        return f"This graphics driver cannot run compute shaders, which {needed}"
    return None


# Makes the objects of Blender's gpu module from arrays, with the checks that Blender leaves out.


_gpu: Any = gpu


def new_texture(
    size: tuple[int, int], texture_format: str, pixels: NDArray[np.float32] | None = None
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


def new_uniform_buffer(texels: NDArray[np.float32]) -> GPUUniformBuf:
    """A uniform buffer of an array of vec4, shape (n, 4), float32."""
    _require_float32(texels)
    return _gpu.types.GPUUniformBuf(texels)


def update_uniform_buffer(block: GPUUniformBuf, texels: NDArray[np.float32]) -> None:
    """Replace the content of a uniform buffer; `texels` as when it was made."""
    _require_float32(texels)
    untyped: Any = block
    untyped.update(texels)


def set_matrix(shader: GPUShader, name: str, matrix: NDArray[np.floating]) -> None:
    """Set a mat4 of a bound shader: shape (4, 4), an array or a mathutils Matrix."""
    untyped: Any = shader
    columns = np.asarray(matrix, np.float32).T
    untyped.uniform_float(name, np.ascontiguousarray(columns).ravel())


def indexed_batch(kind: str, indices: NDArray[np.int32]) -> GPUBatch | None:
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
    """An interface from a vertex shader to its fragment shader, of types and names."""
    interface = _gpu.types.GPUStageInterfaceInfo(name)
    for kind, varying in smooth:
        interface.smooth(kind, varying)
    for kind, varying in flat:
        interface.flat(kind, varying)
    return interface


def compile_shader(info: GPUShaderCreateInfo) -> GPUShader:
    """Compile; raises a plain Exception when the driver refuses."""
    return _gpu.shader.create_from_info(info)


def run_compute(shader: GPUShader, groups_x: int, groups_y: int, groups_z: int) -> None:
    """Run a compute shader. The next commands see what it writes."""
    _gpu.compute.dispatch(shader, groups_x, groups_y, groups_z)


def set_ints(shader: GPUShader, values: dict[str, int]) -> None:
    """Set int push constants of a bound shader."""
    untyped: Any = shader
    for name, value in values.items():
        untyped.uniform_int(name, value)


def read_floats(texture: GPUTexture) -> NDArray[np.float32]:
    """All the numbers of a float texture in one row; waits for the GPU."""
    pixels: Any = texture.read()
    # Until Blender 5.0 the strides of a buffer of several dimensions are wrong; of one, right.
    pixels.dimensions = int(np.prod(pixels.dimensions))
    return np.array(pixels, dtype=np.float32)


def _require_float32(array: NDArray[np.float32]) -> None:
    """Blender reads any other type as if it were float32."""
    if array.dtype != np.float32 or not array.flags.c_contiguous:
        raise TypeError("the GPU takes contiguous float32 arrays only")


# Influences in 4 bytes each: 14 bits of bone and 16 bits of weight, in a float's bits.


MAX_BONES = 1 << 14
# The quantised weights of a vertex sum to this exactly, which is how the shaders find their end.
WEIGHT_SUM = 65535
# Pixel addresses travel in float32, which holds whole numbers up to here.
MAX_TEXELS = 1 << 24
_SLOTS_PER_TEXEL = 4


def pack_influences(influences: Influences) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Quantise the weights to 16 bits and lay them out as `influences.glsl` reads them.

    Returns:
        texels of shape (t, 4): four influences each, in blending order, 0 where unused; a vertex
        begins with a texel of its own. And the first texel of each vertex, shape (n,), -1 for one
        that no bone moves.

    Raises:
        ValueError: there are more bones or influences than the layout can name.
    """
    if int(influences.bones.max(initial=0)) >= MAX_BONES:
        raise ValueError(f"The GPU display has a limit of {MAX_BONES} bones for an armature")
    shares = quantised_weights(influences.weights)
    counts = np.count_nonzero(shares, axis=1)
    texel_counts = -(-counts // _SLOTS_PER_TEXEL)
    ends = np.cumsum(texel_counts)
    total = int(ends[-1]) if len(ends) else 0
    if total > MAX_TEXELS:
        raise ValueError(f"The GPU display has a limit of {4 * MAX_TEXELS} influences for a mesh")
    starts = ends - texel_counts
    bones = influences.bones
    if influences.blending_order is not None:
        order = influences.blending_order.astype(np.intp)
        bones = np.take_along_axis(bones, order, axis=1)
        shares = np.take_along_axis(shares, order, axis=1)
    vertices, slots = np.nonzero(shares)
    # Shares that rounding took away leave no gaps.
    places = places_in_rows(vertices, counts)
    texels = np.zeros(total * _SLOTS_PER_TEXEL, np.float32)
    texels[starts[vertices] * _SLOTS_PER_TEXEL + places] = floats_from_bits(
        bones[vertices, slots], shares[vertices, slots]
    )
    return texels.reshape(-1, _SLOTS_PER_TEXEL), np.where(counts > 0, starts, -1)


def floats_from_bits(upper: NDArray[np.integer], lower: NDArray[np.integer]) -> NDArray[np.float32]:
    """14 and 16 bits in the bits of ordinary floats, which survive every copy and conversion.

    The exponent is 64 to 127, whatever the bits are: never a denormal, an infinity or a NaN.
    """
    payload = (upper.astype(np.uint32) << np.uint32(16)) | lower.astype(np.uint32)
    word = (payload & np.uint32(0x1FFFFFFF)) | np.uint32(1 << 29)
    word |= (payload >> np.uint32(29)) << np.uint32(31)
    return word.view(np.float32)


def quantised_weights(weights: NDArray[np.floating]) -> NDArray[np.int32]:
    """Weights (n, k) in 1/65535, shape (n, k); each row sums to `WEIGHT_SUM` or is all zeros.

    What rounding leaves over goes to the strongest influences, one unit each, so that no weight is
    off by more than two units for any usual number of influences.
    """
    shares = np.rint(weights * np.float64(WEIGHT_SUM)).astype(np.int32)
    left_over = np.where(shares[:, :1] > 0, WEIGHT_SUM - shares.sum(axis=1, keepdims=True), 0)
    if left_over.any():
        units = np.arange(shares.shape[1]) < np.abs(left_over)
        # A share that became 0 before others would end the row.
        units &= shares >= 2
        shares += np.sign(left_over) * units
        shares[:, :1] += left_over - np.sign(left_over) * units.sum(axis=1, keepdims=True)
    return shares

"""Arrays in textures and back; array element i is pixel (i % 1024, i // 1024)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gpu.types import GPUShader, GPUTexture

from ..arrays import Float32s, Floats
from .gpu_objects import new_texture, read_floats, run_compute, set_ints

# Pixel i of an array is at (i % TEXTURE_WIDTH, i // TEXTURE_WIDTH); the shaders say `& 1023`.
TEXTURE_WIDTH = 1024
# One invocation for each pixel of a row.
LOCAL_SIZE = 64
_FORMATS = {1: "R32F", 2: "RG32F", 4: "RGBA32F"}
_CHANNELS = {"R32F": 1, "RG32F": 2, "RGBA32F": 4, "RGBA16F": 4}


def row_count(count: int) -> int:
    """The rows of a texture for `count` pixels, at least one."""
    return max(1, -(-count // TEXTURE_WIDTH))


def texture_from_array(values: Floats, channels: int, *, padding: float = 0.0) -> GPUTexture:
    """A float texture of an array.

    Args:
        values: shape (n, channels) or, for one channel, (n,).
        channels: 1, 2 or 4.
        padding: fills the pixels past the last.
    """
    rows = row_count(len(values))
    pixels = np.full((rows * TEXTURE_WIDTH, channels), padding, np.float32)
    pixels[: len(values)] = np.reshape(values, (len(values), channels))
    return new_texture((TEXTURE_WIDTH, rows), _FORMATS[channels], pixels)


def empty_texture(count: int, image_format: str) -> GPUTexture:
    """A texture for a compute pass to write `count` pixels of; zeros until then."""
    texture = new_texture((TEXTURE_WIDTH, row_count(count)), image_format)
    texture.clear(format="FLOAT", value=(0.0,) * _CHANNELS[image_format])
    return texture


def array_from_texture(texture: GPUTexture, count: int) -> Float32s:
    """Read the first `count` pixels back; shape (count, channels). Waits for the GPU."""
    channels = _CHANNELS[texture.format]
    return read_floats(texture).reshape(-1, channels)[:count]


def run_pass(
    shader: GPUShader,
    textures: Mapping[str, GPUTexture | None],
    written: tuple[str, GPUTexture | None],
    count: int,
    instances: int = 1,
    **ints: int,
) -> None:
    """Run a bound compute shader with one invocation for each of `count` pixels (and some more).

    Args:
        textures: that it reads, by the names of its samplers.
        written: the name of the image that it writes, and its texture.
        instances: how often; the third number of an invocation is that of its instance.
        ints: push constants.
    """
    untyped: Any = shader
    for name, texture in textures.items():
        untyped.uniform_sampler(name, texture)
    set_ints(shader, ints)
    untyped.image(*written)
    if count <= TEXTURE_WIDTH:
        run_compute(shader, -(-count // LOCAL_SIZE), 1, instances)
    else:
        run_compute(shader, TEXTURE_WIDTH // LOCAL_SIZE, row_count(count), instances)

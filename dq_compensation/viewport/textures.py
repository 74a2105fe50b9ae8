"""Arrays in textures and back; array element i is pixel (i % 1024, i // 1024)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gpu.types import GPUShader, GPUTexture
from numpy.typing import NDArray

from ..core.compensation import Compensation, PublishedCompensation
from ..core.deform import BLENDED_METHODS, Deformation
from ..core.measured_joints import MeasuredJoints
from ..core.swing_joints import MOST_SWUNG, SwingJoints
from ..core.twist_limbs import TURNS, TwistLimbs
from .gpu_objects import (
    WEIGHT_SUM,
    floats_from_bits,
    new_texture,
    read_floats,
    run_compute,
    set_ints,
)
from .shaders import LOCAL_SIZE, TEXTURE_WIDTH

_FORMATS = {1: "R32F", 2: "RG32F", 4: "RGBA32F"}
_CHANNELS = {"R32F": 1, "RG32F": 2, "RGBA32F": 4, "RGBA16F": 4}


def row_count(count: int) -> int:
    """The rows of a texture for `count` pixels, at least one."""
    return max(1, -(-count // TEXTURE_WIDTH))


def texture_from_array(
    values: NDArray[np.floating], channels: int, *, padding: float = 0.0
) -> GPUTexture:
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


def array_from_texture(texture: GPUTexture, count: int) -> NDArray[np.float32]:
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


# Keeps what a deformation knows of each vertex, as textures.


_Weights = NDArray[np.floating] | None
_Uploaded = tuple[Compensation | None, _Weights, _Weights, _Weights]


class VertexTextures:
    """The textures of amounts, blend weights and the mask; uploaded when they change.

    Attributes:
        amounts: RG32F; see `skin_dual_quaternion.glsl`. None before a deformation compensates.
        swings, swing_joints: RGBA32F; see `swings.glsl`. None where no joint swings a vertex.
        twists, twist_limbs: RGBA32F; see `twists.glsl`. None where no twist is spread.
        blend: R32F; None where nothing is blended.
        mask: R32F; None without one.
    """

    def __init__(self) -> None:
        self.amounts: GPUTexture | None = None
        self.swings: GPUTexture | None = None
        self.swing_joints: GPUTexture | None = None
        self.twists: GPUTexture | None = None
        self.twist_limbs: GPUTexture | None = None
        self._twists_of: TwistLimbs | None = None
        self.blend: GPUTexture | None = None
        self.mask: GPUTexture | None = None
        # What the textures hold: a compensation, its painted weights, blend weights and the mask.
        self._uploaded: _Uploaded = (None, None, None, None)

    @property
    def optional(self) -> dict[str, GPUTexture]:
        """Those of `blend` and `mask` that there are."""
        both = {"blend": self.blend, "mask": self.mask}
        return {name: texture for name, texture in both.items() if texture is not None}

    def update(self, deformation: Deformation) -> None:
        """Bring them up to date."""
        compensation, painted, blend = deformation.compensation, deformation.painted, None
        if deformation.method in BLENDED_METHODS:
            blend = deformation.blend
        former_compensation, former_painted, former_blend, former_mask = self._uploaded
        if compensation is None:
            compensation, painted = former_compensation, former_painted
        elif compensation is not former_compensation or painted is not former_painted:
            amounts = compensation.amounts
            rows = np.zeros((len(amounts), 2), np.float32)
            rows[:, 0] = amounts if painted is None else amounts * painted
            if isinstance(compensation, MeasuredJoints):
                sides = compensation.limbs.sides(compensation.joints, compensation.bones)
                rows[:, 1] = floats_from_bits(sides, compensation.joints)
            elif isinstance(compensation, PublishedCompensation):
                rows[:, 1] = floats_from_bits(*compensation.rows.T)
            self.amounts = texture_from_array(rows, 2)
            self._upload_swings(compensation.swings, painted)
        if blend is not former_blend:
            self.blend = None if blend is None else texture_from_array(blend, 1)
        mask = deformation.mask
        if mask is not former_mask:
            self.mask = None if mask is None else texture_from_array(mask, 1)
        self._uploaded = (compensation, painted, blend, mask)
        if deformation.twist_limbs is not self._twists_of:
            self._twists_of = deformation.twist_limbs
            self._upload_twists(deformation.twist_limbs)

    def _upload_twists(self, limbs: TwistLimbs | None) -> None:
        self.twists = self.twist_limbs = None
        if limbs is None:
            return
        count, width = limbs.limbs.shape
        rows = np.zeros((count, TURNS, 4), np.float32)
        rows[:, :width, 0] = np.where(limbs.amounts.any(axis=2), limbs.limbs, -1)
        rows[:, width:, 0] = -1.0
        rows[:, :width, 1:3] = limbs.amounts
        self.twists = texture_from_array(rows.reshape(-1, 4), 4)
        before, own, behind = limbs.rows_of_pose
        at_rest = np.zeros((len(own), 3, 4), np.float32)
        for part, (vectors, moving) in enumerate(
            ((limbs.heads, own), (limbs.axes, before), (limbs.across[:, 0], behind))
        ):
            at_rest[:, part, :3], at_rest[:, part, 3] = vectors, moving
        self.twist_limbs = texture_from_array(at_rest.reshape(-1, 4), 4)

    def _upload_swings(self, swings: SwingJoints | None, painted: _Weights) -> None:
        self.swings = self.swing_joints = None
        if swings is None or not swings.acts:
            return
        amounts = swings.amounts if painted is None else swings.amounts * painted[:, None]
        shares = np.rint(amounts * (WEIGHT_SUM / MOST_SWUNG)).astype(np.int32)
        rows = np.zeros((len(amounts), 4), np.float32)
        rows[:, : amounts.shape[1]] = floats_from_bits(swings.joints, shares)
        self.swings = texture_from_array(rows, 4)
        skeleton = swings.skeleton
        joints = np.zeros((len(swings.heads), 2, 4), np.float32)
        joints[:, 0, :3], joints[:, 0, 3] = swings.heads, skeleton.start_rows[swings.children]
        joints[:, 1, :3], joints[:, 1, 3] = swings.axes, skeleton.end_rows[swings.parents]
        self.swing_joints = texture_from_array(joints.reshape(-1, 4), 4)

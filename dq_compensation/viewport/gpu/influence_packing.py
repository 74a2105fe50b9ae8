"""Influences in 4 bytes each: 14 bits of bone and 16 bits of weight, in a float's bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from ...core.vectors import places_in_rows

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

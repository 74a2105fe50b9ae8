"""Influences in 4 bytes: nothing lost but the last of 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.influences import Influences
from dq_compensation.viewport.kernels import (
    MAX_BONES,
    WEIGHT_SUM,
    floats_from_bits,
    pack_influences,
    quantised_weights,
)


def _random_influences(rng: np.random.Generator, vertices: int, most: int) -> Influences:
    counts = rng.integers(0, most + 1, vertices)
    rows = np.repeat(np.arange(vertices), counts)
    bones = np.concatenate([rng.permutation(MAX_BONES)[:count] for count in counts])
    return Influences.from_triples(rows, bones, rng.exponential(size=len(rows)) ** 3, vertices)


def _unpack(packed: NDArray[np.float32]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    bits = packed.view(np.uint32)
    return ((bits >> 16) & 0x1FFF) | ((bits >> 18) & 0x2000), bits & 0xFFFF


def test_every_influence_comes_back_in_blending_order() -> None:
    influences = _random_influences(np.random.default_rng(2), 400, 23)
    texels, starts = pack_influences(influences)
    ordered_bones, ordered_weights = influences.in_blending_order()
    bones, shares = _unpack(texels.reshape(-1))
    for vertex, start in enumerate(starts):
        used = ordered_weights[vertex] > 1.0 / WEIGHT_SUM
        if start < 0:
            assert not used.any()
            continue
        end = 4 * int(start)
        while shares[4 * start : end].sum() < WEIGHT_SUM:
            assert shares[end] > 0
            end += 1
        row = slice(4 * int(start), end)
        assert shares[row].sum() == WEIGHT_SUM
        found = dict(zip(bones[row].tolist(), shares[row].tolist(), strict=True))
        wanted = ordered_bones[vertex][used].tolist()
        for bone, weight in zip(wanted, ordered_weights[vertex][used], strict=True):
            assert found[bone] == pytest.approx(weight * WEIGHT_SUM, abs=2.01)
        assert [bone for bone in bones[row].tolist() if bone in wanted] == wanted


def test_packed_floats_are_ordinary_numbers() -> None:
    rng = np.random.default_rng(0)
    upper = rng.integers(0, MAX_BONES, 100_000)
    lower = rng.integers(0, 1 << 16, 100_000)
    packed = floats_from_bits(upper, lower)
    assert np.isfinite(packed).all()
    assert np.abs(packed).min() >= np.finfo(np.float32).tiny
    bones, shares = _unpack(packed)
    np.testing.assert_array_equal(bones, upper)
    np.testing.assert_array_equal(shares, lower)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 20, 90])
def test_quantised_weights_sum_exactly_and_none_is_far_off(width: int) -> None:
    rng = np.random.default_rng(width)
    weights = -np.sort(-(rng.exponential(size=(500, width)) ** 4), axis=1)
    weights /= weights.sum(axis=1, keepdims=True)
    weights[:5] = 0.0
    shares = quantised_weights(weights.astype(np.float32))
    assert (shares[:5] == 0).all()
    assert (shares[5:].sum(axis=1) == WEIGHT_SUM).all()
    assert (shares >= 0).all()
    assert np.abs(shares[5:] - WEIGHT_SUM * weights[5:])[:, 1:].max(initial=0.0) <= 1.51
    # Tiny weights by the dozen may leave the strongest a little more.
    assert np.abs(shares[5:, 0] - WEIGHT_SUM * weights[5:, 0]).max() <= max(1.51, width / 4)


def test_too_many_bones_are_refused_in_plain_words() -> None:
    influences = Influences(np.array([[MAX_BONES]], np.int32), np.ones((1, 1), np.float32))
    with pytest.raises(ValueError, match=f"limit of {MAX_BONES} bones"):
        pack_influences(influences)

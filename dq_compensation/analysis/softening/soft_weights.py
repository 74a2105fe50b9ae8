"""Weights that change over a part of the limb's radius: what delta mush does, done once.

Wings, folds and rings come from weights that change too fast. Corrective Smooth mends the result of
each frame; here the weights are diffused once, by a length that follows the thickness of the limb.
Wide weights make dual quaternions bulge and linear blending collapse: that is compensated by
`core.measured_joints`.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from .skin_surface import SkinSurface

# Bones that are diffused together: their values are read by rows.
_TOGETHER = 16
# What counts as still: of weights, and of what only says where to soften and how far.
_STILL, _ROUGHLY_STILL = 1e-5, 1e-3
# Radii are smoothed over this part of themselves: they jump where bones take over.
_RADII_BY = 0.5
# Weights below this fade away.
_LEAST_WEIGHT = 5e-3
# How much of the nearest change of weights is felt where softening begins, and where it is whole:
# rigid parts stay rigid.
_FELT, _FULLY_FELT = 0.05, 0.25


@dataclass(frozen=True, eq=False)
class SoftWeights:
    """New weights of some vertices.

    Attributes:
        vertices: shape (m,), those that may have changed.
        bones: shape (m, k), int32; 0 in unused slots.
        weights: shape (m, k), float32; rows sum to 1; 0 in unused slots.
    """

    vertices: NDArray[np.intp]
    bones: NDArray[np.int32]
    weights: NDArray[np.float32]


def soft_weights(
    surface: SkinSurface,
    influences: Influences,
    radii: NDArray[np.floating],
    amounts: NDArray[np.floating],
    kept: NDArray[np.bool_],
    most: int,
) -> Generator[float, None, SoftWeights]:
    """Diffuse the weights over the surface, by `amounts` times the radius of the limb.

    With the share s of a vertex that bones have which do not keep their weights, and w of each of
    these, w' = s x / sum of x, where x solves

        (A s / l^2 + L) x = A / l^2 w,    l = amount radius near

    A are areas, L is the Laplacian; near falls from 1 to 0 away from where weights change. Bones in
    `kept` keep theirs.

    Args:
        influences: shapes (v, j), of all vertices.
        radii, amounts: shape (v,), the amounts 0 where weights stay.
        kept: shape (B,), bones whose weights stay.
        most: influences of a vertex; see `cut_weights`.

    Yields:
        how much is done, 0 to 1.
    """
    at, points = surface.vertices, len(surface.vertices)
    bones, weights = influences.bones[at], influences.weights[at].astype(np.float64)
    free = np.where(kept[bones], 0.0, weights)
    shares = free.sum(axis=1)
    start = free / np.maximum(shares, 1e-9)[:, None]
    start[shares < _LEAST_WEIGHT] = 0.0
    lengths = _lengths(surface, bones, start, radii[at], amounts[at])
    moved = np.flatnonzero((lengths > 0.0) & surface.connected & (shares >= _LEAST_WEIGHT))
    yield 0.1

    row = np.full(points, -1)
    row[moved] = np.arange(len(moved))
    near = np.unique(np.append(moved, surface.graph.neighbours[:, moved]))
    present = np.unique(bones[near[near < points]][start[near[near < points]] > 0.0])
    found: list[tuple[NDArray[Any], ...]] = [(np.zeros(0, np.intp),) * 3]
    for first in range(0, len(present), _TOGETHER):
        chosen = present[first : first + _TOGETHER]
        column = np.full(len(kept), -1)
        column[chosen] = np.arange(len(chosen))
        vertices, slots = np.nonzero((column[bones] >= 0) & (start > 0.0))
        values = np.zeros((points, len(chosen)))
        values[vertices, column[bones[vertices, slots]]] = start[vertices, slots]
        diffused = surface.diffused(values, lengths, _STILL, np.maximum(shares, _LEAST_WEIGHT))
        rows, columns = np.nonzero(diffused[moved] > _LEAST_WEIGHT)
        found.append((rows, chosen[columns], diffused[moved[rows], columns] - _LEAST_WEIGHT))
        yield 0.1 + 0.9 * min(1.0, (first + _TOGETHER) / len(present))

    rows, of, found_weights = (np.concatenate(each) for each in zip(*found, strict=True))
    sums = np.maximum(np.bincount(rows, found_weights, len(moved)), 1e-30)
    fixed_rows, slots = np.nonzero(kept[bones[moved]] & (weights[moved] > 0.0))
    soft = Influences.from_triples(
        np.concatenate((rows, fixed_rows)),
        np.concatenate((of, bones[moved[fixed_rows], slots])),
        np.concatenate(
            (found_weights * (shares[moved] / sums)[rows], weights[moved[fixed_rows], slots])
        ),
        len(moved),
    )
    new_weights = cut_weights(soft.weights, most).astype(np.float32)
    vertices = np.flatnonzero(row[surface.point_of_vertex] >= 0)
    of_point = row[surface.point_of_vertex[vertices]]
    return SoftWeights(vertices, soft.bones[of_point], new_weights[of_point])


def cut_weights(weights: NDArray[np.floating], most: int) -> NDArray[np.float64]:
    """The `most` largest weights of each row, less the first that is left out; sums become 1.

    Without that, weights jump where the last one that counts and the first that does not change
    places.

    Args:
        weights: shape (m, k), falling from left to right, with sums above 0.
        most: at least 1.
    """
    result = weights.astype(np.float64)
    if most < weights.shape[1]:
        result = np.maximum(result - result[:, most : most + 1], 0.0)
        # All that count are as large as the first that does not.
        tied = result[:, 0] <= 0.0
        result[tied, :most] = 1.0
    return result / result.sum(axis=1, keepdims=True)


def _lengths(
    surface: SkinSurface,
    bones: NDArray[np.integer],
    start: NDArray[np.floating],
    radii: NDArray[np.floating],
    amounts: NDArray[np.floating],
) -> NDArray[np.float64]:
    """Shape (n,), how far weights are diffused at each point: l of `soft_weights`."""
    largest = max(float(radii.max(initial=0.0)), 1e-30)
    parts = radii[:, None] / largest
    radii = surface.diffused(parts, _RADII_BY * radii, _ROUGHLY_STILL)[:, 0] * largest
    strongest = np.argmax(start, axis=1)
    bone = np.take_along_axis(bones, strongest[:, None], axis=1)[:, 0]
    whole = np.take_along_axis(start, strongest[:, None], axis=1)[:, 0]
    # Weights change where several bones move a point, and where it has another bone than its
    # neighbours.
    changes = (whole > 0.0) & (whole < 1.0 - _LEAST_WEIGHT)
    for others in surface.graph.neighbours:
        here = np.flatnonzero(others < len(bones))
        there = others[here]
        apart = (bone[here] != bone[there]) & (whole[here] > 0.0) & (whole[there] > 0.0)
        changes[here[apart]] = True
    lengths = amounts * radii
    # e^(-distance / length) from there.
    away = np.where(changes, 0.0, lengths)
    felt = surface.diffused(changes[:, None].astype(np.float64), away, _ROUGHLY_STILL)[:, 0]
    return lengths * ((felt - _FELT) / (_FULLY_FELT - _FELT)).clip(0.0, 1.0)

"""Weights continued over a surface from where they are known, as smoothly as it can be done.

The weights w of the other points minimise

    w' (L + L M^-1 L) w

with L the Laplacian and M the areas of the surface (Abdrashitov, Raichstat, Monsen and Hill 2023,
Robust skin weights transfer via weight inpainting): they go on along the slope that the known ones
have, and the first term keeps what is far from these from overshooting.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices
from ...core.influences import Influences
from .mesh_graph import MeshGraph
from .skin_surface import SkinSurface
from .smooth_system import SmoothSystem

# The least area of a point, in means of the surface: points of needles would stand for no skin.
_LEAST_AREA = 1e-2
# Parts of the surface that are solved in one step, of some 10 ms.
_PARTS_OF_A_STEP = 32


@dataclass(frozen=True, eq=False)
class ContinuedWeights:
    """The weights of some points of a surface.

    Attributes:
        points: shape (m,), rising.
        bones: shape (g,), rising.
        weights: shape (m, g); rows sum to 1; below 0 and above 1 where the slope goes on so.
    """

    points: Indices
    bones: Indices
    weights: Float64s


def continued_weights(
    surface: SkinSurface, known: Booleans, influences: Influences, leaning: Floats
) -> Generator[float, None, ContinuedWeights]:
    """Find the weights of all points that hang together with known ones.

    Args:
        surface: n points; its unit of length decides what is far: 1 for the size of a body.
        known: shape (n,).
        influences: of the n points.
        leaning: shape (n,), how much points that are not known lean to their influences: the energy
            gets leaning area |w - influences|^2 more for each.

    Yields:
        how much is done, 0 to 1.
    """
    reached = np.isin(surface.pieces, surface.pieces[known])
    unknown = np.flatnonzero(reached & ~known)
    graph, beside = _energy(surface, unknown)
    count = len(unknown)
    local = np.concatenate((unknown, beside))
    areas = _areas(surface)[local]
    counts = (np.arange(len(local)) >= count) | (leaning[local] > 0.0)
    weights = np.where(counts[:, None], influences.weights[local], 0.0)
    used = np.unique(influences.bones[local][weights > 0.0]).astype(np.intp)
    ranks = np.searchsorted(used, influences.bones[local]).clip(0, max(len(used) - 1, 0))
    found = np.zeros((count, len(used)))
    # It holds without a mass: each piece has known points.
    system = SmoothSystem(
        graph, surface.positions[local], np.arange(count), leaning[local] * areas, least_mass=0.0
    )
    for number, share in enumerate(system.eliminated(ranks, weights.astype(np.float64))):
        if number % _PARTS_OF_A_STEP == 0:
            yield 0.8 * share
    for number, (part, groups, values) in enumerate(system.solutions(-np.inf)):
        found[np.ix_(part, groups)] = values
        if number % _PARTS_OF_A_STEP == 0:
            yield 0.8
    yield 1.0
    return ContinuedWeights(unknown, used, found)


def _areas(surface: SkinSurface) -> Float64s:
    """M: the areas of the points."""
    least = _LEAST_AREA * float(surface.areas.mean()) if len(surface.areas) else 0.0
    return np.maximum(surface.areas, max(least, 1e-30))


def _energy(surface: SkinSurface, unknown: Indices) -> tuple[MeshGraph, Indices]:
    """L + L M^-1 L of some points, as pulls between them and those within two edges.

    Returns:
        the graph of the points, and behind them of the others; these others, rising.
    """
    count, graph = len(surface.vertices), surface.graph
    slots, of = np.nonzero(graph.neighbours < count)
    order = np.argsort(of, kind="stable")
    slots, of = slots[order], of[order]
    to, pulls = graph.neighbours[slots, of], graph.pulls[slots, of]
    inner = np.zeros(count, np.bool_)
    inner[unknown] = True
    near = inner.copy()
    near[to[inner[of]]] = True
    # The rows of L at the points whose row any of them is in, with the diagonal.
    kept, rows = near[of], np.flatnonzero(near)
    row = np.concatenate((of[kept], rows))
    column = np.concatenate((to[kept], rows))
    value = np.concatenate((-pulls[kept], graph.degrees[rows]))
    order = np.argsort(row, kind="stable")
    row, column, value = row[order], column[order], value[order]
    # Each entry of a row with each of the same row: rows of L' M^-1 L.
    sizes = np.bincount(row, minlength=count)
    starts = np.cumsum(sizes) - sizes
    repeats = sizes[row]
    first = np.repeat(np.arange(len(row)), repeats)
    second = np.arange(len(first)) - np.repeat(np.cumsum(repeats) - repeats - starts[row], repeats)
    kept = (column[first] < column[second]) & (inner[column[first]] | inner[column[second]])
    first, second = first[kept], second[kept]
    one, other = column[first], column[second]
    products = value[first] * value[second] / _areas(surface)[row[first]]
    # And L itself, each edge once.
    once = (of < to) & (inner[of] | inner[to])
    keys = np.concatenate((one * count + other, of[once] * count + to[once]))
    pairs, sums = np.unique(keys, return_inverse=True)
    pulled = np.concatenate((-products, pulls[once]))
    found = np.bincount(sums.reshape(-1), pulled, len(pairs))
    ends = np.stack((pairs // max(count, 1), pairs % max(count, 1)), axis=1).astype(np.intp)
    beside = np.setdiff1d(ends, unknown)
    place = np.full(count, -1, np.intp)
    place[unknown] = np.arange(len(unknown))
    place[beside] = len(unknown) + np.arange(len(beside))
    return MeshGraph.of(place[ends], found, len(unknown) + len(beside)), beside

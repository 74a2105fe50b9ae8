"""Weights of clothes from a body: against a dense solve, and where the nearest skin is wrong.

Two legs side by side are cylinders along Z at x = -0.1 and 0.1, 6 cm thick, one bone each, below a
trunk of a third bone. Lengths are metres.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.analysis.flesh.contact import closest_on_triangles
from dq_compensation.analysis.flesh.surface_search import NearestSearch
from dq_compensation.analysis.surface.continued_weights import continued_weights
from dq_compensation.analysis.surface.skin_surface import SkinSurface
from dq_compensation.analysis.weights_from_body import (
    BodySkin,
    BodyWeights,
    ClothMesh,
    Likeness,
    Source,
    weights_from_body,
)
from dq_compensation.core.influences import Influences
from dq_compensation.core.vectors import unit_or
from dq_compensation.steps import run_through

Array = NDArray[np.float64]
LEFT, RIGHT, TRUNK = 0, 1, 2
# The other way around, with the same diagonal.
TURNED = [0, 3, 2, 1]
LIKENESS = Likeness(0.05, float(np.radians(30.0)))


class BruteForce:
    """The nearest place by brute force: of the middles of triangles, then on the best of them."""

    def __init__(self, positions: Any, triangles: Any) -> None:
        self._corners = np.asarray(positions, np.float64)[triangles]

    def nearest(self, points: Any) -> tuple[Array, NDArray[np.intp]]:
        middles, places, faces = self._corners.mean(axis=1), [], []
        for point in np.asarray(points, np.float64):
            near = np.argsort(((middles - point) ** 2).sum(axis=1))[:40]
            found, _ = closest_on_triangles(np.tile(point, (len(near), 1)), self._corners[near])
            best = ((found - point) ** 2).sum(axis=1).argmin()
            places.append(found[best])
            faces.append(near[best])
        return np.array(places), np.array(faces)


def search_of(positions: Any, triangles: Any) -> NearestSearch:
    return BruteForce(positions, triangles)


def tube(
    x: float, radius: float, low: float, high: float, rows: int = 12, columns: int = 24
) -> tuple[Array, NDArray[np.int32]]:
    """A tube along Z, open at both ends, quads that face outward."""
    z, angles = np.meshgrid(
        np.linspace(low, high, rows), 2.0 * np.pi * np.arange(columns) / columns, indexing="ij"
    )
    around = (x + radius * np.cos(angles), radius * np.sin(angles), z)
    places = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    beside = np.roll(places, -1, axis=1)
    faces = np.stack((places[:-1], beside[:-1], beside[1:], places[1:]), axis=-1)
    return np.stack(around, axis=-1).reshape(-1, 3), faces.reshape(-1, 4)


def joined(*parts: tuple[Array, NDArray[np.int32]]) -> tuple[Array, NDArray[np.int32]]:
    starts = np.cumsum([0, *(len(positions) for positions, _ in parts)])
    return (
        np.concatenate([positions for positions, _ in parts]),
        np.concatenate([f + s for (_, f), s in zip(parts, starts, strict=False)]).astype(np.int32),
    )


def triangles_of(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    return np.concatenate((faces[:, :3], faces[:, [0, 2, 3]]))


def cloth_of(positions: Array, faces: NDArray[np.int32]) -> ClothMesh:
    starts, of_triangles = 4 * np.arange(len(faces)), np.tile(np.arange(len(faces)), 2)
    return ClothMesh(positions, starts, faces.reshape(-1), triangles_of(faces), of_triangles)


def on_bones(bones: Sequence[int]) -> Influences:
    one = np.array(bones, np.int32)[:, None]
    return Influences(one, np.ones(one.shape, np.float32))


@cache
def legs() -> BodySkin:
    parts = tube(0.1, 0.06, -0.6, 0.0), tube(-0.1, 0.06, -0.6, 0.0), tube(0.0, 0.17, 0.02, 0.4)
    positions, faces = joined(*parts)
    bones = np.repeat((LEFT, RIGHT, TRUNK), [len(each) for each, _ in parts])
    return BodySkin(positions, triangles_of(faces), on_bones(bones.tolist()))


def skirt(size: float = 1.0) -> tuple[Array, NDArray[np.int32]]:
    """Around both legs and the trunk, an ellipse 1 cm off the legs."""
    positions, faces = tube(0.0, 1.0, -0.5, 0.3, rows=30, columns=48)
    return size * (positions * (0.19, 0.1, 1.0)), faces


def found(
    cloth: ClothMesh,
    body: BodySkin | None = None,
    kept: NDArray[np.bool_] | None = None,
    before: Influences | None = None,
    most: int = 8,
) -> BodyWeights | None:
    count = len(cloth.positions)
    none = Influences(np.zeros((count, 1), np.int32), np.zeros((count, 1), np.float32))
    return run_through(
        weights_from_body(
            cloth,
            body or legs(),
            search_of,
            LIKENESS,
            kept=np.zeros(count, np.bool_) if kept is None else kept,
            before=before or none,
            most=most,
        )
    )


def dense(new: BodyWeights | None, count: int, bones: int = 3) -> Array:
    assert new is not None
    result = np.zeros((count, bones))
    rows = Influences(new.soft.bones, new.soft.weights).dense(bones)
    result[new.soft.vertices] = rows
    return result


def test_what_is_filled_is_the_least_of_the_energy() -> None:
    """The same sum as dense matrices, solved by LAPACK; 1e-9: both solve it but for rounding."""
    rng = np.random.default_rng(2)
    positions, faces = skirt()
    count = len(positions)
    points = np.arange(count)
    none = Influences(np.zeros((count, 1), np.int32), np.zeros((count, 1), np.float32))
    starts = 4 * np.arange(len(faces))
    surface = SkinSurface.of(positions, none, starts, faces.reshape(-1), points)
    weights = rng.dirichlet(np.ones(5), count)
    every = Influences.from_triples(
        np.repeat(points, 5), np.tile(np.arange(5), count), weights.ravel(), count
    )
    known = (positions[:, 2] > 0.1) | (rng.random(count) < 0.02)
    leaning = np.where(rng.random(count) < 0.3, 40.0, 0.0)
    new = run_through(continued_weights(surface, known, every, leaning))

    laplacian, area = np.zeros((count, count)), surface.areas
    ranks, of = np.nonzero(surface.graph.neighbours < count)
    laplacian[of, surface.graph.neighbours[ranks, of]] = -surface.graph.pulls[ranks, of]
    laplacian[points, points] = -laplacian.sum(axis=1)
    energy = laplacian + laplacian.T @ np.diag(1.0 / area) @ laplacian
    lean = np.diag(np.where(known, 0.0, leaning) * area)
    target = every.dense(5).astype(np.float64)
    inner = np.flatnonzero(~known)
    right = lean @ target - energy[:, known] @ target[known]
    wanted = np.linalg.solve((energy + lean)[np.ix_(inner, inner)], right[inner])
    np.testing.assert_array_equal(new.points, inner)
    np.testing.assert_array_equal(new.bones, np.arange(5))
    np.testing.assert_allclose(new.weights, wanted, atol=1e-9)


def test_a_slope_goes_on_through_a_hole_and_beyond_the_rim() -> None:
    """On a flat grid a linear function costs its slope alone; 2 %: the first term lowers that."""
    size = 30
    x, y = np.meshgrid(np.linspace(0.0, 0.3, size), np.linspace(0.0, 0.3, size), indexing="ij")
    positions = np.stack((x.ravel(), y.ravel(), np.zeros(size * size)), axis=1)
    places = np.arange(size * size, dtype=np.int32).reshape(size, size)
    corners = places[:-1, :-1], places[1:, :-1], places[1:, 1:], places[:-1, 1:]
    faces = np.stack(corners, axis=-1).reshape(-1, 4)
    count, slope = len(positions), positions[:, 0] / 0.3
    every = Influences.from_triples(
        np.repeat(np.arange(count), 2),
        np.tile((0, 1), count),
        np.stack((slope, 1.0 - slope), axis=1).ravel(),
        count,
    )
    surface = SkinSurface.of(
        positions, every, 4 * np.arange(len(faces)), faces.reshape(-1), np.arange(count)
    )
    away = np.linalg.norm(positions[:, :2] - 0.15, axis=1)
    known = away > 0.08
    new = run_through(continued_weights(surface, known, every, np.zeros(count)))
    np.testing.assert_allclose(new.weights[:, 0], slope[new.points], atol=0.02)
    np.testing.assert_allclose(new.weights.sum(axis=1), 1.0, atol=1e-6)


def test_a_skirt_changes_smoothly_between_the_legs() -> None:
    """The step from one leg to the other takes one edge by the nearest skin, here several."""
    positions, faces = skirt()
    new = found(cloth_of(positions, faces))
    weights = dense(new, len(positions))
    low = positions[:, 2] < -0.12
    ring = weights[low, LEFT].reshape(-1, 48)
    assert np.abs(ring - np.roll(ring, 1, axis=1)).max() < 0.35
    assert ring[:, 0].min() > 0.99
    assert ring[:, 24].max() < 0.01
    # In the middle in front both count alike.
    np.testing.assert_allclose(ring[:, 12], 0.5, atol=0.02)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_the_size_of_the_character_does_not_matter(scale: float) -> None:
    """1e-4: float32 weights, and trees of Blender would add as much."""
    positions, faces = skirt()
    body, count = legs(), len(positions)
    scaled = BodySkin(scale * body.positions, body.triangles, body.influences)
    one = dense(found(cloth_of(positions, faces)), count)
    other = dense(found(cloth_of(scale * positions, faces), scaled), count)
    np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("kind", ["inside out", "half of the faces", "each face twice", "split"])
def test_it_does_not_matter_how_faces_are_turned_or_joined(kind: str) -> None:
    """1e-3: the least pull of an edge counts once; split edges are joined in one place."""
    positions, faces = skirt()
    count = len(positions)
    wanted = dense(found(cloth_of(positions, faces)), count)
    rows = np.arange(count)
    if kind == "inside out":
        faces = faces[:, TURNED]
    elif kind == "half of the faces":
        faces = np.where((np.arange(len(faces)) % 2 > 0)[:, None], faces[:, TURNED], faces)
    elif kind == "each face twice":
        faces = np.concatenate((faces, faces[:, TURNED]))
    else:
        rows = faces.reshape(-1)
        positions, faces = positions[rows], np.arange(len(rows), dtype=np.int32).reshape(-1, 4)
    new = found(cloth_of(np.ascontiguousarray(positions), np.ascontiguousarray(faces)))
    np.testing.assert_allclose(dense(new, len(positions)), wanted[rows], atol=1e-3)


def test_both_sides_of_cloth_with_thickness_follow_alike() -> None:
    """A lining 4 mm inside, joined at the hems, as Solidify makes it: 1e-6, they are one."""
    outer, faces = skirt()
    # Along the normals of the ellipse.
    ways = outer / (0.19**2, 0.1**2, 1.0) * (1.0, 1.0, 0.0)
    inner = outer - 0.004 * unit_or(ways, 0.0)
    count = len(outer)
    ring = np.arange(48, dtype=np.int32)
    rims = [
        np.stack((ends, ends + count, np.roll(ends, -1) + count, np.roll(ends, -1)), axis=1)
        for ends in (ring, ring + count - 48)
    ]
    every = np.concatenate((faces, faces[:, ::-1] + count, *rims)).astype(np.int32)
    new = found(cloth_of(np.concatenate((outer, inner)), every))
    weights = dense(new, 2 * count)
    np.testing.assert_allclose(weights[count:], weights[:count], atol=1e-6)
    alone = dense(found(cloth_of(outer, faces)), count)
    np.testing.assert_allclose(weights[:count], alone, atol=0.05)


def test_a_loose_piece_far_from_the_body_follows_the_nearest_place_as_one() -> None:
    positions, faces = skirt()
    button, of_button = tube(0.19 + 0.2, 0.01, -0.31, -0.3, rows=2, columns=6)
    every = joined((positions, faces), (button, of_button))
    new = found(cloth_of(*every))
    assert new is not None
    count = len(positions)
    (piece,) = new.carried
    np.testing.assert_array_equal(piece, count + np.arange(len(button)))
    assert (new.sources[count:] == Source.CARRIED).all()
    weights = dense(new, len(every[0]))[count:]
    # 1e-6: one row for all of them. Its neighbour is beside the left leg.
    np.testing.assert_allclose(weights, np.tile(weights[:1], (len(button), 1)), atol=1e-6)
    assert weights[0, LEFT] > 0.99


def test_nothing_is_found_where_nothing_lies_on_the_body() -> None:
    positions, faces = skirt()
    assert found(cloth_of(positions + 5.0, faces)) is None


def test_vertices_that_are_kept_are_where_the_others_go_on_from() -> None:
    """The lower half keeps the weights of the trunk: next to it the others have most of them."""
    positions, faces = skirt()
    kept = positions[:, 2] < -0.25
    before = on_bones([TRUNK] * len(positions))
    new = found(cloth_of(positions, faces), kept=kept, before=before)
    assert new is not None
    np.testing.assert_array_equal(new.soft.vertices, np.flatnonzero(~kept))
    assert (new.sources[kept] == Source.KEPT).all()


def test_at_most_so_many_bones_move_a_vertex() -> None:
    positions, faces = skirt()
    new = found(cloth_of(positions, faces), most=1)
    weights = dense(new, len(positions))
    assert (np.count_nonzero(weights, axis=1) == 1).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)

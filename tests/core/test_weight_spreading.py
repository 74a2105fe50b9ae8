"""Weights spread smoothly along edges, and stay inside of their part of the mesh."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dq_compensation.analysis.mirror_map import partners_by_position
from dq_compensation.analysis.surface.rigid_pieces import islands
from dq_compensation.analysis.surface.spread_weights import spread_weights, strongest_weights


def path(count: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Vertices along X, each joined to the next."""
    positions = np.zeros((count, 3))
    positions[:, 0] = np.arange(count)
    edges = np.stack((np.arange(count - 1), np.arange(1, count)), axis=1)
    return positions, edges.astype(np.int32)


def grid(size: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    x, y = np.meshgrid(np.arange(size, dtype=np.float64), np.arange(size, dtype=np.float64))
    positions = np.stack((x.ravel(), y.ravel(), np.zeros(size * size)), axis=1)
    places = np.arange(size * size).reshape(size, size)
    across = np.stack((places[:, :-1].ravel(), places[:, 1:].ravel()), axis=1)
    along = np.stack((places[:-1].ravel(), places[1:].ravel()), axis=1)
    return positions, np.concatenate((across, along)).astype(np.int32)


def test_parts_are_found_whatever_the_order_of_vertices() -> None:
    rng = np.random.default_rng(0)
    order = rng.permutation(300)
    edges = np.concatenate((path(100)[1], 100 + path(150)[1]))
    labels = islands(order[edges], 300)
    first, second = labels[order[:100]], labels[order[100:250]]
    assert len(set(first)) == len(set(second)) == 1
    assert first[0] != second[0]
    # Vertices without edges are parts of their own.
    np.testing.assert_array_equal(labels[order[250:]], order[250:])


def test_between_two_ends_the_weights_are_linear() -> None:
    """That is the harmonic function of a path. 1 %: the averaging stops after some rounds."""
    positions, edges = path(12)
    weights = np.zeros((12, 2))
    weights[0, 0] = weights[-1, 1] = 1.0
    known = np.zeros(12, np.bool_)
    known[[0, -1]] = True
    spread, filled = spread_weights(weights, known, edges, positions)
    assert filled.all()
    np.testing.assert_allclose(spread[:, 1], np.arange(12) / 11.0, atol=0.01)
    np.testing.assert_allclose(spread.sum(axis=1), 1.0, atol=1e-12)


def test_a_hole_in_a_linear_slope_is_closed_without_a_step() -> None:
    """A linear function is harmonic: it comes back, within 1 % of its range."""
    positions, edges = grid(30)
    slope = positions[:, :1] / 29.0
    hole = np.linalg.norm(positions[:, :2] - 14.0, axis=1) < 6.0
    spread, filled = spread_weights(np.where(hole[:, None], 9.0, slope), ~hole, edges, positions)
    assert filled.all()
    np.testing.assert_array_equal(spread[~hole], slope[~hole])
    np.testing.assert_allclose(spread[hole], slope[hole], atol=0.01)


def test_what_no_edge_leads_to_stays_empty() -> None:
    positions, edges = path(6)
    known = np.array([True, False, False, False, False, False])
    edges = np.delete(edges, 2, axis=0)
    spread, filled = spread_weights(np.ones((6, 1)), known, edges, positions)
    assert filled.tolist() == [True, True, True, False, False, False]
    assert spread[:, 0].tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


def test_the_strongest_weights_are_kept_with_a_sum_of_1() -> None:
    kept = strongest_weights(np.array([[0.5, 0.3, 0.195, 0.005], [0.0, 0.0, 2.0, 0.0]]), 2)
    np.testing.assert_allclose(kept, [[0.625, 0.375, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])


def test_partners_across_the_mirror_are_found_in_any_order() -> None:
    rng = np.random.default_rng(1)
    right = rng.uniform(0.01, 1.0, (500, 3))
    points = np.concatenate((right, right * (-1.0, 1.0, 1.0), [[0.0, 0.3, 0.4], [0.7, 9.0, 9.0]]))
    noise = rng.uniform(-1e-4, 1e-4, points.shape)
    order = rng.permutation(len(points))
    place = np.argsort(order)
    partners = partners_by_position((points + noise)[order], 1e-3)
    expected = np.concatenate((place[500:1000], place[:500], [place[1000], -1]))
    np.testing.assert_array_equal(partners[place], expected)

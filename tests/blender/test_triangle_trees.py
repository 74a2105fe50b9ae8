"""Triangles that cross, beside pairs that were found one by one."""

from __future__ import annotations

import numpy as np
import pytest

from dq_compensation.scene.blender.triangle_trees import (
    JoinedTrees,
    SurfaceTree,
    overlapping_triangles,
)
from tests.core.triangle_pairs import crossing_triangles


def test_triangles_that_cross_are_the_same_as_one_by_one() -> None:
    """Triangles of their own corners, in one set and in two."""
    points = np.random.default_rng(0).uniform(0.0, 1.0, (120, 3))
    triangles = np.arange(120).reshape(40, 3)
    found, wanted = (
        sorted(map(tuple, find(points, triangles).tolist()))
        for find in (overlapping_triangles, crossing_triangles)
    )
    assert found == wanted
    assert len(wanted) > 20
    found, wanted = (
        sorted(map(tuple, find(points, triangles[:15], triangles[15:]).tolist()))
        for find in (overlapping_triangles, crossing_triangles)
    )
    assert found == wanted


def test_no_triangles_cross_none() -> None:
    points, none = np.zeros((3, 3)), np.zeros((0, 3), np.intp)
    assert overlapping_triangles(points, none).shape == (0, 2)
    assert overlapping_triangles(points, np.array([[0, 1, 2]]), none).shape == (0, 2)


@pytest.mark.parametrize("farthest", [1e19, 0.3])
def test_trees_of_several_surfaces_find_what_one_tree_of_all_finds(farthest: float) -> None:
    """Surfaces inside each other and beside each other, and one that is far away."""
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.5, 0.0, 0.0], [9.0, 9.0, 9.0]])
    surfaces = [rng.uniform(-1.0, 1.0, (90, 3)) + centre for centre in centres]
    triangles = np.arange(90).reshape(30, 3)
    joined = JoinedTrees([SurfaceTree(each, triangles) for each in surfaces])
    one = SurfaceTree(np.concatenate(surfaces), np.arange(360).reshape(120, 3))
    points = rng.uniform(-2.0, 3.0, (200, 3))
    places, found = joined.nearest(points, farthest)
    wanted, wanted_triangles = one.nearest(points)
    near = np.linalg.norm(wanted - points, axis=1) < farthest
    assert near.any()
    assert near.all() == (farthest > 1.0)
    assert np.array_equal(found, np.where(near, wanted_triangles, -1))
    # The trees calculate in single precision.
    assert np.abs(places - np.where(near[:, None], wanted, points)).max() <= 1e-6
    assert {0, 1, 2} <= set(np.searchsorted(joined.starts, found[near], side="right") - 1)

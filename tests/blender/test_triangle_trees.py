"""Triangles that cross, beside pairs that were found one by one."""

from __future__ import annotations

import numpy as np

from dq_compensation.scene.blender.triangle_trees import overlapping_triangles
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

"""What a view sees, against points that are taken to clip space one by one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.pipeline.crowds.figure_bounds import frustum_planes, spheres_in_view


def perspective(far: float = 50.0, near: float = 0.1) -> NDArray[np.float64]:
    """A lens that sees 45 degrees to either side."""
    found = np.diag([1.0, 1.5, -(far + near) / (far - near), 0.0])
    found[2, 3], found[3, 2] = -2.0 * far * near / (far - near), -1.0
    return found


def view() -> NDArray[np.float64]:
    turned, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = turned, (1.0, 2.0, -3.0)
    return found


@pytest.mark.parametrize("lens", [perspective(), np.diag([0.1, 0.2, -0.02, 1.0])])
def test_points_are_seen_as_clip_space_says(lens: NDArray[np.float64]) -> None:
    to_clip = lens @ view()
    points = np.random.default_rng(0).uniform(-40.0, 40.0, (5000, 3))
    clip = np.concatenate((points, np.ones((5000, 1))), axis=1) @ to_clip.T
    inside = (np.abs(clip[:, :3]) <= clip[:, 3:]).all(axis=1)
    assert 50 < inside.sum() < 4000
    planes = frustum_planes(to_clip)
    np.testing.assert_array_equal(spheres_in_view(planes, points, np.zeros(5000)), inside)


def test_a_sphere_is_seen_when_a_point_of_it_is() -> None:
    rng, planes = np.random.default_rng(1), frustum_planes(perspective() @ view())
    centres, radii = rng.uniform(-40.0, 40.0, (500, 3)), rng.uniform(0.1, 9.0, 500)
    seen = spheres_in_view(planes, centres, radii)
    directions = rng.normal(size=(500, 200, 3))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    points = centres[:, None] + directions * radii[:, None, None]
    shows = spheres_in_view(planes, points.reshape(-1, 3), np.zeros(100_000)).reshape(500, 200)
    assert seen[shows.any(axis=1)].all()
    # Most of the others are left out: what remains is beside the corners.
    assert (seen & ~shows.any(axis=1)).sum() < 0.15 * 500


def test_a_view_without_an_end_hides_nothing_far_away() -> None:
    lens = np.diag([1.0, 1.0, 0.0, 0.0])
    lens[2, 2], lens[2, 3], lens[3, 2] = -1.0, -0.2, -1.0
    planes = frustum_planes(lens)
    assert spheres_in_view(planes, np.array([[0.0, 0.0, -1e6]]), np.zeros(1)).all()
    assert not spheres_in_view(planes, np.array([[0.0, 0.0, 5.0]]), np.zeros(1)).any()

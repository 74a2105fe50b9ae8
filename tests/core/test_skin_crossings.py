"""Skin that crosses: what counts, beside pairs of triangles that were found one by one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.analysis.surface.skin_crossings import FAR_APART, CrossingSkin
from tests.core.triangle_pairs import crossing_triangles

# Two sheets of squares, one above the other, and their height.
SIDE, HEIGHT = 7, 0.05


def sheet(height: float) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """A square sheet of `SIDE` by `SIDE` squares, each two triangles; it is 1 long."""
    x, y = np.meshgrid(*[np.linspace(0.0, 1.0, SIDE + 1)] * 2, indexing="ij")
    points = np.stack((x, y, np.full_like(x, height)), axis=-1).reshape(-1, 3)
    at = np.arange((SIDE + 1) ** 2).reshape(SIDE + 1, SIDE + 1)
    quads = np.stack((at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]), axis=-1).reshape(-1, 4)
    return points, np.concatenate((quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]))


@pytest.fixture
def sheets() -> CrossingSkin:
    points, triangles = sheet(0.0)
    both = np.concatenate((points, points + (0.0, 0.0, HEIGHT)))
    of_both = np.concatenate((triangles, triangles + len(points)))
    return CrossingSkin.of(both, of_both, np.arange(len(both)), crossing_triangles)


def rest(skin: CrossingSkin) -> NDArray[np.float64]:
    points = sheet(0.0)[0]
    return np.concatenate((points, points + (0.0, 0.0, HEIGHT)))


def counted(skin: CrossingSkin, posed: NDArray[np.float64], inner: NDArray[np.bool_]) -> int:
    return skin.count(posed, skin.triangles, np.arange(len(skin.triangles)), inner)


def tilted(skin: CrossingSkin) -> NDArray[np.float64]:
    """The upper sheet tilted, so that a part of it is below the lower one."""
    posed = rest(skin)
    upper = posed[len(posed) // 2 :]
    upper[:, 2] += 0.31 * (upper[:, 0] - 0.52) + 0.13 * (upper[:, 1] - 0.47) - HEIGHT
    return posed


def test_pairs_that_cross_count_once_each(sheets: CrossingSkin) -> None:
    every = np.ones(len(sheets.triangles), np.bool_)
    assert counted(sheets, rest(sheets), every) == 0
    posed = tilted(sheets)
    pairs = crossing_triangles(posed, sheets.triangles)
    assert len(pairs) > 5
    assert counted(sheets, posed, every) == len(pairs)


def test_one_of_a_pair_is_an_inner_one(sheets: CrossingSkin) -> None:
    posed, inner = tilted(sheets), np.zeros(len(sheets.triangles), np.bool_)
    inner[len(inner) // 2 :: 3] = True  # of the upper sheet
    pairs = crossing_triangles(posed, sheets.triangles)
    assert counted(sheets, posed, inner) == np.count_nonzero(inner[pairs].any(axis=1)) > 0


@pytest.mark.parametrize("row", range(0, 2 * SIDE * SIDE, 5))
def test_a_long_triangle_all_of_whose_corners_are_elsewhere_counts(
    sheets: CrossingSkin, row: int
) -> None:
    """A corner of the upper sheet goes through the lower one, which is stretched by ten."""
    posed, inner = rest(sheets), np.zeros(len(sheets.triangles), np.bool_)
    inner[len(inner) // 2 + row] = True
    corners = sheets.triangles[len(inner) // 2 + row]
    lower, middle = posed[: len(posed) // 2], posed[corners].mean(axis=0)
    lower[:, :2] = middle[:2] + 10.0 * (lower[:, :2] - middle[:2])
    posed[corners[0], 2] -= 2.0 * HEIGHT
    low, high = crossing_triangles(posed, sheets.triangles).T
    expected = np.count_nonzero((low < len(inner) // 2) & inner[high])
    assert counted(sheets, posed, inner) == expected > 0


def test_what_is_far_apart_at_rest_only_meets(sheets: CrossingSkin) -> None:
    """The upper sheet lies on the lower one, moved along by more than counts."""
    posed = tilted(sheets)
    posed[len(posed) // 2 :, 1] += 1.5 * FAR_APART
    pairs = crossing_triangles(posed, sheets.triangles)
    ways = sheets.centres[pairs[:, 0]] - sheets.centres[pairs[:, 1]]
    near = np.count_nonzero(np.linalg.norm(ways, axis=1) < FAR_APART)
    every = np.ones(len(sheets.triangles), np.bool_)
    assert counted(sheets, posed, every) == near < len(pairs)


def test_what_crosses_at_rest_does_not_count() -> None:
    """A sheet through another one, and all that has a corner in common with it."""
    points, triangles = sheet(0.0)
    upright = points[:, [0, 2, 1]] + (0.003, 0.52, -0.5)
    both = np.concatenate((points, upright))
    of_both = np.concatenate((triangles, triangles + len(points)))
    skin = CrossingSkin.of(both, of_both, np.arange(len(both)), crossing_triangles)
    every = np.ones(len(of_both), np.bool_)
    assert len(crossing_triangles(both, of_both)) > 4
    assert counted(skin, both, every) == 0
    # Moved by a third of a square the same rows cross.
    posed = both.copy()
    posed[len(points) :, 1] += 0.3 / SIDE
    assert counted(skin, posed, every) == 0


def test_triangles_with_a_place_in_common_do_not_cross() -> None:
    """Two that meet at a seam, and fold through each other there."""
    rest = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0.2], [0, 1, 0.2]])
    triangles, every = np.array([[0, 1, 2], [3, 4, 5]]), np.ones(2, np.bool_)
    posed = rest.copy()
    posed[3] = (0.3, 0.3, -0.2)
    assert len(crossing_triangles(posed, triangles)) == 1
    for places, count in ((np.array([0, 1, 2, 0, 4, 5]), 0), (np.arange(6), 1)):
        skin = CrossingSkin.of(rest, triangles, places, crossing_triangles)
        assert skin.count(posed, triangles, np.arange(2), every) == count

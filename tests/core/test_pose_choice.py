"""Poses that stand for a motion: near at every moment, and few."""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.pipeline.crowds.pose_choice import ChosenPoses, apart, choose_poses

Skin = Callable[[float], NDArray[np.float64]]


def _run(steps: Generator[float, None, ChosenPoses]) -> ChosenPoses:
    shares = []
    try:
        while True:
            shares.append(next(steps))
    except StopIteration as end:
        assert shares == sorted(shares)
        return end.value


def _circles(time: float) -> NDArray[np.float64]:
    """Two points that turn, one far out, one fast."""
    return np.array(
        [
            [500.0 * np.cos(time / 3.0), 500.0 * np.sin(time / 3.0), 0.0],
            [10.0 * np.cos(2.0 * time), 10.0 * np.sin(2.0 * time), 0.0],
        ]
    )


def _to_and_fro(time: float) -> NDArray[np.float64]:
    return _circles(2.0 * float(np.sin(time)))


def _jumping(time: float) -> NDArray[np.float64]:
    return _circles(time) + (300.0 if time >= 20.0 else 0.0)


@pytest.mark.parametrize(
    ("skin", "length", "tolerance"),
    [(_circles, 40.0, 10.0), (_to_and_fro, 12.5, 3.0), (_jumping, 40.0, 10.0)],
)
def test_the_pose_that_is_shown_is_near_at_every_moment(
    skin: Skin, length: float, tolerance: float
) -> None:
    chosen = _run(choose_poses(skin, length, tolerance))
    table, rate = chosen.table(), chosen.rows_per_frame
    for time in np.random.default_rng(0).uniform(0.0, length, 1000).tolist():
        shown = chosen.times[table[int(time * rate)]]
        assert apart(skin(time), skin(float(shown))) <= tolerance


def test_there_are_hardly_more_poses_than_needed() -> None:
    chosen = _run(choose_poses(_circles, 40.0, 10.0))
    # Each pose serves 20 on a way of 40 / 3 radians of 500, and has a reserve of a tenth.
    assert 333 <= len(chosen.times) <= 333 / 0.88


def test_what_stands_still_is_one_pose() -> None:
    still = np.ones((2, 3))
    for length in (0.0, 7.5, 30.0):
        chosen = _run(choose_poses(lambda _: still, length, 1.0))
        assert len(chosen.times) == 1
        assert not chosen.table().any()


def test_a_jump_takes_no_pose_of_its_own() -> None:
    chosen = _run(choose_poses(lambda time: np.full((1, 3), 50.0 * (time >= 3.0)), 6.0, 1.0))
    assert len(chosen.times) == 2
    rate = chosen.rows_per_frame
    np.testing.assert_array_equal(chosen.table()[: 6 * rate], np.repeat((0, 1), 3 * rate))

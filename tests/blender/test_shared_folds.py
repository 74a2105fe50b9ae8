"""What the shapes of several joints do together: each has its part of what they both move."""

from __future__ import annotations

import numpy as np
import pytest

from dq_compensation.folds.shared_folds import shared_offsets

ONE, OTHER = np.array([0.0, 0.0, 3.0]), np.array([0.0, 2.0, 0.0])


def shared(away: tuple[float, float], one: np.ndarray = ONE, other: np.ndarray = OTHER) -> list:
    parts = np.stack((one, other))[:, None]
    return shared_offsets(parts, np.array(away)[:, None])[0].tolist()


def test_what_one_joint_moves_alone_stays_as_it_is() -> None:
    nothing = np.zeros(3)
    assert shared((0.9, 0.1), ONE, nothing) == ONE.tolist()
    assert shared((0.1, 0.9), nothing, OTHER) == OTHER.tolist()
    assert shared((0.5, 0.5), nothing, nothing) == [0.0, 0.0, 0.0]


def test_half_way_between_two_joints_each_has_half() -> None:
    """Two that want the same get it once, not twice."""
    assert shared((0.5, 0.5)) == [0.0, 1.0, 1.5]
    assert shared((0.3, 0.3), ONE, ONE) == ONE.tolist()


def test_the_nearer_joint_has_more() -> None:
    """By hand: 0.75^2 to 0.25^2 is 9 to 1."""
    assert shared((0.25, 0.75)) == pytest.approx([0.0, 0.2, 2.7])
    assert shared((0.75, 0.25)) == pytest.approx([0.0, 1.8, 0.3])


def test_from_joint_to_joint_nothing_jumps() -> None:
    """In 400 steps each changes by 2 / 400 of what the slope of the square can be, at most 2."""
    way = np.linspace(0.0, 1.0, 401)
    found = np.array([shared((at, 1.0 - at)) for at in way])
    assert found[0] == pytest.approx(ONE)
    assert found[-1] == pytest.approx(OTHER)
    assert np.abs(np.diff(found, axis=0)).max() < 3.0 * 2.0 / 400.0


def test_beyond_the_reach_of_both_they_are_added() -> None:
    assert shared((1.2, 1.5)) == (ONE + OTHER).tolist()

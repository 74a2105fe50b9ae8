"""The movement that takes a mesh to its joints: found where most agree on it, and never guessed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dq_compensation.analysis.skin_fit import Movement, SkinnedJoints, find_movement

RADIUS = 0.05
# Joints are beside the centre of their skin by this at most, in every direction; so the movement
# that is found differs from the true one, and 20 joints of a body of size 2 leave a tenth of it.
BESIDE = 0.1 * RADIUS
FITTED = BESIDE


def joints(movement: Movement, count: int = 20, line: bool = False, seed: int = 0) -> SkinnedJoints:
    """Joints at random, on one line or not, with skin that was moved away from them."""
    rng = np.random.default_rng(seed)
    heads = rng.uniform(-1.0, 1.0, (count, 3)) * ((1.0, 0.0, 0.0) if line else (1.0, 1.0, 1.0))
    centres = heads + rng.uniform(-BESIDE, BESIDE, heads.shape)
    return SkinnedJoints(np.arange(count), heads, moved(movement, centres), np.full(count, RADIUS))


def moved(movement: Movement, points: NDArray[np.float64]) -> NDArray[np.float64]:
    return points @ movement[:3, :3].T + movement[:3, 3]


def a_movement(
    degrees: float, x: float = 0.0, y: float = 0.0, z: float = 0.0, scale: float = 1.0
) -> Movement:
    """A rotation about Z, after it a translation, and an even scale."""
    angle = np.radians(degrees)
    movement = np.eye(4)
    movement[:2, :2] = (np.cos(angle), -np.sin(angle)), (np.sin(angle), np.cos(angle))
    movement[:3, :3] *= scale
    movement[:3, 3] = x, y, z
    return movement


def with_some(one: SkinnedJoints, other: SkinnedJoints, of_other: int) -> SkinnedJoints:
    """The joints of `one`, and of the other one the first."""
    mixed = one.centres.copy()
    mixed[:of_other] = other.centres[:of_other]
    return SkinnedJoints(one.bones, one.heads, mixed, one.radii)


def nothing_plain(_movement: Movement) -> Iterable[Movement]:
    return ()


def assert_puts_back(found: Movement | None, away: Movement, of: SkinnedJoints) -> None:
    assert found is not None
    assert np.abs(moved(found @ away, of.heads) - of.heads).max() <= FITTED


def test_a_rotation_and_a_translation_are_found() -> None:
    away = a_movement(50.0, 0.3, -0.2, 0.1)
    of = joints(away)
    assert_puts_back(find_movement(of, nothing_plain), away, of)


def test_a_quarter_of_joints_that_lie_elsewhere_changes_little() -> None:
    away = a_movement(50.0, 0.3, -0.2, 0.1)
    of = with_some(joints(away), joints(a_movement(0.0, 3.0, 2.0, 1.0)), 5)
    assert_puts_back(find_movement(of, nothing_plain), away, of)


def test_a_scale_is_found_where_no_rotation_is_enough() -> None:
    away = a_movement(50.0, 0.3, -0.2, 0.1, scale=100.0)
    of = joints(away)
    of = SkinnedJoints(of.bones, of.heads, of.centres, 100.0 * of.radii)
    assert_puts_back(find_movement(of, nothing_plain), away, of)


def test_skin_that_fits_is_left_where_it_is() -> None:
    assert find_movement(joints(np.eye(4)), nothing_plain) is None


def test_a_movement_that_leaves_most_joints_inside_is_no_error() -> None:
    """By 0.6 radii, and each is 0.2 radii beside the middle at most."""
    assert find_movement(joints(a_movement(0.0, 0.6 * RADIUS)), nothing_plain) is None


def test_joints_that_lie_apart_in_two_halves_have_no_place() -> None:
    of = with_some(joints(a_movement(50.0)), joints(a_movement(-50.0)), 10)
    assert find_movement(of, nothing_plain) is None


def test_where_three_fifths_agree_a_plain_place_is_believed_and_no_other() -> None:
    away = a_movement(50.0, 0.3, -0.2, 0.1)
    of = with_some(joints(away), joints(a_movement(0.0, 3.0, 2.0, 1.0)), 8)
    back = np.linalg.inv(away)
    assert find_movement(of, nothing_plain) is None
    assert find_movement(of, lambda _: [back]) is back


def test_half_of_the_joints_that_are_off_are_no_reason_to_move_the_others() -> None:
    """A way between brings all of them inside, and takes those away that were in the middle."""
    of = with_some(joints(np.eye(4)), joints(a_movement(0.0, 1.6 * RADIUS)), 10)
    shift = a_movement(0.0, -0.8 * RADIUS)
    assert of.inside(shift).all()
    assert not of.inside(np.eye(4))[:10].any()
    assert find_movement(of, lambda _: [shift]) is None


def test_a_line_of_joints_tells_its_translation_and_not_its_rotation() -> None:
    away = a_movement(0.0, 0.0, 0.4, 0.0)
    of = joints(away, line=True)
    assert_puts_back(find_movement(of, nothing_plain), away, of)
    assert find_movement(joints(a_movement(50.0), line=True), nothing_plain) is None


def test_few_joints_are_believed_at_a_plain_place_only() -> None:
    away = a_movement(50.0, 0.3, -0.2, 0.1)
    of = joints(away, count=2)
    back = np.linalg.inv(away)
    assert find_movement(of, nothing_plain) is None
    assert find_movement(of, lambda _: [a_movement(10.0), back]) is back
    assert find_movement(joints(away, count=1), lambda _: [back]) is None


def test_a_plain_place_that_fits_is_taken_before_the_best_one() -> None:
    away = a_movement(50.0, 0.3, -0.2, 0.1)
    back = np.linalg.inv(away)
    assert find_movement(joints(away), lambda _: [a_movement(-50.0), back]) is back

"""Crowds: programs against `pipeline.takes.takes`, grids and draws by counting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bodies import chain, random_rotations
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dq_compensation.pipeline.crowds.crowds import (
    Figures,
    Program,
    Variation,
    figures_of,
    grid_places,
    point_places,
    program_times,
)
from dq_compensation.pipeline.takes.local_poses import cross_faded
from dq_compensation.pipeline.takes.takes import (
    Keys,
    Take,
    TakeValues,
    chained,
    interpolated,
    take_times,
)

# Of unit quaternions and matrices in float64, after a product of three bones.
ROUNDING = 1e-12
VARIED = Variation(
    seed=3,
    speed_spread=0.2,
    scale=2.0,
    scale_spread=0.1,
    turn=0.5,
    turn_spread=1.0,
    place_spread=0.25,
)


def steady_take(
    length: int, fps: float, *, seed: int = 0, start: int = 7, keys: str = "Smile"
) -> Take:
    """Three bones that turn a little further in each of three keys, and a shape key from 0 to 1."""
    skeleton, rng = chain(3), np.random.default_rng(seed)
    at = [0, length // 2, length]
    return Take(
        skeleton.names,
        skeleton.parents,
        skeleton.rest,
        start,
        start + length,
        fps,
        Keys(np.arange(0, 10, 3, dtype=np.int32), np.array(at * 3, np.uint16)),
        rng.normal(size=(9, 3)).astype(np.float32),
        random_rotations(rng, 9, 60.0).astype(np.float32),
        None,
        TakeValues(
            (("Body", keys),),
            Keys(np.array([0, 2], np.int32), np.array([0, length], np.uint16)),
            np.array([0.0, 1.0], np.float32),
        ),
    )


@pytest.fixture
def walk() -> Take:
    return steady_take(20, 24.0)


@pytest.fixture
def wave() -> Take:
    """Of another rate: 30 frames of it last as long as 24 of the first."""
    return steady_take(30, 30.0, seed=1, start=100, keys="Frown")


def test_a_program_of_one_take_loops(walk: Take) -> None:
    program = Program(walk, None, 5.0)
    times = np.array([-3.0, 0.0, 7.3, 19.0, 20.0, 47.3])
    looped = chained(walk, interpolated(walk, np.array([17.0, 0.0, 7.3, 19.0, 0.0, 7.3])))
    np.testing.assert_allclose(program.poses(times), looped, atol=ROUNDING)
    assert program.length == 20.0


def test_a_second_take_follows_at_its_own_rate(walk: Take, wave: Take) -> None:
    """Before the fade the first one, held before its start; after it the second, which loops."""
    program = Program(walk, wave, 6.0)
    before = program.poses(np.array([-4.0, 0.0, 13.9]))
    expected = chained(walk, interpolated(walk, np.array([0.0, 0.0, 13.9])))
    np.testing.assert_allclose(before, expected, atol=ROUNDING)
    # It begins 14 frames after the first, and plays 1.25 frames for each of those.
    after = program.poses(np.array([20.0, 30.0, 14.0 + 24.0 + 4.0]))
    expected = chained(wave, interpolated(wave, np.array([7.5, 20.0, 5.0])))
    np.testing.assert_allclose(after, expected, atol=ROUNDING)
    assert program.length == 14.0 + 24.0


def test_the_fade_is_that_of_core(walk: Take, wave: Take) -> None:
    program, times = Program(walk, wave, 6.0), np.array([14.0, 15.5, 17.0, 20.0])
    local = cross_faded(
        interpolated(walk, times),
        interpolated(wave, (times - 14.0) * 1.25),
        np.array([0.0, 0.25, 0.5, 1.0]),
    )
    np.testing.assert_allclose(program.poses(times), chained(walk, local), atol=ROUNDING)


@settings(max_examples=30, deadline=None)
@given(fade=st.floats(0.5, 40.0), time=st.floats(-5.0, 44.0))
def test_a_program_with_a_fade_jumps_nowhere(fade: float, time: float) -> None:
    """Until the second take begins again: keys are a frame apart or more, so poses are near."""
    program = Program(steady_take(20, 24.0), steady_take(30, 30.0, seed=1), fade)
    step = 1e-4
    if time + step > program.fade_start + 24.0:
        return
    here, there = program.poses(np.array([time, time + step]))
    # Blends move at most by the difference of two poses, some 10, over half a frame.
    assert np.abs(there - here).max() < 100.0 * step


def test_without_frames_the_second_take_sets_in_at_once(walk: Take, wave: Take) -> None:
    program = Program(walk, wave, 0.0)
    np.testing.assert_array_equal(program.shares(np.array([19.999, 20.0, 25.0])), [0.0, 1.0, 1.0])
    expected = chained(wave, interpolated(wave, np.array([0.0])))
    np.testing.assert_allclose(program.poses(np.array([20.0])), expected, atol=ROUNDING)


def test_takes_that_chain_their_bones_differently_fade(walk: Take, wave: Take) -> None:
    """A node that only one of them has as a root: alone, both play as before."""
    parents = wave.parents.copy()
    parents[2] = -1
    loose = replace(wave, parents=parents)
    program = Program(walk, loose, 6.0)
    # Roots get a key in each frame, in float32: at whole frames they are those of the take.
    found = program.poses(np.array([3.0, 20.4]))
    for time, take, pose in ((3.0, walk, found[0]), (8.0, loose, found[1])):
        expected = chained(take, interpolated(take, np.array([time])))[0]
        np.testing.assert_allclose(pose, expected, atol=1e-6)


def test_takes_of_different_bones_are_refused(walk: Take) -> None:
    other = replace(walk, node_names=("a", "b", "c"))
    with pytest.raises(ValueError, match="different nodes"):
        Program(walk, other)


def test_key_values_fade_with_the_takes(walk: Take, wave: Take) -> None:
    """A key that a take does not have is 0 in it."""
    program = Program(walk, wave, 6.0)
    assert program.value_names == (("Body", "Smile"), ("Body", "Frown"))
    found = program.key_values(np.array([10.0, 17.0, 26.0]))
    expected = [[0.5, 0.0], [0.5 * 0.85, 0.5 * 0.125], [0.0, 0.5]]
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_program_times_are_those_of_the_take(walk: Take) -> None:
    """As `take_times` has them, but for the frame at which the phase counts."""
    phases, speeds = np.array([0.0, 3.0, 11.0]), np.array([1.0, 0.5, 1.7])
    times = program_times(phases, speeds, 40.0, 12.0, walk.fps, 30.0)
    expected = take_times(walk, 40.0 - 12.0 + walk.frame_start, phases, speeds, fps=30.0)
    np.testing.assert_allclose(np.mod(times, walk.length), expected, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(count=st.integers(0, 70), more=st.integers(0, 40), seed=st.integers(0, 2**31 - 1))
def test_more_figures_leave_those_that_were_there(count: int, more: int, seed: int) -> None:
    variation = Variation(seed, speed_spread=0.3, turn_spread=1.0, place_spread=0.1)

    def figures(number: int) -> Figures:
        places = point_places(np.zeros((number, 3)))
        return figures_of(places, [2.0, 1.0, 0.5], [20.0, 30.0, 10.0], variation)

    few, many = figures(count), figures(count + more)[:count]
    for name in ("roles", "places", "phases", "speeds"):
        np.testing.assert_array_equal(getattr(few, name), getattr(many, name))


@settings(max_examples=40, deadline=None)
@given(
    shares=st.lists(st.floats(0.0, 10.0), min_size=1, max_size=5).filter(lambda s: sum(s) > 0.1),
    seed=st.integers(0, 1000),
)
def test_shares_come_out_among_any_sixteen(shares: list[float], seed: int) -> None:
    places = point_places(np.zeros((64, 3)))
    found = figures_of(places, shares, [1.0] * len(shares), Variation(seed))
    expected = 16.0 * np.array(shares) / sum(shares)
    for block in found.roles.reshape(-1, 16):
        counts = np.bincount(block, minlength=len(shares))
        # Both ends of a role's part of 0 to 1 are met within one sixteenth.
        assert np.abs(counts - expected).max() < 2.0
    assert not np.isin(found.roles, np.flatnonzero(np.array(shares) == 0.0)).any()


def test_roles_are_mixed() -> None:
    """Neighbours are drawn: no pattern that repeats from block to block."""
    found = figures_of(point_places(np.zeros((160, 3))), [1.0, 1.0], [1.0, 1.0], Variation(5))
    blocks = {tuple(block) for block in found.roles.reshape(-1, 16).tolist()}
    assert len(blocks) == 10
    assert all(sum(block) == 8 for block in blocks)


def test_nothing_has_a_share() -> None:
    places = point_places(np.zeros((4, 3)))
    for shares in ([0.0, 0.0], [], [-1.0, 2.0]):
        with pytest.raises(ValueError, match="share"):
            figures_of(places, shares, [1.0] * len(shares), Variation())


def test_spreads_are_met_and_used_up() -> None:
    """With 2,000 figures the extremes are within a hundredth of the spread."""
    places = point_places(np.zeros((2000, 3)))
    found = figures_of(places, [1.0, 1.0], [20.0, 40.0], VARIED)
    assert_range(found.speeds, 0.8, 1.2)
    sizes = np.linalg.norm(found.places[:, :3, 0], axis=1)
    assert_range(sizes, 1.8, 2.2)
    assert_range(np.arctan2(found.places[:, 1, 0], found.places[:, 0, 0]), -0.5, 1.5)
    for axis in (0, 1):
        assert_range(found.places[:, axis, 3], -0.25, 0.25)
    assert_range(found.phases[found.roles == 0], 0.0, 20.0)
    assert_range(found.phases[found.roles == 1], 0.0, 40.0)
    assert not found.places[:, 2, 3].any()


def assert_range(values: NDArray[np.float64], low: float, high: float) -> None:
    margin = 0.01 * (high - low)
    assert low <= values.min() < low + margin
    assert high - margin < values.max() <= high


def test_one_spread_leaves_the_others_as_they_are() -> None:
    places = point_places(np.zeros((50, 3)))
    plain = figures_of(places, [1.0, 2.0], [20.0, 40.0], Variation(3))
    varied = figures_of(places, [1.0, 2.0], [20.0, 40.0], VARIED)
    np.testing.assert_array_equal(plain.roles, varied.roles)
    np.testing.assert_array_equal(plain.phases, varied.phases)
    other = figures_of(places, [1.0, 2.0], [20.0, 40.0], Variation(4))
    assert (plain.phases != other.phases).all()


def test_without_spreads_figures_stand_as_the_layout_has_them() -> None:
    places = grid_places(9, 2.0)
    found = figures_of(places, [1.0], [20.0], Variation(phase_spread=0.0))
    np.testing.assert_allclose(found.places, places, atol=ROUNDING)
    assert not found.phases.any()
    np.testing.assert_array_equal(found.speeds, 1.0)


@pytest.mark.parametrize(
    ("count", "columns", "size"), [(9, 0, (3, 3)), (32, 0, (6, 6)), (7, 3, (3, 3)), (4, 9, (4, 1))]
)
def test_a_grid_is_centred(count: int, columns: int, size: tuple[int, int]) -> None:
    places = grid_places(count, 1.5, columns)
    points = places[:, :3, 3]
    assert len(np.unique(points, axis=0)) == count
    widths = [len(np.unique(points[:, axis])) for axis in (0, 1)]
    assert tuple(widths) == size
    for axis in (0, 1):
        assert points[:, axis].min() == -points[:, axis].max() == -0.75 * (size[axis] - 1)
    np.testing.assert_array_equal(places[:, :3, :3], np.tile(np.eye(3), (count, 1, 1)))


def test_a_grid_of_none_and_of_one() -> None:
    assert grid_places(0, 1.0).shape == (0, 4, 4)
    np.testing.assert_array_equal(grid_places(1, 1.0)[0], np.eye(4))

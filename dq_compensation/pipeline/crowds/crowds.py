"""Crowds: figures that play the takes of a few characters, each at its own place and time.

The GPU display and the bake show what is specified here. The state of a figure is a function of one
number, the time in its program (`program_times`); its place is one matrix. Figures differ by
numbers from a seed, which are drawn figure after figure (`figures_of`): more figures leave the
earlier ones as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Float64s, Floats, Indices
from ..takes.fitted_takes import with_common_parents
from ..takes.local_poses import cross_faded
from ..takes.takes import Take, chained, interpolated

# Numbers that are drawn for each figure: role, role again, phase, speed, scale, turn, place.
_DRAWS = 8
# Shares are met within so many figures, one after the other.
_BLOCK = 16


@dataclass(frozen=True, eq=False)
class Program:
    """The program of a role: a take in a loop, or one take after another.

    The second take begins at its start, `fade_frames` before the first one ends, takes over until
    then, and loops. Times are frames of the first take, from its first frame.

    Attributes:
        first, second: of the same nodes.
        fade_frames: of the first take; more than it has count as all of them.

    Raises:
        ValueError: the takes have different nodes.
    """

    first: Take
    second: Take | None = None
    fade_frames: float = 0.0

    def __post_init__(self) -> None:
        if self.second is not None and self.second.node_names != self.first.node_names:
            raise ValueError("Program: the two takes have different nodes; fit them to a skeleton")

    @property
    def fade(self) -> float:
        """The frames of the cross-fade; 0 without a second take."""
        return 0.0 if self.second is None else min(self.fade_frames, float(self.first.length))

    @property
    def fade_start(self) -> float:
        """The time at which the second take begins; the end of the first without one."""
        return self.first.length - self.fade

    @property
    def rate(self) -> float:
        """The frames of the second take for each of the first; 1 without one."""
        return 1.0 if self.second is None else self.second.fps / self.first.fps

    @property
    def length(self) -> float:
        """The frames of the first take until the program has been seen once."""
        return self.fade_start + (0 if self.second is None else self.second.length / self.rate)

    def shares(self, times: Floats) -> Float64s:
        """The share of the second take at times (I,), 0 to 1."""
        passed = np.asarray(times, np.float64) - self.fade_start
        if self.second is None:
            return np.zeros_like(passed)
        return np.clip(passed / self.fade, 0.0, 1.0) if self.fade else np.where(passed >= 0, 1, 0.0)

    def first_times(self, times: Floats) -> Float64s:
        """The frames of the first take at times (I,): in a loop, or held beyond its ends."""
        times, length = np.asarray(times, np.float64), float(self.first.length)
        return _looped(times, length) if self.second is None else np.clip(times, 0.0, length)

    def second_times(self, times: Floats) -> Float64s:
        """The frames of the second take at times (I,): from its start at `fade_start`, in a loop.

        Before, it has no share.
        """
        assert self.second is not None
        passed = np.maximum(np.asarray(times, np.float64) - self.fade_start, 0.0)
        return _looped(passed * self.rate, float(self.second.length))

    def poses(self, times: Floats) -> Float64s:
        """The skinning matrices pose rest^-1 at times (I,).

        Returns:
            shape (I, N, 4, 4), armature space.
        """
        first, second = self._takes
        found = interpolated(first, self.first_times(times))
        if second is not None:
            other = interpolated(second, self.second_times(times))
            found = cross_faded(found, other, self.shares(times))
        return chained(first, found)

    @cached_property
    def value_names(self) -> tuple[tuple[str, str], ...]:
        """The mesh and the name of each shape key that one of the takes has."""
        second = () if self.second is None else self.second.values.names
        return tuple(dict.fromkeys((*self.first.values.names, *second)))

    def key_values(self, times: Floats) -> Float64s:
        """The values of the shape keys of `value_names` at times (I,), shape (I, T).

        A key that a take does not have is 0 in it.
        """
        found = self._values(self.first, self.first_times(times))
        if self.second is not None:
            other = self._values(self.second, self.second_times(times))
            found += self.shares(times)[:, None] * (other - found)
        return found

    @cached_property
    def _takes(self) -> tuple[Take, Take | None]:
        if self.second is None:
            return self.first, None
        return with_common_parents(self.first, self.second)

    def _values(self, take: Take, frames: Float64s) -> Float64s:
        found = np.zeros((len(frames), len(self.value_names)))
        columns = [self.value_names.index(name) for name in take.values.names]
        found[:, columns] = take.values.at(frames)
        return found


@dataclass(frozen=True, eq=False)
class Figures:
    """I figures of a crowd.

    Attributes:
        roles: shape (I,), which role each plays.
        places: shape (I, 4, 4), from the space of the character to that of the crowd: where its
            armature's origin stands, how it is turned and scaled.
        phases: shape (I,), the time in the program at the crowd's start frame.
        speeds: shape (I,), 1 is that of the take.
    """

    roles: Indices
    places: Float64s
    phases: Float64s
    speeds: Float64s

    def __len__(self) -> int:
        return len(self.roles)

    def __getitem__(self, index: object) -> Figures:
        """The same of some figures."""
        picked = (self.roles[index], self.places[index], self.phases[index], self.speeds[index])  # type: ignore[index]
        return Figures(*picked)


@dataclass(frozen=True)
class Variation:
    """The differences between figures.

    Attributes:
        phase_spread: the part of the first take over which figures begin, 0 to 1.
        speed, speed_spread: from speed (1 - spread) to speed (1 + spread).
        scale, scale_spread: likewise.
        turn, turn_spread: radians about the crowd's Z; from turn - spread to turn + spread.
        place_spread: how far a figure stands from its place along X and along Y at most.
    """

    seed: int = 0
    phase_spread: float = 1.0
    speed: float = 1.0
    speed_spread: float = 0.0
    scale: float = 1.0
    scale_spread: float = 0.0
    turn: float = 0.0
    turn_spread: float = 0.0
    place_spread: float = 0.0


def program_times(
    phases: Floats | float,
    speeds: Floats | float,
    frame: float,
    start: float,
    take_fps: float,
    fps: float,
) -> Float64s:
    """The times of figures in their program while the scene plays.

    t = phase + speed (frame - start) take_fps / fps

    Args:
        phases, speeds: of each figure, shape (I,).
        frame: of the scene, with its fraction.
        start: the frame of the scene at which each is at its phase.
        take_fps: of the first take.
        fps: of the scene.
    """
    return np.asarray(phases + speeds * ((frame - start) * (take_fps / fps)), np.float64)


def figures_of(
    places: Floats, shares: Sequence[float], lengths: Sequence[float], variation: Variation
) -> Figures:
    """Give a role, a phase, a speed and a stance to each place.

    Args:
        places: shape (I, 4, 4), from a layout.
        shares: of the roles, at least one above 0. Of any 16 figures that follow each other from a
            multiple of 16 on, each role gets its share within one figure.
        lengths: the frames of the first take of each role.

    Raises:
        ValueError: no share is above 0.
    """
    if not len(shares) or sum(shares) <= 0.0 or min(shares) < 0.0:
        raise ValueError("Crowd: no role has a share above 0")
    count = len(places)
    # Numbers from 0 to 1 for whole blocks of figures.
    generator = np.random.Generator(np.random.Philox(key=variation.seed & 0xFFFFFFFF))
    draws = generator.random((-(-count // _BLOCK) * _BLOCK, _DRAWS))
    # Each block has one role number in each 16th, in a drawn order.
    ranks = np.argsort(np.argsort(draws[:, 0].reshape(-1, _BLOCK), axis=1, kind="stable"), axis=1)
    mixed = (ranks.ravel() + draws[:, 1]) / _BLOCK
    ends = np.cumsum(shares) / sum(shares)
    ends[np.flatnonzero(shares)[-1] :] = 1.0  # not a little less, by rounding
    roles = np.searchsorted(ends, mixed[:count], side="right")
    _, _, phase, speed, scale, turn, *place = draws[:count].T
    phases = phase * variation.phase_spread * np.asarray(lengths, np.float64)[roles]
    speeds = variation.speed * _around_one(speed, variation.speed_spread)
    stances = _turned(variation.turn + (2.0 * turn - 1.0) * variation.turn_spread)
    scales = variation.scale * _around_one(scale, variation.scale_spread)
    stances[:, :3, :3] *= scales[:, None, None]
    stances[:, :2, 3] = (2.0 * np.stack(place, axis=1) - 1.0) * variation.place_spread
    return Figures(roles.astype(np.intp), places @ stances, phases, speeds)


def grid_places(count: int, spacing: float, columns: int = 0) -> Float64s:
    """Places row by row in the XY plane, centred on the origin, shape (count, 4, 4).

    Args:
        columns: along X; 0: as many as make the grid as square as can be.
    """
    columns = columns or max(int(np.ceil(np.sqrt(count))), 1)
    columns = min(columns, max(count, 1))
    rows = -(-count // columns)
    row, column = np.divmod(np.arange(count), columns)
    x, y = column - (columns - 1) / 2.0, row - (rows - 1) / 2.0
    return point_places(np.column_stack((x, -y, np.zeros(count))) * spacing)


def point_places(points: Floats) -> Float64s:
    """Places at points (I, 3), not turned: shape (I, 4, 4)."""
    found = np.tile(np.eye(4), (len(points), 1, 1))
    found[:, :3, 3] = points
    return found


def _looped(times: Float64s, length: float) -> Float64s:
    return np.mod(times, length) if length > 0.0 else np.zeros_like(times)


def _around_one(draws: Float64s, spread: float) -> Float64s:
    return 1.0 + (2.0 * draws - 1.0) * spread


def _turned(angles: Floats) -> Float64s:
    """Turned about Z by angles (I,), radians: shape (I, 4, 4)."""
    found = np.tile(np.eye(4), (len(angles), 1, 1))
    found[:, 0, 0] = found[:, 1, 1] = np.cos(angles)
    found[:, 1, 0] = np.sin(angles)
    found[:, 0, 1] = -found[:, 1, 0]
    return found

"""Keeps what instances play, and when: one by one, or as arrays of many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.takes import Take

# What Blender appends to the name of a copy.
_COPY_NUMBER = re.compile(r"\.\d{3,}$")


@dataclass(frozen=True)
class TakeTiming:
    """A take and when it is played; see `core.takes.take_times`.

    Attributes:
        take: fitted to the skeleton that it moves.
        phase: in frames of the take.
        speed: 1 is that of the take.
    """

    take: Take
    phase: float = 0.0
    speed: float = 1.0
    loop: bool = True


@dataclass(frozen=True)
class Playing:
    """The takes that one instance plays.

    Attributes:
        second: fades in from the frame `fade_start` of the scene on, within `fade_frames` frames.
    """

    first: TakeTiming
    second: TakeTiming | None = None
    fade_start: float = 0.0
    fade_frames: float = 0.0

    @property
    def timings(self) -> tuple[TakeTiming, ...]:
        """The timings of one take or two."""
        return (self.first,) if self.second is None else (self.first, self.second)

    @property
    def takes(self) -> tuple[Take, ...]:
        """The takes, one or two."""
        return tuple(timing.take for timing in self.timings)

    def value_mesh(self, mesh_name: str) -> str:
        """The mesh of the takes whose shape keys a mesh follows: a copy those of its original."""
        return value_mesh(self.takes, mesh_name)


def value_mesh(takes: Sequence[Take], mesh_name: str) -> str:
    """The mesh of takes whose shape keys a mesh follows: a copy those of its original."""
    known = any(mesh_name in take.values.mesh_names for take in takes)
    return mesh_name if known else _COPY_NUMBER.sub("", mesh_name)


@dataclass(frozen=True, eq=False)
class Timings:
    """When I instances play a take: t = phase + speed (frame - start), at the take's own rate.

    Attributes:
        takes: shape (I,), which of the takes of the character; -1: none.
        phases: shape (I,), in frames of the take.
        speeds: shape (I,); 1 is that of the take.
        starts: shape (I,), frames of the scene.
        loops: shape (I,), whether the take is repeated; else it is held at its ends.
    """

    takes: NDArray[np.intp]
    phases: NDArray[np.floating]
    speeds: NDArray[np.floating]
    starts: NDArray[np.floating]
    loops: NDArray[np.bool_]

    @classmethod
    def none(cls, count: int) -> Timings:
        """The timings of instances that play no such take."""
        zeros = np.zeros(count)
        return cls(np.full(count, -1), zeros, zeros, zeros, np.zeros(count, np.bool_))

    @classmethod
    def joined(cls, timings: Sequence[Timings]) -> Timings:
        """The timings of several characters, one after the other."""
        return cls(
            np.concatenate([each.takes for each in timings]),
            np.concatenate([each.phases for each in timings]),
            np.concatenate([each.speeds for each in timings]),
            np.concatenate([each.starts for each in timings]),
            np.concatenate([each.loops for each in timings]),
        )


@dataclass(frozen=True, eq=False)
class Instances:
    """The takes that I instances of one character play.

    Attributes:
        takes: of all of them, fitted to the skeleton; the same objects as long as they are true.
        second: fades in from the frame `fade_starts` of the scene on, within `fade_frames` frames,
            both of shape (I,).
    """

    takes: tuple[Take, ...]
    first: Timings
    second: Timings
    fade_starts: NDArray[np.floating]
    fade_frames: NDArray[np.floating]

    @property
    def count(self) -> int:
        """The number of instances, I."""
        return len(self.first.takes)

    @classmethod
    def of(cls, playings: Sequence[Playing]) -> Instances:
        """The arrays of instances given one by one."""
        takes = tuple(dict.fromkeys(take for each in playings for take in each.takes))
        place = {take: number for number, take in enumerate(takes)}

        def timings(each: Sequence[TakeTiming | None]) -> Timings:
            rows = np.array(
                [
                    (-1.0, 0.0, 0.0, 0.0, 0.0)
                    if timing is None
                    else (
                        place[timing.take],
                        timing.phase,
                        timing.speed,
                        timing.take.frame_start,
                        timing.loop,
                    )
                    for timing in each
                ],
                np.float64,
            ).reshape(-1, 5)
            of_takes, phases, speeds, starts, loops = rows.T
            return Timings(of_takes.astype(np.intp), phases, speeds, starts, loops > 0.0)

        return cls(
            takes,
            timings([each.first for each in playings]),
            timings([each.second for each in playings]),
            np.array([each.fade_start for each in playings], np.float64),
            np.array([each.fade_frames for each in playings], np.float64),
        )

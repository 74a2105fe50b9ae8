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
    """The takes that an instance plays; the second fades in from the scene's frame `fade_start`."""

    first: TakeTiming
    second: TakeTiming | None = None
    fade_start: float = 0.0
    fade_frames: float = 0.0

    @property
    def takes(self) -> tuple[Take, ...]:
        """The takes, one or two."""
        first = self.first.take
        return (first,) if self.second is None else (first, self.second.take)


def value_mesh(takes: Sequence[Take], mesh_name: str) -> str:
    """The mesh of takes whose shape keys a mesh follows: a copy those of its original."""
    known = any(mesh_name in take.values.mesh_names for take in takes)
    return mesh_name if known else _COPY_NUMBER.sub("", mesh_name)


TIMING = np.dtype(
    [("take", np.intp), ("phase", "f8"), ("speed", "f8"), ("start", "f8"), ("loop", np.bool_)]
)
"""When an instance plays a take: t = phase + speed (frame - start), at the take's own rate.

The take is its number among those of the character, -1 for none; the start is a frame of the scene.
A take that is not a loop is held at its ends.
"""
INSTANCE = np.dtype(
    [("first", TIMING), ("second", TIMING), ("fade_start", "f8"), ("fade_frames", "f8")]
)
"""The fields of `Playing` for one instance."""


@dataclass(frozen=True, eq=False)
class Instances:
    """The takes that I instances of one character play.

    Attributes:
        takes: of all of them, fitted to the skeleton; the same objects as long as they are true.
        rows: shape (I,), of the type `INSTANCE`.
    """

    takes: tuple[Take, ...]
    rows: NDArray[np.void]

    @property
    def count(self) -> int:
        """The number of instances, I."""
        return len(self.rows)

    @classmethod
    def of(cls, playings: Sequence[Playing]) -> Instances:
        """The arrays of instances given one by one."""
        takes = tuple(dict.fromkeys(take for each in playings for take in each.takes))

        def row(timing: TakeTiming | None) -> tuple[float, ...]:
            if timing is None:
                return -1, 0.0, 0.0, 0.0, False
            take, start = takes.index(timing.take), timing.take.frame_start
            return take, timing.phase, timing.speed, start, timing.loop

        rows = [(row(p.first), row(p.second), p.fade_start, p.fade_frames) for p in playings]
        return cls(takes, np.array(rows, INSTANCE))

"""Chooses the poses that stand for a motion: as few as keep the skin near at every moment.

The skin is sampled where its way is not straight enough otherwise. Along the lines between the
samples, each pose is shown from the earliest to the last moment at which no point is farther from
it than the tolerance; the next pose begins there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...arrays import Float64s, Floats, Int32s

Skin = Callable[[float], Floats]
"""The points at a time, shape (n, 3)."""

# Parts of the tolerance. A point may be so far from its pose along the straight lines,
_NEAR = 0.9
# the lines so far from the way of the skin, at a moment and at its pose,
_CURVED = 0.03
# and the skin may go so far while one row of the table lasts: a pose begins half of it too late.
_LATE = 0.08
# How often a frame is halved: what has moved farther than the tolerance after that has jumped.
_HALVINGS = 8
_MOST_ROWS = 1024
# How often a line is halved in search of the last moment.
_SEARCHES = 12


@dataclass(frozen=True, eq=False)
class ChosenPoses:
    """P poses of a motion, and when each is shown.

    Attributes:
        times: shape (P,), rising; each is posed as the motion is at that time.
        starts: shape (P,), rising, the first is 0: each is shown from then until the next one's.
        speeds: shape (P,), how far a point moves in a frame at most, when each begins.
        length: the frames of the motion.
        tolerance: in the unit of the points.
    """

    times: Float64s
    starts: Float64s
    speeds: Float64s
    length: float
    tolerance: float

    @property
    def rows_per_frame(self) -> int:
        """The rows of a table of the poses for each frame: a power of 2."""
        wanted = float(self.speeds.max(initial=0.0)) / (_LATE * self.tolerance)
        return min(2 ** max(int(np.ceil(np.log2(max(wanted, 1.0)))), 0), _MOST_ROWS)

    def table(self) -> Int32s:
        """The pose that is shown in each row; row r begins at r / `rows_per_frame`.

        One row more than the motion has.
        """
        rate = self.rows_per_frame
        rows = np.arange(int(np.ceil(self.length * rate)) + 1)
        shown = np.searchsorted(np.rint(self.starts * rate), rows, side="right") - 1
        return shown.astype(np.int32)


def choose_poses(
    skin: Skin, length: float, tolerance: float
) -> Generator[float, None, ChosenPoses]:
    """Find poses of a motion of which one is near at every moment from 0 to the length.

    Yields the part that is done.

    Args:
        skin: called with rising times, but for the halves of a frame.
        tolerance: above 0, in the unit of the points.
    """
    near = _NEAR * tolerance
    ahead = _Ahead(_samples(skin, length, tolerance))
    found: list[tuple[float, float, float]] = []
    while True:
        start = ahead.nodes[0]
        centre = ahead.last_near(start.points, near)
        while not ahead.is_near_until(centre, points := ahead.at(centre), near):
            centre = 0.5 * (start.time + centre)
        found.append((centre, start.time, ahead.speed))
        end = ahead.last_near(points, near)
        if not ahead.go_on(end):
            times, starts, speeds = np.array(found).T
            return ChosenPoses(times, starts, speeds, length, tolerance)
        yield ahead.nodes[0].time / length


def apart(one: Floats, other: Floats) -> float:
    """The largest distance between a point (n, 3) and the same one of the other array."""
    off = one - other
    return float(np.sqrt(np.einsum("ij,ij->i", off, off).max(initial=0.0)))


@dataclass(frozen=True, eq=False)
class _Node:
    """The points at a time, and whether they have jumped there from the node before."""

    time: float
    points: Floats
    jumped: bool = False


def _samples(skin: Skin, length: float, tolerance: float) -> Iterator[_Node]:
    """The skin at the ends of frames, and between them where it does not go straight."""
    times = np.unique(np.append(np.arange(0.0, length), length)).tolist()
    last = _Node(times[0], skin(times[0]))
    yield last
    for _, time in pairwise(times):
        node = _Node(time, skin(time))
        yield from _between(skin, last, node, tolerance, _HALVINGS)
        last = node


def _between(
    skin: Skin, first: _Node, last: _Node, tolerance: float, halvings: int
) -> Iterator[_Node]:
    """The nodes behind the first one, up to the last."""
    middle = _Node(0.5 * (first.time + last.time), skin(0.5 * (first.time + last.time)))
    straight = 0.5 * (first.points + last.points)
    if apart(middle.points, straight) <= _CURVED * tolerance:
        yield middle
        yield last
    elif halvings:
        yield from _between(skin, first, middle, tolerance, halvings - 1)
        yield from _between(skin, middle, last, tolerance, halvings - 1)
    else:
        yield replace(last, jumped=apart(first.points, last.points) > tolerance)


class _Ahead:
    """The rest of the way of the skin; `nodes[0]` is where a pose begins."""

    def __init__(self, samples: Iterator[_Node]) -> None:
        self._samples = samples
        self.nodes = [next(samples)]

    @property
    def speed(self) -> float:
        """The distance that a point moves in a frame, from the first node on."""
        following = self._node(1)
        if following is None or following.jumped:
            return 0.0
        first = self.nodes[0]
        return apart(first.points, following.points) / (following.time - first.time)

    def last_near(self, points: Floats, near: float) -> float:
        """The last moment until which the skin stays so near to some points."""
        number = 0
        while (following := self._node(number + 1)) is not None and not following.jumped:
            if apart(following.points, points) > near:
                return self._last_on_line(self.nodes[number], following, points, near)
            number += 1
        return self.nodes[number].time

    def is_near_until(self, time: float, points: Floats, near: float) -> bool:
        """Whether the skin was so near to some points until a time."""
        return all(apart(node.points, points) <= near for node in self.nodes if node.time < time)

    def at(self, time: float) -> Floats:
        """The points at a time between nodes that were read."""
        for first, second in pairwise(self.nodes):
            if first.time <= time < second.time:
                share = (time - first.time) / (second.time - first.time)
                return first.points + share * (second.points - first.points)
        return self.nodes[-1].points

    def go_on(self, time: float) -> bool:
        """Leave behind what is before a time, or before a jump there; False at the end."""
        passed = [number for number, node in enumerate(self.nodes) if node.time <= time]
        following = self._node(passed[-1] + 1)
        if following is None:
            return False
        start = following if following.jumped else _Node(time, self.at(time))
        del self.nodes[: passed[-1] + (2 if following.jumped else 1)]
        self.nodes.insert(0, start)
        return True

    def _node(self, number: int) -> _Node | None:
        while number >= len(self.nodes):
            node = next(self._samples, None)
            if node is None:
                return None
            self.nodes.append(node)
        return self.nodes[number]

    @staticmethod
    def _last_on_line(first: _Node, second: _Node, points: Floats, near: float) -> float:
        """The last moment on a line that begins near: the distance has one valley along it."""
        low, high = 0.0, 1.0
        for _ in range(_SEARCHES):
            share = 0.5 * (low + high)
            there = first.points + share * (second.points - first.points)
            low, high = (low, share) if apart(there, points) > near else (share, high)
        return first.time + low * (second.time - first.time)

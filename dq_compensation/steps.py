"""Long tasks run in steps: a generator that yields its progress and returns its result.

Operators run it modally, scripts to its end. Closed between two steps, it leaves all as it was, or
leaves out its last check. This module is plain Python.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import KW_ONLY, dataclass
from typing import TypeVar

_Result = TypeVar("_Result")

OnProgress = Callable[[float, str], None]
"""Gets how much is done, 0 to 1, and what is being done, as in the status line."""


@dataclass(frozen=True)
class TakesLong:
    """The options of a long task: scripts follow its progress, and may stop it."""

    _: KW_ONLY
    progress: OnProgress | None = None


@dataclass(frozen=True)
class Progress:
    """The progress of what takes long, such as a bake.

    Attributes:
        share: 0 to 1.
        doing: for the status line.
        stoppable: whether stopping now leaves everything as it was; later it only leaves out the
            check of the result.
    """

    share: float
    doing: str
    stoppable: bool = True


def with_progress(
    steps: Generator[float, None, _Result],
    doing: str,
    start: float = 0.0,
    length: float = 1.0,
    *,
    stoppable: bool = True,
) -> Generator[Progress, None, _Result]:
    """Run steps that are the part of a task from `start`, of `length`, both 0 to 1."""
    try:
        while True:
            yield Progress(start + length * next(steps), doing, stoppable)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()


def run_through(steps: Generator[object, None, _Result]) -> _Result:
    """The result of steps that are run to their end at once."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


def part_of(
    steps: Generator[float, None, _Result], start: float, length: float
) -> Generator[float, None, _Result]:
    """Steps that are the part of others from `start`, of `length`, both 0 to 1."""
    try:
        while True:
            yield start + length * next(steps)
    except StopIteration as end:
        return end.value
    finally:
        steps.close()

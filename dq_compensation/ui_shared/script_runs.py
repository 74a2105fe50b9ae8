"""Runs what operators run in steps to its end, and keeps Ctrl C from leaving half of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from ..errors import UserError
from ..steps import OnProgress, Progress
from .arguments import Result

NOTHING_CHANGED = "Stopped. Nothing has changed."

NOT_CHECKED = "Stopped. The bake is whole, but its result was not checked."

_Interrupt = tuple[int, FrameType | None]


@contextmanager
def interrupts_wait() -> Generator[list[_Interrupt]]:
    """Let Ctrl C wait until the block has ended, where Python handles it; yields those that wait.

    Blender changes data in many small steps; an exception between two of them would leave half of
    the work.
    """
    waiting: list[_Interrupt] = []
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield waiting
        return
    signal.signal(signal.SIGINT, lambda number, frame: waiting.append((number, frame)))
    raised = False
    try:
        yield waiting
    except KeyboardInterrupt:
        raised = True
        raise
    finally:
        signal.signal(signal.SIGINT, before)
        # Python's own handler would raise another one, without a sentence.
        if waiting and not (raised and before is signal.default_int_handler):
            before(*waiting[-1])


def require_progress(progress: OnProgress | None) -> None:
    """See that `progress` can be called.

    Raises:
        UserError: it cannot.
    """
    if progress is not None and not callable(progress):
        raise UserError(f"progress cannot be {progress!r}. Give a function.")


def run_steps(
    steps: Generator[Progress, None, Result],
    progress: OnProgress | None = None,
    *,
    stopped: str = NOT_CHECKED,
) -> Result:
    """Run steps to their end.

    Ctrl C, or an exception of `progress`, ends them between two steps. Before they have begun to
    write, everything is as it was. Later the bake is whole, but its result was not checked: the
    KeyboardInterrupt says which.

    Args:
        progress: called after each step.
        stopped: what it says then.

    Returns:
        what the steps return.

    Raises:
        UserError: `progress` is no function, and what the steps raise.
    """
    require_progress(progress)
    with interrupts_wait() as interrupts:
        try:
            while True:
                done = next(steps)
                if interrupts:
                    raise KeyboardInterrupt(NOTHING_CHANGED if done.stoppable else stopped)
                if progress is not None:
                    progress(done.share, done.doing)
        except StopIteration as end:
            return end.value
        finally:
            steps.close()

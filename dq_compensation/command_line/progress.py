"""Says on the standard error how far a long command is, and notices that it should stop."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from .console import complain
from .exit_codes import ExitCode, StoppedError

# Seconds until the first line, and from one to the next.
_FIRST_LINE = 2.0
_NEXT_LINE = 5.0


class Progress:
    """The progress of one command; call it with the part that is done and what is being done."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._next = time.monotonic() + _FIRST_LINE
        self._file = ""
        self._stop = False

    def begin(self, file: str) -> None:
        """Name the file that the next lines are about.

        Raises:
            StoppedError: as for a call.
        """
        self._file = file
        self.look()

    def __call__(self, share: float, doing: str) -> None:
        """Print a line when the last one is some time ago.

        Raises:
            StoppedError: the user has stopped the command.
        """
        self.look()
        if self._quiet or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _NEXT_LINE
        complain(f"{self._file}: {doing}, {100.0 * share:.0f} %")

    def look(self) -> None:
        """Stop here when the user has stopped the command.

        Raises:
            StoppedError: so it is.
        """
        if self._stop:
            raise StoppedError

    def stop(self, _number: int, _frame: FrameType | None) -> None:
        """Handle a signal. An exception raised here could end in one of Blender's callbacks.

        The second signal ends the process at once; the outputs are whole all the same.
        """
        if self._stop:
            sys.stderr.flush()
            os._exit(ExitCode.INTERRUPTED)
        self._stop = True


@contextmanager
def stoppable(progress: Progress) -> Generator[None]:
    """Let Ctrl C and the end of a job (SIGTERM) stop the command at its next step."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    # None stands for a handler of Blender's, which Python cannot put back.
    before = [signal.signal(number, progress.stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

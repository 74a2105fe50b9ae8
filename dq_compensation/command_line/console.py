"""Prints the lines, the errors and the progress of the command line, and none of Blender's."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from enum import IntEnum
from types import FrameType
from typing import TextIO

from ..errors import FileError, UserError


class ExitCode(IntEnum):
    """The exit code of the process; docs/command_line.md explains them."""

    FINE = 0
    FINDINGS = 1
    USAGE = 2
    FILE = 3
    CHARACTER = 4
    INTERRUPTED = 5
    BUG = 6
    WORSE = 7


class UsageError(UserError):
    """The options do not fit together; nothing was opened."""


class StoppedError(Exception):
    """Somebody pressed Ctrl C or ended the job."""


def code_of(error: UserError) -> ExitCode:
    """The exit code for an error."""
    if isinstance(error, UsageError):
        return ExitCode.USAGE
    return ExitCode.FILE if isinstance(error, FileError) else ExitCode.CHARACTER


PROGRAM = "dq_compensation"

# For names of files that are no UTF-8; in JSON it is an escape.
UNREADABLE = "backslashreplace"


@dataclass(frozen=True)
class Console:
    """The output for the lines of a command.

    Attributes:
        output: the standard output, which Blender's own lines do not reach.
    """

    output: TextIO
    quiet: bool

    def say(self, text: str) -> None:
        """Print a result."""
        if not self.quiet:
            self.document(text)

    def document(self, text: str) -> None:
        """Print what was asked for, also with --quiet.

        Raises:
            StoppedError: nobody reads it any more, as behind ``| head``.
            FileError: it goes to a file that cannot be written.
        """
        try:
            self.output.write(f"{text}\n")
            self.output.flush()
        except OSError as error:
            # What is not written yet goes nowhere; otherwise closing would fail, too.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.output.fileno())
            os.close(nowhere)
            if isinstance(error, BrokenPipeError):
                raise StoppedError from error
            reason = error.strerror or str(error)
            raise FileError(f"The standard output cannot be written: {reason}.") from error


def complain(text: str) -> None:
    """Print one line to the standard error, whatever line breaks the text has."""
    sys.stderr.write(f"{PROGRAM}: {' '.join(text.split())}\n")
    sys.stderr.flush()


def complain_of_bug(error: Exception) -> str:
    """Print an error that nobody has thought of, with its traceback; returns its line."""
    line = f"this is a bug: {traceback.format_exception_only(error)[-1].strip()}"
    complain(line)
    traceback.print_exception(error)
    return line


@contextmanager
def own_output(*, verbose: bool) -> Generator[TextIO]:
    """The standard output for our own lines; Blender's go nowhere, or to the standard error.

    Blender prints by file descriptor 1, so that is what leads elsewhere meanwhile.
    """
    _flush()
    ours = os.dup(1)
    elsewhere = os.dup(2) if verbose else os.open(os.devnull, os.O_WRONLY)
    os.dup2(elsewhere, 1)
    try:
        with (
            os.fdopen(os.dup(ours), "w", encoding="utf-8", errors=UNREADABLE) as output,
            os.fdopen(elsewhere, "w", encoding="utf-8", errors="replace") as others,
            redirect_stdout(others),
        ):
            yield output
    finally:
        _flush()
        os.dup2(ours, 1)
        os.close(ours)


def _flush() -> None:
    """Let Python and C write what they still hold, where it belongs now."""
    sys.stdout.flush()
    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)


# Seconds until the first line, and from one to the next.
_FIRST_LINE = 2.0
_NEXT_LINE = 5.0


class PrintedProgress:
    """The progress of one command; call it with the finished part, 0 to 1, and the current task."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._next = time.monotonic() + _FIRST_LINE
        self._file = ""
        self._stop = False

    def begin(self, file: str) -> None:
        """Name the file that the next lines are about; it may stop as a call does."""
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
        """Raise `StoppedError` when the user has stopped the command."""
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
def stoppable(progress: PrintedProgress) -> Generator[None]:
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

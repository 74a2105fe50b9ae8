"""Prints the lines of the command line, and none of Blender's."""

from __future__ import annotations

import ctypes
import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from typing import TextIO

from ..errors import FileError
from .exit_codes import StoppedError

PROGRAM = "dq_compensation"

# For names of files that are no UTF-8; in JSON it is an escape.
UNREADABLE = "backslashreplace"


@dataclass(frozen=True)
class Console:
    """The output for the lines of a command.

    Attributes:
        output: the standard output, which Blender's own lines do not reach.
        quiet: whether only errors are printed.
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

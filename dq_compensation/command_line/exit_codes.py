"""The exit codes of the command line, and the errors that lead to them."""

from __future__ import annotations

from enum import IntEnum

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


class UsageError(UserError):
    """The options do not fit together; nothing was opened."""


class StoppedError(Exception):
    """Somebody pressed Ctrl C or ended the job."""


def code_of(error: UserError) -> ExitCode:
    """The exit code for an error."""
    if isinstance(error, UsageError):
        return ExitCode.USAGE
    return ExitCode.FILE if isinstance(error, FileError) else ExitCode.CHARACTER

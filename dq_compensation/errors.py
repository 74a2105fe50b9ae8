"""The errors whose message is shown to the user: it names the cause and says what to do.

Operators and panels catch `UserError`. Another class is needed only where some code catches that
very class. This module is plain Python, so that `core` can use it.
"""

from __future__ import annotations

import zlib
from zipfile import BadZipFile

UNREADABLE = (
    *(KeyError, ValueError, TypeError, AttributeError, NotImplementedError),
    *(EOFError, OSError, BadZipFile, zlib.error),
)
"""What is raised where the bytes of arrays are not what they should be."""


class UserError(ValueError):
    """Why something cannot be done, and what to do instead; nothing has changed yet."""


class BindingError(UserError):
    """Why an object cannot be deformed."""


class PoseError(UserError):
    """Why no vertex can follow a pose; the message names the bones."""


class FileError(UserError):
    """Why a file cannot be read or written."""


def raise_refusal(reason: str | None, kind: type[UserError] = UserError) -> None:
    """Raise an error where there is a reason why something cannot be done."""
    if reason is not None:
        raise kind(reason)

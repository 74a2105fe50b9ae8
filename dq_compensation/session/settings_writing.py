"""Settings of objects that the add-on writes, several at once: nobody follows them one by one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

_writing = False


@contextmanager
def writing_settings() -> Generator[None]:
    """Write several settings. The caller lets the object follow them, or nobody needs to."""
    global _writing
    before, _writing = _writing, True
    try:
        yield
    finally:
        _writing = before


def are_settings_being_written() -> bool:
    """Whether a setting changes as one of several."""
    return _writing

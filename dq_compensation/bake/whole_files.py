"""Writes files that are complete or not there: what stops half-way leaves the old file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from ..errors import FileError

# A disk with less is full, for people.
_LITTLE_SPACE = 1_000_000


@contextmanager
def written_whole(path: Path) -> Generator[BinaryIO]:
    """A new file beside a path. It takes the path's place when the block ends; see `beside`.

    Raises:
        FileError: the file cannot be written.
    """
    with beside(path) as unfinished, unfinished.open("xb") as file:
        yield file


@contextmanager
def beside(path: Path) -> Generator[Path]:
    """A name to write to, in the folder of a path. The file takes the path's place at the end.

    A block that fails leaves no trace. A process that is killed leaves the file beside, whose name
    begins with a full stop and ends with ``.part``. Two processes that write one path do not meet:
    the last one's file stays.

    Raises:
        FileError: the file cannot be written.
    """
    # What a link leads to is written, not the link.
    target = path.resolve()
    unfinished = target.with_name(f".{target.name}.{uuid4().hex[:8]}.part")
    try:
        yield unfinished
        if target.exists():
            shutil.copymode(target, unfinished)
        # Before the name: otherwise a crash of the machine can leave an empty file.
        _sync(unfinished)
        os.replace(unfinished, target)
        _sync(target.parent)
    except OSError as error:
        raise FileError(cannot_write(path, error.strerror or str(error))) from error
    finally:
        unfinished.unlink(missing_ok=True)


def cannot_write(path: Path, reason: str) -> str:
    """Why a file could not be written."""
    try:
        free = shutil.disk_usage(path.resolve().parent).free
    except OSError:
        free = _LITTLE_SPACE
    if free < _LITTLE_SPACE:
        return f"{path} cannot be written: its disk is full, {free / 1000:.0f} KB are left."
    return f"{path} cannot be written: {reason}."


def _sync(path: Path) -> None:
    """Let the disk have a file, or the names in a folder, before anything else happens."""
    if path.is_dir() and os.name == "nt":
        # Windows has no descriptors of folders.
        return
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

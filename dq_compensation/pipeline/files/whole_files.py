"""Writes a file completely or not at all: a stop half-way leaves the old file."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from ...errors import FileError
from ...wording import sized

# A disk with less is full, for people.
_LITTLE_SPACE = 1_000_000


@contextmanager
def written_whole(path: Path) -> Generator[BinaryIO]:
    """A new file beside a path. It takes the path's place when the block ends; see `beside`.

    Raises:
        FileError: the file cannot be written.
    """
    # Read and write: into a file for writing alone, NumPy writes with C's buffer, and does not hear
    # when the last part of it fails.
    with beside(path) as unfinished, unfinished.open("x+b") as file:
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
        if (reason := read_only_refusal(path)) is not None:
            raise reason
        yield unfinished
        if target.exists():
            _take_over(target, unfinished)
        # Before the name: otherwise a crash of the machine can leave an empty file.
        _sync(unfinished)
        os.replace(unfinished, target)
        # The file is there; some disks of networks cannot do this with folders.
        with suppress(OSError):
            _sync(target.parent)
    except OSError as error:
        needed = sys.maxsize if error.errno == errno.ENOSPC else 0
        raise FileError(cannot_write(path, error.strerror or str(error), needed)) from error
    finally:
        # What made the name or its folder impossible is the error to tell.
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def read_only_refusal(path: Path) -> FileError | None:
    """Why a file is not replaced, or None. Blender does not write read-only files, either."""
    if path.exists() and not may_write(path):
        return FileError(f"{path} cannot be written: it is read-only.")
    return None


def may_write(path: Path) -> bool:
    """Whether the user of this process may write a file, or in a folder."""
    effective = os.access in os.supports_effective_ids
    return os.access(path.resolve(), os.W_OK, effective_ids=effective)


def _take_over(old: Path, new: Path) -> None:
    """Give a new file the permissions of the old one, and its owner and group where allowed."""
    if sys.platform != "win32":
        was = old.stat()
        for owner in (was.st_uid, -1):
            with suppress(OSError):
                os.chown(new, owner, was.st_gid)
                break
    shutil.copymode(old, new)


def cannot_write(path: Path, reason: str, needed: int = 0) -> str:
    """Why a file could not be written.

    Args:
        needed: about how many bytes it would have.
    """
    free = free_space(path)
    if free is not None and free < max(needed, _LITTLE_SPACE):
        return f"{path} cannot be written: its disk is full, {sized(free)} are left."
    return f"{path} cannot be written: {reason}."


def free_space(path: Path) -> int | None:
    """The bytes that are left on the disk of a file; None where the system does not say."""
    try:
        return shutil.disk_usage(path.resolve().parent).free
    except OSError:
        return None


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

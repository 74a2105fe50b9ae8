"""Writes files beside their targets and renames them, and says why something cannot be written."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from ..errors import UserError
from .exit_codes import FileError

# A disk with less is full, for people.
_LITTLE_SPACE = 1_000_000


@contextmanager
def beside(target: Path) -> Generator[Path]:
    """A name to write to, in the folder of the target. The file takes its place at the end.

    A block that fails leaves no trace. A process that is killed leaves the file beside: its name
    begins with a full stop and ends with ``.part``. The target is old or new, never a half.

    Raises:
        FileError: the file cannot be written.
    """
    # What a link leads to is written, not the link.
    target = target.resolve()
    unfinished = target.with_name(f".{target.name}.{uuid4().hex[:8]}.part")
    try:
        yield unfinished
        if target.exists():
            shutil.copymode(target, unfinished)
        _sync(unfinished)
        os.replace(unfinished, target)
        _sync(target.parent)
    except OSError as error:
        raise FileError(cannot_write(target, error.strerror or str(error))) from error
    finally:
        unfinished.unlink(missing_ok=True)


def cannot_write(target: Path, reason: str) -> str:
    """Why a file could not be written."""
    try:
        free = shutil.disk_usage(target.parent).free
    except OSError:
        free = _LITTLE_SPACE
    if free < _LITTLE_SPACE:
        return f"{target} cannot be written: its disk is full, {free / 1000:.0f} KB are left."
    return f"{target} cannot be written: {reason}."


def target_refusal(target: Path) -> UserError | None:
    """Why nothing can be written to a path, or None; known before any work."""
    folder = target.parent
    if not folder.is_dir():
        return FileError(f"There is no folder {folder}. Make it first.")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        return FileError(f"{target} exists and is not a file.")
    if not os.access(folder.resolve(), os.W_OK):
        return FileError(f"{target} cannot be written: no permission to write in {folder}.")
    return None


def is_done(targets: list[Path], source: Path) -> bool:
    """Whether all outputs are there, and newer than the file that they are made from."""
    try:
        made = min(target.stat().st_mtime_ns for target in targets)
    except FileNotFoundError:
        return False
    return made >= source.stat().st_mtime_ns


def _sync(path: Path) -> None:
    """Let the disk have a file, or the names in a folder, before anything else happens."""
    if path.is_dir() and os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

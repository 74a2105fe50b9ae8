"""Looks at the outputs of a command before it works."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

from ..bake.files.whole_files import may_write, read_only_refusal
from ..errors import FileError


def target_refusal(target: Path) -> FileError | None:
    """Why nothing can be written to a path, or None; known before any work."""
    folder = target.parent
    if not folder.is_dir():
        return FileError(f"There is no folder {folder}. Make it first.")
    if target.exists() and not stat.S_ISREG(target.stat().st_mode):
        return FileError(f"{target} exists and is not a file.")
    if not may_write(folder):
        return FileError(f"{target} cannot be written: no permission to write in {folder}.")
    return read_only_refusal(target)


def is_done(targets: Sequence[Path], source: Path) -> bool:
    """Whether all outputs are there, and newer than the file that they are made from."""
    try:
        made = min(target.stat().st_mtime_ns for target in targets)
        return made >= source.stat().st_mtime_ns
    except FileNotFoundError:
        return False

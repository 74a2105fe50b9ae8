"""Writes files that are complete or not there: what stops half-way leaves the old file."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from ..errors import UserError


@contextmanager
def written_whole(path: Path) -> Generator[BinaryIO]:
    """A new file beside a path. It takes the path's place when the block ends.

    A block that fails leaves no trace. A process that is killed leaves the file beside, whose name
    has ``.part`` in it. Two processes that write one path do not meet: the last one's file stays.

    Raises:
        UserError: the file cannot be written.
    """
    with replaced_whole(path) as unfinished, unfinished.open("xb") as file:
        yield file


@contextmanager
def replaced_whole(path: Path) -> Generator[Path]:
    """The path of a new file beside a path, for what opens files by itself; see `written_whole`.

    It has the same ending.
    """
    unfinished = path.with_name(f".{path.stem}.{uuid4().hex[:8]}.part{path.suffix}")
    try:
        yield unfinished
        with unfinished.open("rb+") as file:
            # Before the name: otherwise a crash of the machine can leave an empty file.
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        unfinished.unlink(missing_ok=True)

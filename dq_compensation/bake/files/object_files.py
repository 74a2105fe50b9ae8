"""The names of files that have one object each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import bpy

from ...errors import UserError


def object_files(path: Path, names: Sequence[str]) -> list[Path]:
    """The file of each object: of several objects, each file has the object's name added.

    Args:
        names: of the objects.

    Raises:
        UserError: two objects would have one file. Signs that names of files cannot have, such as
            a slash, become underscores; some systems take large and small letters for the same.
    """
    if len(names) == 1:
        return [path]
    first_of: dict[str, str] = {}
    files: list[Path] = []
    for name in names:
        file = path.with_name(f"{path.stem} {bpy.path.clean_name(name)}{path.suffix}")
        first = first_of.setdefault(os.path.normcase(file), name)
        if len(first_of) == len(files):
            raise UserError(
                f"{first} and {name} would both be written to {file}. Rename one of them, or "
                "write them one by one."
            )
        files.append(file)
    return files

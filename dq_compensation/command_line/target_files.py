"""The files that a command reads and writes; a conflict is reported before any work."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from ..errors import FileError
from ..pipeline.files.whole_files import may_write, read_only_refusal
from ..wording import listed
from .console import UsageError


def input_files(patterns: Sequence[str]) -> list[Path]:
    """The files of paths and patterns, each once, in their order.

    Raises:
        FileError: a pattern names no file.
    """
    found: dict[Path, Path] = {}
    for pattern in patterns:
        # A path that exists is meant as it is, whatever signs are in it.
        is_pattern = glob.has_magic(pattern) and not Path(pattern).exists()
        paths = sorted(glob.glob(pattern, recursive=True)) if is_pattern else [pattern]
        if not paths:
            raise FileError(f"No file fits the pattern {pattern}.")
        for path in paths:
            found.setdefault(Path(path).resolve(), Path(path))
    return list(found.values())


def _is_folder(output: str) -> bool:
    """Whether an output is a folder for several files."""
    return output.endswith(("/", os.sep)) or Path(output).is_dir()


def blend_targets(
    sources: Sequence[Path], output: str | None, *, in_place: bool
) -> dict[Path, Path]:
    """The .blend file that is written for each input.

    Args:
        output: a file, or a folder where each file gets the name of its input.

    Raises:
        UsageError: the options do not fit together, or the output is neither.
        FileError: a file cannot be written.
    """
    if (output is None) != in_place:
        raise UsageError("Say where to save: --output FILE_OR_FOLDER, or --in-place.")
    if output is None:
        found = {source: source for source in sources}
    elif _is_folder(output):
        found = {source: Path(output) / source.name for source in sources}
    elif Path(output).suffix.lower() == ".blend":
        found = dict.fromkeys(sources, Path(output))
    else:
        raise UsageError(
            f"--output {output} is no folder that exists, and does not end with .blend."
        )
    _require_targets(found, in_place=in_place)
    return found


def _require_targets(target_of: dict[Path, Path], *, in_place: bool) -> None:
    """Raise an error where inputs cannot have these outputs."""
    of_target: dict[Path, list[str]] = {}
    for source, target in target_of.items():
        of_target.setdefault(target.resolve(), []).append(str(source))
    for target, users in of_target.items():
        if len(users) > 1:
            names = listed(users)
            raise UsageError(f"{names} would all be written to {target}.")
    inputs = {source.resolve() for source in target_of}
    for target in target_of.values():
        if not in_place and target.resolve() in inputs:
            raise UsageError(f"{target} is an input. Choose another --output, or say --in-place.")
        if (reason := target_refusal(target)) is not None:
            raise reason


def file_targets(
    sources: Sequence[Path], output: str, suffixes: Sequence[str], in_folder: str
) -> dict[Path, Path]:
    """The file of another format than .blend that is written for each input.

    Args:
        output: a file with one of the suffixes, or a folder.
        in_folder: the suffix of files in a folder, which have the names of their inputs.

    Raises:
        UsageError: the output ends otherwise, or two inputs would have one output.
        FileError: nothing can be written there.
    """
    if _is_folder(output):
        found = {source: Path(output) / f"{source.stem}{in_folder}" for source in sources}
    elif Path(output).suffix.lower() in suffixes:
        found = dict.fromkeys(sources, Path(output))
    else:
        endings = ", ".join(suffixes)
        raise UsageError(f"--output {output} is no folder, and does not end with {endings}.")
    _require_targets(found, in_place=False)
    return found


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

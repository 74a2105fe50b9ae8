"""Which files a command reads and writes; what does not fit is said before any work."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from ..errors import FileError
from ..wording import listed
from .disk import target_refusal
from .exit_codes import UsageError


def input_files(patterns: Sequence[str]) -> list[Path]:
    """The files that paths and patterns name, each once, in that order.

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


def is_folder(output: str) -> bool:
    """Whether an output is a folder for several files."""
    return output.endswith(("/", os.sep)) or Path(output).is_dir()


def blend_targets(sources: Sequence[Path], output: str | None, *, in_place: bool) -> list[Path]:
    """The .blend file that is written for each input.

    Args:
        output: a file, or a folder where each file gets the name of its input.

    Raises:
        UsageError: the options do not fit together.
        FileError: a file cannot be written.
    """
    if (output is None) != in_place:
        raise UsageError("Say where to save: --output FILE_OR_FOLDER, or --in-place.")
    if output is None:
        targets = list(sources)
    elif is_folder(output):
        targets = [Path(output) / source.name for source in sources]
    else:
        targets = [Path(output)] * len(sources)
    require_targets(targets, sources, in_place=in_place)
    return targets


def require_targets(
    targets: Sequence[Path], sources: Sequence[Path], *, in_place: bool = False
) -> None:
    """Look at the outputs of the inputs, one for each.

    Raises:
        UsageError: two inputs have one output, or an output is an input.
        FileError: one cannot be written.
    """
    of_target: dict[Path, list[Path]] = {}
    for target, source in zip(targets, sources, strict=True):
        of_target.setdefault(target.resolve(), []).append(source)
    for target, users in of_target.items():
        if len(users) > 1:
            names = listed([str(user) for user in users])
            raise UsageError(f"{names} would all be written to {target}.")
    inputs = {source.resolve() for source in sources}
    for target in targets:
        if not in_place and target.resolve() in inputs:
            raise UsageError(f"{target} is an input. Choose another --output, or say --in-place.")
        if (reason := target_refusal(target)) is not None:
            raise reason


def suffix_of(output: str, suffixes: Sequence[str], in_folder: str) -> str:
    """How the names of the outputs end; `in_folder` in a folder.

    Raises:
        UsageError: a file ends otherwise.
    """
    if is_folder(output):
        return in_folder
    suffix = Path(output).suffix.lower()
    if suffix not in suffixes:
        endings = ", ".join(suffixes)
        raise UsageError(f"--output {output} is no folder, and does not end with {endings}.")
    return suffix


def require_outputs(output: str, sources: Sequence[Path], suffix: str) -> None:
    """Look at the output of a command that writes other files than .blend, before any work.

    Args:
        output: a file with that suffix, or a folder.

    Raises:
        UsageError: two inputs would have one output.
        FileError: nothing can be written there.
    """
    targets = [file_target(output, source, suffix) for source in sources]
    require_targets(targets, sources)


def file_target(output: str, source: Path, suffix: str) -> Path:
    """The output of an input; several objects of it have their names added."""
    if is_folder(output):
        return Path(output) / f"{source.stem}{suffix}"
    return Path(output)

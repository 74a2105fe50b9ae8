"""Reads the shaders' bodies from the folder ``shaders`` and puts their includes in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

SHADERS_DIRECTORY = Path(__file__).resolve().parents[3] / "shaders"

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[ \t]*$', re.MULTILINE)


class ShaderSourceError(FileNotFoundError):
    """A shader file is missing; the message names it and the file that includes it."""


@cache
def shader_source(name: str, directory: Path = SHADERS_DIRECTORY) -> str:
    """The text of a shader file with its `#include "file"` lines replaced, each file once.

    Args:
        name: the file's name in `directory`.
        directory: where the file and all that it includes are.

    Raises:
        ShaderSourceError: the file, or one that it includes, does not exist.
    """
    return _resolved(name, directory, included=set(), included_by=None)


def _resolved(name: str, directory: Path, included: set[str], included_by: str | None) -> str:
    path = directory / name
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        wanted = f", which {included_by} includes," if included_by else ""
        raise ShaderSourceError(
            f"The shader file {name}{wanted} is missing from {directory}; "
            "install the extension again"
        ) from error
    included.add(name)

    def replacement(match: re.Match[str]) -> str:
        other = match.group(1)
        if other in included:
            return ""
        return _resolved(other, directory, included, included_by=name)

    return _INCLUDE.sub(replacement, text)

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
    included: set[str] = set()

    def resolved(name: str, wanted: str) -> str:
        if name in included:
            return ""
        included.add(name)
        try:
            text = (directory / name).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise ShaderSourceError(
                f"The shader file {name}{wanted} is missing from {directory}; "
                "install the extension again"
            ) from error
        return _INCLUDE.sub(lambda match: resolved(match[1], f", which {name} includes,"), text)

    return resolved(name, "")

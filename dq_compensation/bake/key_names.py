"""Names of baked shape keys: a pattern with the frame in it."""

from __future__ import annotations

import re
from string import Formatter

import bpy

from ..scene.mesh import mesh_of
from .errors import BakeError

# Blender cuts longer names off.
MAX_BYTES = 63

PROBLEM_PATTERN = (
    'The name pattern "{pattern}" cannot be used. Write {{frame}} where the number of the frame '
    "should be, or {{frame:04d}} for four digits, and braces nowhere else."
)
PROBLEM_LONG = 'The name "{name}" is too long for a shape key. Shorten the pattern.'


def frame_names(pattern: str, frames: tuple[int, ...]) -> list[str]:
    """The names of the keys of these frames.

    Raises:
        BakeError: the pattern does not have the frame, has something else, or gives long names.
    """
    fields = _fields(pattern)
    if fields != ["frame"]:
        raise BakeError(PROBLEM_PATTERN.format(pattern=pattern))
    try:
        names = [pattern.format(frame=frame) for frame in frames]
    except (ValueError, TypeError) as error:
        raise BakeError(PROBLEM_PATTERN.format(pattern=pattern)) from error
    if not all(map(_expression(pattern).fullmatch, names)):
        raise BakeError(PROBLEM_PATTERN.format(pattern=pattern))
    for name in names:
        checked_name(name)
    return names


def checked_name(name: str) -> str:
    """The name of a key, without blanks around it.

    Raises:
        BakeError: it is empty or too long.
    """
    name = name.strip()
    if not name:
        raise BakeError("Give the shape key a name.")
    if len(name.encode()) > MAX_BYTES:
        raise BakeError(PROBLEM_LONG.format(name=name))
    return name


def keys_of_pattern(obj: bpy.types.Object, pattern: str) -> list[str]:
    """The shape keys that an earlier bake with this pattern has made: of any frame.

    The pattern is one that `frame_names` takes.
    """
    key = mesh_of(obj).shape_keys
    if key is None:
        return []
    expression = _expression(pattern)
    reference = key.reference_key.name
    return [
        block.name
        for block in key.key_blocks
        if block.name != reference and expression.fullmatch(block.name)
    ]


def _expression(pattern: str) -> re.Pattern[str]:
    """What the names that a pattern gives look like."""
    parts = [
        re.escape(literal) + (r"[+-]?\d+" if field is not None else "")
        for literal, field, _, _ in Formatter().parse(pattern)
    ]
    return re.compile("".join(parts))


def _fields(pattern: str) -> list[str]:
    try:
        return [field for _, field, _, _ in Formatter().parse(pattern) if field is not None]
    except ValueError as error:
        raise BakeError(PROBLEM_PATTERN.format(pattern=pattern)) from error

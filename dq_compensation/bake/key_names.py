"""Names of baked shape keys: patterns with the frame, or with the bone and the angle, in them."""

from __future__ import annotations

import re
from string import Formatter

import bpy

from ..errors import UserError
from ..scene.blender.mesh import mesh_of

# Blender cuts longer names off.
MAX_BYTES = 63

_REFUSAL_FRAME = (
    'The key names "{pattern}" cannot be used. Write {{frame}} where the number of the frame '
    "should be, or {{frame:04d}} for four digits, and braces nowhere else."
)
_REFUSAL_BONE = (
    'The key names "{pattern}" cannot be used. Write {{bone}} and {{angle}} where the bone\'s name '
    "and the angle should be, and braces nowhere else."
)
_REFUSAL_LONG = 'The name "{name}" is too long for a shape key. Shorten the key names.'


def frame_names(pattern: str, frames: tuple[int, ...]) -> list[str]:
    """The names of the keys of these frames.

    Raises:
        UserError: the pattern does not have the frame, has something else, or gives long names.
    """
    refusal = _REFUSAL_FRAME.format(pattern=pattern)
    names = [_filled(pattern, refusal, frame=frame) for frame in frames]
    if not all(map(_expression(pattern).fullmatch, names)):
        raise UserError(refusal)
    return [checked_name(name) for name in names]


def corrective_name(pattern: str, bone: str, label: str) -> str:
    """The name of the key of one pose.

    Args:
        pattern: with {bone} and {angle} in it.

    Raises:
        UserError: the pattern cannot be used, or gives too long a name.
    """
    refusal = _REFUSAL_BONE.format(pattern=pattern)
    return checked_name(_filled(pattern, refusal, bone=bone, angle=label))


def checked_name(name: str) -> str:
    """The name of a key, without blanks around it.

    Raises:
        UserError: it is empty or too long.
    """
    name = name.strip()
    if not name:
        raise UserError("Give the shape key a name.")
    if len(name.encode()) > MAX_BYTES:
        raise UserError(_REFUSAL_LONG.format(name=name))
    return name


def keys_of_pattern(obj: bpy.types.Object, pattern: str) -> list[str]:
    """The shape keys that an earlier bake with this pattern has made, of any frame.

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


def _filled(pattern: str, refusal: str, **values: object) -> str:
    """The pattern with the values in it, each once; only numbers can have a format of their own."""
    try:
        parts = [(field, spec) for _, field, spec, _ in Formatter().parse(pattern) if field]
        texts = [field for field, spec in parts if spec and isinstance(values.get(field), str)]
        if sorted(field for field, _ in parts) == sorted(values) and not texts:
            return pattern.format(**values)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise UserError(refusal) from error
    raise UserError(refusal)


def _expression(pattern: str) -> re.Pattern[str]:
    """A regular expression for all names of a pattern."""
    try:
        parts = [
            re.escape(literal) + (r"[+-]?\d+" if field is not None else "")
            for literal, field, _, _ in Formatter().parse(pattern)
        ]
    except ValueError as error:
        raise UserError(_REFUSAL_FRAME.format(pattern=pattern)) from error
    return re.compile("".join(parts))

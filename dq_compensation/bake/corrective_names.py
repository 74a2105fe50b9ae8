"""Names of corrective shape keys: a pattern with the bone and the pose in it."""

from __future__ import annotations

from string import Formatter

from .errors import BakeError
from .key_names import checked_name

PROBLEM_PATTERN = (
    'The name pattern "{pattern}" cannot be used. Write {{bone}} and {{angle}} where the bone\'s '
    "name and the angle should be, and braces nowhere else."
)


def corrective_name(pattern: str, bone: str, label: str) -> str:
    """The name of the key of one pose.

    Args:
        pattern: with {bone} and {angle} in it.
        bone: its name.
        label: of the pose.

    Raises:
        BakeError: the pattern cannot be used, or gives too long a name.
    """
    try:
        parts = [(field, spec) for _, field, spec, _ in Formatter().parse(pattern)]
    except ValueError as error:
        raise BakeError(PROBLEM_PATTERN.format(pattern=pattern)) from error
    fields = [field for field, _ in parts if field is not None]
    if sorted(fields) != ["angle", "bone"] or any(spec for _, spec in parts):
        raise BakeError(PROBLEM_PATTERN.format(pattern=pattern))
    try:
        return checked_name(pattern.format(bone=bone, angle=label))
    except ValueError as error:
        if isinstance(error, BakeError):
            raise
        raise BakeError(PROBLEM_PATTERN.format(pattern=pattern)) from error

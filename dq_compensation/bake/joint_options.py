"""The options that choose the joints of a bake."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

from ..option_fields import option


@dataclass(frozen=True)
class JointOptions:
    """The joints of a bake."""

    bones: Iterable[str] = option("The bones below the joints. None of them: all joints", ())
    _: KW_ONLY
    mirror: bool = option(
        "Include the other side's bones, found by their names", True, label="Left and Right"
    )

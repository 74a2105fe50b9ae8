"""Numbers and lists in sentences for riggers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import floor, isfinite, log10


def counted(count: int, noun: str) -> str:
    """A number with its noun: ``1 bone``, ``3 meshes``, ``2,000 vertices``."""
    plural = noun + ("es" if noun.endswith("sh") else "s")
    plural = noun[:-2] + "ices" if noun.endswith("ex") else plural
    return f"{count:,} {noun if count == 1 else plural}"


def verb(count: int, of_one: str, of_several: str) -> str:
    """The verb behind a number: ``is`` behind ``1 bone``, ``are`` behind ``3 bones``."""
    return of_one if count == 1 else of_several


def sized(count: float) -> str:
    """A number of bytes: ``12 KB``, ``3.4 MB``, ``340 MB``, ``1.2 GB``."""
    for size, unit in ((1e9, "GB"), (1e6, "MB")):
        if count >= size:
            value = count / size
            return f"{value:.1f} {unit}" if value < 10.0 else f"{value:,.0f} {unit}"
    return f"{count / 1e3:.0f} KB"


def rounded(value: float, digits: int = 3) -> str:
    """A number to so many digits, never with an exponent: ``0.0123``, ``1.5``, ``4,120``."""
    if abs(value) >= 10.0 ** (digits - 1):
        return f"{value:,.0f}"
    places = digits - 1 - floor(log10(abs(value))) if value and isfinite(value) else 0
    text = f"{value:.{min(places, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are: ``a, b, c and 4 more``."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


_FINGERS = {"finger", "thumb", "index", "pinky"}
# Other bones are called so, too.
_MAY_BE_FINGERS = {"middle", "ring", "little"}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# So many fingers are a number: often those of both sides.
_MANY_FINGERS = 2


def listed_bones(names: Sequence[str], said: Sequence[str] = (), most: int = 3) -> str:
    """The same of bones, with fingers as a number: ``a, b, c and 4 more, and 15 finger bones``.

    Args:
        names: of the bones.
        said: what is listed of each; empty: its name.
    """
    words = [{word.lower() for word in _WORDS.findall(name)} for name in names]
    are_fingers = [not each.isdisjoint(_FINGERS) for each in words]
    if any(are_fingers):
        fingers = _FINGERS | _MAY_BE_FINGERS
        are_fingers = [not each.isdisjoint(fingers) for each in words]
    count = sum(are_fingers)
    if count < _MANY_FINGERS:
        return listed(said or names, most)
    pairs = zip(said or names, are_fingers, strict=True)
    others = listed([each for each, is_finger in pairs if not is_finger], most)
    return f"{others}, and {counted(count, 'finger bone')}" if others else f"{count} finger bones"


def bounded(least: float, most: float) -> str:
    """The bounds of a number: ``from 0 to 1``, ``of at least 1``."""
    return f"from {least:.7g} to {most:.7g}" if isfinite(most) else f"of at least {least:.7g}"

"""Numbers and lists in sentences for riggers."""

from __future__ import annotations

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


def bounded(least: float, most: float) -> str:
    """The bounds of a number: ``from 0 to 1``, ``of at least 1``."""
    return f"from {least:.7g} to {most:.7g}" if isfinite(most) else f"of at least {least:.7g}"

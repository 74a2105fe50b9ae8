"""Numbers and settings in sentences."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """``1 bone``, ``3 bones``, ``2,000 vertices``; of nouns like these."""
    plural = noun[:-2] + "ices" if noun.endswith("ex") else noun + "s"
    return f"{count:,} {noun if count == 1 else plural}"


def limb_axis_word(axis: str) -> str:
    """A value of the setting Limb Axis as the panel shows it: ``Automatic``, ``X``, ``-Y``."""
    return "Automatic" if axis == "AUTO" else axis

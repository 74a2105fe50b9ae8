"""Numbers in sentences."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """``1 bone``, ``3 bones``; for nouns that take an s."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

"""The trees and palette objects that were just made or removed: Blender does not know it yet.

Undo keeps an object in memory as it is where two steps have it alike; but it frees every data-block
that the older step does not have. What is made between two steps, as when weights were painted and
a check follows, would leave the object with a pointer to nothing: Blender crashes.

What is removed in a handler stays in the list of what was evaluated, as a pointer to nothing, until
Blender evaluates again: a handler that comes later, of another add-on, would crash.
"""

from __future__ import annotations

import bpy

from .memory import memories, memory_of

_removed = False


class _New:
    """Marks a data-block that was made since the last undo, redo or load."""


def remember_new(data: bpy.types.ID) -> None:
    """Note a data-block that was made just now."""
    memory_of(data, _New)


def is_new(data: bpy.types.ID | None) -> bool:
    """Whether a data-block was made since the last undo, redo or load."""
    return data is not None and data.session_uid in memories(_New)


def forget_new() -> None:
    """Forget all of them: the restored step has the data-blocks, or they are gone."""
    memories(_New).clear()


def note_removed() -> None:
    """Note that data-blocks which Blender evaluates were removed."""
    global _removed
    _removed = True


def forget_removed() -> bool:
    """Whether data-blocks were removed since the last call."""
    global _removed
    was, _removed = _removed, False
    return was

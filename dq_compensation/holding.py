"""What was found of an object is held while one operation lasts, and asked for anew after it.

An operator, a handler, a timer or a function for scripts is an *operation*. Most of what it asks is
who is who: which modifier is the user's, which are ours, which armature, which settings act. In an
operation that is found once. Held are names and values, never modifiers: after `modifiers.remove`
a held one would be another one, or freed.

Whatever may make another answer calls `look_again`: our own functions that add, remove, move or
rename modifiers or write settings; every evaluation, frame, undo and load. Outside of an operation
nothing is held: a script may do anything between two calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import bpy

_Found = TypeVar("_Found")

# By the function that has found it, and the object; None outside of an operation.
_held: dict[tuple[object, int, int], Any] | None = None

verifies = False
"""Whether each held answer is compared with a new one: for tests."""


@contextmanager
def operation() -> Generator[None]:
    """Hold what is found in the block; one in another is a part of that."""
    global _held
    before, _held = _held, {} if _held is None else _held
    try:
        yield
    finally:
        _held = before


def look_again(*_about: object) -> None:
    """Hold nothing of what was found until now."""
    if _held:
        _held.clear()


def held(find: Callable[[bpy.types.Object], _Found]) -> Callable[[bpy.types.Object], _Found]:
    """A function of an object, original or evaluated, whose answer an operation holds."""

    @wraps(find)
    def found(obj: bpy.types.Object) -> _Found:
        if _held is None:
            return find(obj)
        # An object that was removed may have had the same pointer.
        key = find, obj.session_uid, obj.as_pointer()
        if key not in _held:
            _held[key] = find(obj)
        elif verifies and _held[key] != (now := find(obj)):
            raise AssertionError(f"{find.__name__} of {obj.name}: {_held[key]} is {now} by now")
        return _held[key]

    return found

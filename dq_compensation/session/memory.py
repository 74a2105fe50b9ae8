"""Remembers what was found of data-blocks in this session: the one store of all rooms.

It goes by session_uid, so that no reference to Blender's data outlives an undo. Of each data-block
one object of a *kind* is remembered: a class of whoever found it. When another file is loaded, all
of it is forgotten (`session.changes`).
"""

from __future__ import annotations

from typing import Any, TypeVar

import bpy

Kind = TypeVar("Kind")

_memories: dict[type, dict[int, Any]] = {}


def memories(kind: type[Kind]) -> dict[int, Kind]:
    """Everything of a kind by the session_uid of its data-block; to be read and changed."""
    return _memories.setdefault(kind, {})


def memory_of(data: bpy.types.ID, kind: type[Kind]) -> Kind:
    """The memory of a data-block, which is made without arguments where there is none."""
    known = _memories.setdefault(kind, {})
    if data.session_uid not in known:
        known[data.session_uid] = kind()
    return known[data.session_uid]


def keep_only(kind: type, uids: set[int]) -> bool:
    """Forget a kind of all other data-blocks; returns whether there were any."""
    known = memories(kind)
    others = known.keys() - uids
    for uid in others:
        del known[uid]
    return bool(others)


def forget_everything() -> None:
    """Forget every kind of every data-block."""
    for known in _memories.values():
        known.clear()

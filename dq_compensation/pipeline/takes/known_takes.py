"""Takes that were read in this session, and what has changed since they were cached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy
from bpy.types import Context, Object

from ...errors import UserError
from ...session.changes import COMPARE_OTHER_FRAMES
from ...session.known_objects import KnownObjects
from ...session.memory import keep_only, memory_of
from .settings import NAME_CHANGED, DQCompensationTake, find_take, take_settings_of, takes_of
from .stored_takes import is_take, stored_take
from .takes import Take

TAKES_CHANGED: list[Callable[[], object]] = []
"""Follow that an armature has got other takes."""
TAKE_HAS_NEW_NAME: list[Callable[[bpy.types.Object, str, str], object]] = []
"""Follow a new name: they get the armature object, the former name and the new one."""


def has_takes(obj: bpy.types.Object) -> bool:
    """Whether an object is an armature with takes."""
    return obj.type == "ARMATURE" and len(takes_of(obj)) > 0


with_takes = KnownObjects(has_takes)
"""The armature objects that have takes."""


def note_other_takes() -> None:
    """Tell all who follow that an armature has got other takes."""
    for follower in TAKES_CHANGED:
        follower()


_NO_TAKE = "{armature} has no take {name}. Choose one in the list."
LOST = "The take {name} has lost its keys. Cache it again, or remove it."


@dataclass
class _KnownTake:
    """The take in a data-block, whose bytes never change, and what has changed since."""

    take: Take | None = None
    changed: tuple[str, ...] = ()


def read_take(item: DQCompensationTake) -> Take:
    """The take of an item.

    Raises:
        UserError: it was removed by hand, or cannot be read.
    """
    mesh = item.stored
    if mesh is None or not is_take(mesh):
        raise UserError(LOST.format(name=item.name))
    known = memory_of(mesh, _KnownTake)
    if known.take is None:
        known.take = stored_take(mesh)
    return known.take


def take_named(armature: bpy.types.Object, name: str) -> Take | None:
    """The take of an armature object with that name; None where there is none to be read."""
    item = find_take(armature, name)
    try:
        return read_take(item) if item is not None else None
    except UserError:
        return None


def take_problem(armature: bpy.types.Object, name: str) -> str | None:
    """Why an armature object does not play a take, or None."""
    item = find_take(armature, name)
    if item is None:
        return _NO_TAKE.format(armature=armature.name, name=name)
    try:
        read_take(item)
    except UserError as error:
        return str(error)
    return None


def changed_since_cached(item: DQCompensationTake) -> tuple[str, ...]:
    """The parts that have changed since a take was cached, by their names for riggers."""
    return memory_of(item.stored, _KnownTake).changed if item.stored is not None else ()


def note_changed(item: DQCompensationTake, parts: tuple[str, ...]) -> None:
    """Remember what has changed since a take was cached."""
    if item.stored is not None:
        memory_of(item.stored, _KnownTake).changed = parts


def keep_takes(stored: set[int]) -> None:
    """Forget all takes but those in the data-blocks with these session_uid."""
    keep_only(_KnownTake, stored)


def _on_renamed(item: DQCompensationTake, _context: Context) -> None:
    """Each take has a name of its own."""
    owner = item.id_data
    if not isinstance(owner, Object):
        return
    if not item.name and item.former_name:
        item.name = item.former_name
        return  # which calls this again
    others = [each.name for each in takes_of(owner) if each != item]
    name = item.name
    if name in others:
        item.name = next(
            f"{name}.{number:03}"
            for number in range(1, len(others) + 2)
            if f"{name}.{number:03}" not in others
        )
        return  # which calls this again
    playback = take_settings_of(owner).playback
    for field in ("take", "second_take"):
        if item.former_name and getattr(playback, field) == item.former_name:
            setattr(playback, field, name)
    if not item.former_name:  # it is new
        with_takes.forget()
    else:
        for follower in TAKE_HAS_NEW_NAME:
            follower(owner, item.former_name, name)
    item.former_name = name


FOLLOWS = ((NAME_CHANGED, _on_renamed), (COMPARE_OTHER_FRAMES, has_takes))

"""Takes that were read in this session, and what has changed since they were cached."""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from ..core.takes import Take
from ..errors import UserError
from ..scene.settings.take_settings import DQCompensationTake, find_take
from ..scene.stored_takes import is_take, stored_take
from .memory import keep_only, memory_of

NO_TAKE = "{armature} has no take {name}. Choose one in the list."
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
        return NO_TAKE.format(armature=armature.name, name=name)
    try:
        read_take(item)
    except UserError as error:
        return str(error)
    return None


def changed_since(item: DQCompensationTake) -> tuple[str, ...]:
    """The parts that have changed since a take was cached, by their names for riggers."""
    return memory_of(item.stored, _KnownTake).changed if item.stored is not None else ()


def note_changed(item: DQCompensationTake, parts: tuple[str, ...]) -> None:
    """Remember what has changed since a take was cached."""
    if item.stored is not None:
        memory_of(item.stored, _KnownTake).changed = parts


def keep_takes(stored: set[int]) -> None:
    """Forget all takes but those in the data-blocks with these session_uid."""
    keep_only(_KnownTake, stored)

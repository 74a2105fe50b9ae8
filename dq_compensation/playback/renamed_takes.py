"""Lets playback and crowds follow the new name of a take: they know takes by their names."""

from __future__ import annotations

import bpy

from ..scene.settings.crowd_settings import roles_of
from ..scene.settings.events import TAKE_RENAMED
from ..scene.settings.object_settings import settings_of
from ..scene.settings.take_settings import DQCompensationTake, takes_of
from ..session.known_crowds import all_crowds, note_change


def _on_renamed(item: DQCompensationTake, _context: bpy.types.Context) -> None:
    """Each take has a name of its own."""
    owner = item.id_data
    if not isinstance(owner, bpy.types.Object):
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
    playback = settings_of(owner).playback
    for field in ("take", "second_take"):
        if item.former_name and getattr(playback, field) == item.former_name:
            setattr(playback, field, name)
    if item.former_name:
        _follow_in_crowds(owner, item.former_name, name)
    item.former_name = name


def _follow_in_crowds(owner: bpy.types.Object, former: str, name: str) -> None:
    for crowd in all_crowds():
        for role in roles_of(crowd) if crowd.library is None else ():
            if role.character == owner:
                role.take = name if role.take == former else role.take
                role.then = name if role.then == former else role.then
    note_change()


FOLLOWS = ((TAKE_RENAMED, _on_renamed),)

"""Describes the takes of an armature object; `ui.take_properties` defines the properties."""

from __future__ import annotations

from typing import Protocol

import bpy

from ..core.local_poses import Interpolation
from .object_settings import settings_of


class TakeItem(Protocol):
    """One take of an armature object.

    Attributes:
        former_name: the name before it is changed.
        stored: the data-block with the take; None where it was removed by hand.
        frame_start, frame_end: the frames that were sampled.
        tolerance: in millimetres.
        error: the largest distance of the skin between keys, in millimetres.
        sampled_keys: one for each node and frame.
        keys: those that were kept.
        made_from: the digests of what it was sampled from, as JSON.
        is_copied: whether another armature was sampled.
    """

    name: str
    former_name: str
    stored: bpy.types.Mesh | None
    frame_start: int
    frame_end: int
    tolerance: float
    interpolation: Interpolation
    error: float
    sampled_keys: int
    keys: int
    made_from: str
    is_copied: bool


class Playback(Protocol):
    """The playback of an armature object's takes.

    Attributes:
        playing: whether the GPU display plays the take instead of the armature's pose.
        take: the name of the take.
        phase: frames of the take that it is ahead.
        speed: 1 is that of the take.
        second_take: the name of the take that it changes over to; empty: none.
        fade_start: the frame of the scene at which the change begins.
        fade_frames: how many frames it takes.
    """

    playing: bool
    take: str
    loop: bool
    phase: float
    speed: float
    second_take: str
    fade_start: float
    fade_frames: float


def takes_of(armature: bpy.types.Object) -> list[TakeItem]:
    """The takes of an armature object, in their order."""
    return list(settings_of(armature).takes)


def find_take(armature: bpy.types.Object, name: str) -> TakeItem | None:
    """The take of that name; None without one."""
    return next((item for item in takes_of(armature) if item.name == name), None)


def active_take(armature: bpy.types.Object) -> TakeItem | None:
    """The take that is chosen in the list; None without one."""
    settings = settings_of(armature)
    index = settings.active_take
    return settings.takes[index] if 0 <= index < len(settings.takes) else None

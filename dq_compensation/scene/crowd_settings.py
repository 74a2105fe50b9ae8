"""Describes the crowd that an Empty stands for; `ui.crowd_properties` defines the properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import bpy

from .object_settings import settings_of

if TYPE_CHECKING:
    from .example_settings import Items

Layout = Literal["GRID", "POINTS", "CURVE"]
FarFigures = Literal["SAME", "HALF_RATE", "LINEAR"]


class RoleItem(Protocol):
    """A character of the figures and the takes that they play.

    Attributes:
        character: an armature object; a figure is all enabled meshes that it deforms.
        take: the name of a take of the character.
        share: of the figures, compared with the shares of the other roles.
        then: the name of the take that follows when the first one ends; empty: the first loops.
        fade_frames: of the take, over which the second one takes over before the first ends.
    """

    character: bpy.types.Object | None
    take: str
    share: float
    then: str
    fade_frames: float


class CrowdSettings(Protocol):
    """The crowd that an Empty stands for; see `core.crowds.Variation` for the spreads.

    Attributes:
        is_crowd: whether the object stands for a crowd.
        count: of the figures; with POINTS, the most of them.
        layout_object: whose points or curve the figures stand on.
        spacing: of a grid, in the crowd's space.
        columns: of a grid; 0: as square as can be.
        place_spread: the part of the spacing, 0 to 1.
        start_frame: the frame of the scene at which each figure is at its phase.
        far_distance: from the view, metres; 0: no figure is far.
        far_figures: how those are skinned that are farther.
    """

    is_crowd: bool
    count: int
    seed: int
    roles: Items[RoleItem]
    active_role: int
    layout: Layout
    layout_object: bpy.types.Object | None
    spacing: float
    columns: int
    place_spread: float
    phase_spread: float
    speed: float
    speed_spread: float
    scale: float
    scale_spread: float
    turn: float
    turn_spread: float
    start_frame: int
    far_distance: float
    far_figures: FarFigures


def crowd_of(obj: bpy.types.Object) -> CrowdSettings:
    """The crowd that an object stands for."""
    return settings_of(obj).crowd


def is_crowd(obj: bpy.types.Object | None) -> bool:
    """Whether an object stands for a crowd."""
    return obj is not None and obj.type == "EMPTY" and crowd_of(obj).is_crowd


def roles_of(crowd: bpy.types.Object) -> list[RoleItem]:
    """The roles of a crowd, in their order."""
    return list(crowd_of(crowd).roles)

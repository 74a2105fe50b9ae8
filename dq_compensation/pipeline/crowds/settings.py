"""The crowd that an Empty stands for, in `Object.dq_compensation`.

`settings.declaration` says how settings are declared.
"""

from __future__ import annotations

from math import pi
from typing import Any, Literal

import bpy
from bpy.types import Object, PropertyGroup

from ...scene.blender.own_objects import linked_refusal
from ...scene.settings.addon_preferences import preferences
from ...scene.settings.declaration import FACTOR, Declaration, property_group, props
from ...scene.settings.example_settings import Items
from ...scene.settings.object_settings import add_settings, written_settings
from ...scene.settings.setting_events import Event, calls

FarFigures = Literal["SAME", "HALF_RATE", "LINEAR"]
_FAR_FIGURES = (
    ("SAME", "As the Others", "Like figures that are near"),
    ("HALF_RATE", "Half Rate", "Posed in every second frame"),
    ("LINEAR", "Linear", "Deformed by the method Linear, which is faster"),
)

CROWD_CHANGED: Event = []
ROLE_CHANGED: Event = []

# Library overrides can change them. They cannot be animated: figures are arranged once, not in
# every frame.
_OF_CROWDS: dict[str, Any] = {
    "update": calls(CROWD_CHANGED),
    "options": set(),
    "override": {"LIBRARY_OVERRIDABLE"},
}
_OF_ROLES: dict[str, Any] = _OF_CROWDS | {"update": calls(ROLE_CHANGED)}


def _is_armature(_role: PropertyGroup, obj: bpy.types.Object) -> bool:
    return obj.type == "ARMATURE"


@property_group
class DQCompensationCrowdRole(PropertyGroup):
    """A character of the figures and the takes that they play."""

    character: bpy.types.Object | None = props.PointerProperty(
        description="The armature of the character. A figure is all enabled meshes that it deforms",
        type=bpy.types.Object,
        poll=_is_armature,
        **_OF_ROLES,
    )
    take: str = props.StringProperty(description="The take that the figures play", **_OF_ROLES)
    share: float = props.FloatProperty(
        description="How many of the figures, compared with the shares of the other roles",
        default=1.0,
        min=0.0,
        soft_max=10.0,
        precision=2,
        **_OF_ROLES,
    )
    then: str = props.StringProperty(
        description="The take that follows when the first one ends, and loops. Empty: the first "
        "one loops",
        **_OF_ROLES,
    )
    fade_frames: float = props.FloatProperty(
        name="Fade",
        description="How many frames before its end the first take begins to blend into the next "
        "one",
        default=10.0,
        min=0.0,
        soft_max=50.0,
        precision=1,
        **_OF_ROLES,
    )


@property_group
class DQCompensationCrowd(PropertyGroup):
    """The crowd that an Empty stands for."""

    is_crowd: bool = props.BoolProperty(
        name="", description="Whether the Empty stands for a crowd. Add Crowd sets it", **_OF_ROLES
    )
    count: int = props.IntProperty(
        name="Figures",
        description="How many figures there are",
        default=32,
        min=0,
        max=1_000_000,
        soft_max=1_000,
        **_OF_CROWDS,
    )
    seed: int = props.IntProperty(
        description="Another number gives each figure another role, phase, speed, size and turn",
        min=0,
        **_OF_CROWDS,
    )
    roles: Items[DQCompensationCrowdRole] = props.CollectionProperty(
        type=DQCompensationCrowdRole, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"}
    )
    active_role: int = props.IntProperty(
        description="The role that is chosen in the list",
        override={"LIBRARY_OVERRIDABLE"},
    )
    spacing: float = props.FloatProperty(
        description="The distance from figure to figure",
        default=1.5,
        min=0.0,
        subtype="DISTANCE",
        **_OF_CROWDS,
    )
    columns: int = props.IntProperty(
        description="How many figures stand in a row. 0: as many as make the grid square",
        min=0,
        soft_max=100,
        **_OF_CROWDS,
    )
    place_spread: float = props.FloatProperty(
        name="Disorder",
        description="How far figures stand from the grid: with 1, by half of the spacing at most",
        **FACTOR,
        **_OF_CROWDS,
    )
    phase_spread: float = props.FloatProperty(
        description="How much the figures differ in time. 0: all move alike. 1: they are spread "
        "over the whole take",
        default=1.0,
        **FACTOR,
        **_OF_CROWDS,
    )
    speed: float = props.FloatProperty(
        description="1 is the speed of the takes",
        default=1.0,
        min=0.01,
        soft_max=4.0,
        **_OF_CROWDS,
    )
    speed_spread: float = props.FloatProperty(
        description="With 0.1, figures are up to 10 percent slower or faster",
        min=0.0,
        max=0.9,
        subtype="FACTOR",
        **_OF_CROWDS,
    )
    scale: float = props.FloatProperty(
        description="1 is the size of the character",
        default=1.0,
        min=0.001,
        soft_max=4.0,
        **_OF_CROWDS,
    )
    scale_spread: float = props.FloatProperty(
        description="With 0.1, figures are up to 10 percent smaller or larger",
        min=0.0,
        max=0.9,
        subtype="FACTOR",
        **_OF_CROWDS,
    )
    turn: float = props.FloatProperty(
        description="How far figures are turned about the Z axis of the crowd",
        subtype="ANGLE",
        soft_min=-pi,
        soft_max=pi,
        **_OF_CROWDS,
    )
    turn_spread: float = props.FloatProperty(
        description="How far figures are turned away from that at most, to either side",
        min=0.0,
        max=pi,
        subtype="ANGLE",
        **_OF_CROWDS,
    )
    start_frame: int = props.IntProperty(
        description="The frame of the scene in which the takes begin, each figure at its phase",
        default=1,
        **_OF_CROWDS,
    )
    far_distance: float = props.FloatProperty(
        name="Far From",
        description="Figures farther than this from the view are far. 0: no figure is far",
        min=0.0,
        subtype="DISTANCE",
        **_OF_CROWDS,
    )
    far_figures: FarFigures = props.EnumProperty(
        description="What is simplified for figures that are far",
        items=_FAR_FIGURES,
        default="HALF_RATE",
        **_OF_CROWDS,
    )


@add_settings
class CrowdSettings(Declaration):
    """The settings of an Empty."""

    crowd: DQCompensationCrowd = props.PointerProperty(
        type=DQCompensationCrowd, override={"LIBRARY_OVERRIDABLE"}
    )


MAX_FIGURES, MAX_MEGABYTES = 2_000, 2_048
CROWD_PREFERENCES: dict[str, Any] = {
    "max_figures": props.IntProperty(
        name="Figures of a Crowd",
        description="The most figures of a crowd that the viewport draws",
        default=MAX_FIGURES,
        min=1,
        max=65_535,
        update=calls(CROWD_CHANGED),
    ),
    "max_crowd_memory": props.IntProperty(
        name="Memory of a Crowd (MB)",
        description="The most memory of the graphics card that one crowd takes. Figures beyond it "
        "are not drawn",
        default=MAX_MEGABYTES,
        min=1,
        soft_max=65_536,
        update=calls(CROWD_CHANGED),
    ),
}
"""The preferences of the add-on for crowds, by their names."""

CLASSES = (DQCompensationCrowdRole, DQCompensationCrowd)


def crowd_of(obj: bpy.types.Object) -> DQCompensationCrowd:
    """The crowd that an object stands for."""
    return obj.dq_compensation.crowd  # type: ignore[attr-defined]


def is_crowd(obj: bpy.types.Object | None) -> bool:
    """Whether an object stands for a crowd."""
    if obj is None or obj.type != "EMPTY" or written_settings(obj) is None:
        return False
    return crowd_of(obj).is_crowd


def roles_of(crowd: bpy.types.Object) -> list[DQCompensationCrowdRole]:
    """The roles of a crowd, in their order."""
    return list(crowd_of(crowd).roles)


def crowd_limits() -> tuple[int, int]:
    """The most figures of a crowd that are drawn, and the most bytes on the GPU for them."""
    chosen = preferences()
    megabytes = getattr(chosen, "max_crowd_memory", MAX_MEGABYTES)
    return getattr(chosen, "max_figures", MAX_FIGURES), megabytes * 1_000_000


def linked_crowd_refusal(crowd: Object) -> str | None:
    """Why a crowd cannot be changed in this file, or None."""
    return linked_refusal(crowd.name, [crowd], "Make a library override of it to change it.")

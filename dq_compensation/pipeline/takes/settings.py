"""The takes of an armature object and their playback, in `Object.dq_compensation`.

`settings.declaration` says how settings are declared.
"""

from __future__ import annotations

from typing import Any

import bpy
from bpy.types import PropertyGroup

from ...scene.settings.declaration import Declaration, property_group, props
from ...scene.settings.example_settings import Items
from ...scene.settings.object_settings import add_settings, written_settings
from ...scene.settings.setting_events import SHOWN_CHANGED, Event, calls
from .local_poses import Interpolation

INTERPOLATIONS = (
    (
        "SLERP",
        "Location and Rotation",
        "Locations and scales change linearly, rotations steadily about one axis",
    ),
    (
        "DUAL_QUATERNION",
        "Dual Quaternions",
        "Locations follow the rotation: bones that turn about a distant point need fewer keys",
    ),
)

NAME_CHANGED: Event = []
"""The name of a take."""

PLAY_CHANGED: Event = []
"""Whether a take plays."""

# Of playback: library overrides can change it. Nothing of it can be animated: what plays is
# arranged on the GPU once, not in every frame.
_PLAYED: dict[str, Any] = {
    "update": calls(SHOWN_CHANGED),
    "options": set(),
    "override": {"LIBRARY_OVERRIDABLE"},
}


@property_group
class DQCompensationTake(PropertyGroup):
    """The cached motion of an armature over a range of frames."""

    name: str = props.StringProperty(
        description="The name of the take", update=calls(NAME_CHANGED, SHOWN_CHANGED)
    )
    former_name: str = props.StringProperty(description="The name that playback knows it by")
    stored: bpy.types.Mesh | None = props.PointerProperty(
        type=bpy.types.Mesh, description="The data-block with the keys"
    )
    frame_start: int = props.IntProperty(description="The first frame")
    frame_end: int = props.IntProperty(description="The last frame")
    tolerance: float = props.FloatProperty(description="How far the skin may be off, mm")
    interpolation: Interpolation = props.EnumProperty(
        items=INTERPOLATIONS, description="How bones move from one key to the next"
    )
    error: float = props.FloatProperty(description="How far the skin is off at most, mm")
    sampled_keys: int = props.IntProperty(description="The keys before reduction")
    # Hides the method of Blender, which nobody calls.
    keys: int = props.IntProperty(description="The keys of all bones")  # type: ignore[override]
    made_from: str = props.StringProperty(description="The facts that it was sampled from")
    is_copied: bool = props.BoolProperty(description="Whether it was sampled from another armature")


@property_group
class DQCompensationPlayback(PropertyGroup):
    """The playback of an armature's takes."""

    playing: bool = props.BoolProperty(
        name="Play Take",
        description="Play the take in the GPU display, in the place of the pose of the armature. "
        "The characters on the armature get this display",
        **(_PLAYED | {"update": calls(PLAY_CHANGED, SHOWN_CHANGED)}),
    )
    take: str = props.StringProperty(description="The take that plays", **_PLAYED)
    loop: bool = props.BoolProperty(
        description="Begin again after the last frame, which counts as the first one",
        default=True,
        **_PLAYED,
    )
    phase: float = props.FloatProperty(description="How many frames the take is ahead", **_PLAYED)
    speed: float = props.FloatProperty(
        description="1 is the speed of the take; negative values play it backwards",
        default=1.0,
        soft_min=-4.0,
        soft_max=4.0,
        **_PLAYED,
    )
    second_take: str = props.StringProperty(
        description="The take that follows. Empty: none", **_PLAYED
    )
    fade_start: float = props.FloatProperty(
        description="The frame of the scene in which the change to the second take begins",
        **_PLAYED,
    )
    fade_frames: float = props.FloatProperty(
        description="How many frames the change to the second take lasts",
        default=10.0,
        min=0.0,
        **_PLAYED,
    )


@add_settings
class TakeSettings(Declaration):
    """The settings of an armature object that has takes."""

    takes: Items[DQCompensationTake] = props.CollectionProperty(
        type=DQCompensationTake, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"}
    )
    active_take: int = props.IntProperty(
        description="The take that is chosen in the list",
        override={"LIBRARY_OVERRIDABLE"},
    )
    playback: DQCompensationPlayback = props.PointerProperty(
        type=DQCompensationPlayback, override={"LIBRARY_OVERRIDABLE"}
    )


CLASSES = (DQCompensationTake, DQCompensationPlayback)


def take_settings_of(armature: bpy.types.Object) -> TakeSettings:
    """The settings of an armature object."""
    return armature.dq_compensation  # type: ignore[attr-defined]


def takes_of(armature: bpy.types.Object) -> list[DQCompensationTake]:
    """The takes of an armature object, in their order."""
    settings = written_settings(armature)
    return [] if settings is None else list(settings.takes)


def find_take(armature: bpy.types.Object, name: str) -> DQCompensationTake | None:
    """The take of that name; None without one."""
    return next((item for item in takes_of(armature) if item.name == name), None)


def active_take(armature: bpy.types.Object) -> DQCompensationTake | None:
    """The take that is chosen in the list; None without one."""
    takes = takes_of(armature)
    index = take_settings_of(armature).active_take if takes else 0
    return takes[index] if 0 <= index < len(takes) else None

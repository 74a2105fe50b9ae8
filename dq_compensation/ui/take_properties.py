"""The properties of takes; `ui.properties` puts them into `Object.dq_compensation` of armatures.

The annotations here are Blender's property definitions, so they must not be postponed.
"""

from typing import Any

import bpy
from bpy.props import (
    BoolProperty,
    EnumProperty,
    FloatProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from bpy.types import PropertyGroup

from ..scene.crowd_settings import roles_of
from ..scene.object_settings import settings_of
from ..scene.take_settings import takes_of
from ..session.known_crowds import all_crowds, note_change
from ..session.status import tag_redraw

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


def _redraw(_owner: PropertyGroup, _context: bpy.types.Context) -> None:
    tag_redraw()


# Of playback: library overrides can change it. Nothing of it can be animated: what plays is
# arranged on the GPU once, not in every frame.
_PLAYED: dict[str, Any] = {
    "update": _redraw,
    "options": set(),
    "override": {"LIBRARY_OVERRIDABLE"},
}


def _renamed(item: Any, _context: bpy.types.Context) -> None:
    """Takes are found by their names: each has one of its own; playback and crowds follow it."""
    owner = item.id_data
    if isinstance(owner, bpy.types.Object):
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
    tag_redraw()


def _follow_in_crowds(owner: bpy.types.Object, former: str, name: str) -> None:
    for crowd in all_crowds():
        for role in roles_of(crowd) if crowd.library is None else ():
            if role.character == owner:
                role.take = name if role.take == former else role.take
                role.then = name if role.then == former else role.then
    note_change()


class DQCompensationTake(PropertyGroup):
    """The cached motion of an armature over a range of frames."""

    name: StringProperty(name="Name", description="The name of the take", update=_renamed)
    former_name: StringProperty(description="The name that playback knows it by")
    stored: PointerProperty(type=bpy.types.Mesh, description="The data-block with the keys")
    frame_start: IntProperty(description="The first frame")
    frame_end: IntProperty(description="The last frame")
    tolerance: FloatProperty(description="How far the skin may be off, mm")
    interpolation: EnumProperty(
        items=INTERPOLATIONS, description="How bones move from one key to the next"
    )
    error: FloatProperty(description="How far the skin is off at most, mm")
    sampled_keys: IntProperty(description="The keys before reduction")
    keys: IntProperty(description="The keys of all bones")
    made_from: StringProperty(description="Digests of what it was sampled from")
    is_copied: BoolProperty(description="Whether it was sampled from another armature")


class DQCompensationPlayback(PropertyGroup):
    """The playback of an armature's takes."""

    playing: BoolProperty(
        name="Play Take",
        description="Play the take in the GPU display, in the place of the pose of the armature",
        **_PLAYED,
    )
    take: StringProperty(name="Take", description="The take that plays", **_PLAYED)
    loop: BoolProperty(
        name="Loop",
        description="Begin again after the last frame, which counts as the first one",
        default=True,
        **_PLAYED,
    )
    phase: FloatProperty(name="Phase", description="How many frames the take is ahead", **_PLAYED)
    speed: FloatProperty(
        name="Speed",
        description="1 is the speed of the take; negative values play it backwards",
        default=1.0,
        soft_min=-4.0,
        soft_max=4.0,
        **_PLAYED,
    )
    second_take: StringProperty(
        name="Second Take", description="The take that follows. Empty: none", **_PLAYED
    )
    fade_start: FloatProperty(
        name="Fade Start",
        description="The frame of the scene in which the change to the second take begins",
        **_PLAYED,
    )
    fade_frames: FloatProperty(
        name="Fade Frames",
        description="How many frames the change to the second take lasts",
        default=10.0,
        min=0.0,
        **_PLAYED,
    )


CLASSES = (DQCompensationTake, DQCompensationPlayback)

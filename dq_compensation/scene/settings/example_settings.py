"""The example poses of an object, in `Object.dq_compensation`.

`settings.declaration` says how settings are declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol, TypeVar

from bpy.types import Context, Object, PropertyGroup

from ...core.example_poses import ExampleWeights
from .declaration import FACTOR, property_group, props
from .setting_events import EXAMPLE_BONE_CHOSEN, SETTING_CHANGED, SHOWN_CHANGED, calls

SupportKind = Literal["JOINT", "PARENT"]
_SUPPORT_KINDS = (
    (
        "JOINT",
        "Both Sides of Joint",
        "Vertices that follow the bone or its parent, with a smooth border",
    ),
    (
        "PARENT",
        "Parent Only",
        "Vertices that follow the bone's parent but not the bone above the parent (Houska 2005)",
    ),
)

_WEIGHTS = (
    (
        "AUTO",
        "Automatic",
        "Linear where three poses or more are in a row: the bone bends the same way from rest, or, "
        "with Use Twist, turns about the same axis. Else Smooth",
    ),
    (
        "SMOOTH",
        "Smooth",
        "Gaussian functions of how far apart poses are. With three poses or more in a row they "
        "swing: between poses the shape may go too far",
    ),
    (
        "LINEAR",
        "Linear",
        "In proportion to the angle, between one pose and the next. Poses that are not in rows "
        "blend smoothly",
    ),
)

_changed = calls(SETTING_CHANGED, SHOWN_CHANGED)

OFFERED_BONES: list[Callable[[Object, Context, str], list[str]]] = []
"""Give the bones that a field offers for an object, in their order; `str`: what is typed in it."""


def _offer_bones(settings: PropertyGroup, context: Context, typed: str) -> list[str]:
    obj: Any = settings.id_data
    return [name for offers in OFFERED_BONES for name in offers(obj, context, typed)]


# Without SORT Blender keeps their order.
OFFERS_BONES: dict[str, Any] = {"search": _offer_bones, "search_options": {"SUGGESTION"}}
"""Of a setting that names a bone."""

_Item_co = TypeVar("_Item_co", covariant=True)


class Items(Protocol[_Item_co]):
    """The part of Blender's collection properties that we use."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_Item_co]: ...
    def __getitem__(self, index: int) -> _Item_co: ...
    def get(self, key: str) -> _Item_co | None:
        """The item of that name; None without one."""
        ...

    def add(self) -> _Item_co:
        """A new item at the end."""
        ...

    def remove(self, index: int) -> None:
        """Remove an item."""

    def foreach_get(self, attr: str, seq: Any) -> None:
        """Fill a flat array with one property of all items."""


@property_group
class DQCompensationExamplePose(PropertyGroup):
    """A shape that the artist wants in a pose of one bone."""

    name: str = props.StringProperty(description="The name of the example pose", update=_changed)
    bone: str = props.StringProperty(
        description="The bone of the pose",
        **OFFERS_BONES,
        update=calls(EXAMPLE_BONE_CHOSEN, SETTING_CHANGED, SHOWN_CHANGED),
    )
    key: str = props.StringProperty(
        name="Shape Key",
        description="The shape key with the example's shape. It stays muted: the method By "
        "Example adds it in the pose",
        update=_changed,
    )
    direction: tuple[float, float, float] = props.FloatVectorProperty(
        size=3,
        default=(0.0, 1.0, 0.0),
        description="The direction of the bone's limb, along the axes of the parent bone",
    )
    rotation: tuple[float, float, float, float] = props.FloatVectorProperty(
        size=4,
        default=(1.0, 0.0, 0.0, 0.0),
        description="The bone's rotation relative to its parent, along the same axes: w, x, y, z",
    )
    # The base and the softness on which its shape was made; empty where nobody knows them.
    made_on: str = props.StringProperty()
    factor: float = props.FloatProperty(
        description="How much of this example acts",
        default=1.0,
        **FACTOR,
        # Written into the modifier's tables when it changes; it could not follow an animation.
        options=set(),
        update=_changed,
        override={"LIBRARY_OVERRIDABLE"},
    )


@property_group
class DQCompensationExampleBone(PropertyGroup):
    """The settings of all example poses of one bone; its name is the bone's."""

    # Files from before it stay as they are; new bones get AUTO.
    weights: ExampleWeights = props.EnumProperty(
        name="Weights",
        description="How the examples of this bone blend between their poses",
        items=_WEIGHTS,
        default="SMOOTH",
        update=_changed,
    )
    sigma: float = props.FloatProperty(
        name="Falloff Angle",
        description="The angle over which the examples of this bone blend with each other and with "
        "the rest pose, where their weights are smooth",
        default=1.0,
        min=0.1,
        max=6.283185,
        subtype="ANGLE",
        update=_changed,
    )
    twists: bool = props.BoolProperty(
        name="Use Twist",
        description="Compare poses by the full rotation of the bone. Off: compare only the "
        "direction of the bone",
        update=_changed,
    )
    support: str = props.StringProperty(
        description="The vertex group with the vertices that the examples of this bone may move. "
        "Empty: the weights of the bones give the vertices",
        update=_changed,
    )
    support_kind: SupportKind = props.EnumProperty(
        name="Found By",
        description="How to find the vertices that the examples of this bone may move",
        items=_SUPPORT_KINDS,
        default="JOINT",
        update=calls(SHOWN_CHANGED),
    )


CLASSES = (DQCompensationExamplePose, DQCompensationExampleBone)

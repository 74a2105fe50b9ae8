"""`Object.dq_compensation` as the rest of the add-on sees it; `ui.properties` defines it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol, TypeVar

import bpy

from ..core.compensation import Curve
from ..core.deform import Method
from ..core.skeleton import LimbAxis

Display = Literal["MODIFIER", "GPU"]
ChosenMethod = Method | Literal["SPHERICAL_JOINT_BY_EXAMPLE"]
"""What the user can choose: the methods of `core.deform`, and one of them corrected by examples."""
ExampleBase = Literal["SPHERICAL_JOINT", "COMPENSATED"]

_Item = TypeVar("_Item", covariant=True)


class Items(Protocol[_Item]):
    """What Blender's collection properties offer."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_Item]: ...
    def __getitem__(self, index: int) -> _Item: ...
    def add(self) -> _Item:
        """A new item at the end."""
        ...

    def remove(self, index: int) -> None:
        """Remove an item."""
        ...


class ExamplePose(Protocol):
    """A shape that the artist wants in a pose of one bone.

    Attributes:
        name: what the list shows.
        bone: whose pose it is.
        key: the shape key with the offsets, in rest space.
        direction: where the bone's limb points, along the axes of its parent; unit.
        rotation: of the bone against its parent, along the same axes; unit, (w, x, y, z).
        factor: how much of it acts, 0 to 1.
    """

    name: str
    bone: str
    key: str
    direction: tuple[float, float, float]
    rotation: tuple[float, float, float, float]
    factor: float


class ExampleBoneSettings(Protocol):
    """What all example poses of one bone have in common.

    Attributes:
        name: of the bone.
        sigma: how far the examples reach, in radians.
        twists: whether twists of the bone count.
        support: the vertex group with the vertices that may move; empty: found by the weights.
    """

    name: str
    sigma: float
    twists: bool
    support: str


class NativeState(Protocol):
    """Blender's own settings of an object that enabling has changed, as they were."""

    replaced_modifier: str
    replaced_show_viewport: bool
    replaced_show_render: bool
    had_animation: bool
    hidden: bool
    display_type: str
    hidden_modifier: str
    hidden_from_camera: bool


class ObjectSettings(Protocol):
    """What the user has chosen for one object."""

    is_enabled: bool
    display: Display
    method: ChosenMethod
    factor: float
    curve: Curve
    vertex_group: str
    blend_group: str
    limb_axis: LimbAxis
    example_base: ExampleBase
    active_example: int

    @property
    def examples(self) -> Items[ExamplePose]:
        """The example poses, of all bones."""
        ...

    @property
    def example_bones(self) -> Items[ExampleBoneSettings]:
        """The bones that have example poses."""
        ...

    @property
    def enabled(self) -> bool:
        """Read only: Enable and Disable change it."""
        ...

    @property
    def native(self) -> NativeState:
        """What was there before it was enabled."""
        ...


def settings_of(obj: bpy.types.Object) -> ObjectSettings:
    """The settings of an object; of an evaluated one, with animation and drivers."""
    return obj.dq_compensation  # type: ignore[attr-defined]

"""Describes the example poses of an object; `ui.properties` defines the properties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Protocol, TypeVar

SupportKind = Literal["JOINT", "PARENT"]
"""How a support is found from the weights: both sides of the joint, or what the parent moves and
the bone above the parent does not (Houska 2005)."""

_Item_co = TypeVar("_Item_co", covariant=True)


class Items(Protocol[_Item_co]):
    """The part of Blender's collection properties that we use."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_Item_co]: ...
    def __getitem__(self, index: int) -> _Item_co: ...
    def add(self) -> _Item_co:
        """A new item at the end."""
        ...

    def remove(self, index: int) -> None:
        """Remove an item."""

    def foreach_get(self, attr: str, seq: Any) -> None:
        """Fill a flat array with one property of all items."""


class ExamplePose(Protocol):
    """A shape that the artist wants in a pose of one bone.

    Attributes:
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
    """The settings of all example poses of one bone.

    Attributes:
        sigma: how far the examples reach, in radians.
        twists: whether twists of the bone count.
        support: the vertex group with the vertices that may move; empty: found from the weights.
        support_kind: how it is found from the weights.
    """

    name: str
    sigma: float
    twists: bool
    support: str
    support_kind: SupportKind

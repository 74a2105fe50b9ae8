"""`Object.dq_compensation` as the rest of the add-on sees it; `ui.properties` defines it."""

from __future__ import annotations

from typing import Protocol

import bpy

from ..core.compensation import Curve
from ..core.deform import Method
from ..core.skeleton import LimbAxis


class NativeDisplay(Protocol):
    """Blender's own display settings of an object while we draw in its place."""

    hidden: bool
    display_type: str
    hidden_modifier: str
    hidden_from_camera: bool


class ObjectSettings(Protocol):
    """What the user has chosen for one object."""

    is_enabled: bool
    method: Method
    factor: float
    curve: Curve
    vertex_group: str
    limb_axis: LimbAxis

    @property
    def enabled(self) -> bool:
        """Read only: Enable and Disable change it."""
        ...

    @property
    def native(self) -> NativeDisplay:
        """What was there before we drew."""
        ...


def settings_of(obj: bpy.types.Object) -> ObjectSettings:
    """The settings of an object; of an evaluated one, with animation and drivers."""
    return obj.dq_compensation  # type: ignore[attr-defined]

"""`Object.dq_compensation` as the rest of the add-on sees it; `ui.properties` defines it."""

from __future__ import annotations

from typing import Literal, Protocol

import bpy

from ..core.compensation import Curve
from ..core.deform import Method
from ..core.skeleton import LimbAxis

Display = Literal["MODIFIER", "GPU"]


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
    method: Method
    factor: float
    curve: Curve
    vertex_group: str
    blend_group: str
    limb_axis: LimbAxis

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

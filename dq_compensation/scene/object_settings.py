"""`Object.dq_compensation` as the rest of the add-on sees it; `ui.properties` defines it."""

from __future__ import annotations

from typing import Literal, Protocol

import bpy

from ..core.compensation import Curve
from ..core.deform import Method
from ..core.skeleton import LimbAxis
from .example_settings import ExampleBoneSettings, ExamplePose, Items

Display = Literal["MODIFIER", "GPU"]
Overlay = Literal["NONE", "COMPENSATION", "LINEAR", "DUAL_QUATERNION", "SUPPORT"]
ChosenMethod = Method | Literal["SPHERICAL_JOINT_BY_EXAMPLE"]
"""What the user can choose: the methods of `core.deform`, and one of them corrected by examples."""
ExampleBase = Literal["SPHERICAL_JOINT", "COMPENSATED"]


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
    hidden_for_copy: bool


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
    overlay: Overlay
    overlay_maximum: float
    example_base: ExampleBase
    active_example: int
    example_bone: str
    support_bone: str

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

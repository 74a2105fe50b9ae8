"""`Object.dq_compensation` as the rest of the add-on sees it; `ui.properties` defines it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import bpy

from ..core.compensation import Curve
from ..core.deform import RULES, Method, MethodSetting
from ..core.skeleton import LimbAxis
from .example_settings import ExampleBoneSettings, ExamplePose, Items

if TYPE_CHECKING:
    from .crowd_settings import CrowdSettings
    from .take_settings import Playback, TakeItem

Display = Literal["MODIFIER", "GPU"]
Overlay = Literal["NONE", "COMPENSATION", "LINEAR", "DUAL_QUATERNION", "SUPPORT"]
ChosenMethod = Method | Literal["SPHERICAL_JOINT_BY_EXAMPLE"]
"""The user's choices: the methods of `core.deform`, and one of them corrected by examples.

What acts on the object then is `Settings.acting_method`."""
ExampleBase = Literal["SPHERICAL_JOINT", "COMPENSATED"]


class NativeState(Protocol):
    """Blender's own settings of an object before enabling changed them."""

    replaced_modifier: str
    replaced_uid: int
    replaced_show_viewport: bool
    replaced_show_render: bool
    replaced_preserve_volume: bool
    base_left_on: bool
    base_let_go: bool
    passing: bool
    passing_in_renders: bool
    parted: bool
    had_animation: bool
    hidden: bool
    display_type: str
    hidden_modifier: str
    hidden_base: bool
    hidden_from_camera: bool
    hidden_for_copy: bool


class ObjectSettings(Protocol):
    """The user's choices for one object; `Settings` has those that act."""

    is_enabled: bool
    display: Display
    method: ChosenMethod
    factor: float
    curve: Curve
    vertex_group: str
    blend_group: str
    limb_axis: LimbAxis
    use_mesh_joints: bool
    use_ball_joints: bool
    overlay: Overlay
    overlay_maximum: float
    example_base: ExampleBase
    active_example: int
    example_bone: str
    support_bone: str

    examples: Items[ExamplePose]
    example_bones: Items[ExampleBoneSettings]
    native: NativeState

    # Of an armature object.
    takes: Items[TakeItem]
    active_take: int
    playback: Playback

    # Of an Empty.
    crowd: CrowdSettings

    @property
    def enabled(self) -> bool:
        """Read only: Enable and Disable change it."""
        ...


def settings_of(obj: bpy.types.Object) -> ObjectSettings:
    """The settings of an object; of an evaluated one, with animation and drivers."""
    return obj.dq_compensation  # type: ignore[attr-defined]


def setting_label(obj: bpy.types.Object, name: str, value: str | None = None) -> str:
    """A choice as the panel shows it: ``Strong`` for the curve SLIDES.

    Args:
        name: of the setting, e.g. `curve`.
        value: the choice; None: the current one of the object.
    """
    settings: Any = settings_of(obj)
    return settings.bl_rna.properties[name].enum_items[value or getattr(settings, name)].name


@dataclass(frozen=True)
class Settings:
    """The settings that act on one object; `Object.dq_compensation` has those that the user chose.

    Attributes:
        acting_method: what deforms the object. Where the user chose the method by example, it is
            the base that the examples correct.
        use_mesh_joints: whether compensation acts between bones that continue one another on the
            mesh although neither is above the other.
        use_ball_joints: whether compensation by the curve MEASURED acts where limbs leave the body.
        by_example: whether example poses act.
    """

    acting_method: Method
    factor: float
    curve: Curve
    limb_axis: LimbAxis
    vertex_group: str
    blend_group: str = ""
    by_example: bool = False
    use_mesh_joints: bool = True
    use_ball_joints: bool = False

    @classmethod
    def of(cls, obj: bpy.types.Object) -> Settings:
        """The settings of an object; of an evaluated one, with animation and drivers."""
        chosen = settings_of(obj)
        settings = cls(
            "LINEAR",
            chosen.factor,
            chosen.curve,
            chosen.limb_axis,
            chosen.vertex_group,
            chosen.blend_group,
            use_mesh_joints=chosen.use_mesh_joints,
            use_ball_joints=chosen.use_ball_joints,
        )
        return settings.with_method(chosen.method, chosen.example_base)

    def with_method(self, chosen_method: ChosenMethod, example_base: ExampleBase) -> Settings:
        """The same with another method."""
        if chosen_method == "SPHERICAL_JOINT_BY_EXAMPLE":
            return replace(self, acting_method=example_base, by_example=True)
        return replace(self, acting_method=chosen_method, by_example=False)

    def acts(self, setting: MethodSetting) -> bool:
        """Whether a setting changes how the object is deformed."""
        if setting == "use_ball_joints" and self.curve != "MEASURED":
            return False
        # The direction of the limbs distinguishes example poses.
        by_limbs = self.by_example and setting == "limb_axis"
        return by_limbs or setting in RULES[self.acting_method].acting_settings

    @property
    def acting_ball_joints(self) -> bool:
        """Whether *Ball Joints* is on, and acts."""
        return self.use_ball_joints and self.acts("use_ball_joints")

    @property
    def compensates(self) -> bool:
        """Whether the acting method compensates the bulge of dual quaternions."""
        return self.acts("factor")

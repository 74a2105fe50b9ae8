"""Bones that do not point along their limbs, planted."""

from collections.abc import Callable

from dq_compensation.scene.settings.object_settings import settings_of

from .conftest import Human
from .moving_rigs import straighten_head, turn_bones


def along_x(human: Human) -> None:
    """The limbs run along X of the bones, as in FBX files of other programs."""
    straighten_head(human.armature_object)
    turn_bones(human.armature_object, "X")


def upright(human: Human) -> None:
    """Every bone stands along Z, whatever its limb does."""
    turn_bones(human.armature_object, "WORLD")


def wrong_axis(human: Human) -> None:
    """Limb Axis names an axis across the limbs."""
    settings_of(human.mesh_object).limb_axis = "Z"


PLANTED: dict[str, Callable[[Human], None]] = {
    "bone_orientation/along_x": along_x,
    "bone_orientation/upright": upright,
    "bone_orientation/wrong_axis": wrong_axis,
}

"""Planted scenes for the check topology_modifiers."""

from __future__ import annotations

import bpy

from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable


def _enable(human: Human) -> None:
    """With the smallest node tree: how it is deformed does not matter here."""
    human.mesh_object.dq_compensation.method = "DUAL_QUATERNION"
    enable(human.mesh_object)


def _put(human: Human, kind: str, place: int = 0) -> bpy.types.Modifier:
    modifiers = human.mesh_object.modifiers
    modifier = modifiers.new(kind.title(), kind)
    modifiers.move(len(modifiers) - 1, place)
    return modifier


def mirror(human: Human) -> None:
    _put(human, "MIRROR").use_axis = (False, True, False)


def decimate_between_others(human: Human) -> None:
    """What stands before it keeps it from being applied."""
    _put(human, "DECIMATE").ratio = 0.5
    _put(human, "CAST").factor = 0.1


def triangulate_while_enabled(human: Human) -> None:
    _enable(human)
    _put(human, "TRIANGULATE")


def weight_edit(human: Human) -> None:
    edit = _put(human, "VERTEX_WEIGHT_EDIT")
    edit.vertex_group, edit.use_add, edit.add_threshold = "head", True, 0.0
    edit.default_weight = 0.5


PLANTED = {
    "topology_modifiers/mirror": mirror,
    "topology_modifiers/decimate_between_others": decimate_between_others,
    "topology_modifiers/triangulate_while_enabled": triangulate_while_enabled,
    "topology_modifiers/weight_edit": weight_edit,
}

"""Humans with scaled bones."""

from __future__ import annotations

import bpy

from tests.blender.conftest import Human


def forearm(human: Human) -> bpy.types.PoseBone:
    """The left forearm of the default rig."""
    return human.armature_object.pose.bones["lowerarm01.L"]


def _posed(human: Human) -> None:
    forearm(human).scale = (1.0, 1.5, 1.0)


def _negative(human: Human) -> None:
    forearm(human).scale = (1.0, -1.0, 1.0)


def _keyed(human: Human) -> None:
    bone = forearm(human)
    for frame, size in ((1, 1.0), (10, 1.4)):
        bone.scale = (size, size, size)
        bone.keyframe_insert("scale", frame=frame)


def _driven(human: Human) -> None:
    curve = forearm(human).driver_add("scale", 0)
    curve.driver.expression = "1.2"


def _constrained(human: Human) -> None:
    constraint = forearm(human).constraints.new("LIMIT_SCALE")
    constraint.use_min_x, constraint.min_x = True, 1.3


PLANTED = {
    "bone_scale/posed": _posed,
    "bone_scale/negative": _negative,
    "bone_scale/keyed": _keyed,
    "bone_scale/driven": _driven,
    "bone_scale/constrained": _constrained,
}

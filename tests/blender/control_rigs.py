"""A limb under the control rigs that animators use, each built as its generator builds an arm."""

from __future__ import annotations

from typing import NamedTuple

import bpy

from tests.blender.scene_builders import edit_mode
from tests.limb import BONES, build_limb

Object = bpy.types.Object


class Layout(NamedTuple):
    """The names of bones, from the shoulder to the hand, and how deforming ones follow.

    Attributes:
        deforming: the bones that move skin. Without controls they are posed themselves.
        mechanism: what they follow; it follows the controls.
        constraint: of the deforming bones.
        is_flat: whether no deforming bone is the parent of another one.
    """

    deforming: tuple[str, str, str]
    mechanism: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    constraint: str = "COPY_TRANSFORMS"
    is_flat: bool = False


LAYOUTS = {
    "plain FK": Layout(("upper_arm.L", "forearm.L", "hand.L")),
    "Rigify": Layout(
        ("DEF-upper_arm.L", "DEF-forearm.L", "DEF-hand.L"),
        ("ORG-upper_arm.L", "ORG-forearm.L", "ORG-hand.L"),
        ("upper_arm_fk.L", "forearm_fk.L", "hand_fk.L"),
    ),
    "CloudRig": Layout(
        ("DEF-UpperArm1.L", "DEF-Forearm1.L", "DEF-Hand.L"),
        ("STR-UpperArm1.L", "STR-Forearm1.L", "STR-Hand.L"),
        ("FK-UpperArm.L", "FK-Forearm.L", "FK-Hand.L"),
        "ARMATURE",
        is_flat=True,
    ),
    "Auto-Rig Pro": Layout(
        ("arm_stretch.l", "forearm_stretch.l", "hand.l"),
        ("arm_fk.l", "forearm_fk.l", "hand_rot_twist.l"),
        ("c_arm_fk.l", "c_forearm_fk.l", "c_hand_fk.l"),
        is_flat=True,
    ),
}


def build_under_controls(layout: Layout) -> tuple[Object, Object]:
    """The limb in the current scene on such a rig, and a bone `idle` beside its hand."""
    obj, rig = build_limb()
    for bone, name in zip(BONES, layout.deforming, strict=True):
        rig.data.bones[bone].name = name
    with edit_mode(rig):
        bones = rig.data.edit_bones
        for names in (layout.controls, layout.mechanism):
            above = None
            for name, like in zip(names, layout.deforming, strict=bool(names)):
                bone = bones.new(name)
                bone.use_deform, bone.parent = False, above
                bone.head, bone.tail = bones[like].head, bones[like].tail
                bone.matrix = bones[like].matrix
                above = bone
        for name in layout.deforming if layout.is_flat else ():
            bones[name].parent = None
        idle = bones.new("idle")
        idle.use_deform = False
        idle.head, idle.tail = bones[layout.deforming[2]].head, bones[layout.deforming[2]].tail
    for names, targets in (
        (layout.mechanism, layout.controls),
        (layout.deforming, layout.mechanism),
    ):
        for name, target in zip(names, targets, strict=bool(targets)):
            kind = layout.constraint if names == layout.deforming else "COPY_TRANSFORMS"
            follow = rig.pose.bones[name].constraints.new(kind)
            if kind == "ARMATURE":
                follow = follow.targets.new()
            follow.target, follow.subtarget = rig, target
    bpy.context.view_layer.update()
    return obj, rig

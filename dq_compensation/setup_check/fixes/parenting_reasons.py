"""Finds the reasons why a bone cannot get another parent and keep its motion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from ...scene.blender.animation_curves import PlayedAction, bone_curves, bone_drivers
from ...scene.blender.armature import armature_of
from ...scene.blender.rigging import find_rig
from ...scene.settings.object_settings import settings_of
from .bone_dependents import (
    all_constraints,
    bones_behind,
    chain_reasons,
    driver_reasons,
    inherits_as_usual,
)


def parenting_reasons(
    owner: bpy.types.Object,
    parents: dict[str, str],
    moved: dict[str, str],
    played: list[PlayedAction],
) -> Iterator[tuple[str, str]]:
    """Why bones cannot get these parents: names of bones, each with the reason.

    Args:
        parents: the names of the new parents by the names of the bones.
        moved: those of them whose channels move them; the rest is led, see `is_led`.
    """
    for name, parent in parents.items():
        if name in bones_behind(owner, [parent], poles=True):
            yield name, f"{parent} follows it by constraints"
    for name, parent in moved.items():
        chain = chain_of(owner, name, parent)
        for each in sorted(chain):
            if owner.pose.bones[each].constraints:
                yield name, f"{each} has constraints"
            elif not inherits_as_usual(armature_of(owner).bones[each]):
                yield name, f"{each} inherits in another way than usual (Relations)"
        driven = {curve.bone for curve in bone_drivers(owner) if curve.channel}
        modified = {curve.bone for curve in bone_curves(played) if len(curve.curve.modifiers)}
        yield from ((name, f"a driver moves {each}") for each in sorted(chain & driven))
        yield from ((name, f"the curves of {each} have modifiers") for each in chain & modified)
    yield from chain_reasons(owner, set(parents))
    yield from _reader_reasons(owner, set(moved))
    yield from _example_reasons(owner, set(parents))


def chain_of(owner: bpy.types.Object, name: str, parent: str) -> set[str]:
    """The bones that move a bone by the hierarchy, before and with its new parent."""
    bones = armature_of(owner).bones
    above = [*bones[name].parent_recursive, *bones[parent].parent_recursive]
    return {name, parent, *(bone.name for bone in above)}


def is_led(owner: bpy.types.Object, name: str) -> bool:
    """Whether constraints alone say where a bone is: its parent then does not matter."""
    constraints: Any = owner.pose.bones[name].constraints
    return any(
        constraint.type == "COPY_TRANSFORMS"
        and constraint.influence == 1.0
        and not constraint.mute
        and constraint.mix_mode == "REPLACE"
        and constraint.owner_space == constraint.target_space == "WORLD"
        and constraint.target is not None
        for constraint in constraints
    )


def _reader_reasons(owner: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """Constraints and drivers that read the channels of bones."""
    for who, constraint in all_constraints():
        in_world = getattr(constraint, "target_space", "WORLD") == "WORLD"
        bone = getattr(constraint, "subtarget", "")
        if getattr(constraint, "target", None) == owner and bone in names and not in_world:
            yield bone, f"the constraint {constraint.name} of {who} reads its channels"
    yield from driver_reasons(owner, names)


def _example_reasons(owner: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """Bones with example poses, which say how a bone is turned against its parent."""
    for obj in bpy.data.objects:
        rig = find_rig(obj) if obj.type == "MESH" else None
        if rig is not None and rig.data == owner.data:
            for example in settings_of(obj).examples:
                if example.bone in names:
                    yield example.bone, f"the example pose {example.name} depends on its parent"

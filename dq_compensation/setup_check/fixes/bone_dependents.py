"""Finds everything that depends on the axes and the place of a bone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import bpy
import numpy as np

from ...scene.blender.animation_curves import (
    all_actions,
    bone_curves,
    bone_drivers,
    drivers,
    key_points,
)
from ...scene.blender.armature import armature_of
from ...wording import counted, listed
from ..issue import FixError
from .bone_motion import VECTOR_CHANNELS

# Constraints whose result does not ask for the axes of the bone that has them (in World Space).
_FREE_OF_OWN_AXES = frozenset({"ARMATURE", "CHILD_OF", "COPY_LOCATION", "LIMIT_DISTANCE"})
# Constraints that only ask where the head of their target bone is.
_ASK_FOR_THE_HEAD = frozenset(
    {"COPY_LOCATION", "DAMPED_TRACK", "LIMIT_DISTANCE", "LOCKED_TRACK", "STRETCH_TO"}
)
# Constraints that move the bones above theirs, too.
_WITH_CHAINS = frozenset({"IK", "SPLINE_IK"})
# Modifiers that follow one bone: the properties that name its armature and the bone.
BONES_OF_MODIFIERS = (
    ("object", "subtarget"),
    ("object_from", "bone_from"),
    ("object_to", "bone_to"),
)
# Variables of drivers that change with the axes of a bone, in the spaces in which they do.
LOCATION_TYPES = frozenset({"LOC_X", "LOC_Y", "LOC_Z"})


def turning_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """Why bones cannot be turned: names of bones, each with what holds on to its axes."""
    yield from _own_reasons(armature, names)
    yield from _constraint_reasons(armature, names)
    yield from driver_reasons(armature, names)
    for obj in bpy.data.objects:
        for modifier in obj.modifiers:
            for target, bone in BONES_OF_MODIFIERS:
                name = getattr(modifier, bone, "")
                if name in names and getattr(modifier, target, None) == armature:
                    yield name, f"the modifier {modifier.name} of {obj.name} uses its axes"


def require_no_reasons(reasons: list[tuple[str, str]], what: str) -> None:
    """Raise FixError if there are reasons why bones cannot do `what`, e.g. `cannot be turned`.

    Args:
        reasons: names of bones, each with its reason; the first reason of a bone is named.
    """
    if reasons:
        first = dict(reversed(reasons))
        named = listed([f"{name}: {reason}" for name, reason in first.items()])
        raise FixError(f"{counted(len(first), 'bone')} {what} ({named}).")


def _own_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    bones, scaled = armature_of(armature).bones, scaled_bones(armature)
    for bone in bones:
        concerned = bone.name in names or (bone.parent is not None and bone.parent.name in names)
        if concerned and not inherits_as_usual(bone, scaled):
            yield (
                bone.name,
                "in its Relations, turn on Inherit Rotation and Local Location, and set Inherit "
                "Scale to Full",
            )
    for name in names:
        bone, pose_bone = bones[name], armature.pose.bones[name]
        if bone.bbone_segments > 1:
            yield name, "it is a bendy bone; set its Segments to 1"
        if bone.use_envelope_multiply:
            yield name, "its envelope multiplies weights"
        limited = ("lock_ik", "use_ik_limit")
        if any(getattr(pose_bone, f"{kind}_{axis}") for kind in limited for axis in "xyz"):
            yield name, "it has limits or locks for inverse kinematics"
    for curve in bone_drivers(armature):
        if curve.bone in names and curve.channel in VECTOR_CHANNELS | {"rotation_mode": 0}:
            yield curve.bone, f"a driver moves its {curve.channel}"


def inherits_as_usual(bone: bpy.types.Bone, scaled: set[str]) -> bool:
    """Whether a bone follows its parent, if it has one, as new bones do.

    Args:
        scaled: of `scaled_bones`: how a bone inherits scale does not matter where there is none.
    """
    if bone.parent is None:
        return True
    lineage = {each.name for each in bone.parent_recursive}
    usual = bone.use_inherit_rotation and bone.use_local_location
    return usual and (bone.inherit_scale == "FULL" or scaled.isdisjoint(lineage))


def scaled_bones(armature: bpy.types.Object) -> set[str]:
    """The bones that are or may be scaled, in pose or actions, by drivers or constraints."""
    posed = (bone.name for bone in armature.pose.bones if len(bone.constraints) or _is_scaled(bone))
    keyed = (
        curve.bone
        for curve in bone_curves(all_actions(armature), "scale")
        if len(curve.curve.modifiers) or np.abs(key_points(curve.curve)[:, 1] - 1.0).max() > 1e-5
    )
    return {*posed, *keyed, *(curve.bone for curve in bone_drivers(armature, "scale"))}


def _is_scaled(bone: bpy.types.PoseBone) -> bool:
    return bool(np.abs(np.array(bone.scale) - 1.0).max() > 1e-5)


def chain_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """The bones in the chains of inverse kinematics, which run along parents, each with why."""
    for pose_bone in armature.pose.bones:
        for constraint in pose_bone.constraints:
            chain = _ik_chain(pose_bone, constraint) if constraint.type in _WITH_CHAINS else []
            for bone in chain:
                if bone in names:
                    yield bone, f"it is in the chain of {constraint.name} of {pose_bone.name}"


def _constraint_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    yield from chain_reasons(armature, names)
    for pose_bone in armature.pose.bones:
        for constraint in pose_bone.constraints if pose_bone.name in names else ():
            if constraint.type not in _WITH_CHAINS and not _is_free_of_own_axes(constraint):
                yield pose_bone.name, f"its constraint {constraint.name} works along its axes"
    for owner, constraint in all_constraints():
        bone = getattr(constraint, "subtarget", "")
        targeted = bone in names and constraint.target == armature
        if targeted and not _asks_for_the_head(constraint):
            yield bone, f"the constraint {constraint.name} of {owner} looks at its axes"
        bone = getattr(constraint, "space_subtarget", "")
        # Sizes along the axes of the target are the same in any space.
        in_space = bone in names and constraint.space_object == armature
        if in_space and _uses_custom_space(constraint) and constraint.type != "COPY_SCALE":
            yield bone, f"the constraint {constraint.name} of {owner} works along its axes"


def _uses_custom_space(constraint: Any) -> bool:
    return "CUSTOM" in {constraint.owner_space, getattr(constraint, "target_space", "")}


def _ik_chain(bone: bpy.types.PoseBone, constraint: Any) -> list[str]:
    """The names of the bones that inverse kinematics, or Spline IK, of a bone moves."""
    links = [each.name for each in (bone, *bone.parent_recursive)]
    if constraint.type == "IK" and not constraint.use_tail:
        links = links[1:]
    return links[: constraint.chain_count] if constraint.chain_count else links


def _is_free_of_own_axes(constraint: Any) -> bool:
    in_world = constraint.owner_space == constraint.target_space == "WORLD"
    return in_world and constraint.type in _FREE_OF_OWN_AXES


def all_constraints() -> Iterator[tuple[str, Any]]:
    """The constraints of all objects and pose bones, with the names of their owners."""
    for obj in bpy.data.objects:
        for constraint in obj.constraints:
            yield obj.name, constraint
        for bone in obj.pose.bones if obj.pose is not None else ():
            for constraint in bone.constraints:
                yield f"{bone.name} ({obj.name})", constraint


def bones_that_move(
    armature: bpy.types.Object,
    names: Iterable[str],
    *,
    poles: bool = False,
    scaling: bool = False,
) -> set[str]:
    """The bones that move these bones: themselves, ancestors, and what their constraints follow.

    A bone that is a slider, for drivers to read, is none of them.

    Args:
        poles: also the targets of poles.
        scaling: without ancestors whose scale is not inherited.
    """
    pose: Any = armature.pose
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        bone = pose.bones.get(waiting.pop())
        if bone is None or bone.name in found:
            continue
        found.add(bone.name)
        if bone.parent is not None and (inherits_scale(bone.bone) or not scaling):
            waiting.append(bone.parent.name)
        for constraint in bone.constraints:
            if poles and getattr(constraint, "pole_target", None) == armature:
                waiting.append(constraint.pole_subtarget)
            ends = (constraint, *getattr(constraint, "targets", ()))
            waiting.extend(e.subtarget for e in ends if getattr(e, "target", None) == armature)
    return found


def inherits_scale(bone: bpy.types.Bone) -> bool:
    """Whether a bone takes the scale of its parent."""
    return bone.inherit_scale not in {"NONE", "NONE_LEGACY"}


def _asks_for_the_head(constraint: Any) -> bool:
    """Whether nothing of the target bone counts but where its head is."""
    in_world = getattr(constraint, "target_space", "WORLD") == "WORLD"
    at_head = getattr(constraint, "head_tail", 0.0) == 0.0
    return constraint.type in _ASK_FOR_THE_HEAD and in_world and at_head


def driver_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """Drivers anywhere that read channels or rotations of these bones."""
    for owner in animated():
        for curve in drivers(owner):
            for variable in curve.driver.variables:
                for target in variable.targets:
                    bone = _read_bone(variable, target, names) if target.id == armature else None
                    if bone is not None:
                        yield bone, f"a driver of {owner.name} reads it ({variable.name})"


def _read_bone(variable: Any, target: Any, names: set[str]) -> str | None:
    if variable.type == "SINGLE_PROP":
        for name in names:
            start = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
            if target.data_path.startswith(start):
                read = target.data_path[len(start) :]
                return name if read.startswith(tuple(VECTOR_CHANNELS)) else None
        return None
    if target.bone_target not in names or variable.type == "LOC_DIFF":
        return None
    in_world = target.transform_space == "WORLD_SPACE"
    is_place = target.transform_type in LOCATION_TYPES
    harmless = variable.type == "TRANSFORMS" and in_world and is_place
    return None if harmless else target.bone_target


def animated() -> Iterator[Any]:
    """The datablocks with animation or drivers."""
    for name in dir(bpy.data):
        collection = getattr(bpy.data, name)
        if isinstance(collection, bpy.types.bpy_prop_collection):
            yield from (each for each in collection if getattr(each, "animation_data", None))

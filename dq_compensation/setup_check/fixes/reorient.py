"""Turns the rest bones of an armature along their limbs; pose, animation and mesh stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...analysis.limb_axes import LARGEST_ANGLE, LimbAxes, only_child_distances
from ...analysis.rest_rotation import RestRotation, nearest_axes, to_direction
from ...scene.blender.animation_curves import PlayedAction, bone_curves, multiply_values
from ...scene.blender.armature import armature_of
from ...scene.blender.edited_bones import edited_bones
from ...scene.blender.rigging import armature_modifier
from ...scene.settings.object_settings import settings_of
from ...wording import counted, listed
from ..issue import FixError
from .armature_actions import actions_of, objects_with
from .bone_channels import channels_of, is_uneven, keeps_no_sum, turn_curves, turn_pose
from .bone_dependents import follow, require_no_reasons, turning_reasons
from .bone_motion import rotation_channel


def reorient_bones(armature: bpy.types.Object, axes: LimbAxes, off: NDArray[np.bool_]) -> str:
    """Turn rest bones so that Y runs along the limb; returns what was done, with numbers.

    A bone whose channels are bound to its axes (keyed Euler angles, an unequal scale, locks) gets
    its axes in other places when that brings Y within 30 degrees of the limb; any other points
    along it exactly.

    Args:
        off: shape (B,); the bones to turn.

    Raises:
        FixError: a bone cannot be turned; nothing has changed.
    """
    owners = objects_with(armature_of(armature))
    actions = actions_of(owners)
    turns = _turns(armature, axes, off, [played for played, _owner in actions])
    _require_turnable(owners, actions, turns)
    lengths = {name: armature_of(armature).bones[name].length for name in turns}
    rest = {name: _rest_axes(armature, name) for name in turns}
    loosened = _turn_rest(armature, turns)
    turns = {name: _as_made(armature, turn, rest[name]) for name, turn in turns.items()}
    curves, sampled = 0, 0
    for played, owner in actions:
        changed, on_every_frame = turn_curves(played, turns, owner)
        curves, sampled = curves + changed, sampled + on_every_frame
        for curve in list(bone_curves([played], "location")):
            # Blender plays no location of a connected bone: without the connection it must be zero.
            if curve.bone in loosened:
                multiply_values(curve.curve, 0.0)
    for owner in owners:
        for name in loosened:
            owner.pose.bones[name].location = (0.0, 0.0, 0.0)
        for name, turn in turns.items():
            turn_pose(owner.pose.bones[name], turn)
        follow(owner, turns, lengths)
    reset = _reset_limb_axis(owners)
    return _summary(list(turns), curves, sampled, loosened, reset)


def _turns(
    armature: bpy.types.Object, axes: LimbAxes, off: NDArray[np.bool_], actions: list[PlayedAction]
) -> dict[str, RestRotation]:
    skeleton, wanted = axes.skeleton, axes.wanted()
    distances = only_child_distances(skeleton)
    names = {skeleton.names[int(index)] for index in np.flatnonzero(off)}
    bound = dict(_bound_to_axes(armature, names, actions))
    turns, refused = {}, []
    for index in np.flatnonzero(off).tolist():
        name = skeleton.names[index]
        direction = skeleton.rest[index, :3, :3].T @ wanted[index]
        rotation = to_direction(direction)
        if name in bound:
            rotation = nearest_axes(direction)
            if np.arccos(np.clip(rotation[:, 1] @ direction, -1.0, 1.0)) > LARGEST_ANGLE:
                refused.append(f"{name} ({bound[name]})")
        bone = armature_of(armature).bones[name]
        shaped = armature.pose.bones[name].custom_shape is not None
        keeps_length = shaped or not distances[index]
        length = float(bone.length if keeps_length else distances[index])
        turns[name] = RestRotation(name, rotation, length)
    if refused:
        raise FixError(
            f"None of the axes of {listed(refused)} lies along the limb. "
            "Key rotations as quaternions, or clear the unequal scale and the locks."
        )
    return turns


def _bound_to_axes(
    armature: bpy.types.Object, names: set[str], actions: list[PlayedAction]
) -> Iterator[tuple[str, str]]:
    """The bones whose channels survive only if axes change places, and why."""
    for owner in objects_with(armature_of(armature)):
        for name in names:
            bone: Any = owner.pose.bones[name]
            if np.ptp(np.array(bone.scale)) > 1e-5:
                yield name, "unequal scale"
            locks = (bone.lock_location, bone.lock_rotation, bone.lock_scale)
            if any(len(set(each)) > 1 for each in locks):
                yield name, "locked channels"
    anything = {name: RestRotation(name, np.eye(3), 1.0) for name in names}
    for played in actions:
        for name, channel, components in channels_of(played, anything):
            if channel == "rotation_euler" == rotation_channel(armature.pose.bones[name]):
                yield name, "keyed Euler rotation"
            elif channel == "scale" and is_uneven(components):
                yield name, "unequal keyed scale"


def _require_turnable(
    owners: list[bpy.types.Object],
    actions: list[tuple[PlayedAction, bpy.types.Object]],
    turns: dict[str, RestRotation],
) -> None:
    """See that everything can follow the turned bones."""
    names = set(turns)
    reasons = [pair for owner in owners for pair in turning_reasons(owner, names)]
    for played, _owner in actions:
        for curve in bone_curves([played]):
            if curve.bone not in names:
                continue
            if curve.channel == "rotation_mode":
                reasons.append((curve.bone, f"its rotation mode is keyed in {played.action.name}"))
            elif curve.channel and (
                keeps_no_sum(curve.curve)
                or (turns[curve.bone].axes is None and len(curve.curve.modifiers))
            ):
                reasons.append((curve.bone, f"its {curve.channel} has curve modifiers"))
    for obj, modifier in _followers(owners):
        if modifier.use_bone_envelopes:
            raise FixError(
                f"{obj.name} is deformed by bone envelopes, which turn with the bones. "
                "Turn them off or make vertex groups of them first."
            )
    require_no_reasons(reasons, "cannot be turned")


def _followers(
    owners: list[bpy.types.Object],
) -> Iterator[tuple[bpy.types.Object, bpy.types.ArmatureModifier]]:
    """The objects that these armature objects deform, with their modifiers."""
    for obj in bpy.data.objects:
        modifier = armature_modifier(obj)
        if modifier is not None and modifier.object in owners:
            yield obj, modifier


def _turn_rest(armature: bpy.types.Object, turns: dict[str, RestRotation]) -> list[str]:
    """Turn the edit bones; returns the bones that could not stay connected to their parents."""
    loosened = []
    with edited_bones(armature) as bones:
        children = [
            bone
            for bone in bones
            if bone.use_connect and {bone.name, bone.parent.name} & set(turns)
        ]
        for bone in children:
            bone.use_connect = False
        for name, turn in turns.items():
            bone = bones[name]
            bone.matrix = bone.matrix @ Matrix(turn.rotation.tolist()).to_4x4()
            bone.length = turn.length
        for bone in children:
            near = 1e-5 * max(bone.parent.length, bone.length)
            if (bone.head - bone.parent.tail).length <= near:
                bone.use_connect = True
            else:
                loosened.append(bone.name)
    return loosened


def _as_made(
    armature: bpy.types.Object, turn: RestRotation, before: NDArray[np.float64]
) -> RestRotation:
    """The rotation that Blender made of the wanted one: its bones are rounded at about 1e-5."""
    if turn.axes is not None:
        return turn
    left, _scales, right = np.linalg.svd(np.linalg.solve(before, _rest_axes(armature, turn.bone)))
    return RestRotation(turn.bone, left @ right, turn.length)


def _rest_axes(armature: bpy.types.Object, name: str) -> NDArray[np.float64]:
    return np.array(armature_of(armature).bones[name].matrix_local, np.float64)[:3, :3]


def _reset_limb_axis(owners: list[bpy.types.Object]) -> list[str]:
    """Limb Axis of the meshes that had one for the old axes; returns their names."""
    reset = []
    for obj, _modifier in _followers(owners):
        is_own = obj.type == "MESH" and obj.library is None
        if is_own and settings_of(obj).limb_axis not in {"AUTO", "Y"}:
            settings_of(obj).limb_axis = "AUTO"
            reset.append(obj.name)
    return reset


def _summary(
    bones: list[str], curves: int, sampled: int, loosened: list[str], reset: list[str]
) -> str:
    parts = [
        f"Turned {counted(len(bones), 'bone')} along the limb ({listed(bones)}) and rewrote "
        f"{counted(curves, 'animation curve')}"
    ]
    if sampled:
        parts.append(f"{counted(sampled, 'channel')} keyed on every frame")
    if loosened:
        parts.append(f"no longer connected: {listed(loosened)}")
    if reset:
        parts.append(f"Limb Axis is Automatic now for {listed(reset)}")
    return "; ".join(parts)

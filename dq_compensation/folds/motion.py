"""What a rig shows of how its bones move: limits, actions, current pose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Euler, Quaternion

from ..analysis.folding_joints import KnownMotion
from ..arrays import Float64s
from ..core.dual_quaternion import quaternions_from_matrices
from ..core.skeleton import Skeleton
from ..scene.blender.animation_curves import all_actions, bone_curves

# Constraints by which a bone follows its control.
_FOLLOWS = frozenset(("COPY_ROTATION", "COPY_TRANSFORMS"))
# The limits of a bone without any, and the cosine up to which axes of two bones are the same.
_WHOLE_TURN, _SAME_AXES = 180.0, 0.98

_Curves = dict[tuple[str, str], dict[int, Any]]


def known_motion(rig: bpy.types.Object, skeleton: Skeleton) -> KnownMotion:
    """Read an armature object.

    A bone that copies the rotation or the transforms of another bone has the limits and the motion
    of that one, its control, too.

    Args:
        skeleton: whose bones are asked for.
    """
    pose = cast("bpy.types.Pose", rig.pose)
    curves = list(_curves_by_action(rig))
    limits, animated, posed = dict[int, Float64s](), dict[int, Float64s](), dict[int, Float64s]()
    for index, name in enumerate(skeleton.names):
        bone = pose.bones.get(name)
        if bone is None:
            continue
        turns = list[Float64s]()
        for each in (bone, *_controls(bone)):
            found = _limits(each) if _have_same_axes(bone, each) else None
            if index not in limits and found is not None:
                limits[index] = found
            own = (rotations for of_action in curves for rotations in _rotations(each, of_action))
            turns += [_in_axes_of(bone, each, rotations) for rotations in own]
        if turns:
            animated[index] = np.concatenate(turns)
        posed[index] = np.array([_local_rotation(bone)])
    return KnownMotion(limits, animated, posed)


def _controls(bone: bpy.types.PoseBone) -> list[bpy.types.PoseBone]:
    """The bones whose rotation a bone copies."""
    found = list[bpy.types.PoseBone]()
    for constraint in bone.constraints:
        follows = constraint.type in _FOLLOWS and not constraint.mute
        target: Any = getattr(constraint, "target", None)
        if follows and target == bone.id_data and target is not None:
            control = target.pose.bones.get(getattr(constraint, "subtarget", ""))
            if control is not None:
                found.append(control)
    return found


def _limits(bone: bpy.types.PoseBone) -> Float64s | None:
    """The limits about X and Z, shape (2, 2), degrees: of IK, and of *Limit Rotation*."""
    found, limited = np.tile((-_WHOLE_TURN, _WHOLE_TURN), (2, 1)), False
    for row, axis in enumerate("xz"):
        if getattr(bone, f"lock_ik_{axis}"):
            found[row] = 0.0
        elif getattr(bone, f"use_ik_limit_{axis}"):
            ends = getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}")
            found[row], limited = np.degrees(ends), True
    for constraint in cast("Any", bone.constraints):
        if constraint.type != "LIMIT_ROTATION" or constraint.mute:
            continue
        if constraint.owner_space == "LOCAL":
            for row, axis in enumerate("xz"):
                if getattr(constraint, f"use_limit_{axis}"):
                    ends = (getattr(constraint, f"{end}_{axis}") for end in ("min", "max"))
                    found[row], limited = np.degrees(list(ends)), True
    return found if limited else None


def _curves_by_action(rig: bpy.types.Object) -> Iterator[_Curves]:
    """Of each action the curves of rotations, by bone and channel, then by component."""
    for played in all_actions(rig):
        found: _Curves = {}
        for each in bone_curves([played]):
            if each.channel.startswith("rotation_"):
                found.setdefault((each.bone, each.channel), {})[each.index] = each.curve
        yield found


def _rotations(bone: bpy.types.PoseBone, curves: _Curves) -> Iterator[Float64s]:
    """The rotations of a bone at its keys in an action, (k, 4), in its rest axes."""
    mode = bone.rotation_mode
    channel = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(
        mode, "rotation_euler"
    )
    of_bone = curves.get((bone.name, channel))
    if not of_bone or mode == "AXIS_ANGLE":
        return
    frames = sorted(
        {float(key.co[0]) for curve in of_bone.values() for key in curve.keyframe_points}
    )
    count = 4 if mode == "QUATERNION" else 3
    default = (1.0, 0.0, 0.0, 0.0) if count == 4 else (0.0, 0.0, 0.0)
    found = list[Quaternion]()
    for frame in frames:
        values = [
            of_bone[index].evaluate(frame) if index in of_bone else default[index]
            for index in range(count)
        ]
        if count == 4:
            turn = Quaternion(values)
            if turn.magnitude > 0.0:
                found.append(turn.normalized())
        else:
            found.append(Euler(values, cast("Any", mode)).to_quaternion())
    if found:
        yield np.array([(q.w, q.x, q.y, q.z) for q in found], np.float64)


def _rest_axes(bone: bpy.types.PoseBone) -> Float64s:
    return np.array(bone.bone.matrix_local.to_3x3(), np.float64)


def _have_same_axes(bone: bpy.types.PoseBone, other: bpy.types.PoseBone) -> bool:
    """Whether the rest axes of two bones point the same ways."""
    return bool(((_rest_axes(bone) * _rest_axes(other)).sum(axis=0) > _SAME_AXES).all())


def _in_axes_of(bone: bpy.types.PoseBone, other: bpy.types.PoseBone, turns: Float64s) -> Float64s:
    """Rotations (k, 4) in the rest axes of one bone, in those of another."""
    axes = turns[:, 1:] @ (_rest_axes(bone).T @ _rest_axes(other)).T
    return np.concatenate((turns[:, :1], axes), axis=1)


def _local_rotation(bone: bpy.types.PoseBone) -> Float64s:
    """How a bone is turned against its parent now, with its constraints: (4,), in its rest axes."""
    moved = bone.matrix @ bone.bone.matrix_local.inverted()
    if bone.parent is not None:
        before = bone.parent.matrix @ bone.parent.bone.matrix_local.inverted()
        moved = before.inverted_safe() @ moved
    axes = _rest_axes(bone)
    turned = axes.T @ np.array(moved.to_quaternion().to_matrix(), np.float64) @ axes
    return np.asarray(quaternions_from_matrices(turned[None])[0], np.float64)

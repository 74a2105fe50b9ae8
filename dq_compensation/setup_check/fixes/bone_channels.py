"""Rewrites the pose channels and keys of turned bones: their motion stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Quaternion, Vector
from numpy.typing import NDArray

from ...analysis.rest_rotation import RestRotation
from ...scene.blender.animation_curves import (
    PlayedAction,
    key_linearly,
    key_points,
    multiply_values,
)
from ...scene.blender.attributes import read_property
from .bone_motion import VECTOR_CHANNELS, curves_by_channel, every_frame, sampled

# Between keys of these, the weighted sum of curves is the curve of the weighted sums.
_SUMMABLE = frozenset({"CONSTANT", "LINEAR", "BEZIER"})
# Free, vector, aligned. Blender computes others from the neighbouring keys: the sum has to hold
# its own, which are free then.
_KEPT_HANDLES, _FREE = (0, 2, 3), 0
# Modifiers of curves that a change of sign, or a sum, passes through.
_HARMLESS_MODIFIERS = frozenset({"CYCLES", "STEPPED"})

Components = list[bpy.types.FCurve | None]


def turn_pose(bone: bpy.types.PoseBone, turn: RestRotation) -> None:
    """Rewrite the channels of a pose bone for turned rest axes: M' = R^-1 M R.

    Args:
        turn: one whose axes only change places where the bone has an Euler rotation that is keyed
            or an unequal scale; `reorient_bones` sees to that.
    """
    channels: Any = bone
    channels.location = _turned(turn, channels.location)
    channels.rotation_quaternion = _turned_quaternion(turn, channels.rotation_quaternion)
    angle, *axis = channels.rotation_axis_angle
    channels.rotation_axis_angle = (angle, *_turned(turn, axis))
    mode = channels.rotation_mode
    if turn.axes is not None:
        euler = _turned(turn, channels.rotation_euler)
        if mode not in {"QUATERNION", "AXIS_ANGLE"}:
            channels.rotation_mode = turn.order(mode)
        channels.rotation_euler = euler
        places = turn.axes[0]
        # What belongs to an axis, without a sign.
        for name in ("scale", "lock_location", "lock_rotation", "lock_scale"):
            before = list(getattr(bone, name))
            setattr(bone, name, [before[places.index(axis)] for axis in range(3)])
    elif mode not in {"QUATERNION", "AXIS_ANGLE"}:
        before = Euler(channels.rotation_euler, mode)
        turned = _turned_quaternion(turn, before.to_quaternion())
        channels.rotation_euler = turned.to_euler(mode, before)


def turn_curves(
    played: PlayedAction, turns: dict[str, RestRotation], armature: bpy.types.Object
) -> tuple[int, int]:
    """Rewrite the curves of turned bones in one action.

    Args:
        played: an editable action.
        turns: by the names of the bones.
        armature: the armature object, its pose not yet rewritten: it has the values of components
            without a curve.

    Returns:
        how many curves there were, and how many channels had to be keyed on every frame.
    """
    count, sampled = 0, 0
    for bone, channel, components in list(channels_of(played, turns)):
        count += sum(curve is not None for curve in components)
        turn = turns[bone]
        if turn.axes is not None:
            _move_components(channel, components, turn.axes)
        elif channel in {"location", "rotation_quaternion", "rotation_axis_angle"}:
            sampled += _sum_components(played, channel, components, turn, armature)
    return count, sampled


def channels_of(
    played: PlayedAction, bones: dict[str, RestRotation]
) -> Iterator[tuple[str, str, Components]]:
    """The vector channels of these bones in an action: bone, channel, curves of x, y and z."""
    found: dict[tuple[str, str], Components] = {}
    for (bone, channel, index), curve in curves_by_channel(played).items():
        component = index - VECTOR_CHANNELS[channel]
        if bone in bones and 0 <= component < 3:
            found.setdefault((bone, channel), [None, None, None])[component] = curve
    yield from ((*place, components) for place, components in found.items())


def keeps_no_sum(curve: bpy.types.FCurve) -> bool:
    """Whether modifiers of a curve make something of its negative that is not its negative."""
    return any(m.type not in _HARMLESS_MODIFIERS and not m.mute for m in curve.modifiers)


def is_uneven(components: Components) -> bool:
    """Whether three curves are not one and the same, as those of an equal scale are."""
    values = [_points(curve)[..., 1] for curve in components if curve is not None]
    return len(values) < 3 or any(
        one.shape != values[0].shape or not np.allclose(one, values[0], atol=1e-5)
        for one in values[1:]
    )


def _turned(turn: RestRotation, vector: Any) -> Vector:
    return Vector(turn.vectors(np.array(vector, np.float64)).tolist())


def _turned_quaternion(turn: RestRotation, quaternion: Quaternion) -> Quaternion:
    return Quaternion((quaternion.w, *_turned(turn, quaternion[1:])))


def _move_components(
    channel: str, components: Components, axes: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """Give each curve the component that its axis has become: handles and all stay as they are."""
    for place, sign, curve in zip(*axes, components, strict=True):
        if curve is None:
            continue
        curve.array_index = VECTOR_CHANNELS[channel] + place
        if sign < 0 and channel != "scale":
            multiply_values(curve, -1.0)


def _sum_components(
    played: PlayedAction,
    channel: str,
    components: Components,
    turn: RestRotation,
    armature: bpy.types.Object,
) -> bool:
    """Make each curve the sum of the three; returns whether they had to be sampled for it."""
    curves = [curve for curve in components if curve is not None]
    is_sampled = not _have_common_keys(curves)
    keys = [key_points(curve)[:, 0] for curve in curves]
    frames = every_frame(np.concatenate(keys, dtype=np.float64))
    times = frames if is_sampled else _points(curves[0])[..., 0]
    kinds = _kinds(curves[0])

    def values(curve: bpy.types.FCurve) -> NDArray[np.float64]:
        return sampled(curve, frames) if is_sampled else _points(curve)[..., 1]

    rest = list(getattr(armature.pose.bones[turn.bone], channel))[VECTOR_CHANNELS[channel] :]
    stacked = [
        values(curve) if curve is not None else np.full(times.shape, value)
        for curve, value in zip(components, rest, strict=True)
    ]
    turned = turn.vectors(np.stack(stacked, axis=-1))
    for component in range(3):
        curve = components[component] or _new_curve(played, curves[0], channel, component)
        if is_sampled:
            key_linearly(curve, frames, turned[..., component])
        else:
            _write(curve, np.stack((times, turned[..., component]), axis=-1), *kinds)
    return is_sampled


def _new_curve(
    played: PlayedAction, sibling: bpy.types.FCurve, channel: str, component: int
) -> bpy.types.FCurve:
    curve = played.curves.new(sibling.data_path, index=VECTOR_CHANNELS[channel] + component)
    curve.group, curve.color_mode = sibling.group, sibling.color_mode
    curve.extrapolation = sibling.extrapolation
    return curve


def _have_common_keys(curves: list[bpy.types.FCurve]) -> bool:
    """Whether the weighted sum of the curves has its keys and handles where they have theirs."""
    if any(key.interpolation not in _SUMMABLE for key in curves[0].keyframe_points):
        return False
    times = _points(curves[0])[..., 0]
    kinds = _kinds(curves[0])[0]
    return all(
        len(other.keyframe_points) == len(times)
        and np.allclose(_points(other)[..., 0], times, atol=1e-3)
        and np.array_equal(_kinds(other)[0], kinds)
        and other.extrapolation == curves[0].extrapolation
        for other in curves[1:]
    )


def _points(curve: bpy.types.FCurve) -> NDArray[np.float64]:
    """Shape (k, 3, 2): key, left and right handle of each key: frame and value."""
    fields = ("co", "handle_left", "handle_right")
    points: Any = curve.keyframe_points
    return np.stack(
        [read_property(points, field, np.float32, (2,)) for field in fields], axis=1
    ).astype(np.float64)


def _kinds(curve: bpy.types.FCurve) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Shapes (k,) and (k, 2): the interpolation and the two handle types of each key."""
    points: Any = curve.keyframe_points
    handles = [read_property(points, f"handle_{side}_type", np.int32) for side in ("left", "right")]
    return read_property(points, "interpolation", np.int32), np.stack(handles, axis=1)


def _write(
    curve: bpy.types.FCurve,
    values: NDArray[np.float64],
    interpolation: NDArray[np.int32],
    handles: NDArray[np.int32],
) -> None:
    """Give a curve keys, with `values` as of `_points` and the rest as of `_kinds`."""
    points: Any = curve.keyframe_points
    points.clear()
    points.add(len(values))
    handles = np.where(np.isin(handles, _KEPT_HANDLES), handles, _FREE).astype(np.int32)
    points.foreach_set("interpolation", interpolation)
    for column, side in enumerate(("left", "right")):
        points.foreach_set(f"handle_{side}_type", np.ascontiguousarray(handles[:, column]))
    for column, field in enumerate(("co", "handle_left", "handle_right")):
        points.foreach_set(field, values[:, column].astype(np.float32).reshape(-1))
    curve.update()

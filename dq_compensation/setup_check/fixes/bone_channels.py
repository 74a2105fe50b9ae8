"""Rewrites the pose channels and keys of turned bones: their motion stays the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Quaternion, Vector
from numpy.typing import NDArray

from ...analysis.rest_rotation import RestRotation
from ...scene.animation_curves import PlayedAction, bone_channel, multiply_values
from ...scene.attributes import read_property
from .bone_motion import every_frame

# The channels that hold a vector in the space of the bone, and where in them it starts.
VECTOR_CHANNELS = {
    "location": 0,
    "rotation_euler": 0,
    "rotation_quaternion": 1,
    "rotation_axis_angle": 1,
    "scale": 0,
}
# Between keys of these, the weighted sum of curves is the curve of the weighted sums.
_SUMMABLE = frozenset({"CONSTANT", "LINEAR", "BEZIER"})
_FREE, _VECTOR_HANDLE, _ALIGNED = 0, 2, 3
_LINEAR = 1
# Of a handle type that Blender computes from the neighbouring keys; the sum has to hold its own.
_KEPT_HANDLES = (_FREE, _VECTOR_HANDLE, _ALIGNED)
# Modifiers of curves that a change of sign, or a sum, passes through.
_HARMLESS_MODIFIERS = frozenset({"CYCLES", "STEPPED"})

Components = list[bpy.types.FCurve | None]


def turn_pose(bone: bpy.types.PoseBone, turn: RestRotation) -> None:
    """Rewrite the channels of a pose bone for turned rest axes: M' = R^-1 M R.

    Args:
        turn: one whose axes only change places where the bone has an Euler rotation that is keyed
            or an unequal scale; `reorient_bones` sees to that.
    """
    axes = turn.axes
    channels: Any = bone
    channels.location = _turned(turn, channels.location)
    channels.rotation_quaternion = _turned_quaternion(turn, channels.rotation_quaternion)
    angle, *axis = channels.rotation_axis_angle
    channels.rotation_axis_angle = (angle, *_turned(turn, axis))
    mode = channels.rotation_mode
    if axes is not None:
        euler = _turned(turn, channels.rotation_euler)
        if mode not in {"QUATERNION", "AXIS_ANGLE"}:
            channels.rotation_mode = turn.order(mode)
        channels.rotation_euler = euler
        _turn_per_axis(bone, turn)
    elif mode not in {"QUATERNION", "AXIS_ANGLE"}:
        before = Euler(channels.rotation_euler, mode)
        turned = _turned_quaternion(turn, before.to_quaternion())
        channels.rotation_euler = turned.to_euler(mode, before)


def _turn_per_axis(bone: bpy.types.PoseBone, turn: RestRotation) -> None:
    """Move what belongs to an axis, without a sign: scale and locks."""
    axes = turn.axes
    if axes is None:
        return
    for name in ("scale", "lock_location", "lock_rotation", "lock_scale"):
        before = list(getattr(bone, name))
        after = list(before)
        for place, value in zip(axes[0], before, strict=True):
            after[place] = value
        setattr(bone, name, after)


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
    for curve in played.curves:
        place = bone_channel(curve.data_path)
        if place is None or place[0] not in bones or place[1] not in VECTOR_CHANNELS:
            continue
        component = curve.array_index - VECTOR_CHANNELS[place[1]]
        if 0 <= component < 3:
            found.setdefault(place, [None, None, None])[component] = curve
    for (bone, channel), components in found.items():
        yield bone, channel, components


def keeps_no_sum(curve: bpy.types.FCurve) -> bool:
    """Whether modifiers of a curve make something of its negative that is not its negative."""
    return any(m.type not in _HARMLESS_MODIFIERS and not m.mute for m in curve.modifiers)


def is_uneven(components: Components) -> bool:
    """Whether three curves are not one and the same, as those of an equal scale are."""
    if any(curve is None for curve in components):
        return True
    points = [_points(curve) for curve in components if curve is not None]
    return any(
        one.shape != points[0].shape or not np.allclose(one[..., 1], points[0][..., 1], atol=1e-5)
        for one in points[1:]
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
    first = next(curve for curve in components if curve is not None)
    is_sampled = not _have_common_keys(components)
    if is_sampled:
        curves = [curve for curve in components if curve is not None]
        frames = every_frame(np.concatenate([_points(curve)[:, 0, 0] for curve in curves]))
        points = [_sampled(curve, frames) if curve is not None else None for curve in components]
    else:
        points = [_points(curve) if curve is not None else None for curve in components]
    pattern = next(each for each in points if each is not None)
    bone = armature.pose.bones[turn.bone]
    rest = list(getattr(bone, channel))[VECTOR_CHANNELS[channel] :]
    stacked = np.stack(
        [
            each[..., 1] if each is not None else np.full(pattern.shape[:2], value)
            for each, value in zip(points, rest, strict=True)
        ],
        axis=-1,
    )
    turned = turn.vectors(stacked)
    kinds = None if is_sampled else _kinds(first)
    for component in range(3):
        curve = components[component] or _new_curve(played, first, channel, component)
        values = pattern.copy()
        values[..., 1] = turned[..., component]
        _write(curve, values, kinds)
    return is_sampled


def _new_curve(
    played: PlayedAction, sibling: bpy.types.FCurve, channel: str, component: int
) -> bpy.types.FCurve:
    curve = played.curves.new(sibling.data_path, index=VECTOR_CHANNELS[channel] + component)
    curve.group, curve.color_mode = sibling.group, sibling.color_mode
    curve.extrapolation = sibling.extrapolation
    return curve


def _have_common_keys(components: Components) -> bool:
    """Whether the weighted sum of the curves has its keys and handles where they have theirs."""
    curves = [curve for curve in components if curve is not None]
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


def _sampled(curve: bpy.types.FCurve, frames: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shape (k, 3, 2), as of `_points`: the curve's values at these frames."""
    values = np.array([curve.evaluate(float(frame)) for frame in frames])
    step = np.array([0.0, -0.3, 0.3])
    points = np.empty((len(frames), 3, 2))
    points[..., 0] = frames[:, None] + step
    points[..., 1] = values[:, None]
    return points


def _write(
    curve: bpy.types.FCurve,
    values: NDArray[np.float64],
    kinds: tuple[NDArray[np.int32], NDArray[np.int32]] | None,
) -> None:
    """Give a curve keys; `kinds` None: straight lines between them."""
    points: Any = curve.keyframe_points
    points.clear()
    points.add(len(values))
    interpolation = np.full(len(values), _LINEAR, np.int32)
    handles = np.full((len(values), 2), _VECTOR_HANDLE, np.int32)
    if kinds is not None:
        interpolation = kinds[0]
        handles = np.where(np.isin(kinds[1], _KEPT_HANDLES), kinds[1], _FREE).astype(np.int32)
    points.foreach_set("interpolation", interpolation)
    for column, side in enumerate(("left", "right")):
        points.foreach_set(f"handle_{side}_type", np.ascontiguousarray(handles[:, column]))
    for column, field in enumerate(("co", "handle_left", "handle_right")):
        points.foreach_set(field, values[:, column].astype(np.float32).reshape(-1))
    curve.update()

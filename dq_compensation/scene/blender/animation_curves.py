"""Reads the animation curves of datablocks and bones in the same way in every Blender version.

An action of Blender 4.2 has its curves itself; from 4.4 on it has slots, and each slot its curves;
from 5.0 on there is no other way to them. Here a `PlayedAction` is one action with the curves that
one datablock plays of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import bpy
import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Float32s, Floats
from .bulk_arrays import read_property
from .rna_properties import plain_values

Source = Literal["ACTION", "NLA", "CONSTRAINT", "STORED"]
"""ACTION: assigned to the datablock. NLA: in a strip of it. CONSTRAINT: of an Action constraint of
one of its bones. STORED: kept for it in the file."""

_BONE_PATH = re.compile(r'^pose\.bones\["((?:[^"\\]|\\.)*)"\](?:\.(\w+)|\["(?:[^"\\]|\\.)*"\])$')
_LINEAR, _VECTOR_HANDLE = 1, 2
_KEY_FIELDS = ("co", "handle_left", "handle_right")


@dataclass(frozen=True, eq=False)
class PlayedAction:
    """One action, as one datablock plays it.

    Attributes:
        slot_handle: of the slot that is played; 0 before Blender 4.4.
        source: from where it is played.
        strips: the names of the NLA strips that play it.
        curves: its F-Curves, a Blender collection with `find`, `new` and `remove`.
        groups: its channel groups, a Blender collection.
    """

    action: bpy.types.Action
    slot_handle: int
    source: Source
    strips: tuple[str, ...]
    curves: Any
    groups: Any

    def other_users(self, owner: bpy.types.ID) -> list[str]:
        """The names of the other datablocks that play the same curves, sorted."""
        users: Any = bpy.data.user_map(subset=[self.action]).get(self.action, set())
        names = []
        for user in users:
            if user == owner or getattr(user, "animation_data", None) is None:
                continue
            handles = {played.slot_handle for played in _assigned(user, self.action)}
            if self.slot_handle in handles:
                names.append(user.name)
        return sorted(names)


@dataclass(frozen=True, eq=False)
class BoneCurve:
    """One F-Curve of a bone's channel.

    Attributes:
        channel: `location`, `rotation_quaternion`, `scale`, ...; empty for a custom property.
        index: which component.
        played: the action that has it; None for a driver.
    """

    bone: str
    channel: str
    index: int
    curve: bpy.types.FCurve
    played: PlayedAction | None


def played_actions(owner: bpy.types.ID) -> list[PlayedAction]:
    """The actions that a datablock plays: its own and those of its NLA strips, each slot once.

    Muted tracks and strips count, too: what is muted today is played tomorrow.
    """
    return _each_once(_assigned(owner))


def _each_once(actions: Iterable[PlayedAction]) -> list[PlayedAction]:
    """Each slot of an action once, with the strips of all."""
    found: dict[tuple[int, int], PlayedAction] = {}
    for played in actions:
        key = (played.action.session_uid, played.slot_handle)
        known = found.get(key)
        if known is None:
            found[key] = played
        elif played.strips:
            found[key] = replace(known, strips=known.strips + played.strips)
    return list(found.values())


def constraint_actions(armature: bpy.types.Object) -> list[PlayedAction]:
    """The actions that Action constraints of an armature's bones play, each slot once."""
    found: list[PlayedAction] = []
    for bone in armature.pose.bones if armature.pose is not None else ():
        for constraint in bone.constraints:
            action = getattr(constraint, "action", None)
            if constraint.type == "ACTION" and action is not None:
                handle = int(getattr(constraint, "action_slot_handle", 0))
                found += _with_slot(action, handle, "CONSTRAINT", ())
    return _each_once(found)


def all_actions(armature: bpy.types.Object) -> list[PlayedAction]:
    """All actions for the bones of an armature object, each slot once.

    What it plays, what its Action constraints play, and what is stored for it.
    """
    played, of_constraints = played_actions(armature), constraint_actions(armature)
    return _each_once((*played, *of_constraints, *stored_actions(armature)))


def stored_actions(armature: bpy.types.Object) -> list[PlayedAction]:
    """The actions of this file that move bones of this armature only, and are played nowhere.

    Animators keep several in a file and assign one after the other.
    """
    bones = armature.data.bones if isinstance(armature.data, bpy.types.Armature) else ()
    names = {bone.name for bone in bones}
    unused = [action for action in bpy.data.actions if action.users == int(action.use_fake_user)]
    found = []
    for action in unused:
        for handle, curves, groups in _all_curves(action):
            moved = {place[0] for curve in curves if (place := bone_channel(curve.data_path))}
            if moved and moved <= names:
                found.append(PlayedAction(action, handle, "STORED", (), curves, groups))
    return found


@lru_cache(maxsize=4096)
def bone_channel(data_path: str) -> tuple[str, str] | None:
    """The bone and the channel that a data path leads to; None for any other path.

    The channel is empty for a custom property of the bone. What belongs to a bone's constraints is
    no channel of it.
    """
    match = _BONE_PATH.match(data_path)
    if match is None:
        return None
    return bpy.utils.unescape_identifier(match[1]), match[2] or ""


def bone_curves(played: list[PlayedAction], channel: str | None = None) -> Iterator[BoneCurve]:
    """The curves of bones in these actions; of one channel alone, if it is named."""
    for action in played:
        for curve in action.curves:
            path = curve.data_path
            if channel is not None and not path.endswith(channel):
                continue
            place = bone_channel(path)
            if place is not None and channel in {None, place[1]}:
                yield BoneCurve(*place, curve.array_index, curve, action)


def bone_drivers(armature: bpy.types.Object, channel: str | None = None) -> Iterator[BoneCurve]:
    """The drivers of bones' channels; of one channel alone, if it is named."""
    for curve in drivers(armature):
        place = bone_channel(curve.data_path)
        if place is not None and channel in {None, place[1]}:
            yield BoneCurve(*place, curve.array_index, curve, None)


def drivers(owner: bpy.types.ID) -> list[bpy.types.FCurve]:
    """The drivers of a datablock."""
    animation = getattr(owner, "animation_data", None)
    return list(animation.drivers) if animation is not None else []


def animated_paths(owner: bpy.types.ID) -> dict[str, str]:
    """The animated or driven data paths of a datablock, each with its cause, for messages."""
    animation: Any = getattr(owner, "animation_data", None)
    if animation is None:
        return {}
    found = {curve.data_path: "a driver" for curve in drivers(owner)}
    for played in played_actions(owner) if animation.action or len(animation.nla_tracks) else ():
        found.update(
            {curve.data_path: f"the action {played.action.name}" for curve in played.curves}
        )
    return found


def is_played(owner: bpy.types.ID, path: str) -> bool:
    """Whether a data path of a datablock is animated or driven; cheap."""
    animation: Any = getattr(owner, "animation_data", None)
    if animation is None:
        return False
    if animation.drivers.find(path) is not None:
        return True
    if animation.action is None and not len(animation.nla_tracks):
        return False
    return any(played.curves.find(path) is not None for played in played_actions(owner))


def key_points(curve: bpy.types.FCurve) -> Float32s:
    """Shape (k, 2): frame and value of each key."""
    return read_property(curve.keyframe_points, "co", np.float32, (2,))


def values_played(played: Iterable[PlayedAction], free: tuple[str, ...] = ()) -> Iterator[object]:
    """What is edited of actions: their curves.

    Args:
        free: the ends of the data paths whose keys do not count.
    """
    for each in played:
        yield each.source, each.strips
        for curve in each.curves:
            if free and curve.data_path.endswith(free):
                yield curve.data_path, curve.array_index
            else:
                yield from values_of_curve(curve)


def values_of_curve(curve: bpy.types.FCurve) -> Iterator[object]:
    """What is edited of a curve: its keys, their handles and interpolation, its modifiers."""
    yield curve.data_path, curve.array_index, curve.mute, curve.extrapolation
    points: Any = curve.keyframe_points
    for field in _KEY_FIELDS:
        yield read_property(points, field, np.float32, (2,))
    yield read_property(points, "interpolation", np.int32)
    yield from (list(plain_values(modifier)) for modifier in curve.modifiers)


def multiply_values(curve: bpy.types.FCurve, factor: float) -> None:
    """Multiply the values of all keys, their handles with them.

    The shape of the curve is multiplied exactly, between the keys too. Its modifiers are left.
    """
    _change_values(curve, lambda values: values * factor)


def set_values(curve: bpy.types.FCurve, value: float) -> None:
    """Give all keys, their handles with them, one value."""
    _change_values(curve, lambda values: np.full_like(values, value))


def key_linearly(curve: Any, frames: Sequence[float] | Floats, values: ArrayLike) -> None:
    """Replace the keys of a curve; straight lines between the new ones."""
    points: Any = curve.keyframe_points
    points.clear()
    points.add(len(frames))
    points.foreach_set("co", np.column_stack([frames, values]).astype(np.float32).reshape(-1))
    points.foreach_set("interpolation", np.full(len(frames), _LINEAR, np.int32))
    for side in ("left", "right"):
        points.foreach_set(f"handle_{side}_type", np.full(len(frames), _VECTOR_HANDLE, np.int32))
    curve.update()


def _change_values(curve: bpy.types.FCurve, change: Callable[[Float32s], Float32s]) -> None:
    points: Any = curve.keyframe_points
    for field in _KEY_FIELDS:
        values = read_property(points, field, np.float32, (2,))
        values[:, 1] = change(values[:, 1])
        points.foreach_set(field, values.reshape(-1))
    curve.update()


def _assigned(owner: bpy.types.ID, only: bpy.types.Action | None = None) -> Iterator[PlayedAction]:
    """The actions of a datablock and of each of its NLA strips, not put together."""
    animation: Any = getattr(owner, "animation_data", None)
    if animation is None:
        return
    for action, handle in _own_actions(animation):
        if only in {None, action}:
            yield from _with_slot(action, handle, "ACTION", ())
    for track in animation.nla_tracks:
        for strip in _with_nested(track.strips):
            if strip.action is not None and only in {None, strip.action}:
                handle = int(getattr(strip, "action_slot_handle", 0))
                yield from _with_slot(strip.action, handle, "NLA", (strip.name,))


def _own_actions(animation: Any) -> Iterator[tuple[bpy.types.Action, int]]:
    """The assigned action with its slot; while a strip is tweaked, also the one put aside."""
    if animation.action is not None:
        yield animation.action, int(getattr(animation, "action_slot_handle", 0))
    if animation.action_tweak_storage is not None:
        handle = int(getattr(animation, "action_slot_handle_tweak_storage", 0))
        yield animation.action_tweak_storage, handle


def _with_nested(strips: Any) -> Iterator[Any]:
    """The strips, and those within meta strips."""
    for strip in strips:
        yield strip
        yield from _with_nested(getattr(strip, "strips", ()))


def _with_slot(
    action: bpy.types.Action, handle: int, source: Source, strips: tuple[str, ...]
) -> Iterator[PlayedAction]:
    """The part of an action that this slot plays; nothing without a slot."""
    for of_slot, curves, groups in _all_curves(action):
        if of_slot == handle:
            yield PlayedAction(action, handle, source, strips, curves, groups)


def _all_curves(action: Any) -> Iterator[tuple[int, Any, Any]]:
    """The slot handles of an action with their curves and groups."""
    if not hasattr(action, "layers"):
        yield 0, action.fcurves, action.groups
        return
    for layer in action.layers:
        for strip in layer.strips:
            for bag in strip.channelbags:
                yield bag.slot_handle, bag.fcurves, bag.groups

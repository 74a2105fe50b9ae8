"""Animates shape keys: each is fully on in its frame and hands over to its neighbours linearly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import bpy
import numpy as np

from ..errors import UserError
from .blender.animation_curves import key_linearly, played_actions
from .blender.mesh import mesh_of
from .blender.own_objects import linked_refusal
from .blender.skinned_object import SkinnedObject


def action_refusal(obj: bpy.types.Object) -> str | None:
    """Why the shape keys of an object cannot be animated, or None."""
    animation = _animation(obj)
    if animation is None or animation.action is None:
        return None
    named = f"The action {animation.action.name} of the shape keys of {obj.name}"
    return linked_refusal(
        named, [animation.action], "Make it local, or bake onto a copy without it."
    )


def driven_refusal(obj: bpy.types.Object, names: Iterable[str]) -> str | None:
    """Which of these shape keys must not be replaced because it has a driver; or None."""
    animation = _animation(obj)
    if animation is None:
        return None
    for name in names:
        if animation.drivers.find(value_path(name)) is not None:
            return (
                f"The shape key {name} of {obj.name} has a driver, so it is not of an earlier "
                "bake. Choose other key names, or turn off Replace Earlier Bake."
            )
    return None


def value_path(name: str) -> str:
    """The data path of a key's value, from its Key."""
    return f'key_blocks["{bpy.utils.escape_identifier(name)}"].value'


def animate_in_turn(
    obj: bpy.types.Object,
    names: Sequence[str],
    frames: Sequence[int],
    span: tuple[float, float] = (-np.inf, np.inf),
) -> None:
    """Key the values of shape keys 0-1-0, so that between two of them the two add up to 1.

    The first rises within the frame before it, the last falls within the frame after it. The
    curves go into the action that the keys have; without one they get one.

    Args:
        names: of its keys, in the order of their frames.
        frames: rising.
        span: the frames of the armature's action. The first or last key holds its value where it
            would rise or fall outside of them, so that the action does not get longer.
    """
    curves, blocks = _curves(obj), mesh_of(obj).shape_keys.key_blocks
    turns = (frames[0] - 1, *frames, frames[-1] + 1)
    for place, name in enumerate(names):
        path = value_path(name)
        # What a removed key of this name has left behind.
        stale = curves.find(path)
        if stale is not None:
            curves.remove(stale)
        keys = [
            (frame, value)
            for frame, value in zip(turns[place : place + 3], (0, 1, 0), strict=True)
            if frames[0] <= frame <= frames[-1] or span[0] <= frame <= span[1]
        ]
        key_linearly(curve := curves.new(path), *zip(*keys, strict=True))
        # New curves are played from the next frame on.
        blocks[name].value = curve.evaluate(bpy.context.scene.frame_current_final)


def share_action(obj: bpy.types.Object) -> tuple[float, float]:
    """Tie the motion of the keys to the armature's action, so that glTF makes one animation.

    The exporter joins the slots of one action. Before Blender 4.4 actions have no slots, and it
    joins NLA tracks of one name: the armature and the keys each get a muted track, which plays
    nothing in Blender. Keys that have an action keep it.

    Returns:
        the first and last frame of the armature's action; infinite where it has none to join.
    """
    armature, key = SkinnedObject(obj).rig, mesh_of(obj).shape_keys
    action: Any = _action_to_join(armature)
    if action is None or key is None:
        return -np.inf, np.inf
    first, last = action.frame_range
    animation: Any = key.animation_data or key.animation_data_create()
    if not hasattr(action, "layers"):
        # The keys have their own action then.
        _curves(obj)
        name = _muted_track(armature, action.name)
        _muted_track(key, name)
    elif animation.action is None:
        animation.action = action
        animation.action_slot = action.slots.new(id_type="KEY", name=key.name)
    return first, last


def separate_action(obj: bpy.types.Object) -> str | None:
    """Why glTF does not export bones and keys as one animation, a sentence for riggers, or None."""
    armature, animation = SkinnedObject(obj).rig, _animation(obj)
    action = _action_to_join(armature)
    if action is None:
        return (
            f"{armature.name} has no action of this file that the keys could join. For one glTF "
            "animation bake its motion first (Object, Animation, Bake Action), then bake the "
            "frames again."
        )
    if animation is None or animation.action in {None, action} or not hasattr(action, "layers"):
        return None
    return (
        f"The keys play their own action {animation.action.name}. For one glTF animation export "
        "with the animation mode Active Actions Merged."
    )


def remove_curves(obj: bpy.types.Object, names: Iterable[str]) -> None:
    """Remove the animation of the values of these keys; an action that is empty then goes, too."""
    key, animation = mesh_of(obj).shape_keys, _animation(obj)
    if key is None or animation is None or animation.action is None:
        return
    for played in played_actions(key):
        if played.action != animation.action:
            continue
        found = [played.curves.find(value_path(name)) for name in names]
        for curve in filter(None, found):
            played.curves.remove(curve)
        if any(found) and not len(played.curves):
            leave_action(key)


def own_action(owner: Any) -> None:
    """Give a copied datablock a copy of its action, which copies share; None is harmless."""
    animation: Any = getattr(owner, "animation_data", None)
    if animation is None or animation.action is None:
        return
    action, slot = animation.action, getattr(animation, "action_slot", None)
    handle = slot.handle if slot is not None else None
    copied = action.copy()
    animation.action = copied
    for track in animation.nla_tracks:
        for strip in track.strips:
            if strip.action == action:
                strip.action = copied
    if handle is None:
        return
    animation.action_slot = next(slot for slot in copied.slots if slot.handle == handle)
    for slot in list(copied.slots):
        if slot.handle != handle:
            # What moves the armature, say, where the keys have joined its action.
            copied.slots.remove(slot)


def _action_to_join(armature: bpy.types.Object) -> bpy.types.Action | None:
    """The action that an armature plays, when it is of this file; None for strips of the NLA."""
    animation: Any = armature.animation_data
    if animation is None or animation.action is None or animation.use_tweak_mode:
        return None
    if armature.library is not None or animation.action.library is not None:
        return None
    return animation.action if getattr(animation, "action_slot", animation) is not None else None


def _muted_track(owner: Any, name: str) -> str:
    """Make sure that a muted NLA track has the action of a datablock; the track's name."""
    animation = owner.animation_data
    for track in animation.nla_tracks:
        if track.name == name and [strip.action for strip in track.strips] == [animation.action]:
            return name
    track = animation.nla_tracks.new()
    track.name, track.mute = name, True
    track.strips.new(name, round(animation.action.frame_range[0]), animation.action)
    return track.name


def leave_action(owner: Any) -> None:
    """Take its action off a datablock; remove what only that has of it. None is harmless."""
    animation: Any = getattr(owner, "animation_data", None)
    if animation is None or animation.action is None:
        return
    action, slot = animation.action, getattr(animation, "action_slot", None)
    for track in list(animation.nla_tracks):
        if track.mute and [strip.action for strip in track.strips] == [action]:
            animation.nla_tracks.remove(track)
    animation.action = None
    if slot is not None and not slot.users():
        action.slots.remove(slot)
    if action.users == 0:
        bpy.data.actions.remove(action)


def _animation(obj: bpy.types.Object) -> bpy.types.AnimData | None:
    key = mesh_of(obj).shape_keys
    return key.animation_data if key is not None else None


def _curves(obj: bpy.types.Object) -> Any:
    """The F-curves of the keys of an object; an action is made where there is none.

    Since Blender 4.4 an action has slots, and curves in a bag for each; before, it has curves.
    """
    key = mesh_of(obj).shape_keys
    if key is None:
        raise UserError(f"{obj.name} has no shape keys.")
    animation: Any = key.animation_data or key.animation_data_create()
    if animation.action is None:
        animation.action = bpy.data.actions.new(f"{obj.name} Shape Keys")
    action: Any = animation.action
    if not hasattr(action, "layers"):
        return action.fcurves
    if animation.action_slot is None:
        animation.action_slot = action.slots.new(id_type="KEY", name=key.name)
    layer = action.layers[0] if len(action.layers) else action.layers.new("Layer")
    strip = layer.strips[0] if len(layer.strips) else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(animation.action_slot, ensure=True).fcurves

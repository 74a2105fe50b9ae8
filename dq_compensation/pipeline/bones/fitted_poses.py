"""The poses that helper bones are fitted to and checked in.

They are those of the armature's action, or a range of motion and those of all its actions.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import bpy
import numpy as np

from ...analysis.ranges_of_motion import BEND, TWIST, ranges_of_motion
from ...arrays import Float64s, Int32s
from ...bake.rig_source import RigSource
from ...errors import UserError
from ...scene.binding.binding import Binding
from ...scene.blender.animation_curves import PlayedAction, all_actions, bone_curves, played_actions
from ...scene.blender.scenes import frame_kept, spread_frames
from ..correctives.action_joints import keyed_frames
from ..correctives.random_poses import (
    CHECKED,
    CHOOSING,
    FITTED,
    MotionPoses,
    motion_range,
    small_bends,
)
from .options import BonesOptions


def read_poses(
    source: RigSource, pairs: Int32s, options: BonesOptions
) -> Generator[float, None, list[MotionPoses]]:
    """The poses of each motion."""
    armature, binding, scene = source.armature, source.sources[0].binding, bpy.context.scene
    if options.poses == "FRAMES":
        fitted, between = action_frames(armature)
        choosing = between[1::3]
        parts = (fitted, choosing, [each for each in between if each not in choosing])
        every = sorted(frame for some in parts for frame in some)
        matrices = yield from matrices_of_frames(armature, binding, scene, every)
        first, second, third = (matrices[np.searchsorted(every, some)] for some in parts)
        return [MotionPoses(first, second, third)]
    motions = _range_of_motion(source, pairs)
    of_each = frames_of_all_actions(armature)
    every_frame = [frame for some in of_each for frame in some]
    of_actions = yield from matrices_of_actions(armature, binding, scene, every_frame)
    if len(of_actions):
        ends = np.cumsum([len(some) for some in of_each])[:-1]
        first, second, third = np.split(of_actions, ends)
        motions.append(MotionPoses(first, second, third))
    return motions


def _range_of_motion(source: RigSource, pairs: Int32s) -> list[MotionPoses]:
    """Random poses in which joints turn, far and a little, as poses of the armature's bones."""
    joined, place = source.joined
    influences = replace(source.influences, bones=place[source.influences.bones])
    ranges = ranges_of_motion(influences, source.rest, joined, place[pairs])
    balls = place[source.ball_joints()].tolist()
    both = (
        motion_range(joined, ranges, BEND, TWIST, balls),
        small_bends(joined, ranges, BEND),
    )
    return [
        replace(
            poses,
            fitted=poses.fitted[:, place],
            choosing=poses.choosing[:, place],
            checked=poses.checked[:, place],
        )
        for poses in both
    ]


def action_frames(armature: bpy.types.Object) -> tuple[list[int], list[int]]:
    """The frames of an armature's action to fit, and others to check.

    Raises:
        UserError: the armature has no action, or one of a single frame.
    """
    every = list(action_range(armature))
    chosen, between = every[::2], every[1::2]
    if not between:
        action = armature.animation_data.action.name
        raise UserError(
            f"The action {action} of {armature.name} has fewer than two frames. Choose Range "
            "and Actions instead."
        )
    return spread_frames(chosen, FITTED), spread_frames(between, CHOOSING + CHECKED)


def action_range(armature: bpy.types.Object) -> range:
    """The frames of an armature's action.

    Raises:
        UserError: it has none.
    """
    keyed_frames(armature)
    curves = [
        curve.range()
        for played in played_actions(armature)
        if played.source == "ACTION"
        for curve in played.curves
    ]
    first, last = min(low for low, _ in curves), max(high for _, high in curves)
    return range(int(np.floor(first)), int(np.ceil(last)) + 1)


def matrices_of_frames(
    armature: bpy.types.Object, binding: Binding, scene: bpy.types.Scene, frames: Sequence[int]
) -> Generator[float, None, Float64s]:
    """D_b of the bones in each frame, shape (F, B, 4, 4); yields the part that is done.

    The scene goes through the frames, so that constraints and drivers count, and back.

    Args:
        binding: of a mesh on the armature.
    """
    found = []
    with frame_kept(scene):
        for done, frame in enumerate(frames):
            scene.frame_set(frame)
            evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
            found.append(binding.pose_matrices(evaluated)[: binding.skeleton.bone_count])
            yield (done + 1) / len(frames)
    return np.array(found).reshape(-1, binding.skeleton.bone_count, 4, 4)


Frame = tuple[PlayedAction, int]
"""A frame of an action of an armature."""


def frames_of_all_actions(armature: bpy.types.Object) -> tuple[list[Frame], ...]:
    """The frames of all actions for the bones of an armature: to fit, to choose, and to check.

    Actions that it plays, those in NLA strips, and those that are stored for it. While a strip is
    tweaked Blender assigns no other action: there are none then.
    """
    animation: Any = armature.animation_data
    if animation is not None and animation.use_tweak_mode:
        return [], [], []
    every: list[Frame] = []
    for played in all_actions(armature):
        ranges = [each.curve.range() for each in bone_curves([played])]
        if played.source == "CONSTRAINT" or not ranges:
            continue
        first, last = min(low for low, _ in ranges), max(high for _, high in ranges)
        every += [(played, each) for each in range(int(np.floor(first)), int(np.ceil(last)) + 1)]
    parts = (every[0::2], FITTED), (every[1::4], CHOOSING), (every[3::4], CHECKED)
    return tuple([some[n] for n in spread_frames(range(len(some)), most)] for some, most in parts)


def matrices_of_actions(
    armature: bpy.types.Object, binding: Binding, scene: bpy.types.Scene, frames: Sequence[Frame]
) -> Generator[float, None, Float64s]:
    """`matrices_of_frames` of all actions, each alone; frames of one action come together."""
    found = np.empty((len(frames), binding.skeleton.bone_count, 4, 4))
    every = dict.fromkeys(played for played, _ in frames)
    paths = {curve.data_path for played in every for curve in played.curves}
    with frame_kept(scene, {armature: paths}), _actions_kept(armature) as animation:
        assigned = None
        for place, (played, frame) in enumerate(frames):
            if played is not assigned:
                _assign(animation, played.action, played.slot_handle)
                assigned = played
            scene.frame_set(frame)
            evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
            found[place] = binding.pose_matrices(evaluated)[: binding.skeleton.bone_count]
            yield (place + 1) / len(frames)
    return found


@contextmanager
def _actions_kept(armature: bpy.types.Object) -> Generator[Any]:
    """Turn the NLA of an armature off, and put it and the assigned action back after the block."""
    animation: Any = armature.animation_data
    if animation is None:
        try:
            yield armature.animation_data_create()
        finally:
            armature.animation_data_clear()
        return
    action, slot = animation.action, int(getattr(animation, "action_slot_handle", 0))
    last_slot = getattr(animation, "last_slot_identifier", "")
    plays_nla = animation.use_nla
    try:
        animation.use_nla = False
        yield animation
    finally:
        _assign(animation, action, slot)
        if last_slot:
            animation.last_slot_identifier = last_slot
        animation.use_nla = plays_nla


def _assign(animation: Any, action: bpy.types.Action | None, slot_handle: int) -> None:
    """Assign an action and one of its slots; Blender before 4.4 knows no slots."""
    animation.action = action
    if action is not None and hasattr(animation, "action_slot"):
        slots: Any = action.slots
        animation.action_slot = next((e for e in slots if e.handle == slot_handle), None)

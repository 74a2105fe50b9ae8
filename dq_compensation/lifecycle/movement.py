"""Whether an object is still moving or being edited: slow updates wait until it rests."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..modifier.modifier_stack import our_modifier
from ..modifier.setting_drivers import FOLLOWED_PATHS, own_driver_count
from ..scene.binding.modifiers_before import followed_modifiers, is_animated, modifiers_before
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.armature import armature_of, object_to_armature
from ..scene.blender.attributes import read_property
from ..scene.blender.mesh import mesh_of
from ..scene.blender.rigging import find_rig, rig_of
from ..session.status import seconds_since_change, status_of

# Seconds without a change until weights that are being painted are read: a stroke must not stall.
STROKE_RESTS_AFTER = 0.25
# The animated paths of an object that decide how it is deformed.
_DEFORMING = ("modifiers[", "dq_compensation.", "vertex_groups")
# What rounding adds to a place from frame to frame.
_STILL = 1e-5
_PAINT_MODES = frozenset({"WEIGHT_PAINT", "VERTEX_PAINT", "TEXTURE_PAINT", "SCULPT"})


def is_being_edited(obj: bpy.types.Object) -> bool:
    """Whether an edit of a mesh may still be going on: a stroke, or a shape key's slider.

    Blender reports a slider that moves as an edit of the mesh; its values are read in every frame
    anyway.
    """
    if obj.mode in _PAINT_MODES and seconds_since_change() < STROKE_RESTS_AFTER:
        return True
    status, values = status_of(obj), key_values(obj)
    before, status.key_values = status.key_values, values
    return before is not None and not np.array_equal(before, values)


def is_still_moving(obj: bpy.types.Object) -> bool:
    """Whether an object has moved by its armature since the last call: it is being dragged."""
    status, place = status_of(obj), object_to_armature(obj, rig_of(obj))
    before, status.last_place = status.last_place, place
    return before is None or not np.array_equal(place, before)


def may_change_with_frames(obj: bpy.types.Object) -> bool:
    """Whether frames may change how an object is to be deformed, or move it by its armature.

    An edit alone makes another answer.
    """
    rig = find_rig(obj)
    hangs_on_rig = obj.parent == rig and obj.parent_type == "OBJECT" and not len(obj.constraints)
    return not hangs_on_rig or _is_animated(obj) or bool(modifiers_before(obj))


def is_changed_by_frame(obj: bpy.types.Object) -> bool:
    """Whether a frame may have changed how an object is to be deformed, or has moved it.

    The factor and the spread are read by drivers on our modifier, shape keys by Blender.
    """
    if has_moved_with_frame(obj) or followed_modifiers(obj):
        return True
    if not _is_animated(obj):
        return False
    ours, followed = our_modifier(obj), FOLLOWED_PATHS.values()
    deforming = (path for path in animated_paths(obj) if path.startswith(_DEFORMING))
    return any(
        path not in followed and not (ours is not None and is_animated(ours, (path,)))
        for path in deforming
    )


def _is_animated(obj: bpy.types.Object) -> bool:
    """Whether an object is animated, but for the drivers of our modifier."""
    data = obj.animation_data
    if data is None:
        return False
    others = len(data.drivers) > own_driver_count(obj)
    return others or bool(data.action or len(data.nla_tracks))


def has_moved_with_frame(obj: bpy.types.Object) -> bool:
    """Whether an object has moved by its armature since the last frame that was looked at."""
    rig, status = find_rig(obj), status_of(obj)
    if rig is None:
        return False
    place = np.array(rig.matrix_world.inverted_safe() @ obj.matrix_world)
    before = status.frame_place
    if before is not None and np.abs(place - before).max() <= _STILL:
        return False
    status.frame_place = place
    return True


def are_bones_being_renamed(obj: bpy.types.Object) -> bool:
    """Whether bones have new names in Edit Mode: bones and groups disagree until it is left.

    The character is shown at rest meanwhile.
    """
    rig = find_rig(obj)
    if rig is None or rig.pose is None or not armature_of(rig).is_editmode:
        return False
    return set(armature_of(rig).bones.keys()) != set(rig.pose.bones.keys())


def key_values(obj: bpy.types.Object) -> NDArray[np.float32]:
    """Shape (m,): the values of a mesh object's shape keys; empty for any other object."""
    keys = mesh_of(obj).shape_keys if obj.type == "MESH" else None
    if keys is None:
        return np.zeros(0, np.float32)
    return read_property(keys.key_blocks, "value", np.float32)

"""Whether an object is moving or being edited: what takes long waits until it rests."""

from __future__ import annotations

from typing import Literal

import bpy
import numpy as np

from ..arrays import Float32s
from ..modifier.modifier_inputs import FOLLOWED_PATHS, own_drivers
from ..scene.binding.modifiers_before import is_animated, may_differ_in_frames
from ..scene.blender.animation_curves import animated_paths
from ..scene.blender.bulk_arrays import read_property
from ..scene.blender.mesh import mesh_of
from ..scene.blender.skinned_object import SkinnedObject
from ..session.status import seconds_since_change, status_of

# Seconds without a change until weights that are being painted are read: a stroke must not stall.
_STROKE_RESTS_AFTER = 0.25
# The animated paths of an object that decide how it is deformed.
_DEFORMING = ("modifiers[", "dq_compensation.", "vertex_groups")
# What rounding adds to a place from frame to frame, and from check to check.
_STILL = 1e-5
_PAINT_MODES = frozenset({"WEIGHT_PAINT", "VERTEX_PAINT", "TEXTURE_PAINT", "SCULPT"})


def is_being_edited(obj: bpy.types.Object) -> bool:
    """Whether an edit of a mesh may still be going on: a stroke, or a shape key's slider.

    Blender reports a slider that moves as an edit of the mesh; its values are read in every frame
    anyway.
    """
    if obj.mode in _PAINT_MODES and seconds_since_change() < _STROKE_RESTS_AFTER:
        return True
    status, values = status_of(obj), key_values(obj)
    before, status.key_values = status.key_values, values
    return before is not None and not np.array_equal(before, values)


def has_moved_since(skinned: SkinnedObject, last: Literal["CHECK", "FRAME"]) -> bool:
    """Whether an object has moved by its armature since the last check or frame that asked this."""
    obj, rig = skinned.obj, skinned.find_rig()
    places = status_of(obj).places
    if rig is None:
        return False
    place, before = np.array(rig.matrix_world.inverted_safe() @ obj.matrix_world), places.get(last)
    if before is not None and np.abs(place - before).max() <= _STILL:
        return False
    places[last] = place
    return True


def is_changed_by_frame(obj: bpy.types.Object) -> bool:
    """Whether a frame may have changed how an object is to be deformed, or has moved it.

    The factor and the spread are read by drivers on our modifier, shape keys by Blender.
    """
    skinned = SkinnedObject(obj)
    if has_moved_since(skinned, "FRAME") or may_differ_in_frames(skinned):
        return True
    if not is_object_animated(obj):
        return False
    ours, followed = skinned.ours, FOLLOWED_PATHS.values()
    deforming = (path for path in animated_paths(obj) if path.startswith(_DEFORMING))
    return any(
        path not in followed and not (ours is not None and is_animated(ours, (path,)))
        for path in deforming
    )


def is_object_animated(obj: bpy.types.Object) -> bool:
    """Whether an object is animated, but for the drivers of our modifier."""
    data = obj.animation_data
    if data is None:
        return False
    others = len(data.drivers) > len(own_drivers(obj))
    return others or bool(data.action or len(data.nla_tracks))


def key_values(obj: bpy.types.Object) -> Float32s:
    """Shape (m,): the values of a mesh object's shape keys; empty for any other object."""
    keys = mesh_of(obj).shape_keys if obj.type == "MESH" else None
    if keys is None:
        return np.zeros(0, np.float32)
    return read_property(keys.key_blocks, "value", np.float32)

"""Whether something of an object is still on the move: what takes long waits until it rests."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..modifier.installation import has_moved
from ..scene.armature import object_to_armature
from ..scene.attributes import read_property
from ..scene.evaluation import Settings
from ..scene.mesh import mesh_of
from ..scene.setup import problem, rig_of
from ..scene.status import seconds_since_change, status_of
from .replacement import is_fixed

# Seconds without a change until weights that are being painted are read: a stroke must not stall.
STROKE_RESTS_AFTER = 0.25
_PAINT_MODES = frozenset({"WEIGHT_PAINT", "VERTEX_PAINT", "TEXTURE_PAINT", "SCULPT"})


def is_being_painted(obj: bpy.types.Object) -> bool:
    """Whether a stroke may still be going on."""
    return obj.mode in _PAINT_MODES and seconds_since_change() < STROKE_RESTS_AFTER


def is_sliding(obj: bpy.types.Object) -> bool:
    """Whether a shape key's slider has moved since the last check.

    Blender reports that as an edit of the mesh. Its values are read in every frame anyway: binding
    again, which may take a tenth of a second, waits until the slider rests.
    """
    status = status_of(obj)
    values = key_values(obj)
    before, status.key_values = status.key_values, values
    return before is not None and not np.array_equal(before, values)


def needs_measuring(obj: bpy.types.Object) -> bool:
    """Whether an object's compensation has to be measured anew for where it is, and can be."""
    return obj.library is None and not is_fixed(obj) and has_moved(obj, Settings.of(obj))


def is_carried(obj: bpy.types.Object) -> bool:
    """Whether an object whose compensation has to be measured anew is still being moved.

    It depends on where the object is to its armature; while that changes, binding again waits.
    """
    status = status_of(obj)
    place = None
    if problem(obj) is None and needs_measuring(obj):
        place = object_to_armature(obj, rig_of(obj))
    before, status.carried_to = status.carried_to, place
    return place is not None and not (before is not None and np.array_equal(place, before))


def key_values(obj: bpy.types.Object) -> NDArray[np.float32]:
    """Shape (m,): the values of a mesh object's shape keys; empty for any other object."""
    keys = mesh_of(obj).shape_keys if obj.type == "MESH" else None
    if keys is None:
        return np.zeros(0, np.float32)
    return read_property(keys.key_blocks, "value", np.float32)

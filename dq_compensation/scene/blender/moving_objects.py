"""Which objects are not at the same place, or not of the same shape, in every frame."""

from __future__ import annotations

import bpy

from .animation_curves import animated_paths
from .rna_properties import data_used_by

# Modifiers that need no other data-block to give another shape in each frame.
_BY_TIME = frozenset(
    ("BUILD", "CLOTH", "DYNAMIC_PAINT", "EXPLODE", "FLUID", "MESH_CACHE", "NODES", "OCEAN")
    + ("PARTICLE_SYSTEM", "SOFT_BODY", "WAVE")
)
_TRANSFORM = ("location", "rotation_", "scale", "delta_")


def is_moving(obj: bpy.types.Object) -> bool:
    """Whether keys, drivers, constraints, physics or a parent that moves may move an object.

    Poses of its bones do not count.
    """
    if any(path.startswith(_TRANSFORM) for path in animated_paths(obj)):
        return True
    if obj.rigid_body is not None or any(not each.mute for each in obj.constraints):
        return True
    # A bone can move in as many ways as there are rigs.
    return obj.parent is not None and (obj.parent_type != "OBJECT" or is_moving(obj.parent))


def is_reshaped(obj: bpy.types.Object) -> bool:
    """Whether modifiers, keys or drivers may give an object another shape in each frame."""
    data = obj.data
    if data is None:
        return False
    keys = getattr(data, "shape_keys", None)
    animated = bool(animated_paths(data)) or (keys is not None and bool(animated_paths(keys)))
    if animated or any(path.startswith("modifiers[") for path in animated_paths(obj)):
        return True
    return any(each.show_viewport and _may_follow_time(each) for each in obj.modifiers)


def _may_follow_time(modifier: bpy.types.Modifier) -> bool:
    """Whether it may give another shape in each frame with the same settings: by time or data."""
    return modifier.type in _BY_TIME or any(data_used_by(modifier))

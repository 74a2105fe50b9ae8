"""Tells a dragged value of a shape key from an edit of the mesh: Blender names both alike.

Modifiers read the values where they act, so that a drag needs no look at the mesh. The first value
of a key that is set may come with an edit, and counts as one. Those that follow do not, where the
points of the key and the vertices of the mesh are as before. What else a script edits in the same
step, as weights, the next look finds.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..arrays import Float32s
from ..scene.blender.bulk_arrays import AttributeType, read_attribute, read_property
from ..scene.settings.object_settings import is_enabled
from ..scene.stack import stack_of
from .changes import Changes
from .memory import memories, memory_of


class _Named:
    """A mesh with shape keys, when an evaluation has named it last.

    Attributes:
        values: of its keys; empty before.
        places: hashes of the points of keys that were moved, by their names, and of the vertices.
    """

    def __init__(self) -> None:
        self.values: Float32s = np.zeros(0, np.float32)
        self.places: dict[str, int] = {}


def forget_values() -> None:
    """The next value that is set may come with an edit."""
    memories(_Named).clear()


def moved_keys(changes: Changes) -> frozenset[int]:
    """The session_uid of objects of which only values of shape keys have changed, and their meshes.

    Args:
        changes: outside of a frame; each is asked once.
    """
    if not changes.depsgraph.id_type_updated("KEY"):
        return frozenset()
    found, objects = set[int](), list[bpy.types.Object]()
    for update in changes.updates:
        data = update.data
        if isinstance(data, bpy.types.Object):
            objects.append(data)
        elif isinstance(data, bpy.types.Mesh) and data.shape_keys is not None:
            if not update.shading:  # drivers or animation have moved them
                memories(_Named).pop(update.uid, None)
            elif _only_values_changed(data, memory_of(data, _Named)):
                found |= {update.uid, data.shape_keys.session_uid}
    return frozenset(found | {obj.session_uid for obj in objects if _shows_keys(obj, found)})


def _shows_keys(obj: bpy.types.Object, meshes: set[int]) -> bool:
    """Whether one of these meshes is that of an enabled object, which is bound to itself."""
    mesh = obj.data
    if mesh is None or mesh.session_uid not in meshes:
        return False
    return is_enabled(obj) and not stack_of(obj).before


def _only_values_changed(mesh: bpy.types.Mesh, named: _Named) -> bool:
    """Whether values of keys have changed since the mesh was named last, and no points have."""
    blocks, before = mesh.shape_keys.key_blocks, named.values
    named.values = read_property(blocks, "value", np.float32)
    if len(before) != len(named.values):
        named.places.clear()
        return False
    changed = np.flatnonzero(before != named.values)
    places = read_attribute(mesh, "position", AttributeType.VECTOR, len(mesh.vertices))
    now = {"": hash(places.tobytes())}
    for number in changed.tolist():
        points = read_property(blocks[number].points, "co", np.float32, (3,))
        now[blocks[number].name] = hash(points.tobytes())
    same = all(named.places.get(name) == place for name, place in now.items())
    named.places |= now
    return same and len(changed) > 0

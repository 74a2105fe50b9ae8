"""The posed copy: a plain mesh in the shape of the character of now, for the artist to sculpt.

Sculpt Mode shows no node modifier, and a stroke on a skinned mesh lands in rest space. So the
artist works on a copy of the deformed surface, without modifiers, at the character's place; the
character is hidden meanwhile. What is needed to take the result back to rest is kept in the copy,
so that it outlives undo, saving and scrubbing through the timeline.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.example_poses import ExampleError
from ..scene.binding import bind
from ..scene.example_capture import Capture
from ..scene.mesh import mesh_of, read_positions
from ..scene.object_settings import settings_of
from .authoring import by_example, give_shape
from .items import authoring_problem
from .moment import Moment

SculptMode = Literal["SCULPT", "EDIT", "OBJECT"]

# Custom properties of the copy.
CHARACTER_PROPERTY = "dq_compensation_example_of"
BONE_PROPERTY = "dq_compensation_example_bone"
NAME_PROPERTY = "dq_compensation_example_name"
MOMENT_PROPERTY = "dq_compensation_example_moment"


def posed_copy_of(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The posed copy that a character has at the moment, in the current scene; None without one."""
    for other in bpy.context.scene.objects:
        if other.get(CHARACTER_PROPERTY) == obj:
            return other
    return None


def character_of(copy: bpy.types.Object | None) -> bpy.types.Object | None:
    """The character whose posed copy an object is; None when it is none."""
    found = copy.get(CHARACTER_PROPERTY) if copy is not None else None
    return found if isinstance(found, bpy.types.Object) and found.type == "MESH" else None


def begin(
    obj: bpy.types.Object, index: int, moment: Moment | None, depsgraph: bpy.types.Depsgraph
) -> bpy.types.Object:
    """Make the posed copy for an example, select it and hide the character.

    Args:
        obj: the original mesh object, in Object Mode.
        index: of the example.
        moment: when it was added; None for an example that is edited again: the pose of now.
        depsgraph: evaluated.

    Raises:
        ExampleError: it cannot be edited; nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    reason = authoring_problem(obj)
    if reason is not None:
        raise ExampleError(reason)
    if posed_copy_of(obj) is not None:
        raise ExampleError(f"An example of {obj.name} is being edited. Apply or cancel that first.")
    binding = bind(obj, depsgraph)
    settings = by_example(obj)
    moment = moment or Moment.of_now(binding, settings, obj, depsgraph)
    item = settings_of(obj).examples[index]
    shape = moment.shape(binding, frozenset())
    posed = moment.deformer(binding, settings)(shape).astype(np.float32)
    mesh = cast("bpy.types.Mesh", mesh_of(obj).copy())
    mesh.name = f"{obj.name} posed"
    copy = bpy.data.objects.new(f"{obj.name} posed", mesh)
    copy.shape_key_clear()
    position: Any = mesh.attributes["position"]
    position.data.foreach_set("vector", posed.ravel())
    mesh.update()
    copy.matrix_world = obj.matrix_world
    for slot, own in zip(copy.material_slots, obj.material_slots, strict=True):
        slot.link, slot.material = own.link, own.material
    copy[CHARACTER_PROPERTY] = obj
    copy[BONE_PROPERTY], copy[NAME_PROPERTY] = item.bone, item.name
    copy[MOMENT_PROPERTY] = moment.to_properties()
    for collection in obj.users_collection:
        collection.objects.link(copy)
    for other in bpy.context.view_layer.objects:
        other.select_set(False)
    bpy.context.view_layer.objects.active = copy
    copy.select_set(True)
    obj.hide_set(True)
    return copy


def apply(copy: bpy.types.Object) -> tuple[Capture, str]:
    """Take the shape of a posed copy back to rest as its example, and remove the copy.

    Args:
        copy: in Object Mode.

    Returns:
        what could be taken back, and the name of the example.

    Raises:
        ExampleError: it does not belong to an example any more; the copy stays.
        BindingError, PoseError: the character cannot be deformed; the copy stays.
    """
    obj = character_of(copy)
    if obj is None:
        raise ExampleError(f"{copy.name} is not the posed copy of a character.")
    index = _index_of_example(obj, str(copy[BONE_PROPERTY]), str(copy[NAME_PROPERTY]))
    moment = Moment.from_properties(copy[MOMENT_PROPERTY])
    found = give_shape(obj, index, moment, positions_in(copy, obj))
    name = settings_of(obj).examples[index].name
    end(copy)
    return found, name


def end(copy: bpy.types.Object) -> None:
    """Remove a posed copy and show its character again, selected."""
    obj, mesh = character_of(copy), mesh_of(copy)
    bpy.data.objects.remove(copy)
    if not mesh.users:
        bpy.data.meshes.remove(mesh)
    if obj is not None and obj.name in bpy.context.view_layer.objects:
        obj.hide_set(False)
        obj.select_set(True)
        bpy.context.view_layer.objects.active = obj


def positions_in(source: bpy.types.Object, obj: bpy.types.Object) -> NDArray[np.float64]:
    """The vertices of one mesh object in the space of another, shape (n, 3).

    Args:
        source: any mesh object of the same topology; its modifiers do not count.
        obj: the character.

    Raises:
        ExampleError: it has other vertices or faces.
    """
    mesh, own = mesh_of(source), mesh_of(obj)
    counts = (len(mesh.vertices), len(mesh.edges), len(mesh.polygons), len(mesh.loops))
    wanted = (len(own.vertices), len(own.edges), len(own.polygons), len(own.loops))
    if counts != wanted:
        raise ExampleError(
            f"{source.name} has {counts[0]} vertices and {counts[2]} faces, {obj.name} "
            f"{wanted[0]} and {wanted[2]}. Both must have the same mesh, in the same order."
        )
    positions = read_positions(mesh).astype(np.float64)
    there = np.linalg.solve(
        np.array(obj.matrix_world, np.float64), np.array(source.matrix_world, np.float64)
    )
    if np.abs(there - np.eye(4)).max() < 1e-6:
        return positions
    return positions @ there[:3, :3].T + there[:3, 3]


def _index_of_example(obj: bpy.types.Object, bone: str, name: str) -> int:
    for index, item in enumerate(settings_of(obj).examples):
        if (item.bone, item.name) == (bone, name):
            return index
    raise ExampleError(
        f"{obj.name} has no example pose {name} of {bone} any more. Add one and use Update from "
        "Mesh to give it this shape."
    )

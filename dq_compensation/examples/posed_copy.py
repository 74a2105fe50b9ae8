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

from ..bake.shape_keys import clear_keys
from ..core.example_poses import ExampleError
from ..scene.binding import bind
from ..scene.errors import BindingError
from ..scene.example_capture import Capture, support_weights
from ..scene.mesh import mesh_of, read_positions
from ..scene.object_settings import settings_of
from ..scene.posed_copies import (
    CHARACTER_PROPERTY,
    character_of,
    hide_for_copy,
    posed_copy_of,
    show_again,
)
from ..scene.setup import rig_of
from .authoring import by_example, give_shape, remove_example
from .items import authoring_problem, bone_settings
from .moment import Moment

__all__ = ["apply", "begin", "cancel", "character_of", "end", "posed_copy_of", "positions_in"]

ShapingMode = Literal["SCULPT", "EDIT"]

# Custom properties of the copy.
BONE_PROPERTY = "dq_compensation_example_bone"
NAME_PROPERTY = "dq_compensation_example_name"
KEY_PROPERTY = "dq_compensation_example_key"
NEW_PROPERTY = "dq_compensation_example_is_new"
MATRIX_PROPERTY = "dq_compensation_example_matrix"
MOMENT_PROPERTY = "dq_compensation_example_moment"

# What Sculpt Mode keeps its mask in: 1 where a brush does nothing.
_MASK = ".sculpt_mask"


def shaping_problem(obj: bpy.types.Object) -> str | None:
    """Why no posed copy of an object can be begun, or None; cheap."""
    reason = authoring_problem(obj)
    if reason is not None:
        return reason
    if posed_copy_of(obj) is not None:
        return f"An example of {obj.name} is being edited. Apply or cancel that first."
    if obj.mode != "OBJECT":
        return f"{obj.name} is in another mode. Go to Object Mode, or to Pose Mode of its armature."
    if not obj.visible_get():
        return f"{obj.name} is hidden. Show it (Alt H) and try again."
    return None


def begin(
    obj: bpy.types.Object,
    index: int,
    moment: Moment | None,
    depsgraph: bpy.types.Depsgraph,
    *,
    is_new: bool = False,
) -> bpy.types.Object:
    """Make the posed copy for an example, select it and hide the character.

    What the example cannot move is masked for Sculpt Mode.

    Args:
        obj: the original mesh object, in Object Mode.
        index: of the example.
        moment: when it was added; None for an example that is edited again: the pose of now.
        depsgraph: evaluated.
        is_new: `cancel` takes the example back as well.

    Raises:
        ExampleError: it cannot be edited; nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    reason = shaping_problem(obj)
    if reason is not None:
        raise ExampleError(reason)
    binding = bind(obj, depsgraph)
    settings = by_example(obj)
    moment = moment or Moment.of_now(binding, settings, obj, depsgraph)
    item = settings_of(obj).examples[index]
    if item.bone not in binding.skeleton.names:
        raise ExampleError(f"{binding.armature_name} has no bone {item.bone} any more.")
    shape = moment.shape(binding, frozenset())
    posed = moment.deformer(binding, settings)(shape).astype(np.float32)
    support = support_weights(
        binding, binding.skeleton.names.index(item.bone), bone_settings(obj, item.bone).support
    )
    copy = _copy_in_shape(obj, posed)
    _mask(mesh_of(copy), 1.0 - np.clip(support, 0.0, 1.0))
    copy[CHARACTER_PROPERTY] = obj
    copy[BONE_PROPERTY], copy[NAME_PROPERTY], copy[KEY_PROPERTY] = item.bone, item.name, item.key
    copy[NEW_PROPERTY] = is_new
    copy[MATRIX_PROPERTY] = np.array(obj.matrix_world, np.float64).ravel().tolist()
    copy[MOMENT_PROPERTY] = moment.to_properties()
    for collection in obj.users_collection:
        collection.objects.link(copy)
    for other in bpy.context.view_layer.objects:
        other.select_set(False)
    bpy.context.view_layer.objects.active = copy
    copy.select_set(True)
    hide_for_copy(obj)
    return copy


def _copy_in_shape(obj: bpy.types.Object, posed: NDArray[np.float32]) -> bpy.types.Object:
    """A new object with the mesh of another and other positions, not yet in a collection."""
    mesh = cast("bpy.types.Mesh", mesh_of(obj).copy())
    mesh.name = f"{obj.name} posed"
    copy = bpy.data.objects.new(f"{obj.name} posed", mesh)
    clear_keys(copy)
    position: Any = mesh.attributes["position"]
    position.data.foreach_set("vector", posed.ravel())
    mesh.update()
    copy.matrix_world = obj.matrix_world
    copy.hide_render = True
    for slot, own in zip(copy.material_slots, obj.material_slots, strict=True):
        slot.link, slot.material = own.link, own.material
    return copy


def _mask(mesh: bpy.types.Mesh, values: NDArray[np.floating]) -> None:
    known = mesh.attributes.get(_MASK)
    if known is not None:
        mesh.attributes.remove(known)
    mask: Any = mesh.attributes.new(_MASK, "FLOAT", "POINT")
    mask.data.foreach_set("value", np.ascontiguousarray(values, np.float32))


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
    obj = require_character(copy)
    index = example_of(copy, obj)
    moment = Moment.from_properties(copy[MOMENT_PROPERTY])
    began_at = np.array(copy[MATRIX_PROPERTY], np.float64).reshape(4, 4)
    found = give_shape(obj, index, moment, positions_in(copy, obj, began_at))
    name = settings_of(obj).examples[index].name
    end(copy)
    return found, name


def require_character(copy: bpy.types.Object) -> bpy.types.Object:
    """The character whose posed copy an object is.

    Raises:
        ExampleError: it is none, or its character was deleted.
    """
    obj = character_of(copy)
    if obj is None:
        raise ExampleError(
            f"{copy.name} is not the posed copy of a character, or its character was deleted."
        )
    if not len(obj.users_collection):
        raise ExampleError(
            f"{obj.name} was deleted. Undo that, or press Cancel to delete its posed copy as well."
        )
    return obj


def cancel(copy: bpy.types.Object) -> str:
    """Remove a posed copy, and the example as well if it was added for it.

    Args:
        copy: in Object Mode.

    Returns:
        what became of the example, a sentence.
    """
    obj = character_of(copy)
    name = str(copy.get(NAME_PROPERTY, copy.name))
    is_new = bool(copy.get(NEW_PROPERTY, False))
    told = f"{name} keeps the shape that it had."
    if obj is not None and is_new and authoring_problem(obj) is None:
        try:
            remove_example(obj, example_of(copy, obj))
        except ExampleError:
            told = f"{name} was gone already."
        else:
            told = f"{name} was not added."
    end(copy)
    return told


def end(copy: bpy.types.Object) -> None:
    """Remove a posed copy and show its character again, selected.

    The active object is the armature again where it is still in Pose Mode, else the character.
    """
    obj, mesh = character_of(copy), mesh_of(copy)
    bpy.data.objects.remove(copy)
    if not mesh.users:
        bpy.data.meshes.remove(mesh)
    if obj is None:
        return
    show_again(obj)
    objects = bpy.context.view_layer.objects
    if objects.get(obj.name) != obj:
        return
    obj.select_set(True)
    try:
        rig: bpy.types.Object | None = rig_of(obj)
    except BindingError:
        rig = None
    posing = rig is not None and rig.mode == "POSE" and objects.get(rig.name) == rig
    objects.active = rig if posing else obj


def positions_in(
    source: bpy.types.Object,
    obj: bpy.types.Object,
    matrix: NDArray[np.floating] | None = None,
) -> NDArray[np.float64]:
    """The vertices of one mesh object in the space of another, shape (n, 3).

    Args:
        source: any mesh object of the same topology; its modifiers do not count.
        obj: the character.
        matrix: shape (4, 4); where the character was when the source was made; by default where it
            is now.

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
    place = np.array(obj.matrix_world, np.float64) if matrix is None else matrix
    there = np.linalg.solve(place, np.array(source.matrix_world, np.float64))
    if np.abs(there - np.eye(4)).max() < 1e-6:
        return positions
    return positions @ there[:3, :3].T + there[:3, 3]


def example_of(copy: bpy.types.Object, obj: bpy.types.Object) -> int:
    """The index of the example that a posed copy is for.

    By its shape key, then by its name: either may have been renamed meanwhile.

    Raises:
        ExampleError: it is not there any more.
    """
    bone, name = str(copy[BONE_PROPERTY]), str(copy[NAME_PROPERTY])
    examples = list(settings_of(obj).examples)
    for index, item in enumerate(examples):
        if item.key == copy[KEY_PROPERTY]:
            return index
    for index, item in enumerate(examples):
        if (item.bone, item.name) == (bone, name):
            return index
    raise ExampleError(
        f"{obj.name} has no example pose {name} of {bone} any more. Add one and use Update from "
        "Mesh to give it this shape."
    )

"""The posed copy: a plain mesh in the current shape of the character, for the artist to sculpt.

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
from ..core.vectors import transformed_points
from ..errors import raise_refusal
from ..lifecycle.following import settled_binding
from ..scene.binding.example_capture import OUTSIDE, support_of, support_weights
from ..scene.binding.stored_examples import example_items
from ..scene.blender.attributes import AttributeType, read_attribute, read_property
from ..scene.blender.mesh import flag_elements, mesh_of, read_positions
from ..scene.blender.own_objects import CHARACTER_PROPERTY
from ..scene.blender.rigging import find_rig
from ..scene.copies.posed_copies import character_of, hide_for_copy, posed_copy_of, show_again
from ..scene.settings.object_settings import settings_of
from ..scene.shape_keys.key_writing import clear_keys
from .authoring import by_example, remove_example
from .captured_pose import CapturedPose
from .items import authoring_refusal, require_bone

ShapingMode = Literal["SCULPT", "EDIT"]

# Custom properties of the copy.
BONE_PROPERTY = "dq_compensation_example_bone"
NAME_PROPERTY = "dq_compensation_example_name"
KEY_PROPERTY = "dq_compensation_example_key"
NEW_PROPERTY = "dq_compensation_example_is_new"
EDITED_PROPERTY = "dq_compensation_example_is_edited"
BASIS_PROPERTY = "dq_compensation_example_had_keys"
MATRIX_PROPERTY = "dq_compensation_example_matrix"
POSE_PROPERTY = "dq_compensation_example_moment"

# What Sculpt Mode keeps its mask in: 1 where a brush does nothing.
_MASK = ".sculpt_mask"


def shaping_refusal(obj: bpy.types.Object) -> str | None:
    """Why no posed copy of an object can be begun, or None; cheap."""
    if reason := authoring_refusal(obj):
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
    captured: CapturedPose | None,
    depsgraph: bpy.types.Depsgraph,
    *,
    is_new: bool = False,
) -> bpy.types.Object:
    """Make the posed copy for an example, select it and hide the character.

    What is outside the support is masked for Sculpt Mode; `shape_in` hides it in Edit Mode.

    Args:
        obj: the original mesh object, in Object Mode.
        captured: the pose in which it was added; None takes the current pose.
        is_new: `cancel` takes the example back as well.

    Raises:
        ExampleError: it cannot be edited; nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    raise_refusal(shaping_refusal(obj), ExampleError)
    binding = settled_binding(obj, depsgraph)
    settings = by_example(obj)
    captured = captured or CapturedPose.current(binding, settings, obj, depsgraph)
    item = settings_of(obj).examples[index]
    require_bone(binding, item.bone)
    shape = captured.shape(binding)
    posed = captured.deformer(binding, settings)(shape).astype(np.float32)
    copy = _copy_in_shape(obj, posed)
    _mask(mesh_of(copy), support_weights(binding, item.bone, support_of(obj, item.bone)))
    copy[CHARACTER_PROPERTY] = obj
    copy[BONE_PROPERTY], copy[NAME_PROPERTY], copy[KEY_PROPERTY] = item.bone, item.name, item.key
    copy[NEW_PROPERTY] = is_new
    copy[MATRIX_PROPERTY] = np.array(obj.matrix_world, np.float64).ravel().tolist()
    copy[POSE_PROPERTY] = captured.to_properties()
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


def _mask(mesh: bpy.types.Mesh, support: NDArray[np.floating]) -> None:
    known = mesh.attributes.get(_MASK)
    if known is not None:
        mesh.attributes.remove(known)
    mask: Any = mesh.attributes.new(_MASK, "FLOAT", "POINT")
    mask.data.foreach_set("value", 1.0 - np.clip(support, 0.0, 1.0).astype(np.float32))


def shape_in(copy: bpy.types.Object, mode: ShapingMode) -> None:
    """Enter a mode to shape the active posed copy.

    Edit Mode hides the vertices outside the support and begins with nothing selected.
    """
    if copy.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    copy[EDITED_PROPERTY] = copy.get(EDITED_PROPERTY, False) or mode == "EDIT"
    mesh = mesh_of(copy)
    outside = read_attribute(mesh, _MASK, AttributeType.FLOAT, len(mesh.vertices)) > 1.0 - OUTSIDE
    hidden = np.where(outside, mode == "EDIT", read_property(mesh.vertices, "hide", np.bool_))
    flag_elements(mesh, "hide", hidden, np.logical_or)
    flag_elements(mesh, "select", np.zeros_like(hidden), np.logical_or)
    mesh.update()
    bpy.ops.object.mode_set(mode=mode)


def require_character(copy: bpy.types.Object) -> bpy.types.Object:
    """The character whose posed copy an object is; ExampleError if there is none any more."""
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
    obj, name = character_of(copy), str(copy.get(NAME_PROPERTY, copy.name))
    summary = f"{name} keeps the shape that it had."
    if obj is not None and copy.get(NEW_PROPERTY, False) and authoring_refusal(obj) is None:
        try:
            keep_basis = bool(copy.get(BASIS_PROPERTY, True))
            remove_example(obj, example_of(copy, obj), keep_basis=keep_basis)
        except ExampleError:
            summary = f"{name} was gone already."
        else:
            summary = f"{name} was not added."
    end(copy)
    return summary


def end(copy: bpy.types.Object) -> None:
    """Remove a posed copy and show its character again.

    The armature is selected and active again where it is still in Pose Mode, else the character.
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
    chosen, rig = obj, find_rig(obj)
    if rig is not None and rig.mode == "POSE" and objects.get(rig.name) == rig:
        chosen = rig
    chosen.select_set(True)
    objects.active = chosen


def positions_in(
    source: bpy.types.Object, obj: bpy.types.Object, matrix: NDArray[np.floating] | None = None
) -> NDArray[np.float64]:
    """The vertices of one mesh object in the space of another, shape (n, 3).

    Args:
        source: any mesh object of the same topology; its modifiers do not count.
        matrix: shape (4, 4); where the character was when the source was made; by default where it
            is now.

    Raises:
        ExampleError: it has other vertices or faces.
    """
    mesh, own = mesh_of(source), mesh_of(obj)
    counts, wanted = (
        (len(each.vertices), len(each.polygons), len(each.edges), len(each.loops))
        for each in (mesh, own)
    )
    if counts != wanted:
        raise ExampleError(
            f"{source.name} has {counts[0]} vertices and {counts[1]} faces, {obj.name} "
            f"{wanted[0]} and {wanted[1]}. Both must have the same mesh, in the same order."
        )
    positions = read_positions(mesh).astype(np.float64)
    place = np.array(obj.matrix_world, np.float64) if matrix is None else matrix
    there = np.linalg.solve(place, np.array(source.matrix_world, np.float64))
    is_there = np.abs(there - np.eye(4)).max() < 1e-6
    return positions if is_there else transformed_points(there, positions)


def example_of(copy: bpy.types.Object, obj: bpy.types.Object) -> int:
    """The index of the example that a posed copy is for.

    By its shape key, then by its name: either may have been renamed meanwhile.

    Raises:
        ExampleError: it is not there any more.
    """
    bone, name = str(copy[BONE_PROPERTY]), str(copy[NAME_PROPERTY])
    items = list(enumerate(example_items(obj)))
    found = [index for index, item in items if item.key == copy[KEY_PROPERTY]]
    found += [index for index, item in items if (item.bone, item.name) == (bone, name)]
    if not found:
        raise ExampleError(
            f"{obj.name} has no example pose {name} of {bone} any more. Add one and use Update "
            "from Mesh to give it this shape."
        )
    return found[0]

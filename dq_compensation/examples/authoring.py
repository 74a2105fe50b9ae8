"""Adds example poses to an object, gives them shapes, and removes them."""

from __future__ import annotations

from typing import Literal

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.example_poses import ExampleError
from ..errors import raise_refusal
from ..lifecycle.following import settled_binding
from ..scene.binding.binding import Binding
from ..scene.binding.example_capture import Capture, capture, support_of, support_weights
from ..scene.binding.stored_examples import ExampleItem, example_items, example_placement
from ..scene.blender.mesh import mesh_of
from ..scene.settings.object_settings import Settings, settings_of
from ..scene.shape_keys.key_writing import clear_keys, remove_keys, write_key
from .captured_pose import CapturedPose
from .items import (
    authoring_refusal,
    base_now,
    bone_settings,
    key_name,
    keys_of_bone,
    require_bone,
    require_distance,
    write_example,
    write_support,
)

Outside = Literal["ASK", "LEAVE", "WIDEN"]
"""The treatment of vertices that were moved outside the support. ASK: nothing is done. LEAVE: they
stay as they were. WIDEN: the support gets all vertices that were moved."""


class OutsideSupportError(ExampleError):
    """A shape moves vertices that are outside the support; it was not applied."""


def by_example(obj: bpy.types.Object) -> Settings:
    """The settings of an object with the method By Example, whatever its current method is."""
    settings = Settings.of(obj)
    if settings.by_example:
        return settings
    return settings.with_method("SPHERICAL_JOINT_BY_EXAMPLE", settings_of(obj).example_base)


def add_example(
    obj: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph, name: str = ""
) -> tuple[int, CapturedPose]:
    """Add an example of the current pose. It begins with the current shape of the character.

    Args:
        name: of the pose; by default a number after the bone's name.

    Returns:
        the index of the example, and the pose in which it was made.

    Raises:
        ExampleError: it cannot be added; the message says why and nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    raise_refusal(authoring_refusal(obj), ExampleError)
    binding = settled_binding(obj, depsgraph)
    if bone not in binding.skeleton.names:
        raise ExampleError(f"{binding.armature_name} has no bone {bone}. Choose one of its bones.")
    settings = by_example(obj)
    captured = CapturedPose.current(binding, settings, obj, depsgraph)
    item = _item_for(obj, bone, name, binding, captured)
    require_distance(obj, item, binding, settings.limb_axis)
    others = keys_of_bone(obj, bone)
    offsets = captured.shape(binding) - captured.shape(binding, others)
    bone_settings(obj, bone)
    write_example(obj, item, offsets)
    index = len(settings_of(obj).examples) - 1
    settings_of(obj).active_example = index
    return index, captured


def give_shape(
    obj: bpy.types.Object,
    index: int,
    captured: CapturedPose,
    wanted: NDArray[np.floating],
    outside: Outside = "LEAVE",
    *,
    masked: bool = False,
) -> Capture:
    """Let an example show a shape in its pose.

    Args:
        captured: the pose of the example.
        wanted: shape (n, 3), object space, posed.
        outside: what becomes of vertices that were moved outside the support.
        masked: the support has already softened the movements at its border, as a sculpt mask.

    Returns:
        what could be taken back to rest.

    Raises:
        OutsideSupportError: `outside` is ASK and vertices were moved there; nothing has changed.
        ExampleError: it cannot be done; the message says why and nothing has changed.
        BindingError, PoseError, UserError: the object cannot be deformed, or the group of the
            support not written.
    """
    raise_refusal(authoring_refusal(obj), ExampleError)
    item = settings_of(obj).examples[index]
    binding = settled_binding(obj)
    if len(wanted) != binding.vertex_count:
        raise ExampleError(
            f"The shape has {len(wanted)} vertices, {obj.name} has {binding.vertex_count}. Undo "
            "the change of the number of vertices."
        )
    require_bone(binding, item.bone)
    others = keys_of_bone(obj, item.bone) | {item.key}
    deformer = captured.deformer(binding, by_example(obj))
    shape = captured.shape(binding, others)
    weights = support_weights(binding, item.bone, support_of(obj, item.bone))
    limits = (weights > 0.0).astype(np.float32) if masked else weights
    before = deformer(captured.shape(binding))
    found = capture(binding, deformer, shape, wanted, limits, before)
    if outside == "ASK" and len(found.left_out):
        raise OutsideSupportError(
            f"{len(found.left_out)} vertices that you moved for {item.name} are outside the "
            f"support of {item.bone}. Press Support from My Edit to add all vertices that you "
            "moved to the support, or Apply Inside Only."
        )
    if outside == "WIDEN" and (limits[found.moved] < 1.0).any():
        weights = np.where(found.moved, 1.0, weights)
        write_support(obj, item.bone, weights)
        found = capture(binding, deformer, shape, wanted, weights, before)
    key = write_key(obj, item.key or key_name(item.bone, item.name), found.offsets, overwrite=True)
    key.mute = True
    if item.key != key.name:
        item.key = key.name
    item.made_on = base_now(obj)
    return found


def remove_example(obj: bpy.types.Object, index: int, *, keep_basis: bool = True) -> str:
    """Remove an example and its shape key; returns its name.

    Args:
        keep_basis: keep the basis key where no other key is left.

    Raises:
        ExampleError: the object is linked.
    """
    raise_refusal(authoring_refusal(obj), ExampleError)
    settings = settings_of(obj)
    item = settings.examples[index]
    name, bone, key = item.name, item.bone, item.key
    settings.examples.remove(index)
    if not any(other.bone == bone for other in settings.examples):
        place = [each.name for each in settings.example_bones].index(bone)
        settings.example_bones.remove(place)
    settings.active_example = max(0, min(index, len(settings.examples) - 1))
    if not any(other.key == key for other in settings.examples):
        remove_keys(obj, (key,))
        keys = mesh_of(obj).shape_keys
        if not keep_basis and keys is not None and len(keys.key_blocks) == 1:
            clear_keys(obj)
    return name


def _item_for(
    obj: bpy.types.Object, bone: str, name: str, binding: Binding, captured: CapturedPose
) -> ExampleItem:
    skeleton, axis = binding.skeleton, Settings.of(obj).limb_axis
    index, pose = skeleton.names.index(bone), captured.pose(binding)
    placement = example_placement(index, pose, skeleton, axis)
    direction, rotation = (tuple(row.tolist()) for row in placement)
    taken = {item.name for item in settings_of(obj).examples if item.bone == bone}
    number = 1
    while not name or name in taken:
        # Without a namespace such as mixamorig: all names of a list would begin alike.
        name, number = f"{bone.rpartition(':')[2]} {number}", number + 1
    known = [item for item in example_items(obj) if item.bone == bone]
    sigma, twists = (known[0].sigma, known[0].twists) if known else (1.0, False)
    key = key_name(bone, name)
    return ExampleItem(name, bone, key, direction, rotation, 1.0, sigma, twists)

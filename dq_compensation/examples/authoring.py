"""Adds example poses to an object, gives them shapes, and removes them."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ..bake.shape_keys import remove_keys, write_key
from ..core.example_poses import ExampleError
from ..core.skeleton import LimbAxis
from ..scene.binding import Binding, bind
from ..scene.evaluation import Settings
from ..scene.example_capture import Capture, capture, support_weights
from ..scene.example_poses import ExampleItem, example_items, example_placement
from ..scene.object_settings import settings_of
from .items import (
    authoring_problem,
    bone_settings,
    key_name,
    keys_of_bone,
    refuse_too_close,
    store_item,
)
from .moment import Moment


def by_example(obj: bpy.types.Object) -> Settings:
    """The settings of an object as they are when examples act, whatever its method is now."""
    settings = Settings.of(obj)
    if settings.by_example:
        return settings
    return settings.with_method("SPHERICAL_JOINT_BY_EXAMPLE", settings_of(obj).example_base)


def add_example(
    obj: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph, name: str = ""
) -> tuple[int, Moment]:
    """Add an example of the pose of now. It begins with the shape that the character has now.

    Args:
        obj: the original mesh object.
        bone: the name of the bone whose pose it is.
        depsgraph: evaluated.
        name: of the pose; by default a number after the bone's name.

    Returns:
        the index of the example, and the moment in which it was made.

    Raises:
        ExampleError: it cannot be added; the message says why and nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    reason = authoring_problem(obj)
    if reason is not None:
        raise ExampleError(reason)
    binding = bind(obj, depsgraph)
    if bone not in binding.skeleton.names:
        raise ExampleError(f"{binding.armature_name} has no bone {bone}. Choose one of its bones.")
    settings = by_example(obj)
    moment = Moment.of_now(binding, settings, obj, depsgraph)
    item = _item_for(obj, bone, name, binding, moment, settings.limb_axis)
    refuse_too_close(obj, item, binding, settings.limb_axis)
    start = moment.shape(binding, frozenset())
    others = keys_of_bone(obj, bone)
    offsets = start - moment.shape(binding, others)
    key = write_key(obj, item.key, offsets)
    key.mute = True
    bone_settings(obj, bone)
    store_item(settings_of(obj).examples.add(), item._replace(key=key.name))
    index = len(settings_of(obj).examples) - 1
    settings_of(obj).active_example = index
    return index, moment


def give_shape(
    obj: bpy.types.Object, index: int, moment: Moment, wanted: NDArray[np.floating]
) -> Capture:
    """Let an example show a shape in its pose.

    Args:
        obj: the original mesh object.
        index: of the example.
        moment: when the character is in the pose of the example.
        wanted: shape (n, 3), object space, posed.

    Returns:
        what could be taken back to rest.

    Raises:
        ExampleError: it cannot be done; the message says why and nothing has changed.
        BindingError, PoseError: the object cannot be deformed.
    """
    reason = authoring_problem(obj)
    if reason is not None:
        raise ExampleError(reason)
    item = settings_of(obj).examples[index]
    binding = bind(obj)
    if len(wanted) != binding.vertex_count:
        raise ExampleError(
            f"The shape has {len(wanted)} vertices, {obj.name} has {binding.vertex_count}. Undo "
            "what has added or removed vertices."
        )
    names = binding.skeleton.names
    if item.bone not in names:
        raise ExampleError(f"{binding.armature_name} has no bone {item.bone} any more.")
    others = keys_of_bone(obj, item.bone) | {item.key}
    found = capture(
        binding,
        moment.deformer(binding, by_example(obj)),
        moment.shape(binding, others),
        wanted,
        support_weights(binding, names.index(item.bone), bone_settings(obj, item.bone).support),
    )
    key = write_key(obj, item.key or key_name(item.bone, item.name), found.offsets, overwrite=True)
    key.mute = True
    item.key = key.name
    return found


def remove_example(obj: bpy.types.Object, index: int, *, keep_key: bool = False) -> str:
    """Remove an example and its shape key; returns its name.

    Args:
        obj: the original mesh object.
        index: of the example.
        keep_key: leave the shape key to the user.

    Raises:
        ExampleError: the object is linked.
    """
    reason = authoring_problem(obj)
    if reason is not None:
        raise ExampleError(reason)
    settings = settings_of(obj)
    item = settings.examples[index]
    name, bone, key = item.name, item.bone, item.key
    settings.examples.remove(index)
    if not any(other.bone == bone for other in settings.examples):
        place = [each.name for each in settings.example_bones].index(bone)
        settings.example_bones.remove(place)
    settings.active_example = max(0, min(index, len(settings.examples) - 1))
    if not keep_key and not any(other.key == key for other in settings.examples):
        remove_keys(obj, (key,))
    return name


def _item_for(
    obj: bpy.types.Object,
    bone: str,
    name: str,
    binding: Binding,
    moment: Moment,
    limb_axis: LimbAxis,
) -> ExampleItem:
    skeleton = binding.skeleton
    direction, rotation = example_placement(
        skeleton.names.index(bone), moment.pose(binding), skeleton, limb_axis
    )
    taken = {item.name for item in settings_of(obj).examples if item.bone == bone}
    number = 1
    while not name or name in taken:
        name, number = f"{bone} {number}", number + 1
    known = [item for item in example_items(obj) if item.bone == bone]
    sigma, twists = (known[0].sigma, known[0].twists) if known else (1.0, False)
    return ExampleItem(
        name,
        bone,
        key_name(bone, name),
        tuple(float(each) for each in direction),
        tuple(float(each) for each in rotation),
        1.0,
        sigma,
        twists,
    )

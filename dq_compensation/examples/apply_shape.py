"""Gives examples their shapes, and reports the result in numbers."""

from __future__ import annotations

from typing import NamedTuple

import bpy
import numpy as np

from ..core.example_poses import CLOSEST, ExampleError
from ..core.vectors import extent
from ..lifecycle.following import reconcile_now, settled_binding
from ..scene.binding.example_capture import Capture
from ..scene.binding.stored_examples import ExampleItem, example_items
from ..scene.blender.units import object_millimetres
from ..scene.settings.object_settings import Settings, settings_of
from ..session.status import status_of
from ..wording import rounded
from . import posed_copy
from .authoring import Outside, by_example, give_shape
from .captured_pose import CapturedPose
from .go_to_pose import radians_from_pose

# Of the object's size: what remains below it cannot be seen.
_CLOSE = 1e-4


class Applied(NamedTuple):
    """The result of applying a shape.

    Attributes:
        summary: a sentence with numbers.
        is_complete: nothing had to be left out.
    """

    summary: str
    is_complete: bool


def apply_copy(copy: bpy.types.Object, outside: Outside = "ASK") -> Applied:
    """Take the shape of a posed copy back to rest as its example, and remove the copy.

    Args:
        copy: in Object Mode.
        outside: what becomes of vertices that were moved outside the support.

    Raises:
        OutsideSupportError: `outside` is ASK and there are such vertices; the copy stays.
        ExampleError, BindingError, PoseError, UserError: it cannot be applied; the copy stays.
    """
    obj = posed_copy.require_character(copy)
    index = posed_copy.example_of(copy, obj)
    captured = CapturedPose.from_properties(copy[posed_copy.POSE_PROPERTY])
    began_at = np.array(copy[posed_copy.MATRIX_PROPERTY], np.float64).reshape(4, 4)
    wanted = posed_copy.positions_in(copy, obj, began_at)
    masked = not copy.get(posed_copy.EDITED_PROPERTY, False)
    found = give_shape(obj, index, captured, wanted, outside, masked=masked)
    posed_copy.end(copy)
    return _applied(obj, example_items(obj)[index], found)


def update_from(
    obj: bpy.types.Object, index: int, source: bpy.types.Object, depsgraph: bpy.types.Depsgraph
) -> Applied:
    """Give an example the shape of another mesh object, inside the support of its bone.

    Args:
        obj: the original mesh object, in the pose of the example.
        source: a mesh object of the same topology, as it should look in the pose.

    Raises:
        ExampleError, BindingError, PoseError, UserError: it cannot be done; nothing has changed.
    """
    item = example_items(obj)[index]
    away = radians_from_pose(obj, index)
    if away > CLOSEST:
        raise ExampleError(
            f"{item.bone} is {np.degrees(away):.0f} degrees away from its pose {item.name}. Press "
            "Go to Pose first."
        )
    binding = settled_binding(obj, depsgraph)
    captured = CapturedPose.current(binding, by_example(obj), obj, depsgraph)
    found = give_shape(obj, index, captured, posed_copy.positions_in(source, obj))
    return _applied(obj, item, found)


def follow_now(obj: bpy.types.Object) -> None:
    """Let an enabled character show the change of its examples at once."""
    status_of(obj).example_result = None
    if not settings_of(obj).enabled or obj.library is not None:
        return
    bpy.context.view_layer.update()
    reconcile_now(obj, bpy.context.evaluated_depsgraph_get(), edited=True)


def _applied(obj: bpy.types.Object, item: ExampleItem, found: Capture) -> Applied:
    follow_now(obj)
    millimetres = object_millimetres(obj, bpy.context.scene)
    changed = int((found.offsets != 0.0).any(axis=1).sum())
    summary = f"{item.name} has your shape: it moves {changed} vertices."
    size = extent(np.array(obj.bound_box, np.float64))
    is_close = found.error <= _CLOSE * size
    if not is_close:
        summary += (
            f" Your shape is off by up to {rounded(found.error * millimetres, 2)} mm, because the "
            "base moves these vertices another way. Make the change smoother there, or choose the "
            "base Spherical Joint."
        )
    left_out = len(found.left_out)
    if left_out:
        summary += (
            f" {left_out} vertices outside the support of {item.bone} stayed as they were. Choose "
            "Support from My Edit, or press Paint Support, to let its examples move them."
        )
    if not Settings.of(obj).by_example:
        summary += f" It shows when the method of {obj.name} is By Example."
    status_of(obj).example_result = summary
    return Applied(summary, is_close and left_out == 0)

"""Gives examples the shapes that were made for them, and tells with numbers what came of it."""

from __future__ import annotations

from typing import NamedTuple

import bpy
import numpy as np

from ..core.example_poses import CLOSEST, ExampleError
from ..lifecycle import enabling
from ..scene.binding import bind
from ..scene.evaluation import Settings
from ..scene.example_capture import Capture
from ..scene.mesh import mesh_of
from ..scene.object_settings import settings_of
from ..scene.status import status_of
from . import posed_copy
from .authoring import by_example, give_shape
from .moment import Moment
from .placing import radians_from_pose

# Of the object's size: what remains below it cannot be seen.
_CLOSE = 1e-4


class Applied(NamedTuple):
    """What came of a shape.

    Attributes:
        told: a sentence with numbers.
        is_complete: nothing had to be left out.
    """

    told: str
    is_complete: bool


def apply_copy(copy: bpy.types.Object) -> Applied:
    """Apply a posed copy that is in Object Mode, and let its character show it.

    Raises:
        ExampleError, BindingError, PoseError: it cannot be applied; the copy stays.
    """
    obj = posed_copy.require_character(copy)
    bone = settings_of(obj).examples[posed_copy.example_of(copy, obj)].bone
    found, name = posed_copy.apply(copy)
    return _applied(obj, name, bone, found)


def update_from(
    obj: bpy.types.Object,
    index: int,
    source: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
) -> Applied:
    """Give an example the shape of another mesh object.

    Args:
        obj: the original mesh object, in the pose of the example.
        index: of the example.
        source: a mesh object of the same topology, as it should look in the pose.
        depsgraph: evaluated.

    Raises:
        ExampleError, BindingError, PoseError: it cannot be done; nothing has changed.
    """
    item = settings_of(obj).examples[index]
    away = radians_from_pose(obj, index)
    if away > CLOSEST:
        raise ExampleError(
            f"{item.bone} is {np.degrees(away):.0f} degrees away from its pose {item.name}. Press "
            "Go to Pose first."
        )
    binding = bind(obj, depsgraph)
    moment = Moment.of_now(binding, by_example(obj), obj, depsgraph)
    found = give_shape(obj, index, moment, posed_copy.positions_in(source, obj))
    return _applied(obj, item.name, item.bone, found)


def follow_now(obj: bpy.types.Object) -> None:
    """Let an enabled character show at once what was written to its examples."""
    if not settings_of(obj).enabled or obj.library is not None:
        return
    bpy.context.view_layer.update()
    enabling.mesh_edited(mesh_of(obj).session_uid)
    enabling.check(obj, bpy.context.evaluated_depsgraph_get(), edited=True)


def _applied(obj: bpy.types.Object, name: str, bone: str, found: Capture) -> Applied:
    follow_now(obj)
    units = bpy.context.scene.unit_settings
    millimetres = 1000.0 * (units.scale_length if units.system != "NONE" else 1.0)
    millimetres *= float(np.abs(np.array(obj.matrix_world, np.float64)[:3, :3]).max())
    changed = int((found.offsets != 0.0).any(axis=1).sum())
    told = f"{name} shows your shape: {changed} vertices differ by it."
    size = float(np.ptp(np.array(obj.bound_box, np.float64), axis=0).max())
    is_close = found.error <= _CLOSE * size
    if not is_close:
        told += (
            f" At most {found.error * millimetres:.2g} mm of it could not be reached: the base "
            "moves these vertices another way. Make the change smoother there, or choose the base "
            "Spherical Joint."
        )
    left_out = len(found.left_out)
    if left_out:
        told += (
            f" {left_out} vertices outside the support of {bone} stayed as they were. Paint a "
            "support for it that holds them, and edit the example again."
        )
    if not Settings.of(obj).by_example:
        told += f" It shows when the method of {obj.name} is By Example."
    status_of(obj).example_result = told
    return Applied(told, is_close and left_out == 0)

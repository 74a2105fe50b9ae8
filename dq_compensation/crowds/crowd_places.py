"""Where the figures of a crowd stand. What is read of the object below them is remembered."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..core.crowds import curve_places, point_places
from ..errors import UserError
from ..scene.blender.armature import is_invertible
from ..scene.settings.crowd_settings import DQCompensationCrowd, crowd_of
from ..session.changes import Changes
from ..session.memory import memories, memory_of
from .crowd_layout import Spline, layout_points, layout_refusal, layout_splines

DELETED = "{obj} was deleted. Undo that, or choose another object to stand on."

Worlds = tuple[Matrix, Matrix] | None
"""The world matrices of a crowd and of the object that its figures stand on."""


class _Read(dict[str, list[Spline]]):
    """The points or splines that were read of an object, by the layout, object space."""


def layout_worlds(crowd: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Worlds:
    """Where the crowd and the layout's object are; None for a grid, and without an object."""
    settings = crowd_of(crowd)
    if settings.layout == "GRID" or settings.layout_object is None:
        return None
    both = (crowd, settings.layout_object)
    one, other = (obj.evaluated_get(depsgraph).matrix_world.copy() for obj in both)
    return one, other


def layout_signature(
    settings: DQCompensationCrowd, depsgraph: bpy.types.Depsgraph
) -> tuple[object, ...]:
    """Differs where `wanted_places` gives another result, but for the object's place."""
    obj = settings.layout_object
    if settings.layout == "GRID" or obj is None:
        return ()
    refusal = layout_refusal(obj, settings.layout, depsgraph)
    read = settings.layout in memory_of(obj, _Read)
    return obj.session_uid, obj.name, bool(obj.users_collection), refusal, read


def wanted_places(
    crowd: bpy.types.Object, worlds: Worlds, depsgraph: bpy.types.Depsgraph, most: int
) -> tuple[int, NDArray[np.float64] | None]:
    """How many figures there should be, and the places of at most so many; None for a grid.

    Args:
        worlds: from `layout_worlds`.

    Raises:
        UserError: there is nothing to stand on.
    """
    settings = crowd_of(crowd)
    if settings.layout == "GRID":
        return settings.count, None
    obj = settings.layout_object
    if obj is None:
        raise UserError(f"{crowd.name} has no object to stand on. Choose one, or the layout Grid.")
    if not obj.users_collection:
        raise UserError(DELETED.format(obj=obj.name))
    assert worlds is not None
    world, world_below = (np.array(matrix, np.float64) for matrix in worlds)
    if not is_invertible(world):
        raise UserError(
            f"{crowd.name} has a scale of zero on at least one axis. Give it a size again."
        )
    to_crowd = np.linalg.inv(world) @ world_below
    if reason := layout_refusal(obj, settings.layout, depsgraph):
        raise UserError(reason)
    splines = [
        (points @ to_crowd[:3, :3].T + to_crowd[:3, 3], closed)
        for points, closed in _splines(obj, settings, depsgraph)
    ]
    if settings.layout == "CURVE":
        return settings.count, curve_places(splines, min(settings.count, most))
    points = splines[0][0][: settings.count]
    return len(points), point_places(points[:most])


def _splines(
    obj: bpy.types.Object, settings: DQCompensationCrowd, depsgraph: bpy.types.Depsgraph
) -> list[Spline]:
    read, layout = memory_of(obj, _Read), settings.layout
    if layout not in read:
        points = layout == "POINTS"
        read[layout] = (
            [(layout_points(obj, depsgraph), False)] if points else layout_splines(obj, depsgraph)
        )
    return read[layout]


def forget_edited(changes: Changes) -> bool:
    """Forget what was read of objects whose points have changed; returns whether there were any."""
    read = memories(_Read)
    gone = read.keys() & changes.reshaped() if read else set()
    for uid in gone:
        del read[uid]
    return bool(gone)


def forget_places() -> None:
    """Forget what was read of all objects."""
    memories(_Read).clear()

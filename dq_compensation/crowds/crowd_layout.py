"""Finds the places of the figures of a crowd."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from bpy.types import Depsgraph, Object, ViewLayer
from mathutils import Matrix

from ..arrays import Float64s, Int32s
from ..core.crowds import curve_places, point_places
from ..errors import UserError
from ..scene.blender.armature import is_invertible
from ..scene.settings.crowd_settings import TYPES, DQCompensationCrowd, Layout, crowd_of
from ..session.memory import memory_of

# The points and splines of the object that the figures of a crowd stand on.

_DISABLED = (
    "{obj} is disabled in viewports or excluded, so Blender does not evaluate it. Enable it; the "
    "eye in the Outliner may hide it."
)

Spline = tuple[Float64s, bool]
"""The points of a spline as straight lines, shape (P, 3), and whether it is closed."""


def _layout_refusal(obj: Object, layout: Layout, depsgraph: Depsgraph) -> str | None:
    """The reason why figures cannot stand on an object in any case, or None; cheap."""
    if obj.type not in TYPES[layout]:
        kind = "a curve" if layout == "CURVE" else "a mesh or a point cloud"
        return f"{obj.name} is not {kind}. Choose one as the layout's object."
    if obj.hide_viewport or not _is_in_enabled_collection(obj, depsgraph.view_layer):
        return _DISABLED.format(obj=obj.name)
    return None


def _is_in_enabled_collection(obj: Object, view_layer: ViewLayer | None) -> bool:
    """Whether the collections of an object let Blender evaluate it for the viewport.

    `is_evaluated` does not say: the crowd's pointer brings the object into the dependency graph, as
    it is without modifiers.
    """
    collections = set(obj.users_collection)
    left = [view_layer.layer_collection] if view_layer is not None else []
    while left:
        layer = left.pop()
        if layer.collection.hide_viewport:
            continue
        if not layer.exclude and layer.collection in collections:
            return True
        left.extend(layer.children)
    return False


def _layout_points(obj: Object, depsgraph: Depsgraph) -> Float64s:
    """The points of a mesh object or a point cloud behind its modifiers, object space: (P, 3).

    Where modifiers leave no vertices, those of the point cloud that they make; Blender 4.2 does not
    give it to Python.

    The object has no `_layout_refusal`. Without points it is a UserError.
    """
    evaluated: Any = obj.evaluated_get(depsgraph)
    data = evaluated.data
    if not _point_count(data) and hasattr(evaluated, "evaluated_geometry"):
        data = evaluated.evaluated_geometry().pointcloud
    if data is None or not (count := _point_count(data)):
        raise UserError(f"{obj.name} has no points behind its modifiers. Give it vertices.")
    points = np.empty((count, 3), np.float32)
    data.attributes["position"].data.foreach_get("vector", points.ravel())
    return points.astype(np.float64)


def longest_side(objects: Iterable[Object]) -> float:
    """The longest side of the objects' common box, along the axes of the world."""
    corners = [
        np.array(obj.bound_box) @ np.array(obj.matrix_world.to_3x3()).T
        + obj.matrix_world.translation
        for obj in objects
    ]
    return float(np.ptp(np.concatenate(corners), axis=0).max())


def _point_count(data: Any) -> int:
    position = data.attributes.get("position")
    return 0 if position is None else len(position.data)


def _layout_splines(obj: Object, depsgraph: Depsgraph) -> list[Spline]:
    """The splines of a curve object behind its modifiers, object space.

    The object has no `_layout_refusal`. Without a spline for figures it is a UserError.
    """
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        if mesh is None or not len(mesh.edges):
            raise UserError(f"{obj.name} has no length. Draw a curve in it.")
        if len(mesh.polygons):
            raise UserError(
                f"{obj.name} has a surface. Set its Bevel and Extrude to 0 and its Fill Mode to "
                "None, or choose a copy without them."
            )
        points = np.empty((len(mesh.vertices), 3), np.float32)
        edges = np.empty((len(mesh.edges), 2), np.int32)
        mesh.vertices.foreach_get("co", points.ravel())
        mesh.edges.foreach_get("vertices", edges.ravel())
    finally:
        evaluated.to_mesh_clear()
    return _splines_of(points.astype(np.float64), edges)


def _splines_of(points: Float64s, edges: Int32s) -> list[Spline]:
    """The splines of a mesh that was made from a curve. The points of a spline are neighbours.

    Args:
        points: shape (P, 3).
        edges: shape (E, 2), from each point to the next of its spline.
    """
    low, high = edges.min(axis=1), edges.max(axis=1)
    follows = np.zeros(len(points), np.bool_)
    follows[high[high == low + 1]] = True
    starts = np.flatnonzero(~follows)
    closing = set(zip(low.tolist(), high.tolist(), strict=True))
    splines = []
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(points)], strict=True):
        closed = end - start > 2 and (start, end - 1) in closing
        if end - start > 1:
            splines.append((points[start:end], closed))
    return splines


_LAYOUT_DELETED = "{obj} was deleted. Undo that, or choose another object to stand on."

Worlds = tuple[Matrix, Matrix] | None
"""The world matrices of a crowd and of the object that its figures stand on."""


class LayoutPoints(dict[str, list[Spline]]):
    """The points or splines of an object by the layout, object space."""


def layout_worlds(crowd: Object, depsgraph: Depsgraph) -> Worlds:
    """The world matrices of the crowd and the layout's object; None without such an object."""
    settings = crowd_of(crowd)
    if settings.layout == "GRID" or settings.layout_object is None:
        return None
    both = (crowd, settings.layout_object)
    of_crowd, of_object = (obj.evaluated_get(depsgraph).matrix_world.copy() for obj in both)
    return of_crowd, of_object


def layout_signature(settings: DQCompensationCrowd, depsgraph: Depsgraph) -> tuple[object, ...]:
    """A key that differs where `wanted_places` gives another result, but for the object's place."""
    obj = settings.layout_object
    if settings.layout == "GRID" or obj is None:
        return ()
    refusal = _layout_refusal(obj, settings.layout, depsgraph)
    read = settings.layout in memory_of(obj, LayoutPoints)
    return obj.session_uid, obj.name, bool(obj.users_collection), refusal, read


def wanted_places(
    crowd: Object, worlds: Worlds, depsgraph: Depsgraph, most: int
) -> tuple[int, Float64s | None]:
    """The number of figures, and the places of at most so many; None for a grid.

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
        raise UserError(_LAYOUT_DELETED.format(obj=obj.name))
    assert worlds is not None
    world, world_below = (np.array(matrix, np.float64) for matrix in worlds)
    if not is_invertible(world):
        raise UserError(
            f"{crowd.name} has a scale of zero on at least one axis. Give it a size again."
        )
    to_crowd = np.linalg.inv(world) @ world_below
    if reason := _layout_refusal(obj, settings.layout, depsgraph):
        raise UserError(reason)
    splines = [
        (points @ to_crowd[:3, :3].T + to_crowd[:3, 3], closed)
        for points, closed in _splines(obj, settings, depsgraph)
    ]
    if settings.layout == "CURVE":
        return settings.count, curve_places(splines, min(settings.count, most))
    points = splines[0][0][: settings.count]
    return len(points), point_places(points[:most])


def _splines(obj: Object, settings: DQCompensationCrowd, depsgraph: Depsgraph) -> list[Spline]:
    read, layout = memory_of(obj, LayoutPoints), settings.layout
    if layout not in read:
        points = layout == "POINTS"
        read[layout] = (
            [(_layout_points(obj, depsgraph), False)] if points else _layout_splines(obj, depsgraph)
        )
    return read[layout]

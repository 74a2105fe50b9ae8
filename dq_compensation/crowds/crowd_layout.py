"""The points and splines of the object that the figures of a crowd stand on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from ..scene.settings.crowd_settings import TYPES, Layout

DISABLED = (
    "{obj} is disabled in viewports or excluded, so Blender does not evaluate it. Enable it; the "
    "eye in the Outliner may hide it."
)

Spline = tuple[NDArray[np.float64], bool]
"""The points of a spline as straight lines, shape (P, 3), and whether it is closed."""


def layout_refusal(
    obj: bpy.types.Object, layout: Layout, depsgraph: bpy.types.Depsgraph
) -> str | None:
    """Why figures cannot stand on an object in any case, or None; cheap."""
    if obj.type not in TYPES[layout]:
        wanted = "a curve" if layout == "CURVE" else "a mesh or a point cloud"
        return f"{obj.name} is not {wanted}. Choose one as the layout's object."
    if obj.hide_viewport or not _is_in_enabled_collection(obj, depsgraph.view_layer):
        return DISABLED.format(obj=obj.name)
    return None


def _is_in_enabled_collection(
    obj: bpy.types.Object, view_layer: bpy.types.ViewLayer | None
) -> bool:
    """Whether Blender evaluates an object for the viewport as far as collections decide that.

    `is_evaluated` does not say: the crowd's pointer brings the object into the dependency graph, as
    it is without modifiers.
    """
    own = set(obj.users_collection)
    left = [view_layer.layer_collection] if view_layer is not None else []
    while left:
        layer = left.pop()
        if layer.collection.hide_viewport:
            continue
        if not layer.exclude and layer.collection in own:
            return True
        left.extend(layer.children)
    return False


def layout_points(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> NDArray[np.float64]:
    """The points of a mesh object or a point cloud behind its modifiers, object space: (P, 3).

    Where modifiers leave no vertices, those of the point cloud that they make; Blender 4.2 does not
    give it to Python.

    Args:
        obj: without a `layout_refusal`.

    Raises:
        UserError: it has none.
    """
    evaluated: Any = obj.evaluated_get(depsgraph)
    data = evaluated.data
    if not _point_count(data) and hasattr(evaluated, "evaluated_geometry"):
        data = evaluated.evaluated_geometry().pointcloud
    if data is None or not (count := _point_count(data)):
        raise UserError(f"{obj.name} has no points behind its modifiers. Give it vertices.")
    found = np.empty((count, 3), np.float32)
    data.attributes["position"].data.foreach_get("vector", found.ravel())
    return found.astype(np.float64)


def longest_side(objects: Iterable[bpy.types.Object]) -> float:
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


def layout_splines(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[Spline]:
    """The splines of a curve object behind its modifiers, object space.

    Args:
        obj: without a `layout_refusal`.

    Raises:
        UserError: it has none that figures can follow.
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
    return splines_of(points.astype(np.float64), edges)


def splines_of(points: NDArray[np.float64], edges: NDArray[np.int32]) -> list[Spline]:
    """The splines of a mesh that was made from a curve: the points of each are neighbours in it.

    Args:
        points: shape (P, 3).
        edges: shape (E, 2), from each point to the next of its spline.
    """
    low, high = edges.min(axis=1), edges.max(axis=1)
    follows = np.zeros(len(points), np.bool_)
    follows[high[high == low + 1]] = True
    starts = np.flatnonzero(~follows)
    closing = set(zip(low.tolist(), high.tolist(), strict=True))
    found = []
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(points)], strict=True):
        closed = end - start > 2 and (start, end - 1) in closing
        if end - start > 1:
            found.append((points[start:end], closed))
    return found

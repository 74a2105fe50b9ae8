"""The soft copy of a character: a hidden mesh with its vertices, which has the soft weights.

`Object.dq_compensation.softness` leaves the painted weights alone, so the soft ones are here, in
vertex groups that an ordinary Armature modifier of the copy reads: with COMPENSATED it is the base
of the modifier display.

Vertices that shape keys or modifiers move are there four times: at rest, and a step along each
axis. The Armature modifier moves a vertex by an affine map, and these four points say which: it
takes any shape to where the modifier would have taken it.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.vectors import extent
from ..blender.attributes import write_attribute
from ..blender.mesh import VertexGroupWeights, mesh_of, read_positions, read_weights
from ..blender.own_objects import is_soft_copy
from ..blender.records import record_in
from ..settings.object_settings import settings_of

# A custom property of the copy's mesh: what its weights were made from.
RECORD_PROPERTY = "dq_compensation_soft_weights_of"
# Attributes of its points: of a vertex that varies the first one of its steps, and where it is.
STEPS, REST = ".dqs_steps", ".dqs_rest"
# How far the step goes, in sizes of the mesh: far enough for rounding, near enough for bendy bones.
_STEP = 0.01


def soft_copy(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The soft copy that an object points to; None without one."""
    found = settings_of(obj).native.soft_copy
    return found if found is not None and is_soft_copy(found) and found.data is not None else None


def record_of(obj: bpy.types.Object) -> dict[str, Any]:
    """What the soft weights of an object were made from; empty where there are none."""
    copy = soft_copy(obj)
    return record_in(mesh_of(copy), RECORD_PROPERTY) if copy is not None else {}


def softness_of(obj: bpy.types.Object) -> float:
    """The softness that is to be seen: 0 where the deformation is shown as painted."""
    settings = settings_of(obj)
    return 0.0 if settings.as_painted else settings.softness


def keeps_soft_weights(obj: bpy.types.Object) -> bool:
    """Whether an object is to have soft weights, shown or not."""
    return settings_of(obj).is_enabled and settings_of(obj).softness > 0.0


def acting_soft_copy(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The soft copy whose weights move an object now; None where the painted ones do."""
    copy = soft_copy(obj)
    if copy is None or settings_of(obj).as_painted or not keeps_soft_weights(obj):
        return None
    return copy if record_of(obj).get("vertices") == len(mesh_of(obj).vertices) else None


def read_soft_weights(copy: bpy.types.Object, vertex_count: int) -> VertexGroupWeights:
    """The weights in a soft copy, of the vertices of its object."""
    found = read_weights(mesh_of(copy))
    own = found.vertices < vertex_count
    of_vertices = found.vertices[own], found.groups[own], found.weights[own]
    return VertexGroupWeights(*of_vertices, vertex_count)


def write_points(
    copy: bpy.types.Object, rest: NDArray[np.float32], varying: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Write the points of a soft copy, without weights.

    Args:
        rest: shape (n, 3), object space.
        varying: the vertices whose shape varies: they have steps.

    Returns:
        the vertex of each point.
    """
    mesh, count = mesh_of(copy), len(rest)
    steps = rest[varying][:, None] + np.eye(3) * _step(rest)
    points = np.concatenate((rest, steps.reshape(-1, 3))).astype(np.float32)
    copy.vertex_groups.clear()
    mesh.clear_geometry()
    mesh.vertices.add(len(points))
    mesh.vertices.foreach_set("co", points.reshape(-1))
    if len(varying):
        first = np.zeros(len(points), np.int32)
        first[varying] = count + 3 * np.arange(len(varying))
        write_attribute(mesh, STEPS, first)
        write_attribute(mesh, REST, points)
    return np.concatenate((np.arange(count), np.repeat(varying, 3)))


def step_of(copy: bpy.types.Object | None, vertex_count: int) -> float:
    """How far the steps of a soft copy go along the axes; 0 without any."""
    if copy is None or STEPS not in mesh_of(copy).attributes:
        return 0.0
    return _step(read_positions(mesh_of(copy))[:vertex_count])


def _step(rest: NDArray[np.float32]) -> float:
    return _STEP * (extent(rest) or 1.0)

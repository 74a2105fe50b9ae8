"""The soft copy of an object as it is read: a hidden mesh that has the soft weights.

`Object.dq_compensation.softness` leaves the painted weights alone, so the soft ones are here, in
vertex groups that an ordinary Armature modifier of the copy reads: with COMPENSATED it is the
base of the modifier display.

Vertices that shape keys or modifiers move are there four times: at rest, and a step along each
axis. The Armature modifier moves a vertex by an affine map, and these four points say which: it
takes any shape to where the modifier would have taken it.

Bendy bones move vertices by other maps from place to place: with them the copy has the shape
keys, too, instead of these points, where nothing else moves the vertices.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ...analysis.soft_proof import LessSoft
from ...arrays import Float32s, Indices
from ...core.vectors import extent
from ..blender.bulk_arrays import (
    read_property,
    write_attribute,
)
from ..blender.mesh import VertexGroupWeights, mesh_of, read_positions, read_weights
from ..blender.own_objects import SOFT_COPY_PROPERTY, is_hidden, record_in
from ..blender.skinned_object import SkinnedObject
from ..settings.object_settings import Settings
from ..stack import written_settings
from .modifiers_before import followed_modifiers, reshaping_modifiers
from .shape_key_offsets import written_by_drivers

# A custom property of the copy's mesh: what its weights were made from.
RECORD_PROPERTY = "dq_compensation_soft_weights_of"

# In that record: the painted weights, and whether it has shape keys instead of steps.
PAINTED_WEIGHTS = "painted weights"
KEYS_IN_RECORD = "shape keys"

# Likewise, what was found: the bones that kept their weights as parts of a face, the digest of the
# weights, and the joints at which these act less softly, once that was proved.
FEATURES_PROPERTY = "dq_compensation_features"

LESS_SOFT = "less soft"

# Attributes of its points: of a vertex that varies the first one of its steps, and where it is.
STEPS, REST = ".dqs_steps", ".dqs_rest"

# How far the step goes, in sizes of the mesh: far enough for rounding, near enough for bendy bones.
_STEP = 0.01


def soft_copy(skinned: SkinnedObject) -> bpy.types.Object | None:
    """The soft copy that an object points to; None without one."""
    copy = skinned.before_enable.soft_copy
    is_whole = copy is not None and is_hidden(copy, SOFT_COPY_PROPERTY) and copy.data is not None
    return copy if is_whole else None


def record_of(skinned: SkinnedObject) -> dict[str, Any]:
    """What the soft weights of an object were made from; empty where there are none."""
    copy = soft_copy(skinned)
    return record_in(mesh_of(copy), RECORD_PROPERTY) if copy is not None else {}


def softness_of(skinned: SkinnedObject) -> float:
    """The softness that is to be seen: 0 where the deformation is shown as painted."""
    return 0.0 if skinned.settings.as_painted else skinned.settings.softness


def keeps_soft_weights(skinned: SkinnedObject) -> bool:
    """Whether an object is to have soft weights, shown or not."""
    settings = written_settings(skinned.obj)
    return settings is not None and settings.is_enabled and settings.softness > 0.0


def acting_soft_copy(skinned: SkinnedObject) -> bpy.types.Object | None:
    """The soft copy whose weights move an object now; None where the painted ones do."""
    if skinned.settings.as_painted or not keeps_soft_weights(skinned):
        return None
    count = record_of(skinned).get("vertices")
    return soft_copy(skinned) if count == len(skinned.mesh.vertices) else None


def copies_keys(skinned: SkinnedObject) -> bool:
    """Whether the soft copy of an object is to have its shape keys: bendy bones may move it."""
    keys = skinned.mesh.shape_keys
    if keys is None or not keys.use_relative or written_by_drivers(skinned.mesh):
        return False
    bones = skinned.armature.bones
    bends = read_property(bones, "bbone_segments", np.int32) > 1
    if not (bends & read_property(bones, "use_deform", np.bool_)).any():
        return False
    shaped = reshaping_modifiers(skinned) or followed_modifiers(skinned)
    by_example = Settings.of(skinned.obj).by_example and len(skinned.settings.examples)
    return not (shaped or by_example)


def read_soft_weights(copy: bpy.types.Object, vertex_count: int) -> VertexGroupWeights:
    """The weights in a soft copy, of the vertices of its object."""
    found = read_weights(mesh_of(copy))
    own = found.vertices < vertex_count
    of_vertices = found.vertices[own], found.groups[own], found.weights[own]
    return VertexGroupWeights(*of_vertices, vertex_count)


def digest_of_found_weights(copy: bpy.types.Object) -> str:
    """The digest of the weights in a soft copy, as it was kept; equal ones have the same."""
    return record_in(mesh_of(copy), FEATURES_PROPERTY).get("weights", "")


def less_soft_joints(skinned: SkinnedObject) -> list[LessSoft] | None:
    """The joints at which the proof of the soft weights of an object found that they act less.

    None where it was not made.
    """
    copy = soft_copy(skinned)
    found = {} if copy is None else record_in(mesh_of(copy), FEATURES_PROPERTY)
    return [LessSoft(*each) for each in found[LESS_SOFT]] if LESS_SOFT in found else None


def less_soft_by_name(skinned: SkinnedObject) -> dict[str, LessSoft]:
    """What the proof found of the soft weights that an object keeps, by the names of the bones."""
    found = less_soft_joints(skinned) if keeps_soft_weights(skinned) else None
    if not found:
        return {}
    names = skinned.armature.bones.keys()
    return {names[each.bone]: each for each in found if each.bone < len(names)}


def write_points(copy: bpy.types.Object, rest: Float32s, varying: Indices) -> Indices:
    """Write the points of a soft copy without shape keys, without weights.

    Args:
        rest: shape (n, 3), object space.
        varying: the vertices whose shape varies: they have steps.

    Returns:
        the vertex of each point.
    """
    mesh, count = mesh_of(copy), len(rest)
    steps = rest[varying][:, None] + np.eye(3) * _step(rest)
    points = np.concatenate((rest, steps.reshape(-1, 3))).astype(np.float32)
    mesh.clear_geometry()
    copy.vertex_groups.clear()  # of no vertex, that costs nothing
    mesh.vertices.add(len(points))
    mesh.vertices.foreach_set("co", points.reshape(-1))
    if len(varying):
        first = np.zeros(len(points), np.int32)
        first[varying] = count + 3 * np.arange(len(varying))
        write_attribute(mesh, STEPS, first)
        write_attribute(mesh, REST, points)
    return np.concatenate((np.arange(count), np.repeat(varying, 3)))


def step_of(copy: bpy.types.Object, vertex_count: int) -> float:
    """How far the steps of a soft copy go along the axes; 0 without any."""
    if STEPS not in mesh_of(copy).attributes:
        return 0.0
    return _step(read_positions(mesh_of(copy))[:vertex_count])


def _step(rest: Float32s) -> float:
    return _STEP * (extent(rest) or 1.0)

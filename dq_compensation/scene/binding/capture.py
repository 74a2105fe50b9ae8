"""Finds the offsets at rest of a shape that the artist made in a pose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import bpy
import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices
from ...core.example_support import joint_support, support
from ...core.rest_offsets import affine_maps
from ...core.vectors import extent
from ..settings.example_settings import SupportKind
from ..settings.object_settings import settings_of
from .binding import Binding
from .numpy_evaluator import PosedDeformer

_ITERATIONS = 30

# Parts of the object's extent: what float32 positions of a mesh can say.
_REACHED = 2e-7

OUTSIDE = 0.1
"""A vertex with a smaller weight is outside the support."""

# Of the largest movement: what proportional editing moves less far outside is not asked about.
_SEEN = 0.02


@dataclass(frozen=True, eq=False)
class Capture:
    """The offsets of an example, and how near they come to the wanted shape.

    Attributes:
        offsets: shape (n, 3), float64, object space, at rest; zeros outside the support.
        error: the largest distance from the wanted shape that remains inside the support.
        moved: shape (n,), bool; the vertices that were moved.
        left_out: shape (k,), int; those of them that are outside the support.
    """

    offsets: Float64s
    error: float
    moved: Booleans
    left_out: Indices


class Support(NamedTuple):
    """The setting that says which vertices the examples of a bone may move.

    Attributes:
        group: a vertex group; empty, or a name that the object does not have: `kind` says it.
        kind: how it is found from the weights.
    """

    group: str = ""
    kind: SupportKind = "JOINT"


_FOUND_FROM_WEIGHTS = Support()
"""The support of a bone for which nothing was chosen."""


def capture(
    binding: Binding,
    deformer: PosedDeformer,
    shape: Floats,
    wanted: Floats,
    weights: Floats,
    before: Floats | None = None,
) -> Capture:
    """The offsets that give a wanted shape in a pose.

    Whatever else acts on the shape in this pose (shape keys, examples of other bones) goes on
    acting: the offsets are what is missing.

    Args:
        deformer: in the pose of the example.
        shape: shape (n, 3), object space, before skinning, without the example.
        wanted: shape (n, 3), object space, posed.
        weights: shape (n,), how far each vertex may move; `support_weights`.
        before: shape (n, 3), object space, posed; what the artist changed. By default without the
            example. So a shape that is edited again keeps what it had at the support's border.
    """
    start = np.asarray(shape, np.float64)
    wanted = np.asarray(wanted, np.float64)
    reached = _REACHED * extent(start)
    unchanged = deformer(start)
    before = unchanged if before is None else before
    least = 10.0 * reached
    movements = np.linalg.norm(wanted - before, axis=1)
    moved = movements > least
    target = before + np.where(moved, weights, 0.0)[:, None] * (wanted - before)
    differs = np.linalg.norm(target - unchanged, axis=1) > least
    target[~differs] = unchanged[~differs]
    found = _shape_for(target, start, deformer, binding, reached)
    apart = np.linalg.norm(deformer(found) - target, axis=1)
    offsets = np.where(differs[:, None], found - start, 0.0)
    lost = (1.0 - weights) * movements > _SEEN * movements.max(initial=0.0)
    left_out = np.flatnonzero(moved & lost & (weights < OUTSIDE))
    return Capture(offsets, float(apart.max(initial=0.0)), moved, left_out)


def support_of(obj: bpy.types.Object, bone: str) -> Support:
    """The support of a bone, as the artist has chosen it."""
    chosen = (each for each in settings_of(obj).example_bones if each.name == bone)
    return next((Support(each.support, each.support_kind) for each in chosen), _FOUND_FROM_WEIGHTS)


def support_weights(binding: Binding, bone: str, chosen: Support = _FOUND_FROM_WEIGHTS) -> Floats:
    """The share by which the examples of a bone may move each vertex, shape (n,), 0 to 1.

    Args:
        bone: its name; zeros for a bone that is not there.
    """
    names = binding.skeleton.names
    if bone not in names:
        return np.zeros(binding.vertex_count, np.float32)
    if chosen.group in binding.group_names:
        return binding.painted(chosen.group)
    index, influences, skeleton = names.index(bone), binding.influences, binding.skeleton
    if chosen.kind == "PARENT":
        return support(index, influences, skeleton).astype(np.float32)
    to_armature = binding.object_to_armature
    positions = binding.rest @ to_armature[:3, :3].T + to_armature[:3, 3]
    return joint_support(index, influences, skeleton, positions, binding.topology.edges)


def _shape_for(
    target: Float64s, start: Float64s, deformer: PosedDeformer, binding: Binding, near_enough: float
) -> Float64s:
    """The shape that a deformer takes to the target; shapes (n, 3), object space.

    x <- x + M^-1 (target - f(x)), where M is the blended rotation: what a deformer does to a vertex
    is nearly that rotation about somewhere, so the difference shrinks to next to nothing in a step
    or two. Each vertex keeps the best that it had.
    """
    to_armature = deformer.object_to_armature[:3, :3]
    rotations = affine_maps(binding.influences, deformer.pose, "DUAL_QUATERNION")[:, :, :3]
    back = np.linalg.inv(np.linalg.inv(to_armature) @ rotations @ to_armature)
    best, missing = start.copy(), target - deformer(start)
    smallest = np.linalg.norm(missing, axis=1)
    for _ in range(_ITERATIONS):
        if smallest.max(initial=0.0) <= near_enough:
            break
        shape = best + np.einsum("nij,nj->ni", back, missing)
        left = target - deformer(shape)
        apart = np.linalg.norm(left, axis=1)
        better = apart < smallest
        if not better.any():
            break
        best[better], smallest[better], missing[better] = shape[better], apart[better], left[better]
    return best

"""Takes a shape that the artist has made in a pose back to rest, as the offsets of an example."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.rest_offsets import affine_maps
from ..core.supports import support
from .binding import Binding
from .evaluation import PosedDeformer
from .object_settings import settings_of

_ITERATIONS = 30
# Parts of the object's extent: what float32 positions of a mesh can say.
_REACHED = 2e-7


@dataclass(frozen=True, eq=False)
class Capture:
    """The offsets of an example, and how well they give what was wanted.

    Attributes:
        offsets: shape (n, 3), float64, object space, at rest; zeros outside the support.
        error: the largest distance from the wanted shape that remains inside the support.
        left_out: shape (k,), int; the vertices that were moved outside the support.
    """

    offsets: NDArray[np.float64]
    error: float
    left_out: NDArray[np.intp]


def capture(
    binding: Binding,
    deformer: PosedDeformer,
    shape: NDArray[np.floating],
    wanted: NDArray[np.floating],
    weights: NDArray[np.floating],
) -> Capture:
    """The offsets that give a wanted shape in a pose.

    Whatever else acts on the shape in this pose (shape keys, examples of other bones) goes on
    acting: the offsets are what is missing.

    Args:
        binding: of the object.
        deformer: in the pose of the example.
        shape: shape (n, 3), object space, before skinning, without the example.
        wanted: shape (n, 3), object space, posed.
        weights: shape (n,), how far each vertex may move; `support_weights`.
    """
    start = np.asarray(shape, np.float64)
    wanted = np.asarray(wanted, np.float64)
    extent = float(np.ptp(start, axis=0).max(initial=0.0)) if len(start) else 0.0
    unchanged = deformer(start)
    moved = np.linalg.norm(wanted - unchanged, axis=1) > 10.0 * _REACHED * extent
    target = unchanged + np.where(moved, weights, 0.0)[:, None] * (wanted - unchanged)
    found = _shape_for(target, start, deformer, binding, _REACHED * extent)
    apart = np.linalg.norm(deformer(found) - target, axis=1)
    offsets = np.where((moved & (weights > 0.0))[:, None], found - start, 0.0)
    return Capture(offsets, float(apart.max(initial=0.0)), np.flatnonzero(moved & (weights <= 0.0)))


def support_weights(binding: Binding, bone: int, group: str = "") -> NDArray[np.floating]:
    """How far the examples of a bone may move each vertex, shape (n,), 0 to 1.

    Args:
        binding: of the object.
        bone: index in the skeleton.
        group: the name of a vertex group; empty, or a name that the object does not have: the
            support that the weights say.
    """
    if group in binding.group_names:
        return binding.painted(group)
    return support(bone, binding.influences, binding.skeleton).astype(np.float32)


def support_group(obj: bpy.types.Object, bone: str) -> str:
    """The vertex group that the artist has chosen as the support of a bone; empty without one."""
    return next((each.support for each in settings_of(obj).example_bones if each.name == bone), "")


def support_weights_of(binding: Binding, bone: str, group: str = "") -> NDArray[np.floating]:
    """As `support_weights`, by the name of the bone; zeros for a bone that is not there."""
    names = binding.skeleton.names
    if bone not in names:
        return np.zeros(binding.vertex_count, np.float32)
    return support_weights(binding, names.index(bone), group)


def _shape_for(
    target: NDArray[np.float64],
    start: NDArray[np.float64],
    deformer: PosedDeformer,
    binding: Binding,
    near_enough: float,
) -> NDArray[np.float64]:
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

"""Bone envelopes as numbers: the weights that Blender's Armature modifier makes of them."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ...scene.mesh import VertexGroupWeights

# Smaller envelopes do not move a vertex in Blender, and a vertex group could not hold them well.
_MIN_WEIGHT = 1e-6


def envelope_factors(bone: bpy.types.Bone, positions: NDArray[np.floating]) -> NDArray[np.float64]:
    """How far inside of a bone's envelope points are, as Blender's `distfactor_to_bone` has it.

    1 within the radius, which goes from that of the head to that of the tail; it falls with the
    square of the distance from there, to 0 at the envelope's distance.

    Args:
        positions: shape (n, 3), armature space.

    Returns:
        shape (n,), 0 to 1.
    """
    head, tail = np.array(bone.head_local), np.array(bone.tail_local)
    reach = max(bone.head_radius, bone.tail_radius) + max(bone.envelope_distance, 0.0)
    low, high = np.minimum(head, tail) - reach, np.maximum(head, tail) + reach
    near = np.flatnonzero(((positions >= low) & (positions <= high)).all(axis=1))
    factors = np.zeros(len(positions))
    factors[near] = _factors_within(bone, positions[near], head, tail)
    return factors


def _factors_within(
    bone: bpy.types.Bone,
    positions: NDArray[np.floating],
    head: NDArray[np.float64],
    tail: NDArray[np.float64],
) -> NDArray[np.float64]:
    length = float(np.linalg.norm(tail - head))
    along = (positions - head) @ ((tail - head) / max(length, 1e-12))
    share = np.clip(along / max(length, 1e-12), 0.0, 1.0)
    nearest = head + share[:, None] * (tail - head)
    radii = bone.head_radius + share * (bone.tail_radius - bone.head_radius)
    outside = np.linalg.norm(positions - nearest, axis=1) - radii
    if bone.envelope_distance <= 0.0:
        return (outside < 0.0).astype(np.float64)
    falling = 1.0 - np.square(np.maximum(outside, 0.0) / bone.envelope_distance)
    return np.where(outside < bone.envelope_distance, np.maximum(falling, 0.0), 0.0)


def envelope_weights(
    bones: list[bpy.types.Bone], positions: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The weights of envelopes that stand in for vertex groups.

    Args:
        bones: those that deform, m of them.
        positions: shape (n, 3), armature space.

    Returns:
        shape (n, m), 0 to 1; larger ones (a bone's envelope weight may be anything) are brought
        down together with the others of their vertex, which leaves the deformation as it is.
    """
    weights = np.zeros((len(positions), len(bones)))
    for column, bone in enumerate(bones):
        weights[:, column] = envelope_factors(bone, positions) * bone.envelope_weight
    weights /= np.maximum(weights.max(axis=1, initial=1.0, keepdims=True), 1.0)
    return np.where(weights > _MIN_WEIGHT, weights, 0.0)


def without_bones(
    weights: VertexGroupWeights, group_names: tuple[str, ...], bones: frozenset[str]
) -> NDArray[np.int32]:
    """The vertices that Blender leaves to the envelopes: in no group of a deforming bone.

    A weight of 0 is enough to be in a group.

    Returns:
        shape (k,), int32.
    """
    of_bone = np.array([name in bones for name in group_names] or [False], np.bool_)
    known = weights.groups < len(group_names)
    grouped = weights.vertices[known][of_bone[weights.groups[known]]]
    alone = np.ones(weights.vertex_count, np.bool_)
    alone[grouped] = False
    return np.flatnonzero(alone).astype(np.int32)

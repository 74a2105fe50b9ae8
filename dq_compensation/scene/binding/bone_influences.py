"""The influences of bones on vertices: of vertex groups, and of bone envelopes."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from ...core.skeleton import Skeleton
from ..blender.armature import armature_of, deforming_bones
from ..blender.envelopes import envelope_factors
from ..blender.mesh import VertexGroupWeights

# Parallel arrays: vertices, bones, weights.
_Triples = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.floating]]


def modifier_influences(
    obj: bpy.types.Object,
    modifier: bpy.types.ArmatureModifier,
    weights: VertexGroupWeights,
    skeleton: Skeleton,
    positions: NDArray[np.floating],
) -> Influences:
    """The influences by which an Armature modifier moves vertices.

    With vertex groups and envelopes both on, envelopes move the vertices that have no entry in a
    group of a deforming bone, be it of weight 0. *Envelope Multiply* multiplies the weights of a
    bone's group.

    Args:
        obj: the mesh object; its vertex groups name the bones.
        modifier: with an armature; bones that do not deform do not count.
        skeleton: of the armature; the influences hold indices of its bones.
        positions: shape (n, 3), armature space, at rest. Blender looks at the shape that shape keys
            make, and at the current place of the object; the basis where it was bound serves here.
    """
    armature, count = modifier.object, weights.vertex_count
    assert armature is not None
    none = np.zeros(0, np.int32)
    triples: list[_Triples] = [(none, none, none.astype(np.float32))]
    grouped = np.zeros(count, np.bool_)
    if modifier.use_vertex_groups:
        of_groups = _group_triples(obj, armature, weights, skeleton, positions)
        grouped[of_groups[0]] = True
        triples.append(of_groups)
    if modifier.use_bone_envelopes and not grouped.all():
        triples += _envelope_triples(armature, skeleton, np.flatnonzero(~grouped), positions)
    vertices, bones, values = (np.concatenate(parts) for parts in zip(*triples, strict=True))
    return Influences.from_triples(vertices, bones, values, count)


def _group_triples(
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    weights: VertexGroupWeights,
    skeleton: Skeleton,
    positions: NDArray[np.floating],
) -> _Triples:
    """The weights of groups; those of bones that have Envelope Multiply are multiplied."""
    deforming = deforming_bones(armature)
    place = {name: index for index, name in enumerate(skeleton.names) if name in deforming}
    # Weights of groups that were removed by a script can stay behind in a mesh: past the end.
    size = max(len(obj.vertex_groups), int(weights.groups.max(initial=-1)) + 1)
    bone_of_group = np.full(size, -1, np.int32)
    for index, group in enumerate(obj.vertex_groups):
        bone_of_group[index] = place.get(group.name, -1)
    bones = bone_of_group[weights.groups]
    keep = bones >= 0
    vertices, bones, values = weights.vertices[keep], bones[keep], weights.weights[keep]
    for bone in armature_of(armature).bones:
        if bone.use_envelope_multiply and bone.use_deform:
            rows = np.flatnonzero(bones == place[bone.name])
            values[rows] *= envelope_factors(bone, positions[vertices[rows]])
    return vertices, bones, values


def _envelope_triples(
    armature: bpy.types.Object,
    skeleton: Skeleton,
    vertices: NDArray[np.intp],
    positions: NDArray[np.floating],
) -> list[_Triples]:
    """The envelopes of each bone that reaches any of the vertices, in Blender's order of bones."""
    triples: list[_Triples] = []
    place = {name: index for index, name in enumerate(skeleton.names)}
    for bone in armature_of(armature).bones:
        if bone.use_deform and bone.envelope_weight > 0.0:
            factors = envelope_factors(bone, positions[vertices])
            reached = np.flatnonzero(factors)
            bones = np.full(len(reached), place[bone.name])
            triples.append((vertices[reached], bones, factors[reached] * bone.envelope_weight))
    return triples

"""SPHERICAL_JOINT: rotate each vertex about the joint that its bones share (Houska 2005).

Where the bones of a vertex do not meet in one joint, it rotates about the point that their
motions agree on best (Kavan & Zara 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Int32s
from .dual_quaternion import (
    faces_away,
    normalized_quaternions,
    rotate_vectors,
)
from .influences import Influences
from .pose import Pose
from .skeleton import Skeleton
from .skinning import blended_matrices, bone_scales, rotated_normals
from .vectors import extent

# Added to the normalised normal equations of the centre. Their entries are about the squared
# angles between the bones, so the correction fades out below about 0.01 radians, where rounding
# would decide it, and float32 and float64 agree without a singular value decomposition.
CENTRE_DAMPING = 1e-4


@dataclass(frozen=True, eq=False)
class JointSets:
    """The distinct sets of bones that move vertices together, S of them.

    The joint of a set is the point at which its bones meet. Those of `LimbJoints` belong to bones.

    Attributes:
        set_of_vertex: shape (n,), int32; -1 for a vertex without influences.
        offsets: shape (S + 1,), int32; the bones of set s are `bones[offsets[s]:offsets[s + 1]]`.
        bones: int32, ascending within each set, so that a parent is before its children.
        centroid: shape (S, 3), float64, armature space at rest; the mean of the joints of the set:
            the heads of its bones but for a bone from which all the others descend.
        shared: shape (S,), bool; those joints are one, of bones with one parent: then it is the
            centroid. Sets of one bone are shared, at the bone's head.
        controlling: shape (S,), int32; the bone from which all the others descend, to which signs
            of quaternions are aligned; -1 where there is none.
    """

    set_of_vertex: Int32s
    offsets: Int32s
    bones: Int32s
    centroid: Float64s
    shared: Booleans
    controlling: Int32s

    @property
    def set_count(self) -> int:
        """The number of distinct sets, S."""
        return len(self.shared)


def joint_sets(influences: Influences, skeleton: Skeleton) -> JointSets:
    """Find the distinct sets of bones and where they meet; once per binding."""
    set_of_vertex, offsets, bones = _distinct_sets(influences, skeleton.bone_count)
    set_count = len(offsets) - 1
    starts = offsets[:-1]
    sizes = np.diff(offsets)
    set_of_bone = np.repeat(np.arange(set_count), sizes)
    top = bones[starts]
    # Only the first bone can be above all the others, since parents come before children.
    descends = skeleton.ancestry.kinship(top[set_of_bone], bones) > 0
    has_top = np.add.reduceat(descends, starts) == sizes - 1
    controlling = np.where(has_top, top, -1).astype(np.int32)

    is_joint = np.ones(len(bones), np.bool_)
    is_joint[starts[has_top & (sizes > 1)]] = False
    heads = skeleton.heads[bones]
    counts = np.add.reduceat(is_joint, starts, dtype=np.int64)
    sums = np.add.reduceat(np.where(is_joint[:, None], heads, 0.0), starts, axis=0)
    centroid = sums / counts[:, None]

    size = extent(skeleton.heads)
    apart = np.linalg.norm(heads - centroid[set_of_bone], axis=1) > 1e-5 * size
    parents = skeleton.parents[bones]
    last_parent = parents[offsets[1:] - 1]
    # With a controlling bone it has to be the parent; without, all have to have the same one.
    expected = np.where(has_top & (sizes > 1), top, last_parent)[set_of_bone]
    breaks = is_joint & (apart | (parents != expected))
    # Two roots have no parent in common, though both say -1.
    breaks |= is_joint & (parents < 0) & (sizes > 1)[set_of_bone]
    shared = ~np.logical_or.reduceat(breaks, starts)
    return JointSets(set_of_vertex, offsets, bones, centroid, shared, controlling)


def _distinct_sets(influences: Influences, bone_count: int) -> tuple[Int32s, Int32s, Int32s]:
    """The sets as (set_of_vertex, offsets, bones) of `JointSets`."""
    unused = bone_count  # sorts behind every bone
    rows = np.where(influences.weights > 0.0, influences.bones, unused)
    rows = np.sort(rows, axis=1)[:, : max(1, int(influences.counts().max(initial=0)))]
    # Rows become numbers column by column; numbered anew whenever they would not fit 63 bits.
    keys = np.zeros(len(rows), np.int64)
    largest = 1
    for column in rows.T:
        if largest > 2**62 // (unused + 1):
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1)
            largest = len(rows)
        keys = keys * (unused + 1) + column
        largest *= unused + 1
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    inverse = inverse.reshape(-1)
    distinct = rows[first]
    empty = distinct[:, 0] == unused
    numbers = np.cumsum(~empty) - 1
    set_of_vertex = np.where(empty[inverse], -1, numbers[inverse]).astype(np.int32)
    distinct = distinct[~empty]
    used = distinct != unused
    offsets = np.concatenate(([0], np.cumsum(used.sum(axis=1)))).astype(np.int32)
    return set_of_vertex, offsets, distinct[used].astype(np.int32)


def joint_centres(sets: JointSets, pose: Pose) -> Float64s:
    """The points, in rest space, about which the sets rotate in this pose; shape (S, 3).

    The shared joint where there is one. Else r = c + x with the centroid c and the correction x
    that minimises sum over i < j of |D_i r - D_j r|^2 / pairs + 1e-4 |x|^2: the shortest
    correction of the least-squares problem, but for the damping.
    """
    centres = sets.centroid.copy()
    free = np.flatnonzero(~sets.shared)
    if not len(free):
        return centres
    sizes = np.diff(sets.offsets)[free]
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    group = np.repeat(np.arange(len(free)), sizes)
    entries = np.repeat(sets.offsets[:-1][free] - starts, sizes) + np.arange(len(group))
    matrices = pose.matrices[sets.bones[entries], :3, :]
    linear = matrices[:, :, :3]
    posed = np.einsum("mij,mj->mi", linear, centres[free][group]) + matrices[:, :, 3]
    linear = linear - (np.add.reduceat(linear, starts, axis=0) / sizes[:, None, None])[group]
    posed = posed - (np.add.reduceat(posed, starts, axis=0) / sizes[:, None])[group]
    # n sum |x_i - mean|^2 = sum over pairs |x_i - x_j|^2, and there are n (n - 1) / 2 pairs.
    per_pair = 2.0 / (sizes - 1)
    normal_matrix = np.add.reduceat(linear.transpose(0, 2, 1) @ linear, starts, axis=0)
    normal_matrix = normal_matrix * per_pair[:, None, None] + CENTRE_DAMPING * np.eye(3)
    gradient = np.add.reduceat(np.einsum("mji,mj->mi", linear, posed), starts, axis=0)
    gradient = gradient * -per_pair[:, None]
    centres[free] += np.linalg.solve(normal_matrix, gradient[:, :, None])[:, :, 0]
    return centres


def spherical_joint_skinning(
    positions: Floats, normals: Floats | None, influences: Influences, pose: Pose, sets: JointSets
) -> tuple[Floats, Floats | None]:
    """Rotate each vertex by its blended rotation about the centre of its set of bones.

    v' = Q (v - r) + sum w_i D_i r with
    Q = normalize(sum s_i w_i q_i), signs aligned to the controlling bone's quaternion, without one
    to that of the strongest bone. With one shared joint it is Houska's Q (v - a) + b. Bone scales
    act before the rotation, blended linearly: v - r becomes sum w_i R_i^-1 A_i (v - r), with the
    3x3 part A_i of D_i and its rotation R_i.

    Args:
        positions: shape (n, 3), float32 or float64, armature space.
        normals: shape (n, 3), unit, or None.
        sets: `joint_sets` of these influences.

    Returns:
        positions and unit normals (None without normals), of the dtype of `positions`. Vertices
        without influences are where they were.
    """
    dtype = positions.dtype
    moved = sets.set_of_vertex >= 0
    if not moved.any():
        return positions.copy(), None if normals is None else normals.copy()
    real = _blended_rotations(influences, pose, sets, dtype)
    set_of_vertex = np.where(moved, sets.set_of_vertex, 0)
    centres = joint_centres(sets, pose).astype(dtype)[set_of_vertex]
    blended = blended_matrices(pose.matrices[:, :3, :], influences, dtype)
    posed_centres = np.einsum("nij,nj->ni", blended[:, :, :3], centres) + blended[:, :, 3]
    from_centre = positions - centres
    if pose.any_scaled:
        scales = blended_matrices(bone_scales(pose), influences, dtype)
        from_centre = np.einsum("nij,nj->ni", scales, from_centre)
    deformed = rotate_vectors(real, from_centre) + posed_centres
    deformed = np.where(moved[:, None], deformed, positions)
    if normals is None:
        return deformed, None
    return deformed, rotated_normals(real, normals, influences, pose)


def _blended_rotations(
    influences: Influences, pose: Pose, sets: JointSets, dtype: np.dtype
) -> Floats:
    """The blended unit quaternion of each vertex, shape (n, 4); the identity without influences."""
    rotations = pose.rotations.astype(dtype, copy=False)
    reference_bones = influences.bones[:, 0].copy()
    moved = sets.set_of_vertex >= 0
    if sets.set_count:
        controlling = sets.controlling[np.where(moved, sets.set_of_vertex, 0)]
        reference_bones = np.where(moved & (controlling >= 0), controlling, reference_bones)
    references = rotations[reference_bones]
    sums = np.zeros((influences.vertex_count, 4), dtype)
    for rows, bones, weights in influences.slots():
        bone_rotations = rotations[bones]
        away = faces_away(bone_rotations, references[rows])
        signed = np.where(away, -weights, weights).astype(dtype, copy=False)
        sums[rows] += signed[:, None] * bone_rotations
    return normalized_quaternions(sums)

"""The bones that move one mesh as a tree: which bone each of them hangs on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .influences import Influences
from .skeleton import Skeleton, depths


def body_parents(
    skeleton: Skeleton,
    influences: Influences,
    mesh_parents: NDArray[np.int32] | None = None,
    sides: NDArray[np.integer] | None = None,
) -> NDArray[np.int32]:
    """The bone that each bone hangs on, among those that move the mesh.

    It is the nearest ancestor that moves vertices, where the mesh shows joints by these. Limbs of
    rigs whose deforming bones have controls for parents (Rigify: thighs, arms) have no such
    ancestor: they hang on the bone with which their first bone shares most skin, one limb after the
    other from the trunk out; never on a bone of the other side: thighs share skin, too. The trunk
    has the fewest bones above it, and of these most skin.

    Args:
        mesh_parents: shape (B,), the bone that each bone continues on the mesh; -1 for none.
        sides: shape (B,), -1 left, 1 right, 0 the middle; None: all in the middle.

    Returns:
        shape (B,), -1 for the trunk's first bone and for bones that share no skin with others.
    """
    moves = influences.moving_bones(skeleton.bone_count)
    above = skeleton.parents
    if mesh_parents is not None:
        above = skeleton.joined_parents(mesh_parents)
    parents = above.copy()
    while (skipped := (parents >= 0) & ~moves[parents]).any():
        parents = np.where(skipped, above[parents], parents)
    if np.count_nonzero(moves & (parents < 0)) > 1:
        sides = np.zeros(len(parents), np.int8) if sides is None else sides
        _join_limbs(parents, moves, influences, depths(above), sides)
    return parents.astype(np.int32)


def _join_limbs(
    parents: NDArray[np.int32],
    moves: NDArray[np.bool_],
    influences: Influences,
    depth: NDArray[np.int64],
    sides: NDArray[np.integer],
) -> None:
    """Give the first bones of limbs parents, as `body_parents` says."""
    count = len(parents)
    first = np.flatnonzero(moves & (parents < 0))
    row = np.full(count, -1)
    row[first] = np.arange(len(first))
    top = np.arange(count)
    while (parents[top] >= 0).any():
        top = np.where(parents[top] >= 0, parents[top], top)
    limb = row[top]
    bones, weights = influences.bones, influences.weights.astype(np.float64)
    of_bones = np.bincount(bones.ravel(), weights.ravel(), count)
    skin = np.bincount(limb[limb >= 0], of_bones[limb >= 0], len(first))
    vertices, slots = np.nonzero((weights > 0.0) & (row[bones] >= 0))
    pairs = row[bones[vertices, slots]][:, None] * count + bones[vertices]
    products = weights[vertices, slots][:, None] * weights[vertices]
    shared = np.bincount(pairs.ravel(), products.ravel(), len(first) * count)
    shared = shared.reshape(len(first), count)
    shared[sides[first][:, None] * sides[None] < 0] = 0.0
    trunk = np.lexsort((-skin, depth[first]))[0]
    joined = limb == trunk
    waiting = np.arange(len(first)) != trunk
    while waiting.any():
        candidates = np.where(waiting[:, None] & joined[None], shared, 0.0)
        limb_row, bone = divmod(int(candidates.argmax()), count)
        if not candidates[limb_row, bone] > 0.0:
            return
        parents[first[limb_row]] = bone
        joined |= limb == limb_row
        waiting[limb_row] = False


@dataclass(frozen=True, eq=False)
class Paths:
    """The joints on the way from one bone to another, for some pairs of bones.

    Attributes:
        pairs: shape (k,), which pair each step is of.
        joints: shape (k,), the bones at whose heads the joints are.
    """

    pairs: NDArray[np.intp]
    joints: NDArray[np.int32]

    @classmethod
    def between(
        cls, parents: NDArray[np.int32], first: NDArray[np.integer], second: NDArray[np.integer]
    ) -> Paths:
        """The way up from either bone to where they meet; without a common ancestor up to roots."""
        deep = np.append(depths(parents), -1)
        a, b = np.array(first), np.array(second)
        pairs, joints = [np.zeros(0, np.intp)], [np.zeros(0, np.int32)]
        while (apart := np.flatnonzero(a != b)).size:
            up_first = deep[a[apart]] >= deep[b[apart]]
            for bones, rows in ((a, apart[up_first]), (b, apart[~up_first])):
                steps, above = bones[rows], parents[bones[rows]]
                has_joint = above >= 0
                pairs.append(rows[has_joint])
                joints.append(steps[has_joint].astype(np.int32))
                bones[rows] = above
        return cls(np.concatenate(pairs), np.concatenate(joints))

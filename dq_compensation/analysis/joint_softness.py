"""Softness of joints: less of what softening changes at the heads of some bones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..arrays import Float64s, Indices, Int32s
from ..core.influences import Influences
from ..core.skeleton import Ancestry, JointStrengths
from ..core.skin_at_rest import SkinAtRest

# Changes of weights below this are none.
_NO_CHANGE = 1e-7
# Rows that are worked on at once: the shares of pairs of bones take 8 bytes each.
_ROWS = 20_000


def parents_at_joints(skin: SkinAtRest) -> Int32s:
    """The bone that each bone turns with, shape (B,); -1 for none: `body_parents`, and of leaves.

    Args:
        skin: `with_limbs`.
    """
    limbs = skin.limbs_of_bones
    is_leaf = limbs != np.arange(len(limbs))
    return np.where(is_leaf, limbs, skin.with_whole_limbs.body_parents).astype(np.int32)


def softness_between(softness: JointStrengths, parents: Int32s) -> Float64s:
    """Shape (B, B): the least softness of the joints between two bones.

    A joint lies between a bone that it turns and one that it does not turn.

    Args:
        softness: of joints, by the bones at whose heads they are; others have 1.
        parents: shape (B,), of `parents_at_joints`.
    """
    least, ancestry = np.ones((len(parents), len(parents))), Ancestry.of(parents)
    for bone, value in softness:
        behind = ancestry.enter >= ancestry.enter[bone]
        behind &= ancestry.enter < ancestry.leave[bone]
        apart = behind[:, None] != behind
        least[apart] = np.minimum(least[apart], value)
    return least


def less_soft(painted: Influences, soft: Influences, between: Float64s) -> Influences:
    """Influences between painted ones and soft ones, joint by joint.

    Softening takes weight from some bones of a vertex and gives it to others. Of what goes from
    bone a to bone c,

        m_ac = lost_a gained_c / sum of lost,    lost = max(w - w', 0),   gained = max(w' - w, 0)

    the part `between`[a, c] goes. So no weight gets negative; where all joints between the bones of
    a vertex have 0, its weights are the painted ones; and what all bones behind one joint have
    together is w + s (w' - w), where the other joints between are no less soft. In a pose that
    turns this joint alone, the vertex is moved by that alone.

    The change fades by itself where softening does, within a radius or two of the joint.

    Args:
        painted, soft: of the same n vertices.
        between: shape (B, B), of `softness_between`.
    """
    rows = _differing(painted, soft, between)
    found = soft
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        changed, weights = _between(painted.at(part), soft.at(part), between)
        found = found.with_rows(part[changed], weights.at(changed))
    return found


def _differing(painted: Influences, soft: Influences, between: Float64s) -> NDArray[np.intp]:
    """The vertices where a joint that is less soft may lie between two bones."""
    concerned = (between < 1.0).any(axis=1)
    moved = concerned[painted.bones] & (painted.weights > 0.0)
    also = concerned[soft.bones] & (soft.weights > 0.0)
    both = moved.any(axis=1) | also.any(axis=1)
    return np.flatnonzero(both)


def _between(
    painted: Influences, soft: Influences, between: Float64s
) -> tuple[Indices, Influences]:
    """The rows that are less soft, and `less_soft` of all rows."""
    count = len(painted.bones)
    bones = np.concatenate((painted.bones, soft.bones), axis=1)
    before = np.concatenate((painted.weights, np.zeros_like(soft.weights)), axis=1)
    after = np.concatenate((np.zeros_like(painted.weights), soft.weights), axis=1)
    bones, before, after = _merged(bones, before, after)
    changes = after - before
    gained, lost = np.maximum(changes, 0.0), np.maximum(-changes, 0.0)
    sums = lost.sum(axis=1)
    lost = np.divide(lost, sums[:, None], out=lost, where=sums[:, None] > _NO_CHANGE)
    whole = lost[:, :, None] * gained[:, None]
    goes = whole * between[bones[:, :, None], bones[:, None]]
    changed = np.flatnonzero((whole - goes).sum(axis=(1, 2)) > _NO_CHANGE)
    weights = before + goes.sum(axis=1) - goes.sum(axis=2)
    used_rows, slots = np.nonzero(weights > _NO_CHANGE)
    used = bones[used_rows, slots], weights[used_rows, slots]
    return changed, Influences.from_triples(used_rows, *used, count)


def _merged(
    bones: Int32s, before: NDArray[np.float32], after: NDArray[np.float32]
) -> tuple[NDArray[np.intp], Float64s, Float64s]:
    """Weights (m, k) of bones, some of which stand in a row twice, with each bone once.

    Returns:
        bones and both weights, shape (m, j); 0 in unused slots.
    """
    rows, slots = np.nonzero((before > 0.0) | (after > 0.0))
    count, most = len(bones), int(bones.max(initial=0)) + 1
    keys = rows * most + bones[rows, slots]
    unique, which = np.unique(keys, return_inverse=True)
    sums = [
        np.bincount(which.reshape(-1), each[rows, slots], len(unique)) for each in (before, after)
    ]
    of_row = unique // most
    places = np.arange(len(unique)) - np.searchsorted(of_row, of_row)
    shape = count, int(places.max(initial=0)) + 1
    merged = np.zeros(shape, np.intp)
    merged[of_row, places] = unique % most
    found = np.zeros((2, *shape))
    found[:, of_row, places] = sums
    return merged, found[0], found[1]

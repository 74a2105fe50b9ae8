"""Leaves on limbs: twist bones, share bones and correctives, which lie on the limb of another bone.

Game rigs share a limb out among its bone and leaves of it. The skin of such a leaf is on the limb,
and the joint at the limb's end is a joint of the leaf's skin, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Booleans, Float32s, Floats, Indices, Int32s
from .influences import Influences
from .skeleton import BoneKinds, Skeleton, bones_not_of, bones_of
from .vectors import dots, extent, unit_or

# A limb is longer than this, in radii: a head, which is not, has the bones of a face.
_LONG = 2.5
# The middle of a leaf's skin is within this, in radii: bones of a breast lie farther out.
_AROUND = 1.1
# On a limb whose own bone has no skin, leaves and their skin are within this, in radii.
_INSIDE = 0.5
# Leaves end here, in lengths of the limb.
_END = 1.05


def limbs_of_leaves(
    positions: Floats, influences: Influences, skeleton: Skeleton, kinds: BoneKinds = ()
) -> Int32s:
    """The bone whose limb each bone lies on, shape (B,): itself, but for leaves.

    A limb leads from the head of a bone to that of its child from which bones reach farthest.
    Another child is a leaf, with all bones below it, where their heads lie within the limb's
    radius, before its end, and the middle of their skin, too, or as far along it as skin of the
    bone itself. The radius is the mean distance of the skin that the bone and its leaves have
    beside the limb.

    A bone that the user takes for a twist bone is a leaf alone, wherever it is; bones below it stay
    limbs. What is a part of a leaf with a bone that the user takes for something else is none.

    Args:
        positions: shape (n, 3), armature space, at rest.
        influences: of the n vertices.
        kinds: of `SkinAtRest`.
    """
    is_leaf = _found_leaves(positions, influences, skeleton, bones_not_of(kinds, "TWIST_BONE"))
    is_leaf[bones_of(kinds, "TWIST_BONE")] = True
    is_leaf &= skeleton.parents >= 0
    own = np.arange(skeleton.bone_count, dtype=np.int32)
    found = np.where(is_leaf, skeleton.parents, own)
    while is_leaf[found].any():
        found = np.where(is_leaf[found], skeleton.parents[found], found)
    return found


def _found_leaves(
    positions: Floats, influences: Influences, skeleton: Skeleton, others: Sequence[int]
) -> Booleans:
    """Shape (B,), which bones are leaves, but for others and what has one of these."""
    own = np.arange(skeleton.bone_count, dtype=np.int32)
    tree = _Branches.of(influences.moving_bones(skeleton.bone_count), skeleton)
    fails = np.bincount(tree.branches[~tree.near], minlength=len(own)) > 0
    fails[tree.branches[np.isin(tree.bones, others)]] = True
    rows = np.flatnonzero(~fails[tree.branches])
    if not len(rows):
        return np.zeros(len(own), np.bool_)
    limbs = skeleton.parents[tree.branches[rows]]
    concerned = np.zeros(len(own), np.bool_)
    concerned[tree.bones[rows]] = concerned[limbs] = concerned[tree.next_bones[limbs]] = True
    slots = np.flatnonzero(concerned[influences.bones] & (influences.weights > 0.0))
    vertices, bones = slots // influences.width, influences.bones.take(slots)
    skin = _Skin(positions, vertices, bones, influences.weights.take(slots))
    for limb in np.unique(limbs).tolist():
        of_limb = rows[limbs == limb]
        on_it = _lie_on(limb, int(tree.next_bones[limb]), tree.bones[of_limb], skin, skeleton)
        fails[tree.branches[of_limb[~on_it]]] = True
    is_leaf = (np.bincount(tree.branches, minlength=len(own)) > 0) & ~fails
    above = skeleton.parents
    while (going := above >= 0).any():
        is_leaf |= going & is_leaf[above]
        above = np.where(going, skeleton.parents[above], -1)
    return is_leaf


@dataclass(frozen=True, eq=False)
class _Branches:
    """The bones below each bone that is not where its parent's limb leads; m pairs.

    Attributes:
        next_bones: shape (B,), the bone at the end of each bone's limb; -1 for none.
        bones: shape (m,), bones with skin, and ends without any.
        branches: shape (m,), the bone that each is below, or itself.
        near: shape (m,), bool; whether the head is near enough to the limb, whatever its radius.
    """

    next_bones: Indices
    bones: Indices
    branches: Indices
    near: Booleans

    @classmethod
    def of(cls, has_skin: Booleans, skeleton: Skeleton) -> _Branches:
        parents, heads = skeleton.parents, skeleton.heads
        has_child = np.bincount(parents[parents >= 0], minlength=len(parents)) > 0
        bones = branches = np.flatnonzero(parents >= 0)
        pairs = [(bones, branches)]
        while len(bones):
            going = parents[parents[branches]] >= 0
            bones, branches = bones[going], parents[branches[going]].astype(np.intp)
            pairs.append((bones, branches))
        bones, branches = (np.concatenate(each) for each in zip(*pairs, strict=True))
        limbs = parents[branches]

        # Where bones go on: not to sockets and targets, which have neither skin nor bones.
        reach, telling = np.zeros(len(parents)), (has_skin | has_child)[bones]
        apart = np.linalg.norm(heads[bones] - heads[limbs], axis=1)
        np.maximum.at(reach, branches[telling], apart[telling])
        rising = np.argsort(reach, kind="stable")
        rising = rising[(reach[rising] > 1e-5 * extent(heads)) & (parents[rising] >= 0)]
        next_bones = np.full(len(parents), -1)
        next_bones[parents[rising]] = rising

        ends = ~has_child & ~has_skin
        asked = (next_bones[limbs] >= 0) & (next_bones[limbs] != branches)
        asked &= has_skin[bones] | (ends[bones] & (bones == branches))
        bones, branches, limbs = bones[asked], branches[asked], limbs[asked]
        lit, above = has_skin.copy(), parents
        while (going := above >= 0).any():
            lit |= going & has_skin[above]
            above = np.where(going, parents[above], -1)
        ways = heads[next_bones[limbs]] - heads[limbs]
        lengths = np.linalg.norm(ways, axis=1)
        away = heads[bones] - heads[limbs]
        near = lit[limbs] & (_along_limb(away, ways) <= _END * lengths)
        near &= _from_limb(away, ways) < lengths / _LONG
        return cls(next_bones, bones, branches, near)


@dataclass(frozen=True, eq=False)
class _Skin:
    """The influences of some bones: vertices, bones and weights, all of shape (m,)."""

    positions: Floats
    vertices: Indices
    bones: Int32s
    weights: Float32s


def _lie_on(limb: int, next_bone: int, bones: Indices, skin: _Skin, skeleton: Skeleton) -> Booleans:
    """Shape (k,), whether each of the bones (k,) lies on a limb."""
    head = skeleton.heads[limb]
    way = skeleton.heads[next_bone] - head
    length = float(np.linalg.norm(way))
    place = np.full(skeleton.bone_count, -1)
    place[bones] = np.arange(len(bones))
    place[limb] = len(bones)
    rows = np.flatnonzero(place[skin.bones] >= 0)
    vertices, weights = skin.vertices[rows], skin.weights[rows].astype(np.float64)
    away = skin.positions[vertices] - head
    along = away @ (way / length)
    beside = weights * ((along > 0.0) & (along < length))
    radius = float(beside @ _from_limb(away, way)) / max(float(beside.sum()), 1e-30)
    moved_next = skin.vertices[skin.bones == next_bone]
    # Segments of a finger that all hang on the hand lie on one line, too, and share no skin with
    # it; bones of a face hang on bones without skin, too, and lie beside each other.
    own = skin.vertices[skin.bones == limb]
    has_own = len(own) > 0
    goes_on = (skeleton.parents == next_bone).any() or np.isin(moved_next, own).any()
    if not goes_on or not 0.0 < _LONG * radius < length:
        return np.zeros(len(bones), np.bool_)
    places = place[skin.bones[rows]]
    sums = [np.bincount(places, weights * axis, len(bones) + 1)[:-1] for axis in away.T]
    moved = np.bincount(places, weights, len(bones) + 1)[:-1, None]
    heads = skeleton.heads[bones] - head
    middles = np.where(moved > 0.0, np.stack(sums, axis=1) / np.maximum(moved, 1e-30), heads)
    found = _from_limb(heads, way) <= radius * (1.0 if has_own else _INSIDE)
    # Of a rope skin lies beyond the limb: that of leaves may, too, as far as the bone's own does.
    first, last = _reach(along[places == len(bones)], weights[places == len(bones)])
    reached = _along_limb(middles, way)
    beyond = np.minimum(reached, 0.0).clip(min(first, 0.0))
    beyond += np.maximum(reached - length, 0.0).clip(0.0, max(last - length, 0.0))
    middles = middles - beyond[:, None] * (way / length)
    found &= _from_limb(middles, way) <= radius * (_AROUND if has_own else _INSIDE)
    found &= _along_limb(middles, way) <= _END * length
    # A single one is the limb itself: a bone that deforms, on one of a control rig.
    return found & (has_own or np.count_nonzero(found & (moved[:, 0] > 0.0)) > 1)


def _reach(along: Floats, weights: Floats) -> tuple[float, float]:
    """Where nearly all skin of a bone lies along its limb: the mean less and plus 2 deviations."""
    moved = max(float(weights.sum()), 1e-30)
    mean = float(weights @ along) / moved
    deviation = float(np.sqrt(weights @ (along - mean) ** 2 / moved))
    return mean - 2.0 * deviation, mean + 2.0 * deviation


def _along_limb(away: Floats, ways: Floats) -> Floats:
    """How far vectors (m, 3) reach along limbs, which are ways (m, 3) or one way (3,)."""
    return dots(away, np.broadcast_to(unit_or(ways, 0.0), away.shape))


def _from_limb(away: Floats, ways: Floats) -> Floats:
    """How far points are from limbs, from their heads to their ends, likewise."""
    lengths = np.linalg.norm(ways, axis=-1)
    along = np.clip(_along_limb(away, ways), 0.0, lengths)
    nearest = along[:, None] * unit_or(np.atleast_2d(ways), 0.0)
    return np.linalg.norm(away - nearest, axis=1)

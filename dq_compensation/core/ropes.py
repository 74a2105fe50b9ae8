"""Ropes: rows of bones that bend as one smooth curve. Nothing is compensated there.

A *rope* (a tail, a tentacle, a hose, a fin) has bones in a row, and weights that are wider than
these. Its middle is the smooth curve that dual quaternions make, not the line from joint to
joint: nothing bulges there, and skin that went back to that line would make lumps.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from ..arrays import Float64s, Indices
from .joint_candidates import SHORTEST, JointCandidates
from .limb_joints import LimbJoints
from .skin_at_rest import SkinAtRest
from .vectors import dots, smooth_step

# A rope is where weights cross over as wide as this, in radii of the skin, and no skin between two
# joints follows its own bone alone by as much as this: from the first number to the second. As they
# are painted elbows have 0.6 to 1.3 and 0.96 to 1, ropes 2.4 to 13 and 0.36 to 0.82.
_WIDE, _ALONE = (1.1, 1.5), (0.85, 0.93)
# Where all bones of the row share their skin, as short ones do, those widths are less by this: from
# the first share that any of them has alone to the second.
_NARROWER, _SHARED = 0.4, (0.65, 0.85)
# Joints are of a rope as their neighbours are: by the mean of what is found at these and at that
# many before and behind.
_ONE_ROPE, _NEIGHBOURS = (0.2, 0.5), 2
# So wide are hoses, whatever is alone: between straight pieces of a limb there are up to 2.7.
_VERY_WIDE = (3.0, 4.0)
# So many vertices of a joint show a rope: from the first number to the second.
_ENOUGH = (8.0, 16.0)
# The mean of shares to this power is nearly the largest one.
_LARGEST = 16


def rope_joints(
    skin: SkinAtRest, limbs: LimbJoints, candidates: JointCandidates | None = None
) -> Float64s:
    """Shape (J,), 0 to 1: how surely each joint is one of a rope, and not of a limb.

    With the width c, and the larger share u of `_alone` of its two bones, it rises
    smoothly as c goes from 1.1 to 1.5 radii and as u falls from 0.93 to 0.85. Bones at an end
    have no u, and do not count. Whatever u is, it rises as c goes from 3 to 4. Where no
    bone of a row of several joints has an u of 0.65 to 0.85, c counts for up to 0.4 more: the
    weights of short bones are no wider than these. Fewer than 8 vertices show no rope: fingers
    of low-poly meshes have wide weights. What is neither limb nor rope is farther from the
    ideal of either: so joints are of a rope as the mean of this goes from 0.2 to 0.5, over
    the joint and two of its row on the side where it is less, by 3, 2 and 1 times how much each
    bends the skin: one joint with wide weights makes its limb no rope.

    They are found on all meshes of the character. Softness changes no limb into a rope: the weights
    count as they were painted.

    Args:
        candidates: of the skin, if they are known.
    """
    body = skin.body
    if body not in _ropes_of_bodies:
        painted = body.as_painted
        alike = (each for each in _ropes_of_bodies if each.as_painted.is_equal_to(painted))
        other = None if painted is body else next(alike, None)  # with other soft weights
        if other is not None:
            found = _ropes_of_bodies[other]
        else:
            if candidates is None or painted is not skin:
                candidates = JointCandidates.of(painted, limbs)
            found = _ropes(painted, limbs, candidates)
        _ropes_of_bodies[body] = found
    return _ropes_of_bodies[body]


def rope_shares(skin: SkinAtRest) -> Float64s:
    """Shape (n,), 0 to 1: how much of each vertex bones have that bend as a rope at either end."""
    limbs = LimbJoints.of(skin.skeleton, skin.limb_axis, skin.mesh_parents)
    ropes, of_bones = rope_joints(skin, limbs), np.zeros(skin.skeleton.bone_count)
    for bones in (limbs.children, limbs.parents):
        np.maximum.at(of_bones, bones, ropes)
    weights = skin.influences.weights.astype(np.float64)
    shares = np.einsum("nk,nk->n", weights, of_bones[skin.influences.bones])
    # The sums of float32 weights are a little less than 1.
    return np.minimum(1.001 * shares, 1.0)


# All meshes of a character ask for the same.
_ropes_of_bodies: WeakKeyDictionary[SkinAtRest, Float64s] = WeakKeyDictionary()


def _ropes(skin: SkinAtRest, limbs: LimbJoints, candidates: JointCandidates) -> Float64s:
    """`rope_joints` of a skin with the weights as they are painted."""
    count = len(limbs.heads)
    rows = np.full(count, -1)  # of the joints with candidates: the first bone of the row
    rows[candidates.joints] = candidates.rows
    below, above = candidates.below, candidates.above
    bends = np.bincount(candidates.joints, below * above / (below + above), count)
    widths, counts = candidates.widths(skin.positions)
    alone = _alone(skin)
    largest = np.maximum(alone[limbs.children], alone[limbs.parents])
    largest[largest < 0.0] = 1.0
    of_row = np.zeros(len(largest))
    known = np.flatnonzero(rows >= 0)
    np.maximum.at(of_row, rows[known], largest[known])
    of_row[np.bincount(rows[known], minlength=len(of_row)) == 1] = 1.0
    shared = np.where(rows >= 0, 1.0 - smooth_step(of_row[rows], *_SHARED), 0.0)
    limbs_alone = smooth_step(largest, *_ALONE) * (1.0 - smooth_step(widths, *_VERY_WIDE))
    wide = smooth_step(widths + _NARROWER * shared, *_WIDE)
    wide *= smooth_step(counts, *_ENOUGH)
    found = wide * (1.0 - limbs_alone)

    # The joints one after the other in a row.
    joint_at = np.full(skin.skeleton.bone_count, -1)
    joint_at[limbs.children[known]] = known
    before = joint_at[np.maximum(skin.body_parents[limbs.children[known]], 0)]
    follows = (before >= 0) & (rows[before] == rows[known]) & (before != known)
    before, behind = before[follows], known[follows]
    means = [
        _mean_along(found, bends, here, there)
        for here, there in ((before, behind), (behind, before))
    ]
    several = np.union1d(before, behind)  # what is alone has no neighbours to go by
    found[several] = smooth_step(np.minimum(*means), *_ONE_ROPE)[several]
    for bone, kind in skin.kinds:
        found[limbs.children == bone] = kind == "ROW"
    return found


def _mean_along(found: Float64s, bends: Float64s, here: Indices, there: Indices) -> Float64s:
    """The mean over each joint and those that follow it, the nearer ones counting more, shape (J,).

    Args:
        found, bends: shape (J,): what the mean is of; how much each joint counts.
        here, there: joints, and those that come after them in one direction.
    """
    after = np.stack((found * bends, bends))
    sums = (_NEIGHBOURS + 1) * after
    for counts in range(_NEIGHBOURS, 0, -1):
        nearer, after = after, np.zeros_like(after)
        after[:, here] = nearer[:, there]
        sums += counts * after
    return sums[0] / np.maximum(sums[1], SHORTEST)


def _alone(skin: SkinAtRest) -> Float64s:
    """Shape (B,): how much of the skin between its two joints a bone has alone, 0 to 1.

    It is the largest share, but for a few vertices: sum of w^17 / sum of w^16. -1 for bones that
    have no joint at one of their ends.
    """
    influences, skeleton, parents = skin.influences, skin.skeleton, skin.body_parents
    count = skeleton.bone_count
    hangs = (parents >= 0) & skin.moves
    between = (parents >= 0) & (np.bincount(parents[hangs], minlength=count) > 0)
    ways = skeleton.limb_directions(skin.limb_axis, parents)
    lengths = skeleton.limb_lengths(np.where(parents >= 0, parents, np.arange(count)))
    sums = np.zeros((2, count))
    for rows, bones, weights in influences.slots():
        along = dots(skin.positions[rows] - skeleton.heads[bones], ways[bones])
        inside = (along > 0.0) & (along < lengths[bones])
        powers = inside * weights.astype(np.float64) ** _LARGEST
        sums += np.stack([np.bincount(bones, each, count) for each in (powers, powers * weights)])
    return np.where(between, sums[1] / np.maximum(sums[0], SHORTEST), -1.0)

"""The joints between the bones that move a vertex, and which of them bends its skin most.

Limbs are split into several bones, and weights are wide: the two strongest bones of skin at an
elbow may both be of the upper arm. So all joints count that have weights on either side. What hangs
on a joint there is the sum of the weights, each times the product of `hinge_confidence` between the
joint and its bone.

A *row* is a part of the tree of bones that move the mesh (`body_tree`) in which none branches off:
a finger without the palm, an arm from the collarbone to the hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .body_tree import body_parents
from .influences import Influences
from .limb_joints import LimbJoints
from .vectors import dots, smooth_step

# Distances from the joint, in lengths of the shorter limb, between which compensation fades: beyond
# lies skin that the two limbs do not carry (a palm, for the joints of a finger).
_NEAR, _FAR = 0.5, 1.0
# What is added to distances in the score of a joint, in the same lengths.
_AT_JOINT = 0.05
# Stands for a length of 0 where one divides by it.
_SHORTEST = 1e-30
# Cosines of the angle between two bones of a row: below the first a limb ends there, above the
# second it goes on straight.
_BENT, _STRAIGHT = 0.8, 0.95


@dataclass(frozen=True, eq=False)
class JointCandidates:
    """Vertices and joints between the bones that move them; a pair may be there twice.

    Attributes:
        limbs: the joints of the skeleton.
        vertices: shape (e,).
        joints: shape (e,), rows of `limbs`.
        below, above: shape (e,), more than 0; what hangs on the joint behind and before it.
        rows: shape (e,), the first bone of the row that the joint's child is in; -1 for joints that
            are left out.
        lengths: shape (e,), of the shorter of the two limbs at the joint. Limbs go on straight
            within a row. Where a row begins, they are single bones.
    """

    limbs: LimbJoints
    vertices: NDArray[np.intp]
    joints: NDArray[np.intp]
    below: NDArray[np.float64]
    above: NDArray[np.float64]
    rows: NDArray[np.intp]
    lengths: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        influences: Influences,
        limbs: LimbJoints,
        sides: NDArray[np.integer] | None = None,
        left_out: Sequence[int] = (),
    ) -> JointCandidates:
        """The joints of the hierarchy, and those that the mesh shows, with the tree that it has.

        Args:
            sides: of `body_parents`.
            left_out: of `MeasuredJoints.of`. They are a row of their own, so that what is beside
                them fades towards them.
        """
        count = limbs.bone_count
        parents, joints, mesh_parents = limbs.skeleton.parents, np.arange(count), limbs.mesh_parents
        found = [_of_tree(influences, limbs, parents, joints)]
        if mesh_parents is not None:
            joints[limbs.children[count:]] = np.arange(count, len(limbs.children))
            parents = limbs.skeleton.joined_parents(mesh_parents)
            found.append(_of_tree(influences, limbs, parents, joints))
        vertices, joints_of, below, above = (
            np.concatenate(parts) for parts in zip(*found, strict=True)
        )
        body = body_parents(limbs.skeleton, influences, mesh_parents, sides)
        rows, lengths = _rows(influences, limbs, body, joints)
        rows[list(left_out)] = -1
        bones = limbs.children[joints_of]
        return cls(limbs, vertices, joints_of, below, above, rows[bones], lengths[bones])

    def chosen(
        self, positions: NDArray[np.floating]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
        """The joint that bends each vertex most: that with the largest score.

            score = x (1 - x) (below + above) (its `hinge_confidence`) near / (d + 0.05)

        x is the share of `below`, d the distance from the joint in lengths of the shorter limb;
        `near` falls smoothly from 1 to 0 as d goes from 0.5 to 1. Within a row it does not matter
        which joint is chosen: vertices beside a bone are measured against it from either end. So
        `near` is the largest of the row then. A joint of another row has another limb: with s the
        largest score of these, `alone = 1 - (s / score)^4` falls to 0 before it is chosen.

        Args:
            positions: shape (n, 3), armature space, at rest and without shape keys.

        Returns:
            three arrays of shape (m,): the vertices that have a joint, rising; which of the
            candidates it is; `alone near`.
        """
        limbs, vertices, both = self.limbs, self.vertices, self.below + self.above
        apart = np.linalg.norm(positions[vertices] - limbs.heads[self.joints], axis=1)
        distances = apart / np.maximum(self.lengths, _SHORTEST)
        near = 1.0 - smooth_step(distances, _NEAR, _FAR)
        scores = self.below * self.above / both * limbs.hinge_confidence[self.joints]
        scores *= near / (distances + _AT_JOINT)
        rising = np.argsort(scores, kind="stable")[np.count_nonzero(scores <= 0.0) :]
        vertices = vertices[rising]
        best = np.full(len(positions), -1)
        best[vertices] = rising  # the last one of a vertex stays
        in_row = self.rows[rising] == self.rows[best[vertices]]
        rivals, nearest = np.zeros(len(positions)), np.zeros(len(positions))
        rivals[vertices[~in_row]] = scores[rising[~in_row]]
        np.maximum.at(nearest, vertices[in_row], near[rising[in_row]])
        found = np.flatnonzero(best >= 0)
        best = best[found]
        return found, best, (1.0 - (rivals[found] / scores[best]) ** 4) * nearest[found]


def _of_tree(
    influences: Influences,
    limbs: LimbJoints,
    parents: NDArray[np.int32],
    joints: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Vertices, joints, `below` and `above`, of bones with these parents (B,), -1 for none.

    Args:
        joints: shape (B,), the joint at the head of each bone.
    """
    confidence, bone_count = limbs.hinge_confidence[joints], len(parents)
    shares, counts = _products(parents, confidence), influences.counts()
    has_joint = (parents >= 0) & (confidence > 0.0)
    steps = [(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0), np.zeros(0))]
    for count in range(2, influences.width + 1):
        moved = np.flatnonzero(counts == count)
        moving = influences.bones[moved, :count].astype(np.intp)
        weights = influences.weights[moved, :count].astype(np.float64)
        places, slots = np.nonzero(has_joint[moving])
        bones = moving[places, slots].astype(np.intp)
        while len(bones):
            # `take` of whole rows and of flat places is several times faster than indices.
            others, their = moving.take(places, axis=0), weights.take(places, axis=0)
            up = parents[bones]
            above = dots(their, shares.take(others * bone_count + up[:, None]))
            below = dots(their, shares.take(bones[:, None] * bone_count + others))
            going = above > 0.0
            steps.append((moved[places[going]], bones[going], below[going], above[going]))
            # The way up goes on to the next bone that moves the vertex, which has its own.
            going &= has_joint[up] & (others != up[:, None]).all(axis=1)
            bones, places = up[going].astype(np.intp), places[going]
    vertices, bones, below, above = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    return vertices, joints[bones], below, above


def _rows(
    influences: Influences,
    limbs: LimbJoints,
    parents: NDArray[np.int32],
    joints: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The row of each bone, shape (B,), and `lengths` of the joint at its head, shape (B,).

    Args:
        parents: shape (B,), the bone that each bone hangs on: `body_parents`.
        joints: shape (B,), the joint at the head of each bone.
    """
    has_parent, moves = parents >= 0, influences.moving_bones(len(parents))
    children = np.bincount(parents[has_parent & moves], minlength=len(parents))
    goes_on = has_parent & (children[parents] <= 1)
    rows = np.arange(len(parents))
    while goes_on[rows].any():
        rows = np.where(goes_on[rows], parents[rows], rows)
    straight = smooth_step(-dots(limbs.back[joints], limbs.forth[joints]), _BENT, _STRAIGHT)
    reaches = _products(parents, np.where(goes_on, straight, 0.0))
    own = limbs.skeleton.limb_lengths(np.where(has_parent, parents, rows))
    # An importer may not know how long the last bone is: a limb goes on to where that begins.
    known = np.where(np.bincount(parents[has_parent], minlength=len(parents)) > 0, own, 0.0)
    shorter = np.minimum(np.maximum(reaches @ known, own), (known @ reaches)[parents])
    return rows, np.where(goes_on, shorter, limbs.lengths[joints])


def _products(parents: NDArray[np.int32], factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Shape (B, B): products of the joints' factors on the way up to a bone from one below it.

    The bone above comes first; 1 for a bone itself, 0 where the first is not above the second.
    """
    found = np.zeros((len(parents), len(parents)))
    below = above = np.arange(len(parents))
    products = np.ones(len(parents))
    while len(below):
        found[above, below] = products
        products, above = products * factors[above], parents[above]
        going = (above >= 0) & (products > 0.0)
        below, above, products = below[going], above[going], products[going]
    return found

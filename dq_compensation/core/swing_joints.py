"""Shoulders, hips, feet: where a limb leaves the body, its swing takes the skin along chords.

Dual quaternions move skin on arcs about the joint. On a limb that is right: the arc keeps its
radius, in a twist and, but for the bulge, in a bend. Between two parts of the body it is wrong for
the swing: skin below the armpit, far from the shoulder, goes out like a wing when the arm is
raised, the buttock when the thigh is. Linear blending goes along the chord of the same arc, and
there that is what skin does; but it lets twisted limbs collapse. So the swing goes along the chord
and the twist along the arc. That swing and twist should be treated apart is an idea of Kavan and
Sorkine (Elasticity-inspired deformers, 2012); what follows is our own derivation.

A vertex with the share x behind a joint, which swings by the angle a, lies nearer to the swing's
axis on the chord than on the arc, by the factor

    sqrt(1 - 2 x (1 - x) (1 - cos a)) ~ 1 - x (1 - x) (1 - cos a)

With s = sin(a / 2) u, u the axis, and o from the joint to the vertex, 2 s x (s x o) is o without
its part along the axis, times -(1 - cos a). So the displacement is

    sum over joints of 2 k s x (s x o),    k = sum of w_i w_j c_ij, i behind the joint, j before it

k is x (1 - x) where all c are 1. With p the product of `hinge_confidence` on the way from bone i to
bone j, c_ij = 1 - min(1, p / 0.95): k is 0 within limbs, at elbows and knees, which are the affair
of `measured_joints`. Between two limbs that both leave the body, as in the middle of a skirt, the
arc is that of the one against the other, s_i - s_j: where both swing alike there is none. Joint by
joint that cannot be known, so such a pair counts half where no other bone moves the skin:

    c_ij is less by the part (1 - min(1, p_i / 0.95)) (1 - min(1, p_j / 0.95)) (w_i + w_j)^4 / 2

with p_i and p_j the products on both sides of where the ways up from i and j meet. All of it are
polynomials of the weights and smooth functions of the pose, whatever bones neighbours follow: it
makes no lumps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Float64s, Floats, Indices, Int32s, Integers
from .influences import Influences
from .limb_joints import SHORTEST_RAY, LimbJoints, hinge_confidence
from .pose import Pose
from .skeleton import JointStrengths, LimbAxis, Skeleton, depths, strength_of_bones
from .skin_at_rest import Paths, SkinAtRest
from .vectors import cross, dots, extent, places_in_rows, smooth_step, unit_or

# How many joints swing a vertex, at most.
SWINGS = 3
# The largest amount: of half and half.
MOST_SWUNG = 0.25
# Distances from the joint, in lengths of everything behind it, between which it fades: skin as far
# as a limb's end (lids about eyes, the chin about the jaw's joint) stays on the arc.
_NEAR, _FAR = 0.5, 1.0
# 1 + cos of the swing from which on it fades to nothing at 180 degrees, where it has no axis.
SWUNG_BACK = 0.13
# From this product of confidences two bones are of one limb: elbows are bent a little at rest.
_CERTAIN = 0.95
# What reaches less far, in sizes of the skeleton, is no limb: features of a face.
_SMALLEST = 0.07
# How alike two limbs of one part of the body swing, as thighs of one who sits.
_ALIKE = 0.5
# Amounts fade to nothing here: at 90 degrees that is 0.4 % of the distance from the joint.
_LEAST = 0.004
# Cosines of the angle between two bones: below the first a limb ends there, above the second it
# goes on straight.
_BENT, _STRAIGHT = 0.8, 0.95


@dataclass(frozen=True, eq=False)
class SwingJoints:
    """The joints that take skin along chords, and how much of it; once per binding.

    Attributes:
        skeleton: whose bones they are between.
        children, parents: shape (S,), int32, the bones behind and before each joint.
        heads: shape (S, 3), the joints at rest, armature space.
        axes: shape (S, 3), unit, along the child's limb: turning about it is twist.
        joints: shape (n, s), int32, rows of the above; 0 in unused places. s is 1 to SWINGS: as
            many as any vertex needs.
        amounts: shape (n, s), of each k (1 - max(c / g, m / k)^4), 0 to 1/4, of the dtype of the
            positions, falling from left to right. The joints with the largest g = k l^2 count, l
            the length of the limb behind the joint: long limbs (thighs) swing far, short bones
            between them and the trunk (hips, collarbones) do not. c is the largest g that is left
            out, so that an amount is 0 where two joints change places. m is `_LEAST`.
        hinged: shape (n,), 0 to 1, the share of pairs of bones that are of one limb: the sum of
            w_i w_j (1 - c_ij), over that of w_i w_j.
        lengths: shape (S,), how far the limb behind each joint goes on straight.
    """

    skeleton: Skeleton
    children: Int32s
    parents: Int32s
    heads: Float64s
    axes: Float64s
    joints: Int32s
    amounts: Floats
    hinged: Floats
    lengths: Float64s

    @classmethod
    def of(cls, skin: SkinAtRest, strengths: JointStrengths = ()) -> SwingJoints:
        """Find the joints; at the heads of some bones they act less."""
        positions, skeleton, parents = skin.positions, skin.skeleton, skin.body_parents
        limbs = LimbJoints.by_parents(skeleton, skin.limb_axis, parents)
        axes, confidence = _swung_limbs(limbs, parents, skin.limb_axis)
        lengths = _limb_lengths(limbs, parents, axes)
        vertices, joints, amounts, hinged = _shares(skin.influences, parents, confidence)
        apart = np.linalg.norm(positions[vertices] - limbs.heads[joints], axis=1)
        reach = np.maximum(_reach(skeleton, parents)[joints], 1e-30)
        amounts = amounts * (1.0 - smooth_step(apart / reach, _NEAR, _FAR))
        seen = (amounts > _LEAST) & (reach > _SMALLEST * extent(skeleton.heads))
        used, rows = np.unique(joints[seen], return_inverse=True)
        gains = amounts[seen] * lengths[joints[seen]] ** 2
        acting = strength_of_bones(strengths, skeleton.bone_count)[limbs.children[used]]
        acting *= limbs.acting[used]
        found, counting = _strongest(
            len(positions), vertices[seen], rows.reshape(-1), amounts[seen], gains, acting
        )
        return cls(
            skeleton,
            limbs.children[used],
            limbs.parents[used],
            limbs.heads[used],
            axes[used],
            found,
            counting.astype(positions.dtype),
            hinged.astype(positions.dtype),
            lengths[limbs.children[used]],
        )._acting

    @property
    def _acting(self) -> SwingJoints:
        """The same with the joints that swing any vertex, and as many a vertex as any needs."""
        acts = self.amounts > 0.0
        used = np.zeros(len(self.children), np.bool_)
        used[self.joints[acts]] = True
        slots = max(1, int(np.count_nonzero(acts.any(axis=0))))
        joints = np.where(acts, (np.cumsum(used) - 1)[self.joints] if len(used) else 0, 0)
        return replace(
            self,
            children=self.children[used],
            parents=self.parents[used],
            heads=self.heads[used],
            axes=self.axes[used],
            joints=joints[:, :slots].astype(np.int32),
            amounts=self.amounts[:, :slots],
            lengths=self.lengths[used],
        )

    @property
    def joint_bones(self) -> Int32s:
        """The bones at whose heads vertices are swung."""
        return np.unique(self.children[self.joints[self.amounts > 0.0]])

    @cached_property
    def acts(self) -> bool:
        """Whether any vertex is moved at all."""
        return bool(self.amounts.any())

    def at(self, rows: Integers) -> SwingJoints:
        """The same for some vertices."""
        parts = {name: getattr(self, name)[rows] for name in ("joints", "amounts", "hinged")}
        return replace(self, **parts)

    def towards(self, other: SwingJoints, shares: Floats) -> SwingJoints:
        """The same where skin goes over to skin whose joints were found elsewhere.

        Args:
            other: found for the same vertices.
            shares: shape (n,), 0 to 1, how much its amounts count.
        """
        both, count = (self, other), len(shares)
        children, first = np.unique(
            np.concatenate([each.children for each in both]), return_index=True
        )
        if not len(children):
            return self
        amounts = np.zeros((count, len(children)))
        for each, share in zip(both, (1.0 - shares, shares), strict=True):
            if len(each.children):
                columns = np.searchsorted(children, each.children)[each.joints]
                places = np.arange(count)[:, None], columns
                np.add.at(amounts, places, share[:, None] * each.amounts)
        joints = np.argsort(-amounts, axis=1, kind="stable")[:, :SWINGS]
        amounts = np.take_along_axis(amounts, joints, 1)
        slots = max(1, int(np.count_nonzero(amounts.any(axis=0))))
        parents, heads, axes, lengths = (
            np.concatenate([getattr(each, name) for each in both])[first]
            for name in ("parents", "heads", "axes", "lengths")
        )
        return replace(
            self,
            children=children,
            parents=parents,
            heads=heads,
            axes=axes,
            joints=joints[:, :slots].astype(np.int32),
            amounts=amounts[:, :slots].astype(self.amounts.dtype),
            lengths=lengths,
        )

    def posed(self, pose: Pose) -> tuple[Float64s, Float64s]:
        """The joints in a pose and their swings, both (S, 3), armature space.

        With p the child's limb as the parent has turned it, and q as the child itself has,
        s = p x q / sqrt(2 max(1 + p . q, SWUNG_BACK)): the axis of the shortest turn from p to q,
        times the sine of half its angle, and from 150 degrees on less than that.
        """
        starts = self.skeleton.start_rows[self.children]
        ends = self.skeleton.end_rows[self.parents]
        matrices = pose.matrices[starts, :3]
        heads = np.einsum("sij,sj->si", matrices[:, :, :3], self.heads) + matrices[:, :, 3]
        before, after = (
            unit_or(
                np.einsum("sij,sj->si", pose.matrices[rows, :3, :3], self.axes), 0.0, SHORTEST_RAY
            )
            for rows in (ends, starts)
        )
        ahead = np.maximum(1.0 + dots(before, after), SWUNG_BACK)
        return heads, cross(before, after) / np.sqrt(2.0 * ahead)[:, None]

    def displacements(
        self, deformed: Floats, pose: Pose, amounts: Floats
    ) -> tuple[Indices, Floats]:
        """From the arcs to the chords.

        Args:
            deformed: shape (n, 3), armature space, after dual quaternion skinning and MEASURED.
            amounts: shape (n, s), `amounts` times what the artist painted and the factor.

        Returns:
            the vertices that move, shape (m,), and how far, shape (m, 3), the dtype of `deformed`.
        """
        rows = np.flatnonzero(amounts[:, 0])
        moved = np.zeros((len(rows), 3), deformed.dtype)
        if not len(rows):
            return rows, moved
        heads, swings = (each.astype(deformed.dtype) for each in self.posed(pose))
        for slot in range(amounts.shape[1]):
            used = np.flatnonzero(amounts[rows, slot])
            at = rows[used]
            joints, shares = self.joints[at, slot], amounts[at, slot].astype(deformed.dtype)
            swing, away = swings[joints], deformed[at] - heads[joints]
            moved[used] += 2.0 * shares[:, None] * cross(swing, cross(swing, away))
        return rows, moved


def _swung_limbs(
    limbs: LimbJoints, parents: Int32s, limb_axis: LimbAxis
) -> tuple[Float64s, Float64s]:
    """The limb behind each joint, (B, 3), and how surely it continues the one before, (B,).

    A head's limb does not go to the middle of its eyes and jaw: of a bone with several children the
    bone's own axis counts where that continues the parent better.
    """
    if limb_axis != "AUTO":
        return limbs.forth, limbs.hinge_confidence
    own = limbs.skeleton.limb_directions("Y")
    several = np.bincount(parents[parents >= 0], minlength=len(parents)) > 1
    better = several & (parents >= 0) & (dots(limbs.back, own) < dots(limbs.back, limbs.forth))
    axes = np.where(better[:, None], own, limbs.forth)
    continues = np.minimum(-dots(limbs.back, axes), -dots(limbs.back, limbs.forth[limbs.parents]))
    return axes, np.where(better, hinge_confidence(continues), limbs.hinge_confidence)


def _shares(
    influences: Influences, parents: Int32s, confidence: Float64s
) -> tuple[Indices, Int32s, Float64s, Float64s]:
    """Vertices (e,), joints (e,) and k (e,), each pair once; and `hinged`, shape (n,)."""
    count, bone_count = influences.vertex_count, len(parents)
    weights, bones = influences.weights.astype(np.float64), influences.bones.astype(np.int64)
    used = [np.flatnonzero(weights[:, slot] > 0.0) for slot in range(influences.width)]
    vertices, keys, products, sums = [], [], [], []
    for one in range(influences.width):
        for other in range(one + 1, influences.width):
            rows = used[other]
            vertices.append(rows)
            keys.append(bones[rows, one] * bone_count + bones[rows, other])
            products.append(weights[rows, one] * weights[rows, other])
            sums.append(weights[rows, one] + weights[rows, other])
    if not vertices:
        none = np.zeros(0, np.intp)
        return none, none.astype(np.int32), np.zeros(0), np.ones(count)
    vertex, product, shared = map(np.concatenate, (vertices, products, sums))
    key, exists = np.concatenate(keys), np.zeros(bone_count**2, np.bool_)
    exists[key] = True
    pairs, place = np.flatnonzero(exists), np.empty(len(exists), np.intp)
    place[pairs] = np.arange(len(pairs))
    pair = place[key]
    paths = Paths.between(parents, pairs // bone_count, pairs % bone_count)
    of_sides = np.ones((2, len(pairs)))
    np.multiply.at(of_sides, (paths.of_first * 1, paths.pairs), confidence[paths.joints])
    certain = np.minimum(of_sides[0] * of_sides[1] / _CERTAIN, 1.0)
    both_swing = (1.0 - np.minimum(of_sides / _CERTAIN, 1.0)).prod(axis=0)

    all_pairs = np.bincount(vertex, product, count)
    of_limbs = np.bincount(vertex, product * certain[pair], count)
    hinged = np.where(all_pairs > 0.0, of_limbs / np.where(all_pairs > 0.0, all_pairs, 1.0), 1.0)

    apart = certain[pair] < 1.0
    vertex, pair = vertex[apart], pair[apart]
    product = product[apart] * (1.0 - certain[pair])
    product *= 1.0 - _ALIKE * both_swing[pair] * shared[apart] ** 4
    order = np.argsort(paths.pairs, kind="stable")
    steps = np.bincount(paths.pairs, minlength=len(pairs))
    starts = np.cumsum(steps) - steps
    repeats = steps[pair]
    entry = np.repeat(np.arange(len(pair)), repeats)
    place = np.arange(len(entry)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    joint = paths.joints[order[starts[pair[entry]] + place]]
    key, row = np.unique(vertex[entry] * bone_count + joint, return_inverse=True)
    amounts = np.bincount(row.reshape(-1), product[entry], len(key))
    return (key // bone_count).astype(np.intp), (key % bone_count).astype(np.int32), amounts, hinged


def _strongest(
    count: int,
    vertices: Indices,
    joints: Indices,
    amounts: Float64s,
    gains: Float64s,
    acting: Float64s,
) -> tuple[Int32s, Float64s]:
    """The joints (n, SWINGS) with the largest gains, and what counts of the amounts of these.

    Those of the S joints count as much as these act, `acting`, shape (S,).
    """
    order = np.lexsort((-gains, vertices))
    vertices, joints = vertices[order], joints[order]
    amounts, gains = amounts[order], gains[order]
    counts = np.bincount(vertices, minlength=count)
    place = places_in_rows(vertices, counts)
    left_out = np.zeros(count)
    next_one = place == SWINGS
    left_out[vertices[next_one]] = gains[next_one]
    taken = place < SWINGS
    vertices, place, joints = vertices[taken], place[taken], joints[taken]
    amounts, gains = amounts[taken], gains[taken]
    found = np.zeros((count, SWINGS), np.int32)
    found[vertices, place] = joints
    counting = np.zeros((count, SWINGS))
    lost = np.maximum(left_out[vertices] / gains, _LEAST / amounts)
    counting[vertices, place] = amounts * (1.0 - lost**4) * acting[joints]
    falling = np.argsort(-counting, axis=1, kind="stable")
    return np.take_along_axis(found, falling, 1), np.take_along_axis(counting, falling, 1)


def _limb_lengths(limbs: LimbJoints, parents: Int32s, axes: Float64s) -> Float64s:
    """Shape (B,), how far the limb behind each joint goes on straight.

    It is the length of the bone, and what the longest of its children adds: that child's, less the
    more it is bent.
    """
    skeleton = limbs.skeleton
    lengths = np.maximum(np.linalg.norm(skeleton.tails - skeleton.heads, axis=1), 1e-30)
    straight = smooth_step(-dots(limbs.back, axes), _BENT, _STRAIGHT)
    further, found = [0.0] * len(lengths), lengths.tolist()
    shares, above = straight.tolist(), parents.tolist()
    for bone in np.argsort(-depths(parents)).tolist():
        found[bone] += further[bone]
        parent = above[bone]
        if parent >= 0:
            further[parent] = max(further[parent], shares[bone] * found[bone])
    return np.array(found)


def _reach(skeleton: Skeleton, parents: Int32s) -> Float64s:
    """Shape (B,), how far the farthest end of a bone behind each joint is from it."""
    heads, tails = skeleton.heads, skeleton.tails
    reach = np.zeros(skeleton.bone_count)
    joints = bones = np.arange(skeleton.bone_count)
    while len(bones):
        ways = (ends[bones] - heads[joints] for ends in (heads, tails))
        np.maximum.at(reach, joints, np.maximum(*(np.linalg.norm(way, axis=1) for way in ways)))
        joints = parents[joints]
        bones, joints = bones[joints >= 0], joints[joints >= 0]
    return reach

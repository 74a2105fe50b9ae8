"""Limbs whose skin twists along them, where all of the twist would be at a joint.

Without twist bones all of a hand's twist is in the few rings where its weights and those of the
forearm cross, that of an upper arm at the shoulder. Here skin of a limb turns further about it, by
where it lies along it. With t 0 at the limb's head and 1 at its end, w the limb's own weight, b and
e the twists at its beginning and end, the angle is

    w (t e - (1 - t) b)

What follows the hand has turned by e already, and what follows the limb by b: so skin has 0 of a
twist at one end and all of it at the other, and the ends stay where they are. Swing and twist apart
are an idea of Kavan and Sorkine (Elasticity-inspired deformers, 2012), places along bones that
share out a twist one of Jacobson and Sorkine (Stretchable and twistable bones, 2011).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Int32s
from .limb_joints import SHORTEST_RAY, LimbJoints
from .pose import Pose
from .ropes import rope_joints
from .skeleton import Skeleton, bones_not_of, bones_of
from .skin_at_rest import SkinAtRest
from .vectors import cross, dots, extent, places_in_rows, smooth_step, two_across, unit_or

# How many limbs turn a vertex, at most.
TURNS = 2
# A limb is longer than the first, in radii. One longer than the second has a twist at its
# beginning, too: on a neck, which is shorter, skin of the trunk and of the head is all along it.
_LONG, _SLENDER = 2.0, 3.0
# What is shorter, in sizes of the skeleton, is no limb: fingers.
_SMALLEST = 0.05
# Of two limbs at a joint the one behind it twists if it is at least this long beside the other: a
# forearm twists from the elbow on, a hand twists the forearm.
_LONG_ENOUGH = 0.7
# The part of a limb at its end where the bone behind it begins.
_AT_END = 0.8
# What is nearer to a limb's axis than this, in radii, is inside it.
_INSIDE = 0.5
# Where a longer part of a limb has no vertex, its faces would be wrung, and thinner in the middle:
# by 1 - cos(27 degrees) = 11 % at a twist of 90. With more than this weight a vertex is the limb's.
_LONGEST_FACE, _OWN = 0.6, 0.25
# The square of the cosine of half a swing below which twists fade, to nothing at 180 degrees, where
# no angle is a twist: that of 120 degrees.
SWUNG_FAR = 0.25

Reason = Literal["SHORT", "BENDY", "TWIST_BONES", "NAMED", "NO_RINGS", "ROPE"]


@dataclass(frozen=True, eq=False)
class TwistLimbs:
    """The limbs that twist along themselves, and how much of it each vertex has.

    It is found once per binding.

    Attributes:
        skeleton: whose bones they are.
        bones: shape (L,), int32; of the limbs.
        before, behind: shape (L,), int32; the bones whose twists against the limb are at its
            beginning and at its end; the limb's own bone where there is none.
        heads: shape (L, 3), armature space, at rest.
        axes: shape (L, 3), unit, along the limbs.
        lengths: shape (L,), from the heads to the ends.
        limbs: shape (n, k), int32, rows of the above; 0 in unused places, which are last. k is 1 to
            TURNS: as many as any vertex needs.
        amounts: shape (n, k, 2), of the dtype of the positions; -w (1 - t) and w t, for the twists
            at the beginning and at the end, each times 1 less `rope_joints` there. Where more than
            `TURNS` limbs move a vertex, those with the largest weights count, each times
            1 - (c / w)^4, c the largest that is left out.
        left_out: why other bones that one other bone continues are no such limbs, by their indices.
    """

    skeleton: Skeleton
    bones: Int32s
    before: Int32s
    behind: Int32s
    heads: Float64s
    axes: Float64s
    lengths: Float64s
    limbs: Int32s
    amounts: Floats
    left_out: dict[int, Reason]

    @classmethod
    def of(cls, skin: SkinAtRest) -> TwistLimbs:
        """Find the limbs, but for bones that are left out."""
        skeleton, parents, lines = skin.skeleton, skin.body_parents, _Lines.of(skin.body)
        moves = skin.moves
        is_limb = (lines.next_bones >= 0) & (lines.lengths > _SMALLEST * extent(skeleton.heads))
        reasons: dict[int, Reason] = {}
        for bone in np.flatnonzero(is_limb).tolist():
            if reason := _refusal(bone, lines, skin, moves):
                reasons[bone] = reason
        gaps = _longest_gaps(skin.body, lines, is_limb)
        for bone in np.flatnonzero(is_limb & (gaps > _LONGEST_FACE)).tolist():
            reasons.setdefault(bone, "NO_RINGS")
        is_limb[[bone for bone, reason in reasons.items() if reason == "SHORT"]] = False
        every = np.arange(skeleton.bone_count, dtype=np.int32)
        before, behind = every.copy(), every.copy()
        above = np.maximum(parents, 0)
        at_end = is_limb[above] & (lines.next_bones[above] == every) & (parents >= 0)
        begins = is_limb & (parents >= 0) & (lines.lengths > _SLENDER * lines.radii)
        begins &= ~at_end | (lines.lengths >= _LONG_ENOUGH * lines.lengths[above])
        before[begins] = parents[begins]
        ends = at_end & ~begins
        behind[parents[ends]] = every[ends]
        is_limb[list(reasons)] = False
        is_limb &= (before != every) | (behind != every)
        ropes = _ropes(skin) if is_limb.any() else np.zeros(skeleton.bone_count)
        twists = np.stack((before != every, behind != every), axis=1)
        twists = twists * (1.0 - np.stack((ropes, ropes[behind]), axis=1))
        for bone in np.flatnonzero(is_limb & ~twists.any(axis=1)).tolist():
            reasons[bone] = "ROPE"
        bones = np.flatnonzero(is_limb & twists.any(axis=1)).astype(np.int32)
        limbs, amounts = _amounts(skin, lines, bones, twists[bones])
        line = lines.heads[bones], lines.axes[bones], lines.lengths[bones]
        beside = before[bones], behind[bones]
        return cls(skeleton, bones, *beside, *line, limbs, amounts, reasons)

    def turning_once(self, rows: Indices) -> TwistLimbs:
        """The same with these vertices turned by one limb each, the one that turns them most.

        Turns of several limbs are added up, which keeps no shape.
        """
        if not len(rows):
            return self
        most = np.abs(self.amounts[rows]).max(axis=2).argmax(axis=1)
        limbs, amounts = self.limbs.copy(), self.amounts.copy()
        limbs[rows], amounts[rows] = 0, 0.0
        limbs[rows, 0], amounts[rows, 0] = self.limbs[rows, most], self.amounts[rows, most]
        return replace(self, limbs=limbs, amounts=amounts)

    @cached_property
    def rows(self) -> Indices:
        """The vertices that any limb turns."""
        return np.flatnonzero(self.amounts.any(axis=(1, 2)))

    @cached_property
    def across(self) -> Floats:
        """Shape (L, 2, 3): two unit vectors x, y with x cross y along the limb."""
        return np.stack(two_across(self.axes), axis=1)

    def posed(self, pose: Pose) -> tuple[Floats, Floats, Floats]:
        """The limbs in a pose.

        With R the rotation of a bone relative to the one before it, and x, y across the limb, let
        c = (x . R x + y . R y) / 2 and s = (y . R x - x . R y) / 2. The twist about the limb, the
        swing apart, is the angle of (c, s), from -180 to 180 degrees: with R's quaternion (w, v)
        and the limb's axis a these are w^2 - (v . a)^2 and 2 w (v . a). Their length is the squared
        cosine of half the swing; below `SWUNG_FAR` the twist is smoothly less, since a swing by 180
        degrees has none. Scaled bones turn each of x and y without stretching it.

        Returns:
            heads and unit axes, both (L, 3), armature space; the twists at the beginning and the
            end, shape (L, 2), radians.
        """
        matrices = pose.matrices[self.bones, :3]
        heads = np.einsum("lij,lj->li", matrices[:, :, :3], self.heads) + matrices[:, :, 3]
        axes = unit_or(np.einsum("lij,lj->li", matrices[:, :, :3], self.axes), 0.0, SHORTEST_RAY)
        linear = pose.matrices[np.stack(self.rows_of_pose), :3, :3]
        x, y = unit_or(np.einsum("blij,lkj->kbli", linear, self.across), 0.0, SHORTEST_RAY)
        cosines = np.einsum("bli,bli->lb", x[:-1], x[1:]) + np.einsum("bli,bli->lb", y[:-1], y[1:])
        sines = np.einsum("bli,bli->lb", y[:-1], x[1:]) - np.einsum("bli,bli->lb", x[:-1], y[1:])
        fades = smooth_step(0.5 * np.hypot(cosines, sines), 0.0, SWUNG_FAR)
        return heads, axes, np.arctan2(sines, cosines) * fades

    @cached_property
    def rows_of_pose(self) -> tuple[Int32s, Int32s, Int32s]:
        """The rows of a pose for `before`, `bones` and `behind`: of bendy bones, of their ends."""
        ends, starts = self.skeleton.end_rows, self.skeleton.start_rows
        return ends[self.before], self.bones, starts[self.behind]

    def displacements(
        self, deformed: Floats, pose: Pose, spread: float
    ) -> tuple[Floats, Floats, Floats]:
        """The turns of `rows`, as displacements; those of several limbs are added.

        Args:
            deformed: shape (n, 3), armature space, after skinning and compensation.
            spread: how much of the twists is spread, 0 to 1.

        Returns:
            how far the m vertices of `rows` move, shape (m, 3); the unit axes, (m, k, 3), and
            angles, (m, k), by which they turn; all of the dtype of `deformed`.
        """
        heads, axes, twists = (each.astype(deformed.dtype) for each in self.posed(pose))
        limbs = self.limbs[self.rows]
        amounts = self.amounts[self.rows].astype(deformed.dtype, copy=False)
        angles = deformed.dtype.type(spread) * np.einsum("mkt,mkt->mk", amounts, twists[limbs])
        away = deformed[self.rows][:, None] - heads[limbs]
        return _turns(away, axes[limbs], angles).sum(axis=1), axes[limbs], angles


def spread_twists(
    twist_limbs: TwistLimbs, deformed: Floats, normals: Floats | None, pose: Pose, spread: float
) -> tuple[Floats, Floats | None]:
    """Positions and unit normals, both (n, 3), with their turns; see `TwistLimbs.displacements`."""
    rows = twist_limbs.rows
    offsets, axes, angles = twist_limbs.displacements(deformed, pose, spread)
    deformed[rows] += offsets
    if normals is not None:
        before = normals[rows]
        turned = before + _turns(before[:, None], axes, angles).sum(axis=1)
        normals[rows] = unit_or(turned, before)
    return deformed, normals


def _turns(vectors: Floats, axes: Floats, angles: Floats) -> Floats:
    """What vectors (m, k, 3) gain by turning about unit axes (m, k, 3) by angles (m, k)."""
    across = cross(axes, vectors)
    return np.sin(angles)[..., None] * across + (1.0 - np.cos(angles))[..., None] * cross(
        axes, across
    )


@dataclass(frozen=True, eq=False)
class _Lines:
    """The lines from the heads of bones to their ends.

    Attributes:
        heads: shape (B, 3).
        next_bones: shape (B,), the bone that goes on at the end; -1 where none or several do.
        axes: shape (B, 3), unit, to that bone's head.
        lengths: shape (B,).
        radii: shape (B,), the mean distance of the skin beside the lines from them, by weights.
        centres: shape (B, 3), of the skin, by weights.
    """

    heads: Float64s
    next_bones: Indices
    axes: Float64s
    lengths: Float64s
    radii: Float64s
    centres: Float64s

    @classmethod
    def of(cls, skin: SkinAtRest) -> _Lines:
        """The lines of the bones of a skin."""
        positions, influences, parents = skin.positions, skin.influences, skin.body_parents
        count, heads = skin.skeleton.bone_count, skin.skeleton.heads
        hanging = np.flatnonzero((parents >= 0) & skin.moves)
        above = parents[hanging]
        ways = heads[hanging] - heads[above]
        goes_on = np.bincount(above, minlength=count)[hanging] > 0
        # Of several bones at an end, those count on which others hang: the others are helpers.
        rising = np.lexsort((np.linalg.norm(ways, axis=1), goes_on))
        last, ends = np.full(count, -1), np.zeros((count, 3))
        last[above[rising]], ends[above[rising]] = hanging[rising], ways[rising]
        lengths, axes = np.linalg.norm(ends, axis=1), unit_or(ends, 0.0)
        at_end = dots(ways, axes[above]) > _AT_END * lengths[above]
        going, ending = (np.bincount(above[those], minlength=count) for those in (goes_on, at_end))
        next_bones = np.where(np.where(going > 0, going, ending) == 1, last, -1)

        beside, reached, moved = np.zeros((3, count))
        centres = np.zeros((3, count))
        for rows, bones, weights in influences.slots():
            along, apart = _along_and_apart(positions[rows] - heads[bones], axes[bones])
            amounts = weights * ((along > 0.0) & (along < lengths[bones]))
            beside += np.bincount(bones, amounts, count)
            reached += np.bincount(bones, amounts * apart, count)
            moved += np.bincount(bones, weights, count)
            for axis in range(3):
                centres[axis] += np.bincount(bones, weights * positions[rows, axis], count)
        radii, centres = reached / np.maximum(beside, 1e-30), centres / np.maximum(moved, 1e-30)
        return cls(heads, next_bones, axes, lengths, radii, centres.T)


def _along_and_apart(away: Floats, axes: Floats) -> tuple[Floats, Floats]:
    """How far vectors (m, 3) reach along unit axes (m, 3), and how far away from them."""
    along = dots(away, axes)
    return along, np.linalg.norm(away - along[:, None] * axes, axis=1)


def _ropes(skin: SkinAtRest) -> Float64s:
    """Shape (B,), of `rope_joints` at the head of each bone: the smooth curve twists already."""
    limbs = LimbJoints.of(skin.skeleton, skin.limb_axis, skin.mesh_parents)
    found = np.zeros(skin.skeleton.bone_count)
    np.maximum.at(found, limbs.children, rope_joints(skin, limbs))
    return found


def _longest_gaps(skin: SkinAtRest, lines: _Lines, asked: Booleans) -> Float64s:
    """Shape (B,), the longest part of each limb without a vertex of its own, in its lengths.

    Args:
        asked: shape (B,), the bones with a limb to look at; 0 for others.
    """
    found, limbs, influences = np.zeros(len(asked)), np.flatnonzero(asked), skin.influences
    slots = np.flatnonzero((influences.weights > _OWN) & asked[influences.bones])
    bones = influences.bones.take(slots)
    away = skin.positions[slots // influences.width] - lines.heads[bones]
    along = np.clip(dots(away, lines.axes[bones]) / lines.lengths[bones], 0.0, 1.0)
    bones = np.concatenate((limbs, limbs, bones))
    along = np.concatenate((np.zeros(len(limbs)), np.ones(len(limbs)), along))
    order = np.lexsort((along, bones))
    bones, along = bones[order], along[order]
    same = bones[1:] == bones[:-1]
    np.maximum.at(found, bones[1:][same], np.diff(along)[same])
    return found


def _refusal(bone: int, lines: _Lines, skin: SkinAtRest, moves: Booleans) -> Reason | None:
    """Why a bone with a next one is no limb that twists; None where it is one."""
    bendy = skin.skeleton.bendy
    if lines.lengths[bone] <= _LONG * lines.radii[bone]:
        return "SHORT"
    if bone in skin.left_out:
        return "NAMED"
    if bendy is not None and bone in bendy.bones:
        return "BENDY"
    return "TWIST_BONES" if _has_twist_bones(bone, lines, skin, moves) else None


def _has_twist_bones(limb: int, lines: _Lines, skin: SkinAtRest, moves: Booleans) -> bool:
    """Whether twist bones lie in the limb: bones without children, with their skin around it.

    Their parent is the limb's own bone or its parent. What the user takes bones for counts first.
    Or the limb goes on in one, or is one: see `SkinAtRest.limbs_of_bones`.
    """
    line = np.array([limb, lines.next_bones[limb]])
    if (skin.limbs_of_bones[line] != line).any():
        return True
    parents, chosen = skin.body_parents, bones_of(skin.kinds, "TWIST_BONE")
    if (moves[chosen] & (skin.limbs_of_bones[chosen] == limb)).any():
        return True
    beside = (parents == limb) | ((parents == parents[limb]) & (parents >= 0))
    beside &= moves
    beside[parents[parents >= 0]] = False
    beside[[limb, lines.next_bones[limb], *bones_not_of(skin.kinds, "TWIST_BONE")]] = False
    bones = np.flatnonzero(beside)
    inside = np.ones(len(bones), np.bool_)
    axis = np.tile(lines.axes[limb], (len(bones), 1))
    for points in (lines.heads, lines.centres):
        along, apart = _along_and_apart(points[bones] - lines.heads[limb], axis)
        places = along / lines.lengths[limb]
        inside &= (places > -0.05) & (places < 1.05) & (apart < _INSIDE * lines.radii[limb])
    return bool(inside.any())


def _amounts(
    skin: SkinAtRest, lines: _Lines, bones: Int32s, twists: Float64s
) -> tuple[Int32s, Floats]:
    """`limbs` and `amounts` of `TwistLimbs`, of these bones (L,).

    Args:
        twists: shape (L, 2), 0 to 1, how much limbs twist at their beginnings and ends.
    """
    positions, influences = skin.positions, skin.influences
    count, row_of = len(positions), np.full(len(lines.lengths), -1)
    row_of[bones] = np.arange(len(bones))
    slots = np.flatnonzero((influences.weights > 0.0) & (row_of[influences.bones] >= 0))
    vertices = slots // influences.width
    rows = row_of[influences.bones.ravel()[slots]]
    weights = influences.weights.ravel()[slots].astype(np.float64)
    # Influences come strongest first, so the limbs of a vertex do.
    counts = np.bincount(vertices, minlength=count)
    places = places_in_rows(vertices, counts)
    left_out = np.zeros(count)
    left_out[vertices[places == TURNS]] = weights[places == TURNS]
    taken = places < TURNS
    vertices, rows, weights, places = vertices[taken], rows[taken], weights[taken], places[taken]
    weights *= 1.0 - (left_out[vertices] / weights) ** 4
    limb = bones[rows]
    along = dots(positions[vertices] - lines.heads[limb], lines.axes[limb])
    along = np.clip(along / lines.lengths[limb], 0.0, 1.0)
    shares = weights[:, None] * np.stack((along - 1.0, along), axis=1) * twists[rows]
    width = max(1, int(places.max(initial=0)) + 1)
    limbs, amounts = np.zeros((count, width), np.int32), np.zeros((count, width, 2))
    limbs[vertices, places], amounts[vertices, places] = rows, shares
    used_first = np.argsort(~amounts.any(axis=2), axis=1, kind="stable")
    limbs = np.take_along_axis(limbs, used_first, 1)
    amounts = np.take_along_axis(amounts, used_first[:, :, None], 1)
    return limbs, amounts.astype(positions.dtype)

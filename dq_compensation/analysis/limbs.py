"""Limbs by the skin that bones move, and joints where the hierarchy knows none.

The tails of bones may say nothing of where limbs run. The bones of glTF have no tails. Where bones
have no parents either, as the hands of headsets, an importer cannot tell where they point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Int32s, Integers
from ..core.influences import Influences
from ..core.measured_joints import TINY
from ..core.skeleton import Ancestry, Skeleton
from ..core.skin_at_rest import SkinAtRest
from ..core.vectors import dots, two_across, unit_or
from .mirror_map import mirrored_bones

# Cosine of the angle from a tail to the skin, 30 degrees: within it are four of five bones of a
# character whose tails are at the ends of its limbs, and one of fifteen that point anywhere.
_ALONG_SKIN = 0.87
# Tails are as long as their limbs within this factor. An importer's may be ten times as long.
_AS_LONG = 4.0
# The share of bones that end with their skin where tails tell. Where all point one way, that is
# right for most fingers of a hand at times.
_MOST, _NEARLY_ALL = 0.5, 0.9
# The length of the mean of unit vectors that all point one way.
_ONE_WAY = 0.99
# From this weight on skin is a bone's own. What it shares lies about its ends only.
_OWN = 0.5
# Skin tells where a limb runs if its middle is farther from the head than this, in lengths by which
# it spreads about the middle: an eye is all around its head.
_BESIDE = 0.5
# Cosines of the angle from the way to a bone without children: its tail points elsewhere below the
# first, 70 degrees, and its skin goes straight on above the second, 20 degrees.
_ELSEWHERE, _STRAIGHT_ON = 0.34, 0.94
# Cosine of the angle to the way from the parent below which it does not: weights wider than bones,
# as of ropes, have their middle before the head of the last one.
_BEHIND = -0.5


@dataclass(frozen=True, eq=False)
class Limbs:
    """The limbs of bones, as the skin shows them.

    Attributes:
        skin: its bones, as they are.
        skeleton: with the tails, and the Y axes, of its bones along their limbs.
        by_skin: shape (B,), bool; the bones whose limb the skin tells, and not the tail.
    """

    skin: SkinAtRest
    skeleton: Skeleton
    by_skin: Booleans

    @classmethod
    def of(cls, skin: SkinAtRest) -> Limbs:
        """The limbs of a skin's bones.

        Along the axis that the user has named. AUTO: along the bones, with two exceptions. Where
        most bones with one child do not point to it, limbs lead to the middle of the children's
        heads, of those on their side of the body if there are any; and those without children go
        through the middle of their skin to its end, or where that does not tell as their parents
        do. Where they do point to it, bones without children whose skin goes straight on from their
        parents, and whose tails point elsewhere, go to the end of their skin. Bones that stand
        alone (none above or below them moves vertices) go through the middle of their skin, and as
        far again, where most of these that have skin of their own do not end with it.
        """
        influences, skeleton = skin.influences, skin.skeleton
        by_tails = np.zeros(skeleton.bone_count, np.bool_)
        if skin.limb_axis != "AUTO":
            own = np.arange(skeleton.bone_count, dtype=np.int32)
            parents = np.where(skeleton.parents >= 0, skeleton.parents, own)
            ways = skeleton.limb_lengths(parents)[:, None] * skeleton.limb_directions(
                skin.limb_axis
            )
            tails = skeleton.heads + ways
            return cls(skin, replace(skeleton, tails=tails), by_tails)
        moves = influences.moving_bones(skeleton.bone_count)
        if not _lead_to_children(skeleton, moves):
            return cls._across(skin)
        if len(ends := _ends_beside_tails(skin, moves)):
            return cls._with_ends_of_skin(skin, ends)
        own = by_tails.copy()
        own[influences.bones[:, :1][influences.weights[:, :1] > _OWN]] = True
        if np.count_nonzero(_alone(skeleton, own)) < 2:  # most characters: this costs nothing
            return cls(skin, skeleton, by_tails)
        alone = _alone(skeleton, influences.moving_bones(skeleton.bone_count))
        telling = alone & own
        ways = (skeleton.tails - skeleton.heads)[telling]
        if len(ways) < 2 or _tails_tell(ways, _to_skin(skin)[0][telling]):
            return cls(skin, skeleton, by_tails)
        to_skin, tails, rest = _to_skin(skin)[0], skeleton.tails.copy(), skeleton.rest.copy()
        tails[alone] = skeleton.heads[alone] + 2.0 * to_skin[alone]
        rest[alone, :3, 1] = unit_or(to_skin[alone], rest[alone, :3, 1])
        return cls(skin, replace(skeleton, tails=tails, rest=rest), alone)

    @classmethod
    def _across(cls, skin: SkinAtRest) -> Limbs:
        """The limbs of a skin's bones whose tails lie anywhere."""
        skeleton = skin.skeleton
        to_skin, spreads = _to_skin(skin)
        ends = skeleton.to_children(parents_of_side(skin))
        inner = skeleton.has_length(ends)
        ways = skeleton.heads - skeleton.heads[skeleton.parents]
        ways[skeleton.parents < 0] = 0.0
        beside = np.linalg.norm(to_skin, axis=1) > _BESIDE * spreads
        beside &= dots(unit_or(to_skin, 0.0), unit_or(ways, 0.0)) > _BEHIND
        goes_on = ~beside & ~inner & skeleton.has_length(ways)
        ends[goes_on] = ways[goes_on]
        tails, rest = skeleton.tails.copy(), skeleton.rest.copy()
        tails[beside] = (skeleton.heads + _to_end_of_skin(skin, to_skin))[beside]
        tails[inner | goes_on] = (skeleton.heads + ends)[inner | goes_on]
        along = np.where(beside[:, None], to_skin, ends)
        rest[:, :3, 1] = unit_or(along, rest[:, :3, 1])
        return cls(skin, replace(skeleton, tails=tails, rest=rest), beside & ~inner)

    @classmethod
    def _with_ends_of_skin(cls, skin: SkinAtRest, bones: Indices) -> Limbs:
        """Limbs along the tails, but for bones that go to the end of their skin."""
        skeleton, to_skin = skin.skeleton, _to_skin(skin)[0]
        tails, rest = skeleton.tails.copy(), skeleton.rest.copy()
        tails[bones] = (skeleton.heads + _to_end_of_skin(skin, to_skin))[bones]
        rest[bones, :3, 1] = unit_or(to_skin[bones], rest[bones, :3, 1])
        by_skin = np.isin(np.arange(skeleton.bone_count), bones)
        return cls(skin, replace(skeleton, tails=tails, rest=rest), by_skin)

    def joined(self, parents: Int32s) -> Skeleton:
        """The skeleton with limbs that the skin shows along the heads of the bones.

        A limb leads to the bones that continue it. An end goes on between the way to it and the
        middle of its skin, which lies beside the bone where the finger has its pad.

        Args:
            parents: shape (B,), the bone that each bone continues; -1 for none.
        """
        skeleton, rest = self.skeleton, self.skeleton.rest.copy()
        behind = np.flatnonzero(self.by_skin & (parents >= 0))
        ways = unit_or(skeleton.heads[behind] - skeleton.heads[parents[behind]], 0.0)
        rest[behind, :3, 1] = unit_or(rest[behind, :3, 1] + ways, ways)
        directions = replace(skeleton, rest=rest).limb_directions("AUTO", parents)
        rest[self.by_skin, :3, 1] = directions[self.by_skin]
        return replace(skeleton, rest=rest)


def parents_of_side(skin: SkinAtRest) -> Int32s:
    """The parents, shape (B,); -1 for bones beside a sibling of their parent's own side.

    A chest goes on to the neck, not to the collarbones.
    """
    parents, sides = skin.skeleton.parents, skin.sides
    if sides is None:
        return parents
    own = (parents >= 0) & (sides == sides[parents])
    goes_on = np.bincount(parents[own], minlength=len(parents)) > 0
    return np.where(own | ~goes_on[parents], parents, -1).astype(np.int32)


def _lead_to_children(skeleton: Skeleton, moves: Booleans) -> bool:
    """Whether most bones that move vertices and have one child elsewhere point to it."""
    ways = skeleton.to_children()
    several = np.bincount(skeleton.parents[skeleton.parents >= 0], minlength=len(moves)) > 1
    telling = moves & ~several & skeleton.has_length(ways)
    along = unit_or(skeleton.tails - skeleton.heads, 0.0)
    fits = dots(unit_or(ways, 0.0), along)[telling] > _ALONG_SKIN
    return not len(fits) or bool(np.mean(fits) >= _MOST)


def _ends_beside_tails(skin: SkinAtRest, moves: Booleans) -> Indices:
    """The bones without children whose tails point elsewhere, and whose skin goes straight on."""
    skeleton, parents = skin.skeleton, skin.skeleton.parents
    ends = moves & (parents >= 0) & (np.bincount(parents[parents >= 0], minlength=len(moves)) == 0)
    ways = unit_or(skeleton.heads - skeleton.heads[parents], 0.0)
    ends &= dots(ways, unit_or(skeleton.tails - skeleton.heads, 0.0)) < _ELSEWHERE
    if not ends.any():
        return np.flatnonzero(ends)
    to_skin, spreads = _to_skin(skin)
    ends &= np.linalg.norm(to_skin, axis=1) > _BESIDE * spreads
    return np.flatnonzero(ends & (dots(unit_or(to_skin, 0.0), ways) > _STRAIGHT_ON))


def _alone(skeleton: Skeleton, moves: Booleans) -> Booleans:
    """Shape (B,), the bones that move vertices alone: none above or below them does."""
    found, above = moves.copy(), skeleton.parents
    while (related := above >= 0).any():
        related &= moves & moves[above]
        found[related] = found[above[related]] = False
        above = np.where(above >= 0, skeleton.parents[above], -1)
    return found


def _tails_tell(tails: Floats, middles: Floats) -> bool:
    """Whether tails are where limbs end, by the middles of their skin; both (k, 3), from heads."""
    ways = unit_or(tails, 0.0)
    parts = np.linalg.norm(tails, axis=1) / np.linalg.norm(2.0 * middles, axis=1).clip(TINY)
    fits = (parts > 1.0 / _AS_LONG) & (parts < _AS_LONG)
    fits &= dots(unit_or(middles, 0.0), ways) > _ALONG_SKIN
    one_way = np.linalg.norm(ways.mean(axis=0)) > _ONE_WAY
    return bool(np.mean(fits) >= (_NEARLY_ALL if one_way else _MOST))


def _to_skin(skin: SkinAtRest) -> tuple[Float64s, Float64s]:
    """From the head of each bone to the middle of its skin, and how far that is about the middle.

    Shapes (B, 3), and (B,) for the root of the mean square; 0 without any skin.
    """
    sums = skin.moments
    means = sums / np.maximum(sums[:, 4:], TINY)
    squares = means[:, 3] - dots(means[:, :3], means[:, :3])
    middles = means[:, :3] + skin.middle
    to_skin = np.where(sums[:, 4:] > 0.0, middles - skin.skeleton.heads, 0.0)
    return to_skin, np.sqrt(np.maximum(squares, 0.0))


def _to_end_of_skin(skin: SkinAtRest, to_skin: Float64s) -> Float64s:
    """From the head of each bone through the middle of its skin, as far as that is its own."""
    influences, along = skin.influences, unit_or(to_skin, 0.0)
    rows = np.flatnonzero(influences.weights[:, 0] > _OWN)
    bones = influences.bones[rows, 0]
    lengths = np.linalg.norm(to_skin, axis=1)
    away = skin.positions[rows] - skin.skeleton.heads[bones]
    np.maximum.at(lengths, bones, dots(away, along[bones]))
    return lengths[:, None] * along


# A bone counts on a vertex from this share on, as compensation does next to nothing below it; and
# a pair from so many vertices on: a ring of a thin finger has no fewer.
_SHARE, _VERTICES = 0.05, 10
# A bone starts at the end of another one when it is that near, in parts of the shorter of the two.
_NEAR = 0.2
# Where no end touches, the shared vertices lie around the joint, which is the child's head. They
# are nearer to it than to the parent's head by this factor; siblings are equally far.
_NEARER = 0.6
# Cosine of the angle from a bone to the head of the one that continues it, where no end touches: 45
# degrees. The bones of a face lie elsewhere: in front of the head.
_AHEAD = 0.7
# The same for a parent that is not in the middle of the body: 60 degrees, for thumbs.
_TOWARDS = 0.5


@dataclass(frozen=True, eq=False)
class Gap:
    """A bone that lacks its parent.

    Attributes:
        parent: the index of the bone that it continues.
        vertices: shape (k,), int32; those that both move.
        touches: whether it starts where the parent ends; otherwise the weights show the joint.
        distance: between their heads; where tails say nothing, and from the child's head to the
            middle of the vertices: neighbours are as near, but share skin beside the joint. The
            nearest of several parents that fit is taken.
    """

    child: int
    parent: int
    vertices: Int32s
    touches: bool
    distance: float


def find_gaps(limbs: Limbs) -> list[Gap]:
    """The bones that should have another parent, each with the parent of the best fit.

    Both bones of a gap are on one limb: never left and right. A bone that starts at the end of
    another one fits best. Where no end touches, the bone needs to be without a parent that moves
    vertices (fingers side by side under one hand are right), and has to go on in the direction that
    leads from its parent's head to its own, as the parent does: legs beside each other are no limb.
    A parent in the middle of the body may lead elsewhere. Where tails say nothing, ends touch by
    chance; but the parent has to lead to the bone.

    Args:
        limbs: of a skin whose `sides` are known.
    """
    positions, influences, sides = limbs.skin.positions, limbs.skin.influences, _sides(limbs)
    skeleton, by_skin = limbs.skeleton, limbs.by_skin
    heads, tails = skeleton.heads, skeleton.tails
    pairs, vertices, ends = _shared_vertices(influences, skeleton)
    children, parents = pairs.ravel(), pairs[:, ::-1].ravel()
    if not len(pairs):
        return []
    has_parent = _has_ancestor(skeleton, influences.moving_bones(skeleton.bone_count))
    lengths = np.linalg.norm(tails - heads, axis=1)
    starts = np.append(0, ends[:-1])
    sums = np.add.reduceat(positions[vertices].astype(np.float64), starts, axis=0)
    centres = np.repeat(sums / (ends - starts)[:, None], 2, axis=0)
    to_child = np.linalg.norm(centres - heads[children], axis=1)
    to_parent = np.linalg.norm(centres - heads[parents], axis=1)
    between = np.linalg.norm(heads[children] - tails[parents], axis=1)
    touches = between <= _NEAR * np.minimum(lengths[children], lengths[parents])
    touches &= ~(by_skin[children] | by_skin[parents])
    ways = heads[children] - heads[parents]
    goes_on = dots(ways, tails[children] - heads[children]) > 0.0
    goes_on &= _leads_to(skeleton, children, parents, _TOWARDS)
    on_one_limb = (sides[parents] == 0) | goes_on
    if by_skin.any():
        on_one_limb &= ~by_skin[children] | _leads_to(skeleton, children, parents)
    near = to_child <= _NEARER * np.maximum(to_parent, 1e-12)
    fits = touches | (~has_parent[children] & near & on_one_limb)
    fits &= sides[children] * sides[parents] >= 0
    if not fits.any():
        return []
    apart = np.linalg.norm(ways, axis=1) + np.where(by_skin[children], to_child, 0.0)
    best: dict[int, Gap] = {}
    for row in np.flatnonzero(fits).tolist():
        child, parent = int(children[row]), int(parents[row])
        shared = vertices[starts[row // 2] : ends[row // 2]]
        gap = Gap(child, parent, shared, bool(touches[row]), float(apart[row]))
        if child not in best or _rank(gap) > _rank(best[child]):
            best[child] = gap
    return _without_cycles(skeleton, sorted(best.values(), key=_rank, reverse=True))


def _sides(limbs: Limbs) -> Integers:
    """The side of each bone, shape (B,): by its name, else by its place if it has an image."""
    skeleton, sides = limbs.skin.skeleton, limbs.skin.sides
    assert sides is not None
    across = skeleton.heads[:, 0] + skeleton.tails[:, 0]
    mirrored = mirrored_bones(skeleton.heads, skeleton.tails) >= 0
    return np.where((sides == 0) & mirrored, -np.sign(across), sides)


def _rank(gap: Gap) -> tuple[bool, float]:
    return gap.touches, -gap.distance


def _shared_vertices(influences: Influences, skeleton: Skeleton) -> tuple[Indices, Int32s, Indices]:
    """The pairs (p, 2) of unrelated bones that share enough vertices.

    Returns:
        the pairs; the vertices of one after the other; and where those of each end, shape (p,).
    """
    count = skeleton.bone_count
    # Each pair of bones that count on a vertex: smaller index times B plus larger; the vertex.
    found, of_vertices = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for second in range(1, influences.weights.shape[1]):
        vertices = np.flatnonzero(influences.weights[:, second] >= _SHARE).astype(np.int32)
        others = influences.bones[vertices, second].astype(np.int64)
        for first in range(second):  # the stronger ones: they count, too
            bones = influences.bones[vertices, first].astype(np.int64)
            found.append(np.minimum(bones, others) * count + np.maximum(bones, others))
            of_vertices.append(vertices)
    codes, rows = np.concatenate(found), np.concatenate(of_vertices)
    frequent = np.flatnonzero(np.bincount(codes, minlength=1) >= _VERTICES)
    unrelated = frequent[skeleton.ancestry.kinship(frequent // count, frequent % count) == 0]
    wanted = np.zeros(count * count, np.bool_)
    wanted[unrelated] = True
    chosen = np.flatnonzero(wanted[codes])
    chosen = chosen[np.argsort(codes[chosen], kind="stable")]
    ends = np.searchsorted(codes[chosen], unrelated, side="right")
    return np.stack((unrelated // count, unrelated % count), axis=1), rows[chosen], ends


def _has_ancestor(skeleton: Skeleton, used: Booleans) -> Booleans:
    """Shape (B,): whether a bone above this one moves vertices."""
    found = np.zeros(skeleton.bone_count, np.bool_)
    above = skeleton.parents
    while (below := above >= 0).any():
        found |= below & used[above]
        above = np.where(below, skeleton.parents[above], -1)
    return found


def _leads_to(
    skeleton: Skeleton, children: Integers, parents: Integers, cosine: float = _AHEAD
) -> Booleans:
    """Whether parents point to the heads of children, shape (m,) as both."""
    ways = skeleton.heads[children] - skeleton.heads[parents]
    along = skeleton.tails[parents] - skeleton.heads[parents]
    lengths = np.linalg.norm(ways, axis=1) * np.linalg.norm(along, axis=1)
    return dots(ways, along) > cosine * lengths


def _without_cycles(skeleton: Skeleton, candidates: list[Gap]) -> list[Gap]:
    """The gaps that can all be fixed: no bone becomes its own ancestor."""
    parents = skeleton.parents.tolist()
    found = []
    for candidate in candidates:
        ancestor = candidate.parent
        while ancestor not in {-1, candidate.child}:
            ancestor = parents[ancestor]
        if ancestor == -1:
            parents[candidate.child] = candidate.parent
            found.append(candidate)
    return sorted(found, key=lambda gap: gap.child)


# Skin goes around a limb: the widest sector about the joint, in radians, without any skin that the
# two bones share. Fingers, feet and necks leave 130 degrees at most, jaws, brows and ears 150.
_WIDEST_OPENING = np.radians(135.0)


def mesh_parents(limbs: Limbs) -> Int32s:
    """The bone that each bone continues on the mesh although neither is above the other.

    Args:
        limbs: of `find_gaps`.

    Returns:
        shape (B,), -1 for none; together with the hierarchy they make no cycles.
    """
    found = np.full(limbs.skeleton.bone_count, -1, np.int32)
    gaps = find_gaps(limbs)
    for gap in joints_of(gaps, limbs) if gaps else ():
        found[gap.child] = gap.parent
    return found


def with_limbs(skin: SkinAtRest, *, use_mesh_joints: bool) -> SkinAtRest:
    """A skin with its limbs where tails do not tell them, and the joints that its mesh shows.

    Args:
        use_mesh_joints: whether joints count where the hierarchy knows none.
    """
    # A twist bone may end where the next limb begins: that is no joint of theirs.
    whole, own = skin.with_whole_limbs, skin.skeleton
    limbs, parents = Limbs.of(whole), np.full(own.bone_count, -1, np.int32)
    if use_mesh_joints:
        parents = mesh_parents(limbs)
    if limbs.skeleton is not whole.skeleton:
        joined = limbs.joined(parents)
        tails = joined.tails.copy()
        if own.bendy is not None:
            # How straight they are is seen from their own tails.
            tails[own.bendy.bones] = own.tails[own.bendy.bones]
        own = replace(joined, parents=own.parents, tails=tails)
    return skin.with_limbs(own, parents if (parents >= 0).any() else None)


def joints_of(gaps: list[Gap], limbs: Limbs) -> list[Gap]:
    """The gaps whose two bones are one limb with a joint in it.

    The child starts where the parent ends or leads to, and the skin that both move surrounds them.
    """
    skeleton, heads = limbs.skeleton, limbs.skeleton.heads
    children = np.array([gap.child for gap in gaps], np.intp)
    parents = np.array([gap.parent for gap in gaps], np.intp)
    leading = _leads_to(skeleton, children, parents)
    axes = unit_or(heads[children] - heads[parents], 0.0)
    # A fingertip that hardly moves skin has it on one side, which tells no direction.
    along = unit_or(skeleton.tails[children] - heads[children], 0.0)
    axes = np.where(limbs.by_skin[children, None], axes, unit_or(axes + along, along))
    found = []
    for row, (gap, one, other) in enumerate(zip(gaps, *two_across(axes), strict=True)):
        if gap.touches or leading[row]:
            from_joint = limbs.skin.positions[gap.vertices] - heads[gap.child]
            angles = np.sort(np.arctan2(from_joint @ other, from_joint @ one))
            openings = np.diff(angles, append=angles[0] + 2.0 * np.pi)
            if openings.max() <= _WIDEST_OPENING:
                found.append(gap)
    return found


def joined_skeleton(skin: SkinAtRest) -> tuple[Skeleton, Int32s]:
    """The skeleton with the hierarchy that the mesh shows, if bones have no other one.

    The hierarchy is its own where all bones that continue others on the mesh have a bone above them
    that moves vertices. Where limbs run elsewhere than the tails, the Y axes point along the limbs,
    and the other two are any.

    Args:
        skin: whose `sides` are known.

    Returns:
        the skeleton, depth first; and where each bone of the given one is in it, shape (B,).
    """
    influences, skeleton, count = skin.influences, skin.skeleton, skin.skeleton.bone_count
    limbs = Limbs.of(skin)
    found = mesh_parents(limbs)
    is_flat = ((found >= 0) & ~_has_ancestor(skeleton, influences.moving_bones(count))).any()
    if not is_flat and limbs.skeleton is skeleton:
        return skeleton, np.arange(count, dtype=np.int32)
    parents = skeleton.joined_parents(found) if is_flat else skeleton.parents
    rest, along = skeleton.rest.copy(), limbs.joined(parents).rest[:, :3, 1]
    turned = (along != rest[:, :3, 1]).any(axis=1)
    across, other = two_across(along[turned])
    rest[turned, :3, :3] = np.stack((other, along[turned], across), axis=2)
    place = Ancestry.of(parents).enter.astype(np.int32)
    order = np.argsort(place)
    above = np.where(parents >= 0, place[parents], -1)[order].astype(np.int32)
    names = tuple(skeleton.names[bone] for bone in order.tolist())
    return Skeleton(names, above, rest[order], limbs.skeleton.tails[order]), place

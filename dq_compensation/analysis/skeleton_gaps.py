"""Finds bones that are not parent and child although the mesh goes on from one to the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.skeleton import Skeleton
from ..core.vectors import dots
from .skin_limbs import Limbs

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
    vertices: NDArray[np.int32]
    touches: bool
    distance: float


def find_gaps(
    positions: NDArray[np.floating],
    influences: Influences,
    limbs: Limbs,
    sides: NDArray[np.integer],
) -> list[Gap]:
    """The bones that should have another parent, each with the one that fits best.

    Both bones of a gap are on one limb: never left and right. A bone that starts at the end of
    another one fits best. Where no end touches, the bone needs to be without a parent that moves
    vertices (fingers side by side under one hand are right), and has to go on in the direction that
    leads from its parent's head to its own, unless the parent is in the middle of the body. Where
    tails say nothing, ends touch by chance; but the parent has to lead to the bone.

    Args:
        positions: shape (n, 3), armature space.
        limbs: of the bones, on these positions.
        sides: shape (B,), -1 left, 1 right, 0 the middle.
    """
    skeleton, by_skin = limbs.skeleton, limbs.by_skin
    heads, tails = skeleton.heads, skeleton.tails
    pairs, vertices, ends = _shared_vertices(influences, skeleton)
    children, parents = pairs.ravel(), pairs[:, ::-1].ravel()
    if not len(pairs):
        return []
    has_parent = has_ancestor(skeleton, influences.moving_bones(skeleton.bone_count))
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
    on_one_limb = (sides[parents] == 0) | goes_on
    on_one_limb &= ~by_skin[children] | leads_to(skeleton, children, parents)
    near = to_child <= _NEARER * np.maximum(to_parent, 1e-12)
    fits = touches | (~has_parent[children] & near & on_one_limb)
    fits &= sides[children] * sides[parents] >= 0
    apart = np.linalg.norm(ways, axis=1) + np.where(by_skin[children], to_child, 0.0)
    best: dict[int, Gap] = {}
    for row in np.flatnonzero(fits).tolist():
        child, parent = int(children[row]), int(parents[row])
        shared = vertices[starts[row // 2] : ends[row // 2]]
        gap = Gap(child, parent, shared, bool(touches[row]), float(apart[row]))
        if child not in best or _rank(gap) > _rank(best[child]):
            best[child] = gap
    return _without_cycles(skeleton, sorted(best.values(), key=_rank, reverse=True))


def _rank(gap: Gap) -> tuple[bool, float]:
    return gap.touches, -gap.distance


def _shared_vertices(
    influences: Influences, skeleton: Skeleton
) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.intp]]:
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
    unrelated = frequent[skeleton.kinship(frequent // count, frequent % count) == 0]
    wanted = np.zeros(count * count, np.bool_)
    wanted[unrelated] = True
    chosen = np.flatnonzero(wanted[codes])
    chosen = chosen[np.argsort(codes[chosen], kind="stable")]
    ends = np.searchsorted(codes[chosen], unrelated, side="right")
    return np.stack((unrelated // count, unrelated % count), axis=1), rows[chosen], ends


def has_ancestor(skeleton: Skeleton, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Shape (B,): whether a bone above this one moves vertices."""
    found = np.zeros(skeleton.bone_count, np.bool_)
    above = skeleton.parents
    while (below := above >= 0).any():
        found |= below & used[above]
        above = np.where(below, skeleton.parents[above], -1)
    return found


def leads_to(
    skeleton: Skeleton, children: NDArray[np.integer], parents: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Whether parents point to the heads of children, shape (m,) as both."""
    ways = skeleton.heads[children] - skeleton.heads[parents]
    along = skeleton.tails[parents] - skeleton.heads[parents]
    lengths = np.linalg.norm(ways, axis=1) * np.linalg.norm(along, axis=1)
    return dots(ways, along) > _AHEAD * lengths


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

"""Finds bones that are not parent and child although the mesh goes on from one to the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.influences import Influences
from ..core.skeleton import Skeleton
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
    pairs = _shared_vertices(influences, skeleton)
    used = np.zeros(skeleton.bone_count, np.bool_)
    used[influences.bones[influences.weights > 0.0]] = True
    has_parent = _has_ancestor(skeleton, used)
    lengths = np.linalg.norm(skeleton.tails - skeleton.heads, axis=1)
    best: dict[int, Gap] = {}
    for (one, other), vertices in pairs.items():
        if sides[one] * sides[other] < 0:
            continue
        centre = positions[vertices].mean(axis=0)
        for child, parent in ((one, other), (other, one)):
            nearness = _nearness(skeleton, child, parent, centre)
            touches = not by_skin[child] and _touches(skeleton, lengths, child, parent)
            touches &= not by_skin[parent]
            on_one_limb = sides[parent] == 0 or _goes_on(skeleton, child, parent)
            on_one_limb &= not by_skin[child] or leads_to(skeleton, child, parent)
            if not touches and (has_parent[child] or nearness > _NEARER or not on_one_limb):
                continue
            apart = np.linalg.norm(skeleton.heads[child] - skeleton.heads[parent])
            if by_skin[child]:
                apart += np.linalg.norm(skeleton.heads[child] - centre)
            gap = Gap(child, parent, vertices, touches, float(apart))
            if child not in best or _rank(gap) > _rank(best[child]):
                best[child] = gap
    return _without_cycles(skeleton, sorted(best.values(), key=_rank, reverse=True))


def _rank(gap: Gap) -> tuple[bool, float]:
    return gap.touches, -gap.distance


def _shared_vertices(
    influences: Influences, skeleton: Skeleton
) -> dict[tuple[int, int], NDArray[np.int32]]:
    """The vertices of unrelated bones that share enough of them, the smaller index first."""
    count = skeleton.bone_count
    codes, rows = _pairs(influences, count)
    frequent = np.flatnonzero(np.bincount(codes, minlength=1) >= _VERTICES)
    unrelated = frequent[skeleton.kinship(frequent // count, frequent % count) == 0]
    wanted = np.zeros(count * count, np.bool_)
    wanted[unrelated] = True
    chosen = np.flatnonzero(wanted[codes])
    chosen = chosen[np.argsort(codes[chosen], kind="stable")]
    ends = np.searchsorted(codes[chosen], unrelated, side="right")
    vertices = np.split(rows[chosen], ends[:-1]) if len(unrelated) else []
    return {
        (int(code // count), int(code % count)): of_pair
        for code, of_pair in zip(unrelated, vertices, strict=True)
    }


def _pairs(influences: Influences, bone_count: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Each pair of bones that count on a vertex: smaller index times B plus larger; the vertex."""
    codes, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.int32)]
    for second in range(1, influences.weights.shape[1]):
        vertices = np.flatnonzero(influences.weights[:, second] >= _SHARE).astype(np.int32)
        others = influences.bones[vertices, second].astype(np.int64)
        for first in range(second):  # the stronger ones: they count, too
            bones = influences.bones[vertices, first].astype(np.int64)
            codes.append(np.minimum(bones, others) * bone_count + np.maximum(bones, others))
            rows.append(vertices)
    return np.concatenate(codes), np.concatenate(rows)


def _has_ancestor(skeleton: Skeleton, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Shape (B,): whether a bone above this one moves vertices."""
    found = np.zeros(skeleton.bone_count, np.bool_)
    for bone, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            found[bone] = found[parent] or used[parent]
    return found


def _touches(skeleton: Skeleton, lengths: NDArray[np.floating], child: int, parent: int) -> bool:
    """Whether the child starts where the parent ends; lengths of the bones: shape (B,)."""
    apart = np.linalg.norm(skeleton.heads[child] - skeleton.tails[parent])
    return bool(apart <= _NEAR * min(lengths[child], lengths[parent]))


def _nearness(skeleton: Skeleton, child: int, parent: int, centre: NDArray[np.floating]) -> float:
    """How far the shared vertices are from the child's head, in parts of that to the parent's."""
    to_parent = float(np.linalg.norm(centre - skeleton.heads[parent]))
    return float(np.linalg.norm(centre - skeleton.heads[child])) / max(to_parent, 1e-12)


def _goes_on(skeleton: Skeleton, child: int, parent: int) -> bool:
    """Whether the child points away from the parent's head."""
    way = skeleton.heads[child] - skeleton.heads[parent]
    return bool(way @ (skeleton.tails[child] - skeleton.heads[child]) > 0.0)


def leads_to(skeleton: Skeleton, child: int, parent: int) -> bool:
    """Whether the parent points to the child's head."""
    way = skeleton.heads[child] - skeleton.heads[parent]
    along = skeleton.tails[parent] - skeleton.heads[parent]
    return bool(way @ along > _AHEAD * np.linalg.norm(way) * np.linalg.norm(along))


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

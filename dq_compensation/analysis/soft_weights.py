"""Soft weights: weights that change over a part of the limb's radius, on its surface.

Wings, folds and rings come from weights that change too fast. Corrective Smooth and delta mush
smooth the result of each frame; here the weights are diffused once, by a length that follows the
thickness of the limb. Wide weights make dual quaternions bulge and linear blending collapse: that
is compensated by `core.measured_joints`.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Booleans, Float32s, Float64s, Floats, Indices, Int32s, Integers
from ..core.influences import WEAKEST_SHARE, Influences
from ..steps import part_of
from .surface.mesh_graph import MeshGraph
from .surface.skin_surface import SkinSurface
from .surface.smooth_system import SmoothSystem

# What is left of a weight where its bone cannot reach any more: those below `_LEAST_WEIGHT` fade.
_LEAST_REACH = 2e-5
# Parts of the surface that are solved in one step, of some 10 ms.
_PARTS_OF_A_STEP = 32
# Radii are smoothed over this part of themselves.
_RADII_BY = 0.5
# Weights below this fade away.
_LEAST_WEIGHT = 5e-3
# How much of the nearest change of weights is felt where softening begins, and where it is whole:
# rigid parts stay rigid.
_FELT, _FULLY_FELT = 0.05, 0.25


# Points with less of the weights of what is below may be torn from their neighbours by its change:
# where their weights change by this much more along an edge than as painted.
_CONSISTENT, _TORN = 0.7, 0.02


@dataclass(frozen=True, eq=False)
class SoftWeights:
    """New weights of some vertices.

    Attributes:
        vertices: shape (m,), those that may have changed.
        bones: shape (m, k), int32; 0 in unused slots.
        weights: shape (m, k), float32; rows sum to 1; 0 in unused slots.
    """

    vertices: Indices
    bones: Int32s
    weights: Float32s

    def cut(self, most: int, limbs: Integers | None = None) -> SoftWeights:
        """With so many influences of a vertex at most, `cut_weights`, and none too weak to see.

        Args:
            limbs: shape (B,), the limb of each bone: so many limbs at most. None: bones.
        """
        falling = np.argsort(-self.weights, axis=1, kind="stable")
        bones = np.take_along_axis(self.bones, falling, 1)
        weights = np.take_along_axis(self.weights, falling, 1)
        if limbs is None:
            weights = cut_weights(weights, most)
        else:
            weights = _cut_limbs(Influences(bones, weights), most, limbs)
        return SoftWeights(self.vertices, bones, _seen(weights))


@dataclass(frozen=True, eq=False)
class Matches:
    """Points of a surface that lie on others: their weights change by as much as those do.

    Attributes:
        points: shape (m,).
        corners, shares: shape (m, 3), the points around the place below each, and its barycentric
            shares of them.
        alike: shape (m,), how much of the weights each has in common with that place.
        amounts: shape (m,), how much of the change counts.
        rigid: shape (m,), the rigid piece that each is of, which changes as one, by the mean; -1
            for none.
        turns: shape (n,), of all points: a point lies on those of earlier turns only.
    """

    points: Indices
    corners: Integers
    shares: Floats
    alike: Floats
    amounts: Floats
    rigid: Integers
    turns: Integers

    def at(self, rows: Indices) -> Matches:
        """Some of them."""
        each = {each.name: getattr(self, each.name)[rows] for each in fields(self)[:-1]}
        return replace(self, **each)

    @classmethod
    def none(cls, count: int) -> Matches:
        """Of a surface of so many points, none of which lies on others."""
        rows, places = np.zeros(0, np.intp), np.zeros((0, 3))
        turns = np.zeros(count, np.intp)
        alike = amounts = np.zeros(0)
        return cls(rows, places.astype(np.intp), places, alike, amounts, rows, turns)


def soft_weights(
    surface: SkinSurface,
    influences: Influences,
    lengths: Float64s,
    kept: Booleans,
    *,
    most: int,
    limbs: Integers,
    fixed: tuple[Indices, Influences] | None = None,
    matches: Matches | None = None,
) -> Generator[float, None, SoftWeights]:
    """Diffuse the weights over the surface, by lengths in parts of the limb's radius.

    With the share s of a vertex that bones have which do not keep their weights, and w of each of
    these, w' = s x / sum of x, where x solves

        (A s / l^2 + L) x = A / l^2 w,    l = length near

    A are areas, L is the Laplacian; near falls from 1 to 0 away from where weights change, and from
    points with given weights. Bones in `kept` keep theirs.

    Args:
        influences: shapes (v, j), of all vertices.
        lengths: shape (n,), of the surface's points, parts of `smooth_radii`; 0 where weights stay.
        kept: shape (B,) or (n, B), bones whose weights stay.
        most: limbs that a vertex follows; see `cut_weights`.
        limbs: shape (B,), the bone whose limb each bone is of: the weights of a limb change as if
            one bone had them all. Within it they are softened where those of limbs are.
        fixed: points that have been softened before, whose vertices get these influences; those of
            others go over into them. They count for l as `influences` has them.
        matches: the points that get the change of others, `followed_weights`.

    Yields:
        how much is done, 0 to 1.
    """
    count = len(surface.vertices)
    matches = Matches.none(count) if matches is None else matches
    before = now = influences.at(surface.vertices)
    start = _free(before, kept)[1]
    given = np.zeros(count, np.bool_)
    given[matches.points] = True
    if fixed is not None:
        given[fixed[0]] = True
        now = now.with_rows(*fixed)
    reach = _lengths(surface, *_of_limbs(before.bones, start, limbs), lengths, given)
    reach[~surface.connected] = 0.0
    lengths, known = np.where(given, 0.0, reach), given.copy()
    # The matched points that are softened by their own piece all the same, in the turn after.
    turns, own = matches.turns.copy(), np.zeros(count, np.bool_)
    yield 0.1
    most_turns = int(turns.max(initial=0)) + 2
    for turn in range(most_turns):
        rows = np.flatnonzero((turns[matches.points] == turn) & ~own[matches.points])
        if len(rows):
            # Other sides go with what they are the other side of.
            with_own = (own & (turns == turn))[matches.corners[rows]].any(axis=1)
            at, rows = matches.points[rows[with_own]], rows[~with_own]
            now = _followed(surface, (before, now), matches.at(rows), kept, most)
            torn = matches.points[rows[_torn(surface.graph, (before, now), matches.at(rows))]]
            now, turns[torn] = now.with_rows(torn, before.at(torn)), turn + 1
            for each in (at, torn):
                own[each], lengths[each] = True, reach[each]
        solved = np.flatnonzero((lengths > 0.0) & (turns == turn))
        if len(solved):
            steps = _diffused(surface, now, lengths, solved, kept, most=most, limbs=limbs)
            part = 0.9 / most_turns
            moved, found = yield from part_of(steps, 0.1 + turn * part, part)
            known[moved] = True
            now = now.with_rows(moved, found)
    vertices = np.flatnonzero(known[surface.point_of_vertex])
    rows = now.at(surface.point_of_vertex[vertices])
    yield 1.0
    return SoftWeights(vertices, rows.bones, rows.weights)


def _followed(
    surface: SkinSurface,
    of_points: tuple[Influences, Influences],
    matches: Matches,
    kept: Booleans,
    most: int,
) -> Influences:
    """The influences of all points with those of matched ones, once what is below is softened.

    Args:
        of_points: before and after, as far as they are known.
    """
    (before, now), at = of_points, matches.points
    places = matches.corners, matches.shares
    of = before.at(at), places, of_points, matches.amounts
    changes = followed_weights(*of, _rows_of(kept, at), most)
    now = now.with_rows(at[changes.vertices], Influences(changes.bones, changes.weights))
    changed = np.unique(matches.rigid[changes.vertices])
    one = np.isin(matches.rigid, changed[changed >= 0])
    if not one.any():
        return now
    lies = matches.shares[one].any(axis=1)
    areas = np.where(lies, surface.areas[at[one]], 0.0)
    return now.with_rows(at[one], _as_one(now.at(at[one]), matches.rigid[one], areas, most))


def _torn(graph: MeshGraph, of_points: tuple[Influences, Influences], matches: Matches) -> Indices:
    """The matched points at edges along which weights change more than as painted, and than below.

    They do where the weights below are others, as of hair beside a neck.

    Args:
        of_points: before and after.

    Returns:
        rows of the matches.
    """
    others = np.flatnonzero((matches.alike < _CONSISTENT) & (matches.rigid < 0))
    place = np.full(graph.neighbours.shape[1] + 1, -1)
    place[matches.points] = np.arange(len(matches.points))
    ends = place[graph.neighbours[:, matches.points[others]]]
    ranks, at = np.nonzero(ends >= 0)
    rows, edges = np.unique(np.stack((others[at], ends[ranks, at])), return_inverse=True)
    if not len(rows):
        return rows
    edges, (before, now) = edges.reshape(2, -1), of_points
    count = 1 + int(max(before.bones.max(), now.bones.max()))
    painted, found = (each.at(matches.points[rows]).dense(count) for each in (before, now))
    below = np.zeros_like(painted)
    for corner in range(3):
        parts = before.at(matches.corners[rows, corner]).dense(count)
        below += matches.shares[rows, corner, None] * parts

    def along(weights: Floats) -> Floats:
        return np.abs(weights[edges[0]] - weights[edges[1]]).max(axis=1)

    steepest = np.maximum(along(painted), along(below + found - painted))
    torn = along(found) > steepest + _TORN
    return np.unique(rows[edges[:, torn]])


def _as_one(influences: Influences, pieces: Integers, areas: Floats, most: int) -> Influences:
    """The mean of the influences of each piece, by areas, at all its rows.

    Args:
        influences: shapes (m, k).
        pieces, areas: shape (m,).
    """
    pieces = np.unique(pieces, return_inverse=True)[1].reshape(-1)
    # Those of next to no area count alike.
    areas = np.maximum(areas, 1e-9 * areas.max(initial=1.0))
    rows, slots = np.nonzero(influences.weights)
    weights = influences.weights[rows, slots] * areas[rows]
    count = int(pieces.max(initial=-1)) + 1
    mean = Influences.from_triples(
        pieces[rows], influences.bones[rows, slots], weights / areas.max(), count
    )
    weights = _seen(cut_weights(mean.weights, most))
    return Influences(mean.bones[pieces], weights[pieces])


def _diffused(
    surface: SkinSurface,
    influences: Influences,
    lengths: Floats,
    solved: Indices,
    kept: Booleans,
    *,
    most: int,
    limbs: Integers,
) -> Generator[float, None, tuple[Indices, Influences]]:
    """Diffuse the weights at some points by these lengths (n,); those of others stay.

    Returns:
        the points with other weights, and these.
    """
    shares, start = _free(influences, kept)
    bones, weights = influences.bones, influences.weights.astype(np.float64)
    moved = solved[shares[solved] >= _LEAST_WEIGHT]
    # Weights spread farther over points that bones share which keep theirs.
    widths = np.zeros(len(lengths))
    widths[solved] = lengths[solved] / np.sqrt(np.maximum(shares[solved], _LEAST_WEIGHT))
    system = SmoothSystem(surface.graph, surface.positions, solved, surface.masses(widths))
    rows, of, found = yield from _diffused_weights(system, bones, start, moved, limbs)
    sums = np.maximum(np.bincount(rows, found, len(moved)), 1e-30)
    is_kept = _are_kept(bones[moved], _rows_of(kept, moved))
    fixed_rows, slots = np.nonzero(is_kept & (weights[moved] > 0.0))
    soft = Influences.from_triples(
        np.concatenate((rows, fixed_rows)),
        np.concatenate((of, bones[moved[fixed_rows], slots])),
        np.concatenate((found * (shares[moved] / sums)[rows], weights[moved[fixed_rows], slots])),
        len(moved),
    )
    return moved, Influences(soft.bones, _seen(_cut_limbs(soft, most, limbs)))


def _diffused_weights(
    system: SmoothSystem, bones: Integers, weights: Floats, points: Indices, limbs: Integers
) -> Generator[float, None, tuple[NDArray[Any], ...]]:
    """Diffuse the weights (n, k) of bones, and leave out what fades away.

    Args:
        points: shape (m,), whose weights are wanted.

    Returns:
        the rows of `points`, the bones and their weights, (r,).
    """
    # By limbs, so that the bones of one stand together.
    order = np.argsort(limbs, kind="stable")
    rank = np.argsort(order)
    for number, share in enumerate(system.eliminated(rank[bones], weights)):
        if number % _PARTS_OF_A_STEP == 0:
            yield 0.8 * share
    row_of, done = np.full(len(bones), -1), 0
    row_of[points] = np.arange(len(points))
    found: list[tuple[NDArray[Any], ...]] = [(np.zeros(0, np.intp),) * 3]
    for number, (part, ranks, values) in enumerate(system.solutions(_LEAST_REACH)):
        chosen, here = order[ranks], row_of[part]
        lasting = _lasting(values[here >= 0], limbs[chosen])
        rows, columns = np.nonzero(lasting)
        found.append((here[here >= 0][rows], chosen[columns], lasting[rows, columns]))
        done += np.count_nonzero(here >= 0)
        if number % _PARTS_OF_A_STEP == 0:
            yield 0.8 + 0.2 * done / max(len(points), 1)
    yield 1.0
    return tuple(np.concatenate(each) for each in zip(*found, strict=True))


def _rows_of(kept: Booleans, points: Indices) -> Booleans:
    """`kept` of `soft_weights` of some points."""
    return kept if kept.ndim == 1 else kept[points]


def _are_kept(bones: Integers, kept: Booleans) -> Booleans:
    """Shape (n, k), which of the bones (n, k) of each row keep their weights."""
    return kept[bones] if kept.ndim == 1 else np.take_along_axis(kept, bones, axis=1)


def _free(influences: Influences, kept: Booleans) -> tuple[Float64s, Float64s]:
    """The share of each row that bones have which do not keep their weights, and their parts.

    Returns:
        shape (n,); shape (n, k), with sums of 1, or 0 where the share is next to nothing.
    """
    free = np.where(_are_kept(influences.bones, kept), 0.0, influences.weights.astype(np.float64))
    shares = free.sum(axis=1)
    parts = free / np.maximum(shares, 1e-9)[:, None]
    parts[shares < _LEAST_WEIGHT] = 0.0
    return shares, parts


def _cut_limbs(influences: Influences, most: int, limbs: Integers) -> Floats:
    """The weights (m, k) of influences, so that each row follows so many limbs at most."""
    if _are_bones(limbs):
        return cut_weights(influences.weights, most)
    of_limbs = influences.of_bones(limbs)
    parts = cut_weights(of_limbs.weights, most) / np.maximum(of_limbs.weights, 1e-30)
    same = limbs[influences.bones][:, :, None] == of_limbs.bones[:, None]
    same &= of_limbs.weights[:, None] > 0.0
    return influences.weights * (same * parts[:, None]).sum(axis=2)


def cut_weights(weights: Floats, most: int) -> Float64s:
    """The `most` largest weights of each row, less the first that is left out; sums become 1.

    Without that, weights jump where the last one that counts and the first that does not change
    places.

    Args:
        weights: shape (m, k), falling from left to right, with sums above 0.
        most: at least 1.
    """
    result = weights.astype(np.float64)
    if most < weights.shape[1]:
        result = np.maximum(result - result[:, most : most + 1], 0.0)
        # All that count are as large as the first that does not.
        tied = result[:, 0] <= 0.0
        result[tied, :most] = 1.0
    return result / result.sum(axis=1, keepdims=True)


def _seen(weights: Floats) -> Float32s:
    """Weights (m, k) whose rows sum to 1, without those that are too weak to see."""
    seen = np.where(weights < WEAKEST_SHARE, 0.0, weights)
    return (seen / seen.sum(axis=1, keepdims=True)).astype(np.float32)


def _are_bones(limbs: Integers) -> bool:
    """Whether each bone is a limb of its own."""
    return bool((limbs == np.arange(len(limbs))).all())


def _lasting(weights: Floats, limbs: Integers) -> Float64s:
    """The weights (n, m) of bones without what fades away of each limb.

    Args:
        limbs: shape (m,), rising.
    """
    firsts = np.flatnonzero(np.diff(limbs, prepend=-1))
    place = np.cumsum(np.diff(limbs, prepend=limbs[:1]) != 0)
    found = np.maximum(weights - _LEAST_WEIGHT, 0.0)
    if len(firsts) == len(limbs):
        return found
    lasting = np.maximum(np.add.reduceat(weights, firsts, axis=1) - _LEAST_WEIGHT, 0.0)
    sums = np.maximum(np.add.reduceat(found, firsts, axis=1), 1e-30)
    return found * (lasting / sums)[:, place]


def _of_limbs(bones: Integers, start: Floats, limbs: Integers) -> tuple[Integers, Floats]:
    """The limbs of the bones (n, k) of each point, and their weights, each once and then 0."""
    if _are_bones(limbs):
        return bones, start
    bones, start = limbs[bones], start.copy()
    for slot in range(1, bones.shape[1]):
        for first in range(slot):
            same = bones[:, first] == bones[:, slot]
            start[same, first] += start[same, slot]
            start[same, slot] = 0.0
    return bones, start


def smooth_radii(surface: SkinSurface, radii: Floats, still: Indices | None = None) -> Float64s:
    """`limb_radii` of the points of a surface, shape (n,), without jumps where bones take over.

    Args:
        still: points whose radii stay.
    """
    largest = max(float(radii.max(initial=0.0)), 1e-30)
    lengths = _RADII_BY * radii
    if still is not None:
        lengths[still] = 0.0
    return surface.diffused(radii / largest, lengths) * largest


def _lengths(
    surface: SkinSurface,
    bones: Integers,
    start: Floats,
    lengths: Float64s,
    given: Booleans,
) -> Float64s:
    """Shape (n,), how far weights are diffused at each point: l of `soft_weights`."""
    strongest = np.argmax(start, axis=1)
    bone = np.take_along_axis(bones, strongest[:, None], axis=1)[:, 0]
    whole = np.take_along_axis(start, strongest[:, None], axis=1)[:, 0]
    # Weights change where several bones move a point, where it has another bone than its
    # neighbours, and beside what changes by itself.
    changes = given | ((whole > 0.0) & (whole < 1.0 - _LEAST_WEIGHT))
    for others in surface.graph.neighbours:
        here = np.flatnonzero(others < len(bones))
        there = others[here]
        apart = (bone[here] != bone[there]) & (whole[here] > 0.0) & (whole[there] > 0.0)
        changes[here[apart]] = True
    # e^(-distance / length) from there.
    away = np.where(changes, 0.0, lengths)
    felt = surface.diffused(changes.astype(np.float64), away)
    return lengths * ((felt - _FELT) / (_FULLY_FELT - _FELT)).clip(0.0, 1.0)


# What the weights of a vertex change by, at least, to count.
_LEAST_CHANGE = 1e-4


def followed_weights(
    influences: Influences,
    places: tuple[Integers, Floats],
    body: tuple[Influences, Influences],
    amounts: Floats,
    kept: Booleans,
    most: int,
) -> SoftWeights:
    """Add to each weight what it has changed by at the nearest place of a body.

    Args:
        influences: of v vertices.
        places: of the body, those nearest to the vertices: the body's vertices around each, and
            its barycentric shares of them, both (v, 3).
        body: of its vertices, before and after.
        amounts: shape (v,), how much of the change counts.
        kept: shape (B,) or (v, B), bones whose weights stay.
        most: of `soft_weights`.
    """
    count, bone_count = len(influences.bones), kept.shape[-1]
    painted, soft = body
    corners, shares = places[0], places[1] * amounts[:, None]
    bones = np.concatenate((soft.bones, painted.bones), axis=1)[corners].reshape(count, -1)
    changes = np.concatenate((soft.weights, -painted.weights), axis=1)[corners]
    changes = (changes * shares[:, :, None]).reshape(count, -1)
    changes[_are_kept(bones, kept)] = 0.0
    bones = np.concatenate((influences.bones, bones), axis=1)
    weights = np.concatenate((influences.weights, changes), axis=1)
    keys = bones + bone_count * np.arange(count, dtype=np.int64)[:, None]
    used = weights != 0.0
    pairs, rows = np.unique(keys[used], return_inverse=True)
    sums = np.bincount(rows.reshape(-1), weights[used], len(pairs))
    old = np.where(np.arange(bones.shape[1]) < influences.width, weights, 0.0)[used]
    changed = np.abs(sums - np.bincount(rows.reshape(-1), old, len(pairs))) > _LEAST_CHANGE
    vertices = np.unique(pairs[changed] // bone_count)
    found = Influences.from_triples(
        pairs // bone_count, pairs % bone_count, np.maximum(sums, 0.0), count
    )
    vertices = vertices[found.weights[vertices, 0] > 0.0]
    weights = _seen(cut_weights(found.weights[vertices], most))
    return SoftWeights(vertices, found.bones[vertices], weights)

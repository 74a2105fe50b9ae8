"""The layers of a character: which of its meshes lies on which other one, as clothes on a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from mathutils.bvhtree import BVHTree

from ...analysis.face_features import distances_to_bones, limb_radii, ways_from_bones
from ...analysis.surface.seams import SeamMesh, seam_points
from ...analysis.surface.skin_surface import SkinSurface
from ...arrays import Booleans, Float64s, Floats, Indices, Int64s, Integers
from ...core.influences import Influences
from ...core.skeleton import Skeleton
from ...core.vectors import cross, dots, unit_or
from ..blender.triangle_trees import tree_of

# How many points of a piece of skin are looked at, if others may lie on it, and of other pieces.
_SAMPLES, _FEW_SAMPLES = 100, 24
# The most pieces on which others may lie: the largest ones.
_MOST_BELOW = 24
# A point is on another surface where that is nearer than this part of the limb's radius, with this
# much of the weights in common; points of rigid pieces need less, which change as one.
_NEAR, _ALIKE, _ALIKE_RIGID = 0.7, 0.5, 0.3
# What has sunk into it by more than this share of that is not on it.
_SUNK = 0.3
# It faces the same way, and lies above or below the other surface, not beside it, within an angle
# with this cosine; so near, in the same parts, it is on it.
_UPRIGHT, _ON = 0.5, 0.02
# What is nearer, in the same parts, lies in one place with it.
_AT_ONCE = 1e-4
# The other side of cloth with thickness is as near as this part of the radius, with this much of
# the weights in common.
_THICKNESS, _SAME = 0.1, 0.9
# A rigid piece of a mesh is flat against the skin of this mesh where the middle of its height above
# that is less than this part of the radius, and it is as high as this part of its size at most.
_AGAINST, _FLAT = 0.2, 0.4
# Its middle is what is nearest, of so much of the way to what is farthest: of a belt, all around.
_MIDDLE = 0.25
# A piece of which so much lies on another one lies in it, as copies and levels of detail do, where
# no more than this share of that is outside, less what is inside.
_COPIED, _MOSTLY = 0.6, 0.6
# What lies on what the user has chosen is this many times outside.
_CHOSEN = 1e3
# A mesh goes around a bone where it has so much skin there, in squares of the radius: a tube as
# long as it is thick has 6. Eyes and teeth have less.
_AROUND = 4.0
# A radius is clearly less than another one by this factor, and the most of a mesh this part of it.
_CLEARLY, _MOST = 0.7, 0.6


@dataclass(frozen=True, eq=False)
class LayerMesh:
    """A mesh at rest, as layers are found by it.

    Attributes:
        positions: shape (n, 3), armature space.
        influences: of the n vertices, on the bones of the skeleton.
        triangles: shape (t, 3), vertices.
        pieces: shape (n,), of `rigid_pieces`.
        painted: of `SkinAtRest`.
    """

    positions: Float64s
    influences: Influences
    skeleton: Skeleton
    triangles: Integers
    pieces: Int64s
    painted: Influences

    @cached_property
    def seam_mesh(self) -> SeamMesh:
        """The mesh as seams are found by it."""
        starts = 3 * np.arange(len(self.triangles))
        return SeamMesh(self.positions, self.influences, starts, self.triangles.reshape(-1))

    @cached_property
    def areas_and_radii(self) -> tuple[Float64s, Float64s]:
        """Shape (B,) both: the skin of each bone, and how far from the bone it is on average."""
        triangles = np.linalg.norm(self._normals, axis=1) / 6.0
        count, bones = len(self.positions), self.skeleton.bone_count
        areas = np.bincount(self.triangles.ravel(), np.repeat(triangles, 3), count)
        sums, reached = np.zeros(bones), np.zeros(bones)
        for rows, moving, weights in self.influences.slots():
            amounts = weights * areas[rows]
            apart = distances_to_bones(self.positions[rows], self.skeleton, moving)
            sums += np.bincount(moving, amounts, bones)
            reached += np.bincount(moving, amounts * apart, bones)
        return sums, reached / np.maximum(sums, 1e-30)

    @cached_property
    def _normals(self) -> Floats:
        """Shape (t, 3), of the triangles, as long as twice their areas."""
        first, second, third = np.moveaxis(self.positions[self.triangles], 1, 0)
        return cross(second - first, third - first)

    @cached_property
    def _tree(self) -> BVHTree:
        return tree_of(self.positions, self.triangles)

    def near(
        self, points: Floats, ours: Influences, reach: Floats
    ) -> tuple[Booleans, Indices, Float64s]:
        """Whether points are on the surface: nearer than `reach`, and with weights in common.

        Args:
            ours: the influences of the points.

        Returns:
            that, the nearest vertex, and how far from the surface points are; shape (m,) each.
        """
        found = _nearest(self._tree, self.positions, self.triangles, points)
        normals = unit_or(self._normals[found.triangles], 0.0)
        outside = dots(points - found.places, normals) >= 0.0
        distances = np.where(outside, found.distances, -found.distances)
        rows = found.strongest
        common = common_weights(ours, self.influences.at(rows))
        return (np.abs(distances) < reach) & (common > _ALIKE), rows, distances


@dataclass(frozen=True, eq=False)
class _Nearest:
    """The places on a surface that are nearest to points.

    Attributes:
        rows: shape (m,), the points that are near enough.
        triangles, corners, shares: shapes (m,), (m, 3), (m, 3): the triangle of each place, the
            vertices around it, and its barycentric shares of them.
        places: shape (m, 3).
        distances: shape (m,).
    """

    rows: Indices
    triangles: Indices
    corners: Integers
    shares: Float64s
    places: Float64s
    distances: Float64s

    @property
    def strongest(self) -> Indices:
        """Shape (m,), the vertex nearest to each place."""
        largest = self.shares.argmax(axis=1)[:, None]
        return np.take_along_axis(self.corners, largest, axis=1)[:, 0].astype(np.intp)

    def at(self, rows: Indices) -> _Nearest:
        """Some of the places."""
        return _Nearest(*(getattr(self, each.name)[rows] for each in fields(self)))


def _nearest(
    tree: BVHTree,
    positions: Float64s,
    triangles: Integers,
    points: Floats,
    reach: Floats | None = None,
) -> _Nearest:
    """Find the places on triangles (t, 3) within `reach`, (m,), of points (m, 3)."""
    # mathutils has no call for many points: 2 microseconds each, once.
    if reach is None:
        every: list[Any] = [tree.find_nearest(point) for point in points.tolist()]
    else:
        pairs = zip(points.tolist(), reach.tolist(), strict=True)
        every = [tree.find_nearest(point, within) for point, within in pairs]
    rows = np.flatnonzero([index is not None for _, _, index, _ in every])
    found = [each for each in every if each[2] is not None]
    vectors, _, indices, ways = zip(*found, strict=True) if found else ((),) * 4
    chosen, distances = np.array(indices, np.intp), np.array(ways, np.float64)
    numbers = np.fromiter(chain.from_iterable(vectors), np.float64, 3 * len(found))
    places = numbers.reshape(-1, 3)
    first, second, third = np.moveaxis(positions[triangles[chosen]], 1, 0)
    one, other, at = second - first, third - first, places - first
    squares, others, both = dots(one, one), dots(other, other), dots(one, other)
    area = np.maximum(squares * others - both * both, 1e-30)
    along = (others * dots(at, one) - both * dots(at, other)) / area
    beside = (squares * dots(at, other) - both * dots(at, one)) / area
    shares = np.stack((1.0 - along - beside, along, beside), axis=1)
    return _Nearest(rows, chosen, triangles[chosen], shares, places, distances)


def common_weights(one: Influences, other: Influences) -> Floats:
    """Shape (m,), how much of the weights two rows of influences have in common."""
    same = one.bones[:, :, None] == other.bones[:, None, :]
    least = np.minimum(one.weights[:, :, None], other.weights[:, None, :])
    return (same * least).sum(axis=(1, 2))


def joined_surface(meshes: Sequence[SeamMesh]) -> SkinSurface:
    """The surface of meshes, one behind the other, that are one at their seams."""
    corners = np.cumsum([0, *(len(mesh.corner_vertex) for mesh in meshes)])
    vertices = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])
    return SkinSurface.of(
        np.concatenate([mesh.positions for mesh in meshes]),
        Influences.joined([mesh.influences for mesh in meshes]),
        np.concatenate([m.face_starts + c for m, c in zip(meshes, corners, strict=False)]),
        np.concatenate([m.corner_vertex + v for m, v in zip(meshes, vertices, strict=False)]),
        seam_points(meshes),
    )


def inner_meshes(meshes: Sequence[LayerMesh]) -> list[int]:
    """The meshes by which limbs are measured: without hair, skirts and the like.

    A mesh is left out that follows, for the most part, bones around which another mesh has skin
    that is clearly nearer to them.
    """
    if len(meshes) < 2:
        return list(range(len(meshes)))
    areas, radii = np.moveaxis(np.array([mesh.areas_and_radii for mesh in meshes]), 1, 0)
    around = areas > _AROUND * radii**2
    nearest = np.where(around & (areas > 0.0), radii, np.inf).min(axis=0)
    outer = (areas * (nearest < _CLEARLY * radii)).sum(axis=1) > _MOST * areas.sum(axis=1)
    return np.flatnonzero(~outer).tolist() or list(range(len(meshes)))


@dataclass(frozen=True, eq=False)
class Layers:
    """What lies on what in the joined skin of a character, point by point.

    Attributes:
        points: shape (m,), those that lie on another piece of skin, or on the outer side of their
            own where that does.
        corners, shares, alike: of `Matches`.
        meshes: shape (m,), the mesh below each; -1 for what does not lie on any of a rigid piece
            most of which lies on another mesh, or flat against its own.
        copies: shape (m,), those of copies and levels of detail of what they lie on.
        rigid: shape (m,), the rigid piece that each is of; -1 for none.
        turns: shape (n,), of `Matches`.
        bodies: shape (k,), the mesh on which most of each mesh lies; -1 where most of it lies on
            none, or on the mesh itself.
    """

    points: Indices
    corners: Indices
    shares: Float64s
    alike: Floats
    meshes: Indices
    copies: Booleans
    rigid: Indices
    turns: Indices
    bodies: Indices

    @classmethod
    def of(
        cls,
        skin: LayeredSkin,
        may_lie: Booleans | None = None,
        chosen: Booleans | None = None,
    ) -> Layers:
        """Find it: pieces of skin are ordered from the inside out, each lies on those before it.

        Args:
            may_lie: shape (k, k), which mesh may lie on which other one; None: all on all.
            chosen: likewise, what lies on what whatever is outside; None: nothing.
        """
        return _Finder(skin, may_lie, chosen).layers()


@dataclass(frozen=True, eq=False)
class LayeredSkin:
    """The skin of k meshes of a character, whose points in one place are one.

    Attributes:
        surface: its n points.
        influences: of the points.
        skeleton: their bones.
        triangles, meshes_of_triangles: shapes (t, 3), points, and (t,).
        meshes: shape (n,), the mesh of each point.
        rigid: shape (n,), the points of rigid pieces.
        radii: shape (n,), of the limb.
        mesh_count: k.
    """

    surface: SkinSurface
    influences: Influences
    skeleton: Skeleton
    triangles: Indices
    meshes_of_triangles: Indices
    meshes: Indices
    rigid: Booleans
    radii: Float64s
    mesh_count: int

    @classmethod
    def of(
        cls, meshes: Sequence[LayerMesh], surface: SkinSurface, influences: Influences
    ) -> LayeredSkin:
        """The meshes, one behind the other, on the points of their joined surface.

        Args:
            influences: of the points.
        """
        counts = [len(mesh.positions) for mesh in meshes]
        starts = np.cumsum([0, *counts])
        each = zip(meshes, starts.tolist(), strict=False)
        triangles = np.concatenate([mesh.triangles + start for mesh, start in each])
        triangles = surface.point_of_vertex[triangles]
        mesh_of = np.repeat(np.arange(len(meshes)), [len(mesh.triangles) for mesh in meshes])
        kept = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
        # What is joined with skin that bends is not rigid.
        soft = np.concatenate([mesh.pieces for mesh in meshes])[surface.vertices] < 0
        pieces = surface.pieces
        rigid = (np.bincount(pieces, soft) == 0)[pieces]
        skeleton = meshes[0].skeleton
        radii = limb_radii(surface.positions, influences, skeleton)
        of_points = np.repeat(np.arange(len(meshes)), counts)[surface.vertices]
        of_triangles = triangles[kept], mesh_of[kept]
        of = of_triangles[0], of_triangles[1], of_points, rigid, radii, len(meshes)
        return cls(surface, influences, skeleton, *of)

    @cached_property
    def normals(self) -> Float64s:
        """Shape (n, 3), away from the limbs on the whole, whichever way faces are turned.

        Faces count by their angles, so that edges of boxes face the ways of both sides alike.
        """
        areas, ways = self.surface.area_vectors, np.zeros_like(self.surface.positions)
        at = self.surface.positions[self.triangles]
        first, second, third = np.moveaxis(at, 1, 0)
        turns = cross(second - first, third - first)
        faces, normals = unit_or(turns, 0.0), np.zeros_like(areas)
        sines = np.linalg.norm(turns, axis=1)
        for corner in range(3):
            ends = at[:, (corner + 1) % 3] - at[:, corner], at[:, (corner + 2) % 3] - at[:, corner]
            angles = np.arctan2(sines, dots(*ends))
            for axis in range(3):
                parts = angles * faces[:, axis]
                normals[:, axis] += np.bincount(self.triangles[:, corner], parts, len(normals))
        for rows, bones, weights in self.influences.slots():
            away = ways_from_bones(self.surface.positions[rows], self.skeleton, bones)
            ways[rows] += weights[:, None] * away
        part = self.surface.pieces * self.mesh_count + self.meshes
        part = np.unique(part, return_inverse=True)[1].reshape(-1)
        inward = np.bincount(part, dots(areas, unit_or(ways, 0.0))) < 0.0
        return unit_or(np.where(inward[part, None], -normals, normals), 0.0)


@dataclass(frozen=True, eq=False)
class _On:
    """Points near another surface, with weights in common, that do not lie beside it.

    Attributes:
        points: shape (m,).
        found: the nearest places.
        heights: shape (m,), above the surface, below it less than 0.
        facing: shape (m,), the cosine between the normals.
        alike: shape (m,), how much of their weights the surface has, too.
        meshes: shape (m,), of the triangles.
    """

    points: Indices
    found: _Nearest
    heights: Float64s
    facing: Float64s
    alike: Floats
    meshes: Indices


@dataclass(frozen=True, eq=False)
class _Best:
    """What the points of a skin lie on, as far as it is known.

    Attributes:
        nearest: shape (n,), how far below them that is.
        meshes: shape (n,), of that; -1 for none.
        under: shape (n,), the same with what points face that are that near.
        heights, alike: shape (n,), of `_On`.
        corners, shares: shape (n, 3), of `Matches`.
        copies: shape (n,), whether they are copies of that.
        behind: shape (n,), the points that face what lies below.
    """

    nearest: Float64s
    meshes: Indices
    under: Indices
    heights: Float64s
    alike: Float64s
    corners: Indices
    shares: Float64s
    copies: Booleans
    behind: Booleans

    @classmethod
    def none(cls, count: int) -> _Best:
        """So many points that lie on nothing."""
        places = np.zeros((count, 3), np.intp), np.zeros((count, 3))
        far, (meshes, under) = np.full(count, np.inf), np.full((2, count), -1)
        (heights, alike), (copies, behind) = np.zeros((2, count)), np.zeros((2, count), np.bool_)
        return cls(far, meshes, under, heights, alike, *places, copies, behind)

    def take(self, on: _On, skin: LayeredSkin, copies: Booleans) -> None:
        """Let points lie on what is nearer than what they lie on so far.

        Args:
            copies: shape (n,), which are copies of it.
        """
        turned, rigid = on.facing <= -_UPRIGHT, skin.rigid[on.points]
        self.behind[on.points[turned]] = True
        turned &= ~rigid & (self.meshes[on.points] < 0)
        turned &= on.found.distances < _THICKNESS * skin.radii[on.points]
        better = (on.facing >= _UPRIGHT) | rigid | turned
        better &= on.found.distances < self.nearest[on.points]
        at = on.points[better]
        self.nearest[at], self.heights[at] = on.found.distances[better], on.heights[better]
        self.meshes[at] = np.where(turned[better], -1, on.meshes[better])
        self.under[at], self.alike[at] = on.meshes[better], on.alike[better]
        self.corners[at], self.shares[at] = on.found.corners[better], on.found.shares[better]
        self.copies[at] = copies[at]


class _Finder:
    """Finds the layers of a skin."""

    def __init__(
        self, skin: LayeredSkin, may_lie: Booleans | None, chosen: Booleans | None
    ) -> None:
        none = np.zeros((skin.mesh_count, skin.mesh_count), np.bool_)
        self._skin = skin
        self._may_lie = ~none if may_lie is None else may_lie
        self._chosen = none if chosen is None else chosen
        self._pieces = skin.surface.pieces
        self._count = int(self._pieces.max(initial=-1)) + 1
        self._areas = np.bincount(self._pieces, skin.surface.areas, self._count)
        self._sizes = np.bincount(self._pieces, minlength=self._count)
        self._is_rigid = np.bincount(self._pieces, skin.rigid, self._count) > 0
        soft = np.where(self._is_rigid, 0.0, self._areas)
        least = np.sort(soft)[-_MOST_BELOW:].min(initial=np.inf)
        self._below = np.flatnonzero((soft >= least) & (soft > 0.0))
        of_triangles = self._pieces[skin.triangles[:, 0]]
        self._triangles = [np.flatnonzero(of_triangles == piece) for piece in self._below]
        self._trees: dict[int, tuple[BVHTree, Floats, Floats]] = {}  # with their boxes

    def layers(self) -> Layers:
        """All that is found."""
        skin, pieces = self._skin, self._pieces
        over, copied, ranks = self._order()
        best = _Best.none(len(pieces))
        # The innermost counts, so that all layers change alike; of those side by side the nearest.
        rank, left, columns = -1, best.meshes < 0, np.flatnonzero(over.any(axis=0))
        for column in columns[np.argsort(ranks[self._below[columns]], kind="stable")].tolist():
            if ranks[self._below[column]] > rank:
                rank, left = int(ranks[self._below[column]]), best.meshes < 0
            rows = np.flatnonzero(over[pieces, column] & left)
            rows = rows[best.nearest[rows] > _AT_ONCE * skin.radii[rows]]
            best.take(self._on(rows, column), skin, copied[pieces, column])
        first = best.meshes >= 0
        self._match_other_sides(best)
        # The lower side of what is thicker lies on the skin by itself.
        lower = (best.meshes < 0) & (best.under >= 0)
        best.meshes[lower] = best.under[lower]
        as_one = skin.rigid & self._change_as_one(best)[pieces]
        best.meshes[skin.rigid & ~as_one] = -1
        turns = 2 * ranks[pieces] + ~(first | lower | as_one)
        bodies = self._bodies(best.meshes)
        best.meshes[as_one & ~self._at_middle(as_one & (best.meshes >= 0))] = -1
        best.shares[best.meshes < 0], best.copies[best.meshes < 0] = 0.0, False
        points = np.flatnonzero((best.meshes >= 0) | as_one)
        to = best.corners[points], best.shares[points], best.alike[points], best.meshes[points]
        rigid = np.where(skin.rigid, pieces, -1)[points]
        return Layers(points, *to, best.copies[points], rigid, turns, bodies)

    def _change_as_one(self, best: _Best) -> Booleans:
        """Shape (p,), the rigid pieces half of which lies on another mesh, or flat on their own."""
        skin, pieces, count, heights = self._skin, self._pieces, self._count, best.heights
        lies = skin.rigid & (best.meshes >= 0)
        on_others = np.bincount(pieces, lies & (best.meshes != skin.meshes), count)
        rows = np.flatnonzero(lies)
        of, counts = pieces[rows], np.bincount(pieces[rows], minlength=count)
        above, radii = (
            np.bincount(of, each[rows], count) for each in (np.abs(heights), skin.radii)
        )
        places = np.column_stack((skin.surface.positions[rows], heights[rows]))
        lowest, highest = np.full((count, 4), np.inf), np.full((count, 4), -np.inf)
        np.minimum.at(lowest, of, places)
        np.maximum.at(highest, of, places)
        spans = np.where(counts[:, None] > 0, highest - lowest, 0.0)
        flat = spans[:, 3] <= _FLAT * np.linalg.norm(spans[:, :3], axis=1)
        flat &= above <= _AGAINST * radii
        return self._is_rigid & (2 * np.where(flat, counts, on_others) >= self._sizes)

    def _at_middle(self, chosen: Booleans) -> Booleans:
        """Shape (n,), those of chosen points that are nearest to the middle of their pieces."""
        positions, count, rows = self._skin.surface.positions, self._count, np.flatnonzero(chosen)
        sums = [np.bincount(self._pieces, axis, count) for axis in positions.T]
        pieces = self._pieces[rows]
        middles = np.stack(sums, axis=1)[pieces] / self._sizes[pieces, None]
        apart = np.linalg.norm(positions[rows] - middles, axis=1)
        least, most = np.full(count, np.inf), np.zeros(count)
        np.minimum.at(least, pieces, apart)
        np.maximum.at(most, pieces, apart)
        found = np.zeros(len(chosen), np.bool_)
        found[rows] = apart <= ((1.0 - _MIDDLE) * least + _MIDDLE * most)[pieces]
        return found

    def _bodies(self, below: Indices) -> Indices:
        """The `bodies` by the mesh below each point, (n,); -1 for none."""
        meshes, count = self._skin.meshes, self._skin.mesh_count
        column = np.where((below < 0) | (below == meshes), count, below)
        votes = np.bincount(meshes * (count + 1) + column, minlength=count * (count + 1))
        most = votes.reshape(count, count + 1).argmax(axis=1)
        return np.where(most == count, -1, most)

    def _order(self) -> tuple[Booleans, Booleans, Indices]:
        """Which piece lies on which of those below, and how many lie below each, one in the other.

        Returns:
            shape (p, c); likewise, which are copies of each other; shape (p,).
        """
        below = self._below
        over, ranks = np.zeros((self._count, len(below)), np.bool_), np.zeros(self._count, np.intp)
        if self._count < 2:
            return over, over, ranks
        on, outside = self._cover()
        of_below = np.full(self._count, -1)
        of_below[below] = np.arange(len(below))
        mutual, net = on.copy(), outside.copy()
        mutual[below] += on[below].T
        net[below] -= outside[below].T
        lies_in = (on >= _COPIED * self._areas[:, None]) & (np.abs(net) < _MOSTLY * mutual)
        others = of_below < 0
        over[others] = (on[others] > 0.0) & ((net[others] >= 0.0) | lies_in[others])
        # Of pieces that lie in each other the larger one is below, and then the finer one.
        above = np.zeros((len(below), len(below)), np.bool_)  # over it, or over what is over it
        within, finer = lies_in[below], self._sizes[below]
        pairs = np.argwhere(np.triu(mutual[below] > 0.0, 1))
        strength = np.abs(net[below][tuple(pairs.T)])
        for one, other in pairs[np.argsort(-strength, kind="stable")].tolist():
            first = net[below[one], other] > 0.0
            if within[one, other] != within[other, one]:
                first = within[one, other]
            elif within[one, other] or net[below[one], other] == 0.0:
                first = finer[one] < finer[other]
            upper, lower = (one, other) if first else (other, one)
            if above[lower, upper]:
                continue
            over[below[upper], lower] = on[below[upper], lower] > 0.0
            higher, deeper = above[:, upper].copy(), above[lower].copy()
            higher[upper] = deeper[lower] = True
            above |= higher[:, None] & deeper[None]
        for _ in below:
            depth = np.where(over, ranks[below] + 1, 0).max(axis=1, initial=0)
            if np.array_equal(depth, ranks):
                break
            ranks = depth
        return over, over & lies_in, ranks

    def _cover(self) -> tuple[Float64s, Float64s]:
        """How much of each piece is on each of those below, and of that outside less inside.

        Returns:
            shape (p, c) both, areas.
        """
        skin, pieces = self._skin, self._pieces
        most = np.full(self._count, _FEW_SAMPLES)
        most[self._below] = _SAMPLES
        steps = np.maximum(-(-self._sizes // most), 1)
        order = np.argsort(pieces, kind="stable")
        of = pieces[order]
        places = np.arange(len(order)) - (np.cumsum(self._sizes) - self._sizes)[of]
        samples = order[places % steps[of] == 0]
        counts = np.bincount(pieces[samples], minlength=self._count)
        each = self._areas / np.maximum(counts, 1)
        covered = np.zeros((2, self._count, len(self._below)))
        sums = np.bincount(pieces, skin.surface.areas * skin.radii, self._count)
        around = self._areas**3 > _AROUND * sums**2
        for column, piece in enumerate(self._below.tolist()):
            # Strands and patches go around nothing: what is larger does not lie on them.
            largest = np.inf if around[piece] else self._areas[piece]
            rows = samples[(pieces[samples] != piece) & (self._areas[pieces[samples]] <= largest)]
            on = self._on(rows, column)
            kept = (on.facing >= _UPRIGHT) | skin.rigid[on.points]
            points, heights = on.points[kept], on.heights[kept]
            sides = np.sign(heights) * (np.abs(heights) > 1e-3 * _NEAR * skin.radii[points])
            sides[self._chosen[skin.meshes[points], on.meshes[kept]]] = _CHOSEN
            of = pieces[points]
            covered[0, :, column] = np.bincount(of, each[of], self._count)
            covered[1, :, column] = np.bincount(of, each[of] * sides, self._count)
        return covered[0], covered[1]

    def _on(self, points: Indices, column: int) -> _On:
        """Which points are on a piece below."""
        skin, triangles = self._skin, self._skin.triangles[self._triangles[column]]
        places, reach = skin.surface.positions[points], _NEAR * skin.radii[points]
        if column not in self._trees:
            own = skin.surface.positions[self._pieces == self._below[column]]
            box = own.min(axis=0), own.max(axis=0)
            self._trees[column] = tree_of(skin.surface.positions, triangles), *box
        tree, lowest, highest = self._trees[column]
        near = (places > lowest - reach[:, None]).all(axis=1)
        near &= (places < highest + reach[:, None]).all(axis=1)
        points, places, reach = points[near], places[near], reach[near]
        found = _nearest(tree, skin.surface.positions, triangles, places, reach)
        points, ways = points[found.rows], places[found.rows] - found.places
        normals = (skin.normals[found.corners] * found.shares[:, :, None]).sum(axis=1)
        normals, reach = unit_or(normals, 0.0), reach[found.rows]
        heights = dots(ways, normals)
        # Within a limb, and within what is below.
        near = found.distances < _NEAR * skin.radii[found.strongest]
        beside = np.abs(heights) < _UPRIGHT * found.distances
        beside &= found.distances > _ON * reach
        common = common_weights(skin.influences.at(points), skin.influences.at(found.strongest))
        kept = common > np.where(skin.rigid[points], _ALIKE_RIGID, _ALIKE)
        kept &= near & ~beside & (heights > -_SUNK * reach)
        meshes = skin.meshes_of_triangles[self._triangles[column][found.triangles]]
        rows = np.flatnonzero(kept & self._may_lie[skin.meshes[points], meshes])
        facing = dots(skin.normals[points], normals)
        numbers = heights[rows], facing[rows], common[rows]
        return _On(points[rows], found.at(rows), *numbers, meshes[rows])

    def _match_other_sides(self, best: _Best) -> None:
        """Let the other side of cloth with thickness lie on the side that is matched."""
        skin, matched = self._skin, best.meshes >= 0
        rows = np.flatnonzero(best.behind & ~matched)
        kept = matched[skin.triangles].all(axis=1)
        kept &= np.isin(self._pieces[skin.triangles[:, 0]], np.unique(self._pieces[rows]))
        triangles, positions = skin.triangles[kept], skin.surface.positions
        if not len(rows) or not len(triangles):
            return
        tree = tree_of(positions, triangles)
        reach = _THICKNESS * skin.radii[rows]
        found = _nearest(tree, positions, triangles, positions[rows], reach)
        points, outer = rows[found.rows], found.strongest
        alike = common_weights(skin.influences.at(points), skin.influences.at(outer)) > _SAME
        alike &= self._pieces[points] == self._pieces[outer]
        at = points[alike]
        best.meshes[at], best.alike[at] = best.meshes[outer[alike]], 1.0
        best.corners[at], best.shares[at] = found.corners[alike], found.shares[alike]

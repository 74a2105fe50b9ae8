"""Contact of skin with itself: what meets, and what pushes it apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices, Int64s
from ...core.nearest_points import cell_keys
from ...core.vectors import dots, summed_at, triangle_normals, unit_or
from .block_solver import StiffWays
from .lattice import Lattice, barycentric

# All lengths are in edges of a cube of the lattice.
# How stiff contact is, in shear moduli, and the gap that it keeps: without it skin crosses between
# its points by a little.
STIFFNESS, GAP = 100.0, 0.12
# Skin with a smaller gap at rest takes no part.
_ALONE = 0.3
# Skin that is nearer than this is looked at, and this far apart at rest: neighbours do not collide.
_NEAR, _APART, _POINT_APART = 1.2, 0.8, 0.35
# Cosine of the angle between normals of what faces each other.
_FACING = -0.25
# Gaps up to this, in parts of `_NEAR`, count; and how straight the way to a triangle is.
_OUTSIDE, _STRAIGHT, _TOUCHING = 0.6, 0.5, 0.15
# Pairs of patches are looked for anew when a patch has moved by this.
_MARGIN = 0.5
# How far behind a triangle a point can be that met it, in parts of how far they are apart at rest:
# what is farther is round the end of a crease.
_DEEPEST = 0.5
_ANY_DEPTH = 1e9
# And one that begins to meet it.
_NEW_DEEPEST = 0.3
# The product of the mean normals of groups that may have patches that face each other, soon.
_MAY_FACE = 0.5
# Edges longer than this get a point in their middle.
_LONG = 1.0


@dataclass(frozen=True, eq=False)
class Pairs:
    """Points that meet triangles, m of them, as sums over vertices of the skin.

    Attributes:
        vertices: shape (m, 8); two that a point is between, and two for each corner.
        shares: shape (m, 8); below 0 for the triangle.
        normals: shape (m, 3), of the triangles, unit.
        stiffness: shape (m,).
        used: the vertices that occur, rising.
        rows: shape (m, 8), the same vertices as rows of `used`.
    """

    vertices: Int64s
    shares: Float64s
    normals: Floats
    stiffness: Float64s

    @cached_property
    def used(self) -> Int64s:
        """The vertices that occur, rising."""
        return np.unique(self.vertices)

    @cached_property
    def rows(self) -> Indices:
        """Shape (m, 8), the `vertices` as rows of `used`."""
        return np.searchsorted(self.used, self.vertices)

    def gaps(self, used: Floats) -> Float64s:
        """Shape (m,), how far each point is before its triangle, less the gap that is kept.

        Args:
            used: shape (u, 3), where the vertices of `used` are.
        """
        ways = np.einsum("ms,msk->mk", self.shares, used[self.rows])
        return dots(ways, self.normals) - GAP


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Pairs of patches, rows of both, that may meet until one has moved by `_MARGIN`.

    Attributes:
        first, second: shape (m,).
        middles, radii: shapes (t, 3) and (t,), of all patches when the pairs were found.
    """

    first: Indices
    second: Indices
    middles: Float64s
    radii: Float64s

    def farthest_way(self, middles: Float64s, radii: Float64s) -> float:
        """How far the border of a patch has moved since, at most."""
        ways = np.linalg.norm(middles - self.middles, axis=1) + np.abs(radii - self.radii)
        return float(ways.max(initial=0.0))


@dataclass(eq=False)
class ContactSurface:
    """The skin as points and triangles that may meet: p points, t patches.

    The patches are the triangles of the mesh. Where these are larger than a cube, each has a point
    in the middle of each edge and is four triangles; the surface is the same.

    Attributes:
        rest: shape (v, 3), the vertices at rest.
        ends: shape (p, 2), the two vertices that each point is between.
        patches: shape (t, k), the points of each patch, its corners first.
        triangles: shape (t, s, 3), points.
        areas: shape (p,), of the surface round each point at rest.
    """

    rest: Float64s
    ends: Int64s
    patches: Int64s
    triangles: Int64s
    areas: Float64s
    _candidates: _Candidates | None = None
    # Shape (p,), the points that met a triangle when it was asked last.
    _met: Booleans | None = None

    def forget(self) -> None:
        """The skin has been moved far: any point may be behind a triangle that it meets."""
        self._met = None

    @classmethod
    def of(cls, rest: Float64s, triangles: Int64s) -> ContactSurface:
        """The surface of triangles (t, 3) of vertices (v, 3) at rest."""
        count = len(rest)
        own = np.repeat(np.arange(count)[:, None], 2, axis=1)
        edges = np.sort(np.stack((triangles, np.roll(triangles, -1, axis=1)), axis=2), axis=2)
        unique, inverse = np.unique(edges.reshape(-1, 2), axis=0, return_inverse=True)
        lengths = np.linalg.norm(rest[unique[:, 1]] - rest[unique[:, 0]], axis=1)
        if np.median(lengths) > _LONG:
            ends = np.concatenate((own, unique))
            middles = inverse.reshape(-1, 3) + count
            a, b, c = triangles.T
            ab, bc, ca = middles.T
            patches = np.concatenate((triangles, middles), axis=1)
            parts = np.stack(((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)))
            fine = np.ascontiguousarray(parts.transpose(2, 0, 1))
        else:
            ends, patches, fine = own, triangles, triangles[:, None]
        points = rest[ends].mean(axis=1)
        area = np.linalg.norm(triangle_normals(points[fine.reshape(-1, 3)]), axis=1) / 6.0
        areas = np.bincount(fine.ravel(), np.repeat(area, 3), len(points))
        return cls(rest, ends, patches, fine, areas)

    @cached_property
    def _alone(self) -> Booleans:
        """Shape (t,), the patches that face others at rest, as lips do: they take no part."""
        found = self._meeting(self.rest, np.zeros(len(self.patches), np.bool_), _ANY_DEPTH)
        self._candidates = None  # without those that take no part
        alone = np.zeros(len(self.patches), np.bool_)
        if found is not None:
            points, triangles, shares, normals = found
            places = self.rest[self.ends].mean(axis=1)
            fine = places[self.triangles.reshape(-1, 3)[triangles]]
            gaps = dots(places[points] - np.einsum("ms,msk->mk", shares, fine), normals)
            touching = np.zeros(len(places), np.bool_)
            touching[points[gaps < _ALONE]] = True
            alone |= touching[self.patches].any(axis=1)
            alone[triangles[gaps < _ALONE] // self.triangles.shape[1]] = True
        return alone

    def pairs(self, skin: Floats) -> Pairs | None:
        """The points of the skin, vertices at (v, 3), that meet triangles; None without any.

        Each point meets the nearest triangle that faces it and was somewhere else at rest. One that
        met none when it was asked before is not far behind its triangle: else it is another one's.
        """
        found = self._meeting(skin, self._alone)
        if found is None:
            return None
        points, triangles, shares, normals = found
        if self._met is not None:
            places = skin[self.ends].mean(axis=1)
            fine = places[self.triangles.reshape(-1, 3)[triangles]]
            gaps = dots(places[points] - np.einsum("ms,msk->mk", shares, fine), normals)
            known = self._met[points] | (gaps > -_NEW_DEEPEST)
            points, triangles = points[known], triangles[known]
            shares, normals = shares[known], normals[known]
        self._met = np.zeros(len(self.ends), np.bool_)
        self._met[points] = True
        if not len(points):
            return None
        corners = self.ends[self.triangles.reshape(-1, 3)[triangles]]
        vertices = np.concatenate((self.ends[points], corners.reshape(-1, 6)), axis=1)
        halves = np.concatenate((np.full((len(points), 2), 0.5), -0.5 * np.repeat(shares, 2, 1)), 1)
        return Pairs(vertices, halves, normals, STIFFNESS * self.areas[points])

    def _meeting(
        self, skin: Floats, alone: Booleans, deepest: float = _DEEPEST
    ) -> tuple[Indices, Indices, Float64s, Floats] | None:
        """Points and triangles that meet: rows of both, barycentric shares and normals (m, 3)."""
        places = skin[self.ends].mean(axis=1)
        fine = self.triangles.reshape(-1, 3)
        corners = places[fine]
        normals = triangle_normals(corners)
        at_points = unit_or(summed_at(fine, normals, len(places)), 0.0)
        of_patches = unit_or(normals.reshape(*self.triangles.shape[:2], 3).sum(axis=1), 0.0)
        normals = unit_or(normals, 0.0)
        middles, radii = _balls(corners)

        first, second = self._patches_near(places, of_patches, alone)
        points, triangles = self._points_and_triangles(first, second)
        near = _squares(places, points, middles, triangles) < (_NEAR + radii[triangles]) ** 2
        points, triangles = points[near], triangles[near]
        facing = dots(at_points[points], normals[triangles]) < _FACING
        points, triangles = points[facing], triangles[facing]
        if not len(points):
            return None
        nearest, shares = closest_on_triangles(places[points], corners[triangles])
        away = places[points] - nearest
        distances, gaps = np.linalg.norm(away, axis=1), dots(away, normals[triangles])
        at_rest = self.rest[self.ends].mean(axis=1)
        apart = at_rest[points] - np.einsum("ms,msk->mk", shares, at_rest[fine[triangles]])
        apart = np.linalg.norm(apart, axis=1)
        meets = (distances < _NEAR) & (apart > _POINT_APART) & (gaps >= -deepest * apart)
        meets &= (gaps < _OUTSIDE * _NEAR) & (
            (np.abs(gaps) > _STRAIGHT * distances) | (distances < _TOUCHING)
        )
        order = np.flatnonzero(meets)
        order = order[np.lexsort((distances[order], points[order]))]
        first_of_point = np.flatnonzero(np.diff(points[order], prepend=-1))
        found = order[first_of_point]
        if not len(found):
            return None
        return points[found], triangles[found], shares[found], normals[triangles[found]]

    def _points_and_triangles(self, first: Indices, second: Indices) -> tuple[Indices, Indices]:
        """Every point of the first patch with every triangle of the second one, of pairs."""
        starts, points = self._own_points
        fine = self.triangles.shape[1]
        counts = (starts[first + 1] - starts[first]) * fine
        row = np.repeat(np.arange(len(first)), counts)
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        return points[starts[first[row]] + place // fine], second[row] * fine + place % fine

    @cached_property
    def _own_points(self) -> tuple[Indices, Indices]:
        """The points of each patch, one patch after the other: where each begins, and the points.

        A point is of one patch.
        """
        points, at = np.unique(self.patches, return_index=True)
        owners = at // self.patches.shape[1]
        order = np.argsort(owners, kind="stable")
        starts = np.searchsorted(owners[order], np.arange(len(self.patches) + 1))
        return starts, points[order]

    def _patches_near(
        self, places: Floats, normals: Floats, alone: Booleans
    ) -> tuple[Indices, Indices]:
        """Pairs of patches that face each other and are near, but were not at rest; both ways."""
        middles, radii = _balls(places[self.patches[:, :3]])
        known = self._candidates
        if known is None or known.farthest_way(middles, radii) > _MARGIN:
            pairs = self._candidate_patches(middles, normals, radii, alone)
            known = self._candidates = _Candidates(*pairs, middles, radii)
        first, second = known.first, known.second
        near = (
            _squares(middles, first, middles, second) < (_NEAR + radii[first] + radii[second]) ** 2
        )
        first, second = first[near], second[near]
        facing = dots(normals[first], normals[second]) < 0.0
        first, second = first[facing], second[facing]
        return np.concatenate((first, second)), np.concatenate((second, first))

    def _candidate_patches(
        self, middles: Float64s, normals: Floats, radii: Float64s, alone: Booleans
    ) -> tuple[Indices, Indices]:
        """Pairs of patches, once, that may meet soon, but were not near at rest.

        Groups are compared first: there are as many of them however fine the mesh is.
        """
        used = np.flatnonzero(~alone)
        groups, count = self._groups
        of_used = groups[used]
        weights = np.maximum(np.bincount(of_used, minlength=count), 1)[:, None]
        centres = summed_at(of_used, middles[used], count) / weights
        towards = summed_at(of_used, normals[used], count) / weights
        ways = middles[used] - centres[of_used]
        reaches = np.zeros(count)
        np.maximum.at(reaches, of_used, np.sqrt(dots(ways, ways)) + radii[used])

        widest = float(reaches.max(initial=0.0))
        present = np.flatnonzero(np.bincount(of_used, minlength=count))
        first, second = pairs_within(centres[present], _NEAR + 2.0 * (_MARGIN + widest))
        own = np.arange(len(present))
        first, second = present[np.append(first, own)], present[np.append(second, own)]
        apart = _NEAR + 2.0 * _MARGIN + reaches[first] + reaches[second]
        near = _squares(centres, first, centres, second) < apart**2
        near &= dots(towards[first], towards[second]) < _MAY_FACE
        first, second = self._patches_of(first[near], second[near], alone)
        apart = _NEAR + 2.0 * _MARGIN + radii[first] + radii[second]
        near = _squares(middles, first, middles, second) < apart**2
        first, second = first[near], second[near]
        at_rest = self.rest[self.patches[:, :3]].mean(axis=1)
        apart = _squares(at_rest, first, at_rest, second) > _APART**2
        return first[apart], second[apart]

    @cached_property
    def _groups(self) -> tuple[Indices, int]:
        """The group of each patch, shape (t,), and how many there are.

        They are in one cube at rest, and face the same of eight ways.
        """
        corners = self.rest[self.patches[:, :3]]
        cubes = np.floor(corners.mean(axis=1)).astype(np.int64)
        keys = np.concatenate((cubes, triangle_normals(corners) > 0.0), axis=1)
        groups = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        return groups, int(groups.max(initial=-1)) + 1

    def _patches_of(
        self, first: Indices, second: Indices, alone: Booleans
    ) -> tuple[Indices, Indices]:
        """Every patch of the first group with every one of the second, of pairs of groups, once."""
        groups, count = self._groups
        used = np.flatnonzero(~alone)
        order = used[np.argsort(groups[used], kind="stable")]
        starts = np.searchsorted(groups[order], np.arange(count + 1))
        others = np.diff(starts)[second]
        counts = np.diff(starts)[first] * others
        row = np.repeat(np.arange(len(first)), counts)
        place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        one = order[starts[first[row]] + place // others[row]]
        other = order[starts[second[row]] + place % others[row]]
        once = (first[row] != second[row]) | (one < other)
        return one[once], other[once]


class Contact:
    """The energy of contact, as a sum over the nodes of a lattice.

    With g the gap of a point before its triangle and A the area round the point,
    E = STIFFNESS / 2 sum A min(g - GAP, 0)^2. Pairs and normals stay until `update`.
    """

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._count = len(lattice.nodes)
        region = lattice.region
        self._surface = ContactSurface.of(lattice.from_armature(region.rest), region.triangles)
        self._pairs: Pairs | None = None
        self._carriers, self._shares = lattice.carriers[:0], lattice.shares[:0]
        self.touching = 0

    def update(self, places: Float64s) -> None:
        """Find what meets where the nodes are now, shape (3, N)."""
        self._pairs = self._surface.pairs(carried(self._lattice, places))
        if self._pairs is not None:
            used = self._pairs.used
            self._carriers, self._shares = self._lattice.carriers[used], self._lattice.shares[used]

    @property
    def is_near(self) -> bool:
        """Whether skin meets, or is about to."""
        return self._pairs is not None

    def forget(self) -> None:
        """Nothing meets."""
        self._pairs = None
        self._surface.forget()

    def energy(self, places: Float64s) -> tuple[float, Float64s | None]:
        """The energy of nodes (3, N), and its gradient; None where it is 0."""
        self.touching = 0
        if self._pairs is None:
            return 0.0, None
        pairs = self._pairs
        gaps = pairs.gaps(self._used(places))
        dips = np.minimum(gaps, 0.0)
        self.touching = int(np.count_nonzero(dips))
        if not self.touching:
            return 0.0, None
        forces = pairs.stiffness * dips
        each = (forces[:, None] * pairs.shares)[:, :, None] * pairs.normals[:, None]
        of_vertices = summed_at(pairs.rows, each.reshape(-1, 3), len(pairs.used))
        return 0.5 * float(forces @ dips), self._to_nodes(of_vertices)

    def stiff_ways(self, places: Float64s, near: float) -> StiffWays | None:
        """What contact holds, for gaps below `near`; None for nothing.

        Pairs between the same two cubes are taken together: their number is that of cubes that
        touch, however fine the mesh is.
        """
        if self._pairs is None:
            return None
        pairs = self._pairs
        touching = (pairs.gaps(self._used(places)) < near) & (pairs.stiffness > 0.0)
        if not touching.any():
            return None
        rows, stiffness = pairs.rows[touching], pairs.stiffness[touching]
        shares, cubes = pairs.shares[touching], self._carriers[:, 0]
        other = np.take_along_axis(rows, 2 + shares[:, 2:].argmin(axis=1)[:, None], axis=1)[:, 0]
        one, other = cubes[rows[:, 0]], cubes[other]
        keys = np.minimum(one, other) * self._count + np.maximum(one, other)
        of_pair = np.unique(keys, return_inverse=True)[1].reshape(-1)
        total = np.bincount(of_pair, stiffness)
        # A point of either cube that meets the other one holds the same way, seen from there.
        signs = np.where(one < other, 1.0, -1.0)
        part = signs * stiffness
        normals = summed_at(of_pair, part[:, None] * pairs.normals[touching], len(total))
        part /= total[of_pair]
        places_in = of_pair[:, None, None] * self._count + self._carriers[rows]
        each = (part[:, None] * shares)[:, :, None] * self._shares[rows]
        of_nodes = np.bincount(places_in.ravel(), each.ravel(), len(total) * self._count)
        return StiffWays(of_nodes.reshape(len(total), -1), unit_or(normals, 0.0), total)

    def _used(self, places: Float64s) -> Float64s:
        return np.stack(
            [(self._shares * axis.take(self._carriers)).sum(axis=1) for axis in places], axis=1
        )

    def _to_nodes(self, of_vertices: Float64s) -> Float64s:
        rows = self._carriers.ravel()
        return np.stack(
            [
                np.bincount(rows, (self._shares * axis[:, None]).ravel(), self._count)
                for axis in of_vertices.T
            ]
        )


def carried(lattice: Lattice, places: Float64s) -> Float64s:
    """Where the skin is, shape (v, 3), with the nodes at (3, N)."""
    return np.stack(
        [(lattice.shares * axis.take(lattice.carriers)).sum(axis=1) for axis in places], axis=1
    )


def pairs_within(points: Float64s, reach: float) -> tuple[Indices, Indices]:
    """Pairs of points (n, 3) in the same or in neighbouring cells of a grid of this size.

    Every two points that are nearer than `reach` are among them, once.
    """
    cells = np.floor(points / reach).astype(np.int64)
    cells -= cells.min(axis=0, initial=0) - 1
    sizes = cells.max(axis=0, initial=0) + 2
    keys = cell_keys(cells, sizes)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    rows = np.arange(len(keys))
    found_first, found_second = [], []
    # Ahead of each point: the rest of its own column of cells, and four columns of three cells.
    columns = [(0, 0)] + [(0, 1), (1, -1), (1, 0), (1, 1)]
    for x, y in columns:
        middle = keys + cell_keys(np.array([[x, y, 0]]), sizes)[0]
        own = (x, y) == (0, 0)
        start = rows + 1 if own else np.searchsorted(keys, middle - 1, side="left")
        end = np.searchsorted(keys, middle + 1, side="right")
        counts = np.maximum(end - start, 0)
        first = np.repeat(rows, counts)
        second = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts - start, counts)
        found_first.append(order[first])
        found_second.append(order[second])
    return np.concatenate(found_first), np.concatenate(found_second)


def closest_on_triangles(points: Floats, corners: Floats) -> tuple[Float64s, Float64s]:
    """The closest places of triangles (m, 3, 3) to points (m, 3), and their barycentric shares."""
    inside = barycentric(points, corners)
    shares = np.zeros((len(points), 3, 3))
    for k in range(3):
        start, way = corners[:, k], corners[:, (k + 1) % 3] - corners[:, k]
        along = dots(points - start, way) / np.maximum(dots(way, way), 1e-30)
        along = np.clip(along, 0.0, 1.0)
        shares[:, k, k], shares[:, k, (k + 1) % 3] = 1.0 - along, along
    places = shares @ corners
    nearest = ((places - points[:, None]) ** 2).sum(axis=2).argmin(axis=1)
    rows = np.arange(len(points))
    chosen = np.where((inside >= 0.0).all(axis=1)[:, None], inside, shares[rows, nearest])
    return np.einsum("ms,msk->mk", chosen, corners), chosen


def _balls(corners: Floats) -> tuple[Float64s, Float64s]:
    """The middles (m, 3) of triangles (m, 3, 3), and how far they reach from there, (m,)."""
    middles = (corners[:, 0] + corners[:, 1] + corners[:, 2]) / 3.0
    ways = corners - middles[:, None]
    return middles, np.sqrt(np.einsum("msk,msk->ms", ways, ways).max(axis=1))


def _squares(points: Floats, first: Indices, others: Floats, second: Indices) -> Float64s:
    """Shape (m,), the squares of the distances of some points from others; axis by axis is fast."""
    found = np.zeros(len(first))
    for one, other in zip(points.T, others.T, strict=True):
        found += (one.take(first) - other.take(second)) ** 2
    return found

"""The lattice of cubes round a joint that carries the skin; all lengths in edges of a cube."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices, Int64s, Integers
from ...core.vectors import dots, summed_at, triangle_normals, unit_or
from .region import FleshRegion
from .surface_search import SearchOf

# The corners of a cube: corner x + 2 y + 4 z.
CORNERS = np.array([[k & 1, k >> 1 & 1, k >> 2 & 1] for k in range(8)])
# Corners this far away are asked for their distance, and cubes in the flesh begin within this, in
# reaches of the joints.
_ASKED, _FLESH = 1.06, 1.03
# Samples along each edge of a cube that tell how much of it is flesh, and what counts at least.
_SAMPLES, _LEAST_FILL = 3, 0.15


@dataclass(frozen=True, eq=False)
class Lattice:
    """Cubes with flesh in them, and the skin that they carry.

    Places are in edges of a cube from the `middle`: those of nodes are whole numbers.

    Attributes:
        region: the skin.
        middle: shape (3,), armature space.
        nodes: shape (N, 3).
        corners: shape (c, 8), the nodes of each cube, in the order of `CORNERS`.
        fill: shape (c,), the part of each cube that is flesh.
        depths: shape (N,), the distance to the skin, below 0 in the flesh.
        of_others: shape (N,), the nodes in other parts of the body.
        carriers: shape (v, 8), the nodes that carry each vertex of the region.
        shares: shape (v, 8), by how much.
    """

    region: FleshRegion
    middle: Float64s
    nodes: Float64s
    corners: Int64s
    fill: Float64s
    depths: Float64s
    of_others: Booleans
    carriers: Int64s
    shares: Float64s

    @classmethod
    def of(cls, region: FleshRegion, search_of: SearchOf) -> Lattice:
        """Cubes that have a corner in the flesh, or skin in them, as far as they hang together."""
        cell = region.cell
        middle = region.centres.mean(axis=0)
        skin = (region.rest - middle) / cell
        lowest = np.floor(skin.min(axis=0)).astype(np.int64) - 1
        size = np.floor(skin.max(axis=0)).astype(np.int64) + 2 - lowest  # cubes along each axis

        grid = np.indices((size + 1).tolist()).reshape(3, -1).T
        places = middle + cell * (grid + lowest)
        asked = region.relative(places) < _ASKED
        depths = np.full(len(grid), np.inf)
        around, triangles = np.unique(region.around, return_inverse=True)
        surface = np.asarray(region.skin.positions, np.float64)[around]
        depths[asked], faces = _signed_distances(
            (surface - middle) / cell,
            triangles.reshape(-1, 3),
            (grid[asked] + lowest).astype(np.float64),
            search_of,
        )
        of_others = np.zeros(len(grid), np.bool_)
        of_others[asked] = region.of_others[faces]

        cubes = np.indices(size.tolist()).reshape(3, -1).T
        corners = _row(cubes[:, None] + CORNERS, size + 1)
        centres = middle + cell * (cubes + lowest + 0.5)
        own = (depths < 0.0) & ~of_others
        in_flesh = own[corners].any(axis=1) & (region.relative(centres) < _FLESH)
        ends = skin[region.triangles]
        samples = np.concatenate(
            (skin, ends.mean(axis=1), *((ends + np.roll(ends, 1, 1)) / 2.0).swapaxes(0, 1))
        )
        of_skin = _row(np.floor(samples).astype(np.int64) - lowest, size)
        in_flesh[of_skin] = True
        cubes_used = np.flatnonzero(_connected(in_flesh, of_skin, size))

        used, inverse = np.unique(corners[cubes_used], return_inverse=True)
        new = np.full(len(grid), -1)
        new[used] = np.arange(len(used))
        low = np.floor(skin).astype(np.int64)
        carriers = new[_row((low - lowest)[:, None] + CORNERS, size + 1)]
        depths = np.where(np.isfinite(depths[used]), depths[used], 1.0)
        corners = inverse.reshape(-1, 8)
        return cls(
            region,
            middle,
            (grid[used] + lowest).astype(np.float64),
            corners,
            _fill(depths[corners]),
            depths,
            of_others[used],
            carriers,
            _trilinear(skin - low),
        )

    @cached_property
    def mirrored(self) -> Booleans:
        """Shape (c,), the cubes whose tetrahedra are mirrored, so that faces fit together."""
        return self.nodes[self.corners[:, 0]].sum(axis=1) % 2 == 1

    def to_armature(self, places: Floats) -> Float64s:
        """Places (m, 3) of the lattice in armature space."""
        return self.middle + self.region.cell * places

    def from_armature(self, points: Floats) -> Float64s:
        """The other way."""
        return (points - self.middle) / self.region.cell


def _signed_distances(
    positions: Float64s, triangles: Int64s, points: Float64s, search_of: SearchOf
) -> tuple[Float64s, Indices]:
    """How far points (m, 3) are from a surface, below 0 behind it, and the nearest triangles.

    The side goes by the normal of the surface at the nearest place, between those of its vertices:
    that of a face is wrong at edges.
    """
    places, faces = search_of(positions, triangles).nearest(points)
    corners = positions[triangles]
    normals = triangle_normals(corners)
    of_vertices = summed_at(triangles, unit_or(normals, 0.0), len(positions))
    shares = barycentric(places, corners[faces])
    normal = (shares[:, :, None] * unit_or(of_vertices, 0.0)[triangles[faces]]).sum(axis=1)
    away = points - places
    distances = np.linalg.norm(away, axis=1)
    return np.where(dots(away, normal) < 0.0, -distances, distances), faces


def barycentric(points: Floats, corners: Floats) -> Float64s:
    """The barycentric coordinates (m, 3) of points (m, 3) in the planes of triangles (m, 3, 3)."""
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    away = points - corners[:, 0]
    a, b, c = dots(one, one), dots(one, other), dots(other, other)
    d, e = dots(away, one), dots(away, other)
    area = np.maximum(a * c - b * b, 1e-30 * np.maximum(a * c, 1e-300))
    second, third = (c * d - b * e) / area, (a * e - b * d) / area
    return np.stack((1.0 - second - third, second, third), axis=1)


def _row(cells: Integers, size: Int64s) -> Int64s:
    return (cells[..., 0] * size[1] + cells[..., 1]) * size[2] + cells[..., 2]


def _connected(cubes: Booleans, seeds: Indices, size: Int64s) -> Booleans:
    """Shape (c,), the cubes that hang together with the seeds by faces."""
    open_cubes = cubes.reshape(size)
    found = np.zeros_like(open_cubes)
    found.reshape(-1)[seeds] = True
    count = 0
    while count != (count := np.count_nonzero(found)):
        for axis in range(3):
            low = tuple(slice(None, -1) if k == axis else slice(None) for k in range(3))
            high = tuple(slice(1, None) if k == axis else slice(None) for k in range(3))
            below, above = found[low].copy(), found[high].copy()
            found[high] |= below
            found[low] |= above
        found &= open_cubes
    return found.reshape(-1)


def _trilinear(places: Floats) -> Float64s:
    """The shares of the corners (m, 8) at places (m, 3) in a cube, 0 to 1."""
    sides = np.where(CORNERS == 1, places[:, None], 1.0 - places[:, None])
    return sides.prod(axis=2)


def _fill(depths: Float64s) -> Float64s:
    """Shape (c,), the part of cubes that is flesh, by the depths (c, 8) of their corners."""
    along = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    samples = np.stack(np.meshgrid(along, along, along, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = (depths @ _trilinear(samples).T < 0.0).mean(axis=1)
    return np.clip(inside, _LEAST_FILL, 1.0)

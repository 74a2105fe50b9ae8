"""What the quality report measures on a deformed surface, region by region."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from quality.body import triangles_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SurfaceMeasures:
    """Of one region in one pose.

    Attributes:
        stretch: sum over the triangles of (s - 1)^2, s the two singular values of the map that
            takes a triangle at rest to the deformed one.
        longest: the largest singular value.
        shortest: the smallest one.
        jump: the largest change of a dihedral angle, degrees.
        roughness: the root mean square of these changes, degrees.
    """

    stretch: float
    longest: float
    shortest: float
    jump: float
    roughness: float


@dataclass(frozen=True)
class Figures(SurfaceMeasures):
    """Of one region in one pose by one method; nan where a figure does not apply.

    Attributes:
        bulge: how much farther from the nearer limb the skin is than at rest, at the worst place,
            % of the limb's radius.
        dent: how much nearer.
        rms: the root mean square of both.
        volume: of a cylinder, or of the region, % of that at rest.
        twist_radius: the smallest distance from the axis of a twist, % of that at rest.
        crossings: of the whole skin, the pairs of triangles that cross and do not at rest.
    """

    bulge: float = math.nan
    dent: float = math.nan
    rms: float = math.nan
    volume: float = math.nan
    twist_radius: float = math.nan
    crossings: float = math.nan


@dataclass(frozen=True, eq=False)
class SurfaceRegion:
    """Some triangles of a mesh, and the edges between two of them.

    Attributes:
        rest: shape (n, 3), all vertices at rest.
        triangles: shape (t, 3), vertices.
    """

    rest: Array
    triangles: NDArray[np.int32]

    @classmethod
    def of_joint(
        cls, rest: Array, faces: NDArray[np.int32], shares: NDArray[np.floating]
    ) -> SurfaceRegion:
        """The triangles that follow bones on both sides of a joint.

        Args:
            rest: shape (n, 3).
            faces: shape (f, 4), quads; each is split from its first corner.
            shares: shape (n,), the weight of the bones behind the joint.
        """
        triangles = triangles_of(faces)
        corners = shares[triangles]
        both = (corners.max(axis=1) > _NO_SHARE) & (corners.min(axis=1) < 1.0 - _NO_SHARE)
        return cls(np.asarray(rest, np.float64), triangles[both])

    @cached_property
    def vertices(self) -> NDArray[np.int32]:
        """The vertices of the triangles, each once."""
        return np.unique(self.triangles)

    def measure(self, deformed: Array) -> SurfaceMeasures:
        """Compare deformed positions, shape (n, 3), with those at rest."""
        values = self.singular_values(deformed)
        jumps = np.degrees(np.abs(self.bends(deformed)))
        return SurfaceMeasures(
            stretch=float(np.square(values - 1.0).sum()),
            longest=float(values.max()),
            shortest=float(values.min()),
            jump=float(jumps.max()),
            roughness=float(np.sqrt(np.square(jumps).mean())),
        )

    def singular_values(self, deformed: Array) -> Array:
        """Shape (t, 2), of the map from each triangle at rest to the deformed one."""
        flat_rest, flat = (
            _in_own_plane(self.rest[self.triangles]),
            _in_own_plane(deformed[self.triangles]),
        )
        return np.linalg.svd(flat @ np.linalg.inv(flat_rest), compute_uv=False)

    def bends(self, deformed: Array) -> Array:
        """Shape (e,), how the angles between neighbouring triangles change, radians."""
        change = self.dihedrals(deformed) - self.dihedrals(self.rest)
        return (change + np.pi) % (2.0 * np.pi) - np.pi

    def dihedrals(self, positions: Array) -> Array:
        first, second, edge = self._neighbours
        a, b, c = np.moveaxis(positions[self.triangles], 1, 0)
        normals = np.cross(b - a, c - a)
        along = positions[edge[:, 1]] - positions[edge[:, 0]]
        along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-30)
        one, other = normals[first], normals[second]
        sines = np.einsum("ij,ij->i", np.cross(one, other), along)
        return np.arctan2(sines, np.einsum("ij,ij->i", one, other))

    @cached_property
    def _neighbours(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int32]]:
        """Pairs of triangles, and their common edge (e, 2) in the direction of the first."""
        edges = np.concatenate([self.triangles[:, [i, (i + 1) % 3]] for i in range(3)])
        owner = np.tile(np.arange(len(self.triangles)), 3)
        count = len(self.rest)
        forth = edges[:, 0].astype(np.int64) * count + edges[:, 1]
        back = edges[:, 1].astype(np.int64) * count + edges[:, 0]
        _, here, there = np.intersect1d(forth, back, return_indices=True)
        once = edges[here, 0] < edges[here, 1]
        return owner[here[once]], owner[there[once]], edges[here[once]]


# A weight below this does not count as following a bone.
_NO_SHARE = 1e-3


def _in_own_plane(corners: Array) -> Array:
    """Two edges of triangles (t, 3, 3) in axes of their own planes, as columns: (t, 2, 2)."""
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    length = np.maximum(np.linalg.norm(one, axis=1), 1e-30)
    x = np.einsum("ij,ij->i", one, other) / length
    y = np.linalg.norm(np.cross(one, other), axis=1) / length
    flat = np.zeros((len(corners), 2, 2))
    flat[:, 0, 0], flat[:, 0, 1], flat[:, 1, 1] = length, x, y
    return flat


def axis_distances(points: Array, start: Array, direction: Array) -> Array:
    """Shape (m,), from points (m, 3) to a line."""
    away = points - start
    direction = direction / np.linalg.norm(direction)
    return np.linalg.norm(away - (away @ direction)[:, None] * direction, axis=1)

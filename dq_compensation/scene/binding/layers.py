"""The layers of a character: which of its meshes lies on which other one, as clothes on a body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from ...analysis.seams import SeamMesh
from ...analysis.soft_weights import distances_to_bones, limb_radii
from ...arrays import Booleans, Float64s, Floats, Indices, Int64s, Integers
from ...core.influences import Influences
from ...core.skeleton import Skeleton
from ...core.vectors import cross, dots, unit_or

# How many vertices of a mesh are looked at.
_SAMPLES = 200
# A vertex is on another surface where that is nearer than this part of the limb's radius, with this
# much of the weights in common.
_NEAR, _ALIKE = 0.7, 0.5
# The share of vertices that are on the other surface, and of these outside of it, where a mesh lies
# on another one. Copies and levels of detail lie in each other: about half of them are outside.
_ON, _OUTSIDE = 0.6, 0.8
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
        first, second, third = np.moveaxis(self.positions[self.triangles], 1, 0)
        triangles = np.linalg.norm(cross(second - first, third - first), axis=1) / 6.0
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
    def _tree(self) -> BVHTree:
        return BVHTree.FromPolygons(self.positions.tolist(), self.triangles.tolist())

    def nearest(self, points: Floats) -> tuple[Integers, Float64s, Float64s]:
        """The places on the surface that are nearest to points (m, 3), armature space.

        Returns:
            the vertices around each place, and its barycentric shares of them, both (m, 3); and how
            far points are from it, shape (m,), less than 0 behind the surface.
        """
        # mathutils has no call for many points: 10 microseconds each, once.
        found: list[Any] = [self._tree.find_nearest(Vector(point)) for point in points.tolist()]
        corners = self.triangles[[index for _, _, index, _ in found]]
        places = np.array([tuple(place) for place, *_ in found])
        first, second, third = np.moveaxis(self.positions[corners], 1, 0)
        one, other, at = second - first, third - first, places - first
        squares, others, both = dots(one, one), dots(other, other), dots(one, other)
        area = np.maximum(squares * others - both * both, 1e-30)
        along = (others * dots(at, one) - both * dots(at, other)) / area
        beside = (squares * dots(at, other) - both * dots(at, one)) / area
        normals = np.array([tuple(normal) for _, normal, *_ in found])
        distances = np.array([distance for *_, distance in found])
        distances *= np.where(dots(points - places, unit_or(normals, 0.0)) < 0.0, -1.0, 1.0)
        return corners, np.stack((1.0 - along - beside, along, beside), axis=1), distances

    def near(
        self, points: Floats, ours: Influences, reach: Floats
    ) -> tuple[Booleans, Indices, Float64s]:
        """Whether points are on the surface: nearer than `reach`, and with weights in common.

        Args:
            ours: the influences of the points.

        Returns:
            that, the nearest vertex, and how far from the surface points are; shape (m,) each.
        """
        corners, shares, distances = self.nearest(points)
        rows = np.take_along_axis(corners, shares.argmax(axis=1)[:, None], axis=1)[:, 0]
        bones, weights = self.influences.bones[rows], self.influences.weights[rows]
        same = ours.bones[:, :, None] == bones[:, None, :]
        common = (same * np.minimum(ours.weights[:, :, None], weights[:, None, :])).sum(axis=(1, 2))
        return (np.abs(distances) < reach) & (common > _ALIKE), rows.astype(np.intp), distances


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
    """The layers of k meshes of one character.

    Attributes:
        bodies: shape (k,), the mesh that each lies on; -1 for none. Of meshes that lie in each
            other, as copies and levels of detail do, all lie on the finest one.
        copies: shape (k,), those that lie in their body.
    """

    bodies: Indices
    copies: Booleans

    @classmethod
    def of(cls, meshes: Sequence[LayerMesh]) -> Layers:
        """Find what lies on what; of several bodies the nearest counts."""
        count = len(meshes)
        covered, distances = np.zeros((count, count), np.bool_), np.full((count, count), np.inf)
        for row, mesh in enumerate(meshes):
            step = -(-len(mesh.positions) // _SAMPLES) or 1
            chosen = np.arange(0, len(mesh.positions), step)
            points = mesh.positions[chosen]
            ours = mesh.influences.at(chosen)
            reach = _NEAR * limb_radii(points, ours, mesh.skeleton)
            for column, other in enumerate(meshes):
                if row != column and _may_cover(points, reach, other):
                    on, outside, apart = _cover(points, ours, reach, other)
                    covered[row, column] = on >= _ON
                    if on >= _ON and outside >= _OUTSIDE:
                        distances[row, column] = apart
        bodies = np.where(np.isfinite(distances).any(axis=1), distances.argmin(axis=1), -1)
        on_other = np.isfinite(distances)
        inside = covered & covered.T & ~on_other & ~on_other.T
        copies = np.zeros(count, np.bool_)
        finest = sorted(range(count), key=lambda row: (-len(meshes[row].positions), row))
        for rank, row in enumerate(finest):
            finer = [other for other in finest[:rank] if inside[row, other]]
            if finer and bodies[row] < 0:
                bodies[row], copies[row] = finer[0], True
        found = cls(np.full(count, -1), np.zeros(count, np.bool_))
        for row in np.argsort(distances.min(axis=1, initial=np.inf)).tolist():
            if bodies[row] >= 0:
                found.choose(row, int(bodies[row]))
                found.copies[row] = copies[row]
        return found

    def choose(self, row: int, body: int) -> None:
        """Let a mesh lie on another one, unless that lies on it."""
        below = body
        while below not in (-1, row):
            below = int(self.bodies[below])
        if below != row:
            self.bodies[row], self.copies[row] = body, False

    @property
    def order(self) -> list[int]:
        """The meshes, each behind the one that it lies on."""
        found: list[int] = []
        waiting = list(range(len(self.bodies)))
        while waiting:
            ready = [each for each in waiting if self.bodies[each] in (-1, *found)]
            found += ready
            waiting = [each for each in waiting if each not in ready]
        return found


def _may_cover(points: Float64s, reach: Floats, other: LayerMesh) -> bool:
    """Whether enough points are in the box of another mesh; cheap."""
    if not len(points) or not len(other.triangles):
        return False
    low, high = other.positions.min(axis=0), other.positions.max(axis=0)
    within = (points > low - reach[:, None]) & (points < high + reach[:, None])
    return bool(within.all(axis=1).mean() >= _ON)


def _cover(
    points: Float64s, ours: Influences, reach: Floats, other: LayerMesh
) -> tuple[float, float, float]:
    """The shares of points on another surface, and of these outside of it; their median distance.

    Args:
        ours: the influences of the points.
        reach: shape (m,), how near the surface has to be.
    """
    on, _, distances = other.near(points, ours, reach)
    if not on.any():
        return 0.0, 0.0, np.inf
    outside = distances[on] > 1e-3 * reach[on]
    return float(on.mean()), float(outside.mean()), float(np.median(np.abs(distances[on])))

"""What is measured of solved skin, apart from solving it: crossings, volume, stretch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Float64s, Floats, Int64s
from ...core.vectors import dots, triangle_normals, unit_or
from .region import FleshRegion, enclosed_volume
from .surface_search import SearchOf


@dataclass(frozen=True)
class SkinFigures:
    """Of one region in one pose.

    Attributes:
        crossings: pairs of triangles that cross, and do not at rest.
        volume: in parts of that at rest; the openings are closed with fans round their middles.
        stretch: the 99th percentile of the lengths of edges, in parts of those at rest.
        roughness: the root mean square of the changes of angles between triangles, degrees.
    """

    crossings: int
    volume: float
    stretch: float
    roughness: float


@dataclass(frozen=True, eq=False)
class SkinMeasures:
    """What the skin of a region is at rest, to compare with."""

    region: FleshRegion
    search_of: SearchOf

    def of(self, skin: Floats) -> SkinFigures:
        """Measure positions (v, 3) of the region's vertices."""
        lengths, angles = _lengths(skin, self.region.edges), _angles(skin, *self._pairs)
        crossings = self._crossings(skin)
        known = np.isin(crossings, self._crossings_at_rest)
        return SkinFigures(
            int(np.count_nonzero(~known)),
            enclosed_volume(skin, self.region.triangles) / self._volume_at_rest,
            float(np.percentile(lengths / self._lengths_at_rest, 99)),
            float(np.degrees(np.sqrt(np.square(angles - self._angles_at_rest).mean()))),
        )

    def _crossings(self, skin: Floats) -> Int64s:
        triangles = self.region.triangles
        middle = self.region.rest.mean(axis=0)
        pairs = self.search_of((skin - middle) / self.region.cell, triangles).crossings()
        return pairs[:, 0] * len(triangles) + pairs[:, 1]

    @cached_property
    def _crossings_at_rest(self) -> Int64s:
        return self._crossings(self.region.rest)

    @cached_property
    def _volume_at_rest(self) -> float:
        return enclosed_volume(self.region.rest, self.region.triangles)

    @cached_property
    def _lengths_at_rest(self) -> Float64s:
        lengths = _lengths(self.region.rest, self.region.edges)
        return np.maximum(lengths, 1e-3 * float(np.median(lengths)))

    @cached_property
    def _angles_at_rest(self) -> Float64s:
        return _angles(self.region.rest, *self._pairs)

    @cached_property
    def _pairs(self) -> tuple[Int64s, Int64s]:
        """Triangles (t, 3), and the pairs of them (e, 2) that share an edge."""
        triangles = self.region.triangles
        edges = np.sort(np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)]), axis=1)
        owners = np.tile(np.arange(len(triangles)), 3)
        order = np.lexsort(edges.T)
        edges, owners = edges[order], owners[order]
        same = np.flatnonzero((edges[1:] == edges[:-1]).all(axis=1))
        return triangles, np.stack((owners[same], owners[same + 1]), axis=1)


def _lengths(points: Floats, edges: Int64s) -> Float64s:
    return np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1)


def _angles(points: Floats, triangles: Int64s, pairs: Int64s) -> Float64s:
    """The angles between the normals of neighbours, radians, 0 to pi."""
    normals = unit_or(triangle_normals(points[triangles]), 0.0)
    return np.arccos(np.clip(dots(normals[pairs[:, 0]], normals[pairs[:, 1]]), -1.0, 1.0))

"""The door to searches on a surface, which NumPy alone does slowly: the Blender side fills it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from ...arrays import Float64s, Floats, Indices, Int64s, Integers


class NearestSearch(Protocol):
    """Searches for the nearest places of a surface of triangles."""

    def nearest(self, points: Floats) -> tuple[Float64s, Indices]:
        """The nearest place of the surface to each point (m, 3).

        Returns:
            the places, shape (m, 3), and the triangles that they are in, shape (m,).
        """
        ...


class SurfaceSearch(NearestSearch, Protocol):
    """Searches on one surface of triangles."""

    def first_hits(self, points: Floats, ways: Floats, farthest: float) -> Indices:
        """The triangles (m,) that rays from points (m, 3) meet first; -1 for none.

        Args:
            ways: shape (m, 3), unit; 0 meets nothing.
            farthest: the length of the rays.
        """
        ...

    def crossings(self) -> Int64s:
        """Pairs of triangles (k, 2) that cross and share no vertex, the lower index first."""
        ...


NearestOf: TypeAlias = Callable[[Floats, Integers], NearestSearch]
SearchOf: TypeAlias = Callable[[Floats, Integers], SurfaceSearch]
"""Makes the searches on a surface: positions (n, 3) and triangles (t, 3)."""

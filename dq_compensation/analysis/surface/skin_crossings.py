"""Skin that passes through skin: pairs of triangles that cross in a pose and do not at rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices, Integers
from ...core.vectors import extent

Overlaps = Callable[[Floats, Integers, Integers | None], Indices]
"""What finds the pairs of triangles (k, 2) that cross: of positions (n, 3), triangles (t, 3) and
others (o, 3), points. Rows of others follow; one of each pair is none of these. Each pair comes
once. A search in a tree of boxes, which is not ours to write: Blender's."""

# In sizes of the character at rest: skin that is farther apart only meets, as a hand and a calf.
# Weights cannot help that.
FAR_APART = 0.2


@dataclass(frozen=True, eq=False)
class CrossingSkin:
    """The triangles of a character that may cross.

    What crosses at rest, as a box that is sunk into skin, does not count, nor what is around it.

    Attributes:
        triangles: shape (t, 3), points.
        places: shape (n,), the same number for points in one place at rest: triangles that share
            one do not cross.
        known: shape (t,), what crosses at rest, and the triangles around.
        centres: shape (t, 3), at rest.
        apart: how far apart at rest triangles may be.
        overlaps: finds what crosses.
    """

    triangles: Integers
    places: Indices
    known: Booleans
    centres: Float64s
    apart: float
    overlaps: Overlaps

    @classmethod
    def of(
        cls, rest: Floats, triangles: Integers, places: Indices, overlaps: Overlaps
    ) -> CrossingSkin:
        """Look what crosses at rest.

        Args:
            rest: shape (n, 3).
        """
        pairs = overlaps(rest, triangles, None)
        pairs = pairs[~share_corners(places[triangles], pairs)]
        touched = np.zeros(int(places.max(initial=-1)) + 1, np.bool_)
        touched[places[triangles[pairs]]] = True
        known = touched[places[triangles]].any(axis=1)
        centres = rest[triangles].mean(axis=1, dtype=np.float64)
        return cls(triangles, places, known, centres, FAR_APART * extent(rest), overlaps)

    def near(self, points: Booleans, reach: float) -> Indices:
        """The triangles around some points, (n,), as far as `reach`, at rest.

        Returns:
            shape (r,), rows of `triangles`.
        """
        inner = points[self.triangles].any(axis=1)
        if not inner.any():
            return np.zeros(0, np.intp)
        centres = self.centres[inner]
        low, high = centres.min(axis=0) - reach, centres.max(axis=0) + reach
        return np.flatnonzero(((self.centres > low) & (self.centres < high)).all(axis=1) | inner)

    def count(self, posed: Floats, corners: Integers, rows: Indices, inner: Booleans) -> int:
        """How many pairs of triangles cross in a pose, and do not at rest.

        Args:
            posed: shape (m, 3), some points.
            corners: shape (r, 3), rows of these: of some triangles.
            rows, inner: shape (r,), which triangles these are; one of a pair is an inner one.
        """
        # Of the others those whose boxes meet the box of these: all corners of those that do not
        # are beyond the same side of it (Sproull and Sutherland 1968, A clipping divider).
        beside, of_inner = np.flatnonzero(~inner), np.zeros(len(posed), np.bool_)
        of_inner[corners[inner]] = True
        there = posed[of_inner]
        sides = np.hstack((posed < there.min(axis=0), posed > there.max(axis=0)))
        first, second, third = np.packbits(sides, axis=1)[:, 0][corners[beside].T]
        met = beside[(first & second & third) == 0]
        searched = np.concatenate((rows[inner], rows[met]))
        pairs = searched[self.overlaps(posed, corners[inner], corners[met])]
        pairs = pairs[~self.known[pairs].all(axis=1)]
        ways = self.centres[pairs[:, 0]] - self.centres[pairs[:, 1]]
        pairs = pairs[np.einsum("ki,ki->k", ways, ways) < self.apart**2]
        return int(np.count_nonzero(~share_corners(self.places[self.triangles], pairs)))


def share_corners(places: Integers, pairs: Indices) -> Booleans:
    """Shape (k,), the pairs of triangles that have a corner in common.

    Args:
        places: shape (t, 3), of the corners.
        pairs: shape (k, 2).
    """
    one, other = places[pairs[:, 0]], places[pairs[:, 1]]
    return (one[:, :, None] == other[:, None]).any(axis=(1, 2))

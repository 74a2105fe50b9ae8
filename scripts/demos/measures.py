"""What the demo measures at a joint: how far the skin bulges out or is pinched in, and the volume.

*Bulge* and *pinch*: the ideal of a limb is that of two capsules that share the joint: wherever the
joint turns, a point of the skin keeps its distance from the nearer of the two limb axes. Bulge is
how much larger the distance has become at the worst point, pinch how much smaller, over the skin
within reach of the joint; where the joint bends, on its outer side only, since the inner side has
to fold. *Volume*: of the skin within reach, its openings closed with fans around their centres,
relative to the volume at rest; overlaps count twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Measures:
    """Of one joint in one pose.

    Attributes:
        bulge: metres, 0 or more; nan where the joint has no two limbs (the shoulder).
        pinch: metres, 0 or more; nan likewise.
        volume: 1 as at rest.
    """

    bulge: float
    pinch: float
    volume: float


@dataclass(frozen=True, eq=False)
class LimbAxes:
    """The two axes of a joint, as rays from it; all shape (3,), armature space.

    Attributes:
        joint: where they start.
        back: unit, along the limb before the joint, away from it.
        forth: unit, along the limb after the joint.
    """

    joint: Array
    back: Array
    forth: Array

    def posed(self, before: Array, after: Array) -> LimbAxes:
        """The axes moved along with the bones before and after the joint.

        Args:
            before: shape (4, 4), the bone's D_b, from rest to pose.
            after: shape (4, 4), likewise.
        """
        joint = after[:3, :3] @ self.joint + after[:3, 3]
        return LimbAxes(joint, before[:3, :3] @ self.back, after[:3, :3] @ self.forth)

    def nearest(self, points: Array) -> tuple[Array, Array]:
        """From the nearest points of the axes to some points, and how long that is.

        Args:
            points: shape (m, 3).

        Returns:
            shape (m, 3) and (m,).
        """
        from_joint = points - self.joint
        ways = []
        for ray in (self.back, self.forth):
            along = np.maximum(from_joint @ ray, 0.0)
            ways.append(from_joint - along[:, None] * ray)
        lengths = np.linalg.norm(ways, axis=2)
        first = lengths[0] <= lengths[1]
        return np.where(first[:, None], ways[0], ways[1]), np.minimum(*lengths)


@dataclass(frozen=True, eq=False)
class JointRegion:
    """The skin within reach of a joint.

    Attributes:
        rest: shape (n, 3), the whole mesh at rest, armature space.
        rows: shape (m,), the vertices within reach.
        faces: shape (f, 4), the quads whose vertices are all within reach.
        axes: at rest; None where bulge and pinch are not measured.
    """

    rest: Array
    rows: NDArray[np.intp]
    faces: NDArray[np.int32]
    axes: LimbAxes | None

    @classmethod
    def around(
        cls,
        joint: Array,
        reach: float,
        rest: Array,
        faces: NDArray[np.int32],
        axes: LimbAxes | None,
    ) -> JointRegion:
        """The skin within `reach` metres of a joint at rest."""
        within = np.linalg.norm(rest - joint, axis=1) < reach
        return cls(rest, np.flatnonzero(within), faces[within[faces].all(axis=1)], axes)

    def measure(self, positions: Array, before: Array, after: Array) -> Measures:
        """Compare deformed positions with those at rest.

        Args:
            positions: shape (n, 3), armature space.
            before: shape (4, 4), D_b of the bone before the joint.
            after: shape (4, 4), of the bone after it.
        """
        volume = closed_volume(positions, self.faces) / closed_volume(self.rest, self.faces)
        if self.axes is None:
            return Measures(math.nan, math.nan, volume)
        away, at_rest = self.axes.nearest(self.rest[self.rows])
        outer = _outer_side(away, self.axes, before, after)
        rows = self.rows[outer]
        _, posed = self.axes.posed(before, after).nearest(positions[rows])
        excess = posed - at_rest[outer]
        return Measures(max(0.0, float(excess.max())), max(0.0, -float(excess.min())), volume)


def _outer_side(away: Array, axes: LimbAxes, before: Array, after: Array) -> NDArray[np.bool_]:
    """Which points lie on the side that a bend stretches; all, where the joint only twists.

    Args:
        away: shape (m, 3), from the axes to the points, at rest.
        axes: at rest.
        before: shape (4, 4), D_b of the bone before the joint.
        after: shape (4, 4), of the bone after it.
    """
    turned = before[:3, :3].T @ after[:3, :3]
    axis = np.array([turned[2, 1] - turned[1, 2], turned[0, 2] - turned[2, 0], 0.0])
    axis[2] = turned[1, 0] - turned[0, 1]
    axis /= np.linalg.norm(axis)
    limb = axes.forth - axes.back
    inwards = np.cross(axis, limb / np.linalg.norm(limb))
    if np.linalg.norm(inwards) < 0.5:
        return np.ones(len(away), np.bool_)
    return away @ inwards < 0.0


def closed_volume(
    positions: Array, faces: NDArray[np.int32], loops: list[NDArray[np.int32]] | None = None
) -> float:
    """The volume inside a piece of a closed mesh, its openings closed by fans around their centres.

    By the divergence theorem, each face split from its first corner.

    Args:
        positions: shape (n, 3).
        faces: shape (f, 4), quads that wind the same way.
        loops: their `openings`, where these are known.
    """
    triangles = [positions[faces[:, [0, 1, 2]]], positions[faces[:, [0, 2, 3]]]]
    for loop in openings(faces) if loops is None else loops:
        ends = positions[loop]
        centre = np.broadcast_to(ends.mean(axis=(0, 1)), (len(loop), 3))
        # The other way round than the face beside it.
        triangles.append(np.stack((ends[:, 1], ends[:, 0], centre), axis=1))
    a, b, c = np.moveaxis(np.concatenate(triangles), 1, 0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


def openings(faces: NDArray[np.int32]) -> list[NDArray[np.int32]]:
    """The boundary's loops: arrays of directed edges, shape (k, 2), as the faces run along them."""
    edges = np.concatenate([faces[:, [i, (i + 1) % 4]] for i in range(4)])
    known = set(map(tuple, edges.tolist()))
    follows: dict[int, list[int]] = {}
    for start, end in known:
        if (end, start) not in known:
            follows.setdefault(start, []).append(end)
    loops = []
    while follows:
        start = vertex = next(iter(follows))
        loop = []
        while vertex in follows:
            end = follows[vertex].pop()
            if not follows[vertex]:
                del follows[vertex]
            loop.append((vertex, end))
            vertex = end
            if vertex == start:
                break
        loops.append(np.array(loop, np.int32))
    return loops

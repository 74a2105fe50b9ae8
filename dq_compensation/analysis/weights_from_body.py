"""The weights of clothes from the body below them.

What lies near the body, and faces the same way, takes the weights of the nearest place there. All
else is filled over the surface of the clothes (`continued_weights`): the nearest skin of a skirt
between the legs, or of a sleeve beside the trunk, is that of the wrong limb. After Abdrashitov,
Raichstat, Monsen and Hill 2023, Robust skin weights transfer via weight inpainting.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arrays import Booleans, Float64s, Floats, Indices, Int64s, Integers
from ..core.influences import Influences
from ..core.nearest_points import nearest_within
from ..core.topology import MeshArrays
from ..core.vectors import dots, summed_at, triangle_normals, unit_or
from ..steps import part_of
from .flesh.lattice import barycentric
from .flesh.surface_search import NearestOf, NearestSearch
from .soft_weights import SoftWeights, cut_weights
from .surface.continued_weights import continued_weights
from .surface.facing import facing_outward
from .surface.rigid_pieces import islands, points_of_vertices
from .surface.seams import SeamMesh
from .surface.skin_surface import SkinSurface

# What faces the same way and lies farther off, up to so many times the distance, leans to what is
# below: weights change as they do there, averaged over so much of the body's size.
_FARTHER, _LEANING = 3.0, 0.025
# What lies closer, in parts of the body's size, lies on it wherever it does not face it: in the
# creases of tight clothes normals turn, and ways between places are long.
_CLOSE = 0.0025
# Neighbours whose places on the body are farther apart, by so many times, lie on two limbs.
_APART = 1.5
# The other side of cloth is as near as this part of the body's size, faces the other way by this
# cosine, and lies behind by this one.
_THICKNESS, _TURNED, _BEHIND = 0.01, -0.5, 0.7


class Source(IntEnum):
    """Where the weights of a vertex come from."""

    KEPT = 0
    MATCHED = 1
    FILLED = 2
    CARRIED = 3


@dataclass(frozen=True, eq=False)
class ClothMesh:
    """A mesh at rest.

    Attributes:
        positions: shape (n, 3), armature space, finite.
        face_starts: shape (f,), the first corner of each face.
        corner_vertex: shape (c,).
        triangles: shape (t, 3), vertices.
        triangle_face: shape (t,).
    """

    positions: Float64s
    face_starts: Integers
    corner_vertex: Integers
    triangles: Integers
    triangle_face: Integers

    @classmethod
    def of(cls, positions: Float64s, faces: MeshArrays) -> ClothMesh:
        """A mesh with its vertices at these places."""
        return cls(
            positions,
            faces.face_starts,
            faces.corner_vertex,
            faces.triangles,
            faces.triangle_face,
        )

    @cached_property
    def points(self) -> Indices:
        """Shape (n,): vertices in one place are one point."""
        return points_of_vertices(self.positions, _none(len(self.positions)))

    @cached_property
    def normals(self) -> Float64s:
        """Shape (n, 3), outward, whatever way the faces are turned; of doubled faces one counts."""
        faces = self.face_starts, self.corner_vertex
        keys = SeamMesh(self.positions, _none(len(self.positions)), *faces).face_keys(self.points)
        once = np.zeros(len(keys), np.bool_)
        once[np.unique(keys, return_index=True)[1]] = True
        return _outward_normals(
            self.positions, self.triangles[once[self.triangle_face]], self.points
        )


@dataclass(frozen=True, eq=False)
class BodySkin:
    """What clothes take their weights from: the body, and clothes below them.

    Attributes:
        positions: shape (b, 3), armature space.
        triangles: shape (t, 3).
        influences: of the b vertices.
    """

    positions: Float64s
    triangles: Integers
    influences: Influences

    @cached_property
    def size(self) -> float:
        """The diagonal of its box."""
        return float(np.linalg.norm(np.ptp(self.positions, axis=0)))

    @cached_property
    def points(self) -> Indices:
        """Shape (b,): vertices in one place are one point, also at the seams of meshes."""
        return points_of_vertices(self.positions, _none(len(self.positions)))

    @cached_property
    def normals(self) -> Float64s:
        """Shape (b, 3), outward, whatever way the faces are turned."""
        return _outward_normals(self.positions, self.triangles, self.points)

    def with_clothes(self, cloth: ClothMesh, influences: Influences) -> BodySkin:
        """The body with clothes on it: what lies on them takes their weights."""
        triangles = np.concatenate((self.triangles, cloth.triangles + len(self.positions)))
        positions = np.concatenate((self.positions, cloth.positions))
        return BodySkin(positions, triangles, Influences.joined((self.influences, influences)))


@dataclass(frozen=True)
class Likeness:
    """What counts as lying on the body.

    Attributes:
        distance: the largest distance, in diagonals of the body's box.
        angle: the largest angle between the surfaces, radians.
    """

    distance: float
    angle: float


@dataclass(frozen=True, eq=False)
class BodyMatches:
    """The places of the body that the vertices of clothes lie on.

    Attributes:
        found: shape (n,), whether a vertex lies on the body.
        corners: shape (n, 3), the body's vertices around the nearest place.
        shares: shape (n, 3), its barycentric shares of them.
        leaning: shape (n,), of `continued_weights`: what faces the same way farther off.
        turned: shape (n,), what faces the body: a lining, the side of a sleeve at the trunk.
        normals: shape (n, 3), of the clothes, outward.
    """

    found: Booleans
    corners: Integers
    shares: Float64s
    leaning: Float64s
    turned: Booleans
    normals: Float64s

    @classmethod
    def of(
        cls, cloth: ClothMesh, body: BodySkin, search: NearestSearch, likeness: Likeness
    ) -> BodyMatches:
        """Look for them, by a search on the triangles of the body."""
        places, faces = search.nearest(cloth.positions)
        corners = body.triangles[faces]
        shares = barycentric(places, body.positions[corners]).clip(0.0, 1.0)
        shares /= shares.sum(axis=1, keepdims=True)
        below = unit_or(np.einsum("ns,nsk->nk", shares, body.normals[corners]), 0.0)
        normals = cloth.normals.copy()
        cosines = dots(normals, below)
        distances = np.linalg.norm(cloth.positions - places, axis=1)
        near = distances <= likeness.distance * body.size
        # Pieces most of which face the body are inside out.
        pieces = _pieces(cloth)
        votes = np.where(near, cosines, 0.0)
        inside_out = np.bincount(pieces, votes, len(pieces))[pieces] < 0.0
        cosines[inside_out], normals[inside_out] = -cosines[inside_out], -normals[inside_out]
        # What has no faces has no side.
        loose = ~normals.any(axis=1)
        alike = cosines >= np.cos(likeness.angle)
        close = (distances <= _CLOSE * body.size) & (cosines > 0.0)
        found = near & ((alike & ~_torn(cloth, places)) | close | loose)
        farther = distances / (likeness.distance * body.size)
        leaning = alike * (1.0 - farther / _FARTHER).clip(0.0, 1.0) * _LEANING**-4
        turned = (cosines < 0.0) & ~loose
        return cls(found, corners, shares, leaning, turned, normals)

    def influences(self, of_body: Influences) -> Influences:
        """The weights of the places."""
        return of_body.blended(self.corners, self.shares)


@dataclass(frozen=True, eq=False)
class BodyWeights:
    """New weights of clothes.

    Attributes:
        soft: of the vertices that get new ones.
        sources: shape (n,), int8, a `Source` each.
        carried: the vertices of each loose piece that nothing of the body is near to.
    """

    soft: SoftWeights
    sources: NDArray[np.int8]
    carried: tuple[Indices, ...]


def weights_from_body(
    cloth: ClothMesh,
    body: BodySkin,
    search_of: NearestOf,
    likeness: Likeness,
    *,
    kept: Booleans,
    before: Influences,
    most: int,
) -> Generator[float, None, BodyWeights | None]:
    """Find the weights of clothes; lengths count in diagonals of the body's box.

    Args:
        kept: shape (n,), vertices that keep their weights. The others go on from these.
        before: the influences of the n vertices.
        most: the most bones that a vertex follows, `cut_weights`.

    Returns:
        the weights; None where no vertex lies on the body, or keeps weights.
    """
    count = len(cloth.positions)
    search = search_of(body.positions, body.triangles)
    matches = BodyMatches.of(cloth, body, search, likeness)
    yield 0.3
    surface = _surface(cloth, matches, body.size)
    influences = matches.influences(body.influences)
    held = kept & (before.weights[:, 0] > 0.0)
    weighted = influences.weights[:, 0] > 0.0
    matched, leaning = matches.found & ~kept & weighted, matches.leaning * weighted
    influences = influences.with_rows(np.flatnonzero(held), before.at(np.flatnonzero(held)))
    points = surface.point_of_vertex
    # A point has the weights of one of its vertices: of one that keeps them, if there is one.
    known, of_point = np.zeros(len(surface.vertices), np.bool_), surface.vertices.copy()
    for vertices in (np.flatnonzero(matched), np.flatnonzero(held)):
        known[points[vertices]] = True
        of_point[points[vertices]] = vertices
    if not known.any():
        return None
    at_points = influences.at(of_point)
    steps = continued_weights(surface, known, at_points, leaning[of_point])
    continued = yield from part_of(steps, 0.3, 0.6)
    rows = _convex(continued.weights, continued.bones, most)
    every = at_points.with_rows(continued.points, rows)
    reached = known.copy()
    reached[continued.points] = True
    lost = np.flatnonzero(~reached)
    every, carried = _carried(cloth, surface, every, reached, lost, search_of)
    sources = np.full(count, Source.FILLED, np.int8)
    sources[known[points]] = Source.MATCHED
    sources[~reached[points]] = Source.CARRIED
    sources[kept] = Source.KEPT
    changed = np.flatnonzero(~kept)
    new = every.at(points[changed])
    soft = SoftWeights(changed, new.bones, new.weights).cut(most)
    return BodyWeights(soft, sources, carried)


def _carried(
    cloth: ClothMesh,
    surface: SkinSurface,
    influences: Influences,
    reached: Booleans,
    lost: Indices,
    search_of: NearestOf,
) -> tuple[Influences, tuple[Indices, ...]]:
    """Give each piece that was not reached the weights of the nearest place of the others.

    Returns:
        the influences of the points; the vertices of each of these pieces.
    """
    if not len(lost):
        return influences, ()
    points = surface.point_of_vertex
    triangles = points[cloth.triangles]
    triangles = triangles[reached[triangles].all(axis=1)]
    if len(triangles):
        places, faces = search_of(surface.positions, triangles).nearest(surface.positions[lost])
        corners = triangles[faces]
        shares = barycentric(places, surface.positions[corners]).clip(0.0, 1.0)
        away = np.linalg.norm(surface.positions[lost] - places, axis=1)
    else:
        # Nothing but loose vertices was reached.
        corners = np.broadcast_to(np.flatnonzero(reached)[:1], (len(lost), 3))
        shares, away = np.full((len(lost), 3), 1.0 / 3.0), np.zeros(len(lost))
    pieces = surface.pieces[lost]
    order = np.lexsort((away, pieces))
    names, first = np.unique(pieces[order], return_index=True)
    nearest = order[first]
    of_pieces = influences.blended(corners[nearest], shares[nearest])
    every = influences.with_rows(lost, of_pieces.at(np.searchsorted(names, pieces)))
    of_vertices = surface.pieces[points]
    vertices = np.flatnonzero(np.isin(of_vertices, names))
    vertices = vertices[np.argsort(of_vertices[vertices], kind="stable")]
    sizes = np.flatnonzero(np.diff(of_vertices[vertices])) + 1
    return every, tuple(np.split(vertices, sizes))


def _convex(weights: Floats, bones: Integers, most: int) -> Influences:
    """Weights (m, g) of bones (g,) without those below 0, of `most` bones at most, as rows."""
    positive = np.maximum(weights, 0.0)
    # One more than are kept: `cut_weights` takes that one off.
    width = min(most + 1, positive.shape[1])
    if width < positive.shape[1]:
        chosen = np.argpartition(-positive, width - 1, axis=1)[:, :width]
    else:
        chosen = np.broadcast_to(np.arange(width), (len(positive), width))
    found = np.take_along_axis(positive, chosen, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    chosen = np.take_along_axis(chosen, order, axis=1)
    found = cut_weights(np.take_along_axis(found, order, axis=1), most)
    of_bones = bones[chosen] if width else np.zeros((len(weights), 0))
    return Influences(of_bones.astype(np.int32), found.astype(np.float32))


def _surface(cloth: ClothMesh, matches: BodyMatches, size: float) -> SkinSurface:
    """The surface of clothes, in diagonals of the body's box: both sides of cloth are one.

    Along the rim of a lining there is no slope that could go on.
    """
    inner, outer = np.flatnonzero(matches.turned), np.flatnonzero(~matches.turned)
    positions, points = cloth.positions.copy(), cloth.points
    partner = nearest_within(positions[outer], positions[inner], _THICKNESS * size)
    inner, outer = inner[partner >= 0], outer[partner[partner >= 0]]
    ways = unit_or(positions[outer] - positions[inner], 0.0)
    normals = matches.normals
    behind = dots(ways, -normals[inner]) >= _BEHIND
    behind &= dots(normals[inner], normals[outer]) <= _TURNED
    inner, outer = inner[behind], outer[behind]
    positions[inner] = positions[outer]
    pairs = np.stack((points[inner], points[outer]), axis=1)
    joined = islands(pairs, len(positions))[points]
    joined = np.unique(joined, return_inverse=True)[1].reshape(-1)
    none = _none(len(positions))
    faces = cloth.face_starts, cloth.corner_vertex
    return SkinSurface.of(positions / size, none, *faces, joined)


def _torn(cloth: ClothMesh, places: Float64s) -> Booleans:
    """Shape (n,), the ends of edges that are short beside the way between their places (n, 3)."""
    ends = cloth.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    apart, edges = (
        np.linalg.norm(each[ends[:, 0]] - each[ends[:, 1]], axis=1)
        for each in (places, cloth.positions)
    )
    torn = np.zeros(len(places), np.bool_)
    torn[cloth.points[ends[apart > _APART * edges]]] = True
    return torn[cloth.points]


def _pieces(cloth: ClothMesh) -> Int64s:
    """Shape (n,), the connected piece of each vertex: a vertex of it."""
    ends = cloth.points[cloth.triangles[:, [0, 1, 1, 2]].reshape(-1, 2)]
    return islands(ends, len(cloth.positions))[cloth.points]


def _outward_normals(positions: Float64s, triangles: Integers, points: Indices) -> Float64s:
    """Shape (n, 3), of vertices; of what has no faces 0."""
    first = np.unique(points, return_index=True)[1]
    turned = facing_outward(positions[first], points[triangles])
    normals = triangle_normals(positions[first][turned])
    return unit_or(summed_at(turned, normals, len(first)), 0.0)[points]


def _none(count: int) -> Influences:
    """The influences of vertices without weights."""
    return Influences(np.zeros((count, 1), np.int32), np.zeros((count, 1), np.float32))

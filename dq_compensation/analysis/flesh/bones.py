"""Bones in the flesh: which nodes they hold, and where these go.

Bones that move alike in a pose are one *body*. Each node belongs to one, by the weights of the skin
next to it. What is near the bones of its own body is their *core*, and follows the body; so does
the *border* of the region, which follows the skin as the base deforms it, too. To where the base
has them springs draw other nodes: `base_springs`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices, Int64s
from ...core.skeleton import Skeleton, depths
from ...core.vectors import dots, transformed_points, unit_or
from .base_springs import Springs, stiffness_to_base
from .lattice import Lattice
from .region import FleshRegion, distances_from_segments
from .way import WayToPose

# How thick the core of a bone is, in parts of the way from the bone to the skin: of a limb, and of
# a bone that is thicker than long, as in a trunk.
_CORE, _THICK_CORE = 0.2, 0.45
# Cosine of the angle from a bone to one that hangs on it and goes on.
_GOES_ON = 0.7
# Nodes of a core are nearer to their own body than to others, at rest and posed, by this.
_OWN = 0.8
# The border begins here, in reaches.
BORDER = 0.82
# Vertices that tell a node of the border what the base does, and what keeps their shares finite, in
# cells.
_TELLING, _SMALLEST = 4, 0.3
# Bodies move alike within this, in lengths of the region.
_ALIKE = 1e-5
# Rounds in which a node takes the body of most of its neighbours.
_ROUNDS = 2
# Distances that are computed at once.
_MOST_NUMBERS = 4_000_000


def core_bones(region: FleshRegion) -> Indices:
    """The bones of the skeleton that are in the flesh: not those of a face, or of a breast.

    Such a bone moves skin, nothing hangs on it, and another bone goes on where its parent ends.
    """
    skin = region.skin
    skeleton, parents = skin.skeleton, skin.body_parents
    moves = skin.moves
    children = np.bincount(parents[parents >= 0], minlength=len(parents))
    ways = unit_or(skeleton.tails - skeleton.heads, 0.0)
    above = np.maximum(parents, 0)
    aside = dots(ways, ways[above]) < _GOES_ON
    leaf = (children == 0) & (parents >= 0) & (children[above] > 1) & aside
    return np.flatnonzero(moves & ~leaf)


@dataclass(frozen=True, eq=False)
class HeldNodes:
    """The nodes of a lattice that bones hold in a pose, and the border.

    Attributes:
        lattice: whose nodes.
        way: the way to the pose.
        reference: a bone that counts as standing still.
        bodies: a bone of each body.
        body: shape (N,), of each node.
        border: shape (N,), bool.
        held: shape (N,), bool; of the cores and of the border.
        outer, around: shape (N,), the stiffness of springs on the other nodes: on the outer side,
            and where the base is sound.
        with_skin: shape (k,), the nodes of the border and those with springs.
        telling: shape (k, 4), vertices of the region, and `told`, how much each says of these.
        depth: shape (N,), 0 at the bone to 1 at the skin.
    """

    lattice: Lattice
    way: WayToPose
    reference: int
    bodies: Int64s
    body: Int64s
    border: Booleans
    held: Booleans
    outer: Float64s
    around: Float64s
    with_skin: Indices
    telling: Indices
    told: Float64s
    depth: Float64s

    @classmethod
    def of(cls, lattice: Lattice, way: WayToPose) -> HeldNodes:
        """Find them for one pose."""
        region = lattice.region
        reference = _reference(region)
        posed = _relative_to(way.matrices(1.0), reference)
        of_bone, bodies = _bodies(posed, lattice)
        skin_body = _strongest(region, of_bone, len(bodies))
        places = lattice.to_armature(lattice.nodes)
        border = (region.relative(places) > BORDER) | lattice.of_others
        nearest = _nearest_vertices(lattice, lattice.nodes, 1)[0]
        body = _of_most(lattice, skin_body[nearest[:, 0]], len(bodies))
        cores = core_bones(region)
        own, other, core = _from_bones(region.skin.skeleton, cores, of_bone, body, places, None)
        moved = np.empty_like(places)
        for row, bone in enumerate(bodies.tolist()):
            moved[body == row] = transformed_points(posed[bone], places[body == row])
        own_posed, other_posed, _ = _from_bones(
            region.skin.skeleton, cores, of_bone, body, moved, posed
        )
        depths = np.maximum(-lattice.depths, 0.0) * region.cell
        share = np.where(np.isfinite(own), own / np.maximum(own + depths, 1e-300), 1.0)
        thickness = _thickness(region, cores)
        held = (share < thickness[core]) & (lattice.depths < 0.0)
        held &= (own < _OWN * other) & (own_posed < _OWN * other_posed)
        held |= border
        outer, around = stiffness_to_base(lattice, posed, places)
        outer[held] = around[held] = 0.0
        with_skin = np.flatnonzero(border | (outer > 0.0) | (around > 0.0))
        telling, squares = _nearest_vertices(lattice, lattice.nodes[with_skin], _TELLING)
        told = 1.0 / (squares + _SMALLEST**2)
        told /= told.sum(axis=1, keepdims=True)
        return cls(
            lattice, way, reference, bodies, body, border, held, outer, around, with_skin, telling,
            told, share,
        )  # fmt: skip

    def springs(self, sound: Floats) -> Springs:
        """The springs, where the base is sound by so much, shape (v,): `where_sound`."""
        part = np.zeros(len(self.around))
        part[self.with_skin] = (self.told * sound[self.telling]).sum(axis=1)
        return Springs(np.maximum(self.outer, part * self.around))

    def to_reference(self, share: float) -> Float64s:
        """The matrix (4, 4) from armature space to where the reference stands still."""
        return np.linalg.inv(self.way.matrices(share)[self.reference])

    def base_ways(self, share: float, base: Floats) -> Float64s:
        """How far the base is from where painted weights take the skin, shape (v, 3).

        Args:
            base: shape (v, 3), armature space, after a share of the way.
        """
        skinned = self._skinning(_relative_to(self.way.matrices(share), self.reference))
        rest = self.lattice.region.rest
        found = transformed_points(self.to_reference(share), base)
        return found - np.einsum("vij,vj->vi", skinned[:, :3, :3], rest) - skinned[:, :3, 3]

    def places(self, share: float, base_ways: Floats) -> Float64s:
        """Where nodes are held or drawn to, shape (3, N), in the lattice's places.

        Cores go with their bodies. The border goes from there to where the skin next to it goes,
        the more the nearer it is to the skin; springs draw nodes to where the skin goes.

        Args:
            base_ways: of `base_ways`, after this share of the way.
        """
        lattice = self.lattice
        posed = _relative_to(self.way.matrices(share), self.reference)
        rest = lattice.to_armature(lattice.nodes)
        places = rest.copy()
        for row, bone in enumerate(self.bodies.tolist()):
            of_body = self.body == row
            places[of_body] = transformed_points(posed[bone], rest[of_body])
        at, skinned = self.with_skin, self._skinning(posed)
        with_skin = np.zeros((len(at), 3))
        for told, vertices in zip(self.told.T, self.telling.T, strict=True):
            matrices = skinned[vertices]
            moved = np.einsum("nij,nj->ni", matrices[:, :3, :3], rest[at]) + matrices[:, :3, 3]
            with_skin += told[:, None] * (moved + base_ways[vertices])
        part = np.where(self.border[at], np.clip(self.depth[at], 0.0, 1.0), 1.0)
        places[at] += part[:, None] * (with_skin - places[at])
        return np.ascontiguousarray(lattice.from_armature(places).T)

    def _skinning(self, posed: Float64s) -> Float64s:
        """The matrices (v, 4, 4) by which painted weights take the skin."""
        region = self.lattice.region
        found = np.zeros((len(region.vertices), 4, 4))
        for rows, bones, weights in region.skin.influences.at(region.vertices).slots():
            found[rows] += weights[:, None, None] * posed[bones]
        found[found[:, 3, 3] == 0.0] = np.eye(4)  # what no bone moves
        return found


def _reference(region: FleshRegion) -> int:
    """The bone before the joint that fewest bones are above."""
    parents = region.skin.body_parents
    return int(parents[region.joints[int(depths(parents)[region.joints].argmin())]])


def _relative_to(matrices: Float64s, bone: int) -> Float64s:
    return np.linalg.inv(matrices[bone]) @ matrices


def _bodies(posed: Float64s, lattice: Lattice) -> tuple[Int64s, Int64s]:
    """The body of each bone, shape (B,), and the first bone of each body.

    Args:
        posed: shape (B, 4, 4), in a pose.
    """
    region = lattice.region
    size = float(region.reaches.max())
    ends = np.vstack((np.zeros(3), size * np.eye(3))) + lattice.middle
    corners = np.einsum("bij,kj->bki", posed[:, :3, :3], ends) + posed[:, None, :3, 3]
    of_bone, first = np.full(len(posed), -1), []
    # What moves skin of the region comes first: it names the bodies.
    for bone in range(len(posed)):
        if of_bone[bone] >= 0:
            continue
        alike = np.abs(corners - corners[bone]).max(axis=(1, 2)) < _ALIKE * size
        of_bone[alike & (of_bone < 0)] = len(first)
        first.append(bone)
    return of_bone, np.array(first)


def _strongest(region: FleshRegion, of_bone: Int64s, count: int) -> Int64s:
    """Shape (v,), the body that has most of the weight of each vertex."""
    influences = region.skin.influences.at(region.vertices)
    sums = np.zeros((len(region.vertices), count))
    for rows, bones, weights in influences.slots():
        sums[np.arange(len(sums))[rows], of_bone[bones]] += weights
    return sums.argmax(axis=1)


def _nearest_vertices(lattice: Lattice, places: Float64s, most: int) -> tuple[Indices, Float64s]:
    """The nearest vertices of places (m, 3), nearest first, and their squared distances, in cells.

    Both have the shape (m, most), or as many columns as there are vertices.
    """
    skin = lattice.from_armature(lattice.region.rest)
    most = min(most, len(skin))
    found = np.zeros((len(places), most), np.intp)
    distances = np.zeros((len(places), most))
    rows = max(1, _MOST_NUMBERS // len(skin))
    lengths = (skin**2).sum(axis=1)
    for start in range(0, len(places), rows):
        at = slice(start, start + rows)
        squares = (places[at] ** 2).sum(axis=1)[:, None] + lengths - 2.0 * (places[at] @ skin.T)
        if most == 1:
            near = squares.argmin(axis=1)[:, None]
        else:
            near = np.argpartition(squares, most - 1, axis=1)[:, :most]
        of_near = np.take_along_axis(squares, near, axis=1)
        order = np.argsort(of_near, axis=1, kind="stable")
        found[at] = np.take_along_axis(near, order, axis=1)
        distances[at] = np.maximum(np.take_along_axis(of_near, order, axis=1), 0.0)
    return found, distances


def _of_most(lattice: Lattice, body: Int64s, count: int) -> Int64s:
    """The body that most of a node's neighbours have, a few times."""
    corners, nodes = lattice.corners, len(lattice.nodes)
    for _ in range(_ROUNDS):
        found = np.zeros((count, nodes))
        for row in np.unique(body).tolist():
            of_cubes = (body == row)[corners].sum(axis=1)
            found[row] = np.bincount(corners.ravel(), np.repeat(of_cubes, 8), nodes)
        body = found.argmax(axis=0)
    return body


def _from_bones(
    skeleton: Skeleton,
    bones: Indices,
    of_bone: Int64s,
    body: Int64s,
    points: Float64s,
    posed: Float64s | None,
) -> tuple[Float64s, Float64s, Indices]:
    """The distances of points (m, 3) from bones of their own body, and of others; inf without any.

    Returns:
        both, shape (m,), and which of the bones of the own body is nearest.
    """
    own, other = np.full(len(points), np.inf), np.full(len(points), np.inf)
    nearest = np.zeros(len(points), np.intp)
    heads, tails = skeleton.heads[bones], skeleton.tails[bones]
    if posed is not None:
        linear, moved = posed[bones, :3, :3], posed[bones, :3, 3]
        heads, tails = (np.einsum("bij,bj->bi", linear, at) + moved for at in (heads, tails))
    # Bones of a body that are farther from all points than another one of it are left out.
    middle = points.mean(axis=0)
    away = distances_from_segments(middle, heads, tails)
    radius = float(np.linalg.norm(points - middle, axis=1).max(initial=0.0))
    least = np.full(int(of_bone.max()) + 1, np.inf)
    np.minimum.at(least, of_bone[bones], away + radius)
    for row in np.flatnonzero(away - radius <= least[of_bone[bones]]).tolist():
        bone = bones[row]
        distances = distances_from_segments(points, heads[row], tails[row])
        is_own = body == of_bone[bone]
        nearer = is_own & (distances < own)
        own[nearer], nearest[nearer] = distances[nearer], row
        np.minimum(other, np.where(is_own, np.inf, distances), out=other)
    return own, other, nearest


def _thickness(region: FleshRegion, bones: Indices) -> Float64s:
    """How thick the core of each bone is, in parts of the way to the skin."""
    skin = region.skin
    skeleton, strongest = skin.skeleton, skin.influences.bones[:, 0]
    lengths = np.linalg.norm(skeleton.tails - skeleton.heads, axis=1)
    found = np.full(len(bones), _CORE)
    for row, bone in enumerate(bones.tolist()):
        own = np.flatnonzero(strongest == bone)
        if len(own):
            points = np.asarray(skin.positions, np.float64)[own]
            radius = np.median(
                distances_from_segments(points, skeleton.heads[bone], skeleton.tails[bone])
            )
            if radius > lengths[bone]:
                found[row] = _THICK_CORE
    return found

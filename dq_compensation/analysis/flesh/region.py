"""The skin round joints that is solved: how far it reaches, and how fine its lattice is.

Both come from the radius of the limb at the joint: half of the width of the loop along which the
skin goes over from the bones before the joint to those behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices, Int32s, Int64s, Integers
from ...core.limb_joints import LimbJoints
from ...core.skeleton import Ancestry, depths
from ...core.skin_at_rest import SkinAtRest
from ...core.vectors import cross, dots
from ...errors import UserError
from ..surface.rigid_pieces import islands

# How far the region reaches, in radii of the limb: at a limb that leaves the body, and how much
# farther where two limbs are one with a joint in it.
_REACH, _HINGE_REACH = 2.7, 1.2
# Cells along a reach.
_CELLS = 15.0
# Skin this far away still tells which side of the surface a point is on, in reaches.
_AROUND = 1.6
# Skin of bones that are farther than this along the skeleton, and than this in a straight line, is
# another part of the body, as a face beside a shoulder; both in reaches.
_FAR_ALONG, _FAR_AWAY = 1.25, 0.6
# Skin that is thinner than this on average has no flesh between its sides, in cells.
_THINNEST = 0.5
# The weight from which skin is on a side of the joint.
_HALF = 0.5


@dataclass(frozen=True, eq=False)
class FleshRegion:
    """The skin round some joints, and the size of its lattice. Armature space, at rest.

    Attributes:
        skin: as it was painted.
        joints: shape (J,), the bones at whose heads the joints are.
        reaches: shape (J,), how far the region reaches from each joint.
        cell: the length of a cell's edge.
        vertices: shape (v,), rows of the skin, sorted by place: results do not depend on the order.
        triangles: shape (t, 3), rows of `vertices`.
        around: shape (s, 3), rows of the skin; triangles of the same parts, somewhat farther.
        of_others: shape (s,), which of these are of other parts of the body, as the next finger.
    """

    skin: SkinAtRest
    joints: Indices
    reaches: Float64s
    cell: float
    vertices: Indices
    triangles: Int64s
    around: Int64s
    of_others: Booleans

    @classmethod
    def of(
        cls, skin: SkinAtRest, triangles: Integers, joints: Sequence[int], fineness: float = 1.0
    ) -> FleshRegion:
        """The region round joints.

        Args:
            skin: at rest; its bones have their tails at the ends of their limbs.
            triangles: shape (t, 3), vertices: `surface.facing.facing_outward`.
            joints: bones, at least one.
            fineness: by which cells are smaller.

        Raises:
            UserError: there is no skin to solve.
        """
        skin = skin.as_painted
        positions = np.asarray(skin.positions, np.float64)
        _require_finite(positions)
        found = np.array(sorted(set(joints)), np.intp)
        triangles = np.asarray(triangles, np.int64)
        radii = np.array([_radius(skin, triangles, bone) for bone in found.tolist()])
        confidence = LimbJoints.by_parents(skin.skeleton, "AUTO", skin.body_parents)
        reaches = radii * (_REACH + _HINGE_REACH * confidence.hinge_confidence[found])
        centres = skin.skeleton.heads[found]
        near = _relative(positions, centres, reaches)
        of_limbs = _of_these_limbs(skin, centres, found, reaches)
        near[~of_limbs] = np.inf

        inside = triangles[(near < 1.0)[triangles].all(axis=1)]
        labels = islands(inside[:, [0, 1, 1, 2]].reshape(-1, 2), len(positions))
        kept = np.zeros(len(positions), np.bool_)
        for bone in found.tolist():
            kept[_parts_at(skin, inside, labels, bone)] = True
        inside = inside[kept[labels[inside[:, 0]]]]
        vertices = np.unique(inside)
        order = np.lexsort(positions[vertices].T[::-1])
        vertices = vertices[order]
        place = np.full(len(positions), -1)
        place[vertices] = np.arange(len(vertices))
        whole = islands(triangles[:, [0, 1, 1, 2]].reshape(-1, 2), len(positions))
        same = np.isin(whole[triangles[:, 0]], np.unique(whole[vertices]))
        wide = (_relative(positions, centres, reaches) < _AROUND)[triangles].all(axis=1)
        cell = float(np.exp(np.log(reaches).mean())) / (_CELLS * fineness)
        around = _in_order(triangles[same & wide], positions)
        of_others = ~of_limbs[around].all(axis=1)
        rows = _sorted(place[inside])
        region = cls(skin, found, reaches, cell, vertices, rows, around, of_others)
        _require_thickness(region)
        return region

    @cached_property
    def centres(self) -> Float64s:
        """Shape (J, 3), the joints."""
        return self.skin.skeleton.heads[self.joints]

    @cached_property
    def rest(self) -> Float64s:
        """Shape (v, 3), the vertices at rest."""
        return np.asarray(self.skin.positions, np.float64)[self.vertices]

    @cached_property
    def edges(self) -> Int64s:
        """Shape (e, 2), rows of `vertices`."""
        return _edges(self.triangles)

    def relative(self, points: Floats) -> Float64s:
        """Shape (m,), how far points (m, 3) are from the nearest joint, in its reaches."""
        return _relative(points, self.centres, self.reaches)

    @property
    def names(self) -> str:
        """The joints, for messages."""
        return ", ".join(self.skin.skeleton.names[bone] for bone in self.joints.tolist())


def bones_behind(skin: SkinAtRest, bone: int) -> Booleans:
    """Shape (B,), a bone and all that hang on it."""
    ancestry = Ancestry.of(skin.body_parents)
    return (ancestry.enter >= ancestry.enter[bone]) & (ancestry.enter < ancestry.leave[bone])


def _shares_behind(skin: SkinAtRest, bone: int) -> Float64s:
    """Shape (n,), the weight of a bone and of all that hang on it."""
    behind = bones_behind(skin, bone)[skin.influences.bones]
    return np.where(behind, skin.influences.weights, 0.0).sum(axis=1, dtype=np.float64)


def _radius(skin: SkinAtRest, triangles: Int64s, bone: int) -> float:
    """The median distance from a joint of the loop where the skin goes over to what is behind."""
    name = skin.skeleton.names[bone]
    if skin.body_parents[bone] < 0:
        raise UserError(
            f"{name} hangs on no bone that moves the mesh: nothing folds at its head. "
            f"Choose a bone further down its limb"
        )
    shares = _shares_behind(skin, bone)
    is_behind = shares >= _HALF
    sides = is_behind[triangles]
    first, second = _edges(triangles[sides.any(axis=1) & ~sides.all(axis=1)]).T
    across = is_behind[first] != is_behind[second]
    first, second = first[across], second[across]
    if not len(first):
        raise UserError(
            f"At the head of {name} no skin goes over from one bone to another: nothing folds "
            f"there. Choose a joint that bends this mesh"
        )
    part = (_HALF - shares[first]) / (shares[second] - shares[first])
    positions = np.asarray(skin.positions, np.float64)
    points = positions[first] + part[:, None] * (positions[second] - positions[first])
    radius = float(np.median(np.linalg.norm(points - skin.skeleton.heads[bone], axis=1)))
    if not radius > 0.0:
        raise UserError(
            f"The skin at the head of {name} has no thickness: there is nothing to fold"
        )
    return radius


def _parts_at(skin: SkinAtRest, inside: Int64s, labels: Int64s, bone: int) -> Int64s:
    """The labels of connected parts that have skin on both sides of a joint."""
    shares, vertices = _shares_behind(skin, bone), np.unique(inside)
    behind, before = (
        np.unique(labels[vertices[(shares[vertices] >= _HALF) == side]]) for side in (True, False)
    )
    parts = np.intersect1d(behind, before)
    if not len(parts):
        raise UserError(
            f"Round the head of {skin.skeleton.names[bone]} the mesh has no face to solve: its "
            f"faces are larger than the limb is thick. Subdivide the mesh there"
        )
    return parts


def _of_these_limbs(
    skin: SkinAtRest, centres: Float64s, joints: Indices, reaches: Float64s
) -> Booleans:
    """Shape (n,), whether the strongest bone of each vertex is no other part of the body."""
    skeleton, parents = skin.skeleton, skin.body_parents
    far = np.ones(len(parents), np.bool_)
    for joint, centre, reach in zip(joints.tolist(), centres, reaches, strict=True):
        along = _ways_along(skeleton.heads, parents, joint)
        away = distances_from_segments(centre, skeleton.heads, skeleton.tails)
        far &= (along > _FAR_ALONG * reach) & (away > _FAR_AWAY * reach)
    return ~far[skin.influences.bones[:, 0]]


def _ways_along(heads: Float64s, parents: Int32s, joint: int) -> Float64s:
    """How far each bone is from a joint along the skeleton, shape (B,); inf where nothing leads."""
    lengths = np.where(parents >= 0, np.linalg.norm(heads - heads[parents], axis=1), 0.0)
    ways = np.full(len(parents), np.inf)
    bone, way = joint, 0.0
    ways[joint] = 0.0
    from_head = {joint: 0.0}
    while (parent := int(parents[bone])) >= 0:
        ways[parent] = way  # to its end that is nearer
        way += float(lengths[bone])
        from_head[parent] = way
        bone = parent
    for bone in np.argsort(depths(parents), kind="stable").tolist():
        parent = int(parents[bone])
        if bone in from_head or parent < 0:
            continue
        at_parent = from_head.get(parent, ways[parent])
        ways[bone] = at_parent + lengths[bone]
    return ways


def distances_from_segments(points: Floats, heads: Floats, tails: Floats) -> Float64s:
    """The distances of points from segments; both (m, 3), or one of either."""
    ways = tails - heads
    squares = np.maximum((ways**2).sum(axis=-1), 1e-300)
    along = np.clip(((points - heads) * ways).sum(axis=-1) / squares, 0.0, 1.0)
    return np.linalg.norm(points - heads - along[..., None] * ways, axis=-1)


def _relative(points: Floats, centres: Float64s, reaches: Float64s) -> Float64s:
    away = np.stack([np.linalg.norm(points - centre, axis=1) for centre in centres], axis=1)
    return (away / reaches).min(axis=1)


def _require_finite(positions: Float64s) -> None:
    broken = np.flatnonzero(~np.isfinite(positions).all(axis=1))
    if len(broken):
        raise UserError(
            f"The place of vertex {broken[0]} is not a finite number, nor that of "
            f"{len(broken) - 1} others. Delete them, or restore the mesh"
        )


def _require_thickness(region: FleshRegion) -> None:
    """A sheet has twice its thickness in volume for its area; a tube its radius."""
    corners = region.rest[region.triangles]
    one, other = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = 0.5 * float(np.linalg.norm(cross(one, other), axis=1).sum())
    volume = abs(enclosed_volume(region.rest, region.triangles))
    if 2.0 * volume < _THINNEST * region.cell * area:
        raise UserError(
            f"The skin at the head of {region.names} is a sheet, or as thin as one: there is no "
            f"flesh that folds. Choose joints of limbs, or give the mesh a thickness"
        )


def enclosed_volume(points: Floats, triangles: Int64s) -> float:
    """The volume that triangles enclose, each border closed with a fan round its middle."""
    middle = points[np.unique(triangles)].mean(axis=0)
    a, b, c = (points[triangles] - middle).swapaxes(0, 1)
    total = float(dots(a, cross(b, c)).sum())
    edges = np.concatenate([triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    count = len(points)
    forth, back = edges[:, 0] * count + edges[:, 1], edges[:, 1] * count + edges[:, 0]
    border = edges[~np.isin(forth, back)][:, ::-1]
    of_loops = islands(border, count)[border[:, 0]]
    for loop in np.unique(of_loops).tolist():
        ends = points[border[of_loops == loop]] - middle
        top = ends.mean(axis=(0, 1))
        total += float(
            dots(np.broadcast_to(top, ends[:, 0].shape), cross(*ends.swapaxes(0, 1))).sum()
        )
    return total / 6.0


def _edges(triangles: Int64s) -> Int64s:
    """The edges of triangles, shape (e, 2), each once."""
    ends = triangles.T
    low, high = (each(ends, np.roll(ends, -1, axis=0)) for each in (np.minimum, np.maximum))
    count = int(triangles.max(initial=-1)) + 1
    keys = np.unique(low.ravel() * count + high.ravel())  # numbers are sorted faster than pairs
    return np.stack(np.divmod(keys, max(count, 1)), axis=1)


def _sorted(triangles: Int64s) -> Int64s:
    """Triangles with their least corner first, by their corners: the same in any order of faces."""
    first = triangles.argmin(axis=1)[:, None]
    turned = np.take_along_axis(triangles, (first + np.arange(3)) % 3, axis=1)
    return turned[np.lexsort(turned.T[::-1])]


def _in_order(triangles: Int64s, positions: Float64s) -> Int64s:
    """The same by the places of their corners."""
    vertices = np.unique(triangles)
    vertices = vertices[np.lexsort(positions[vertices].T[::-1])]
    place = np.zeros(len(positions), np.int64)
    place[vertices] = np.arange(len(vertices))
    return vertices[_sorted(place[triangles])]

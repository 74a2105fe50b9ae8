"""How much skin comes through clothes: five pieces on the human with three rigs, in nine poses.

Soft weights are compared with the weights as painted, and with clothes that are *tied*: each vertex
is carried by the nearest triangle of the skin, as Surface Deform does. Long faces of cloth cut
through twisted skin even then; no weights can help that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.core.vectors import cross, dots, unit_or
from human.dressed import GLOVES, LEG, SHIRT, SHOES, TROUSERS, add_mesh, garment
from human.model import Rig, build_armature, load_human_arrays
from human.poses import Rotations, apply_pose, rotation, twist_about_parent
from quality.human import BONES
from quality.poses import MORE_BONES

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# Of each piece what it covers, how far above the skin it lies, in metres, and the share of the
# body's faces that it has.
CLOTHES: dict[str, dict[str, Any]] = {
    "shirt": {"Shirt": (SHIRT, 0.004, 0.4)},
    "trousers": {"Shirt": (SHIRT, 0.004, 0.4), "Trousers": (TROUSERS, 0.008, 0.4)},
    "gloves": {"Gloves": (GLOVES, 0.002, 0.5)},
    "shoes": {"Shoes": (SHOES, 0.003, 0.5)},
    "suit": {"Suit": (lambda name: SHIRT(name) or LEG(name), 0.002, 0.4)},
}
# The looks that are compared with the first one.
LOOKS = {
    "as painted": {"softness": 0.0, "twist_spread": 0.0},
    "soft": {"softness": 0.5, "twist_spread": 0.0},
    "soft, twists spread": {"softness": 0.5, "twist_spread": 1.0},
}
# Skin is below a piece of clothes where this is nearer at rest; and what counts as through, metres.
COVERED, THROUGH = 0.012, 1e-4
# A cloth that is farther is another part of it.
_REACH = 0.05
# Barycentric coordinates below this are on an edge.
_ON_EDGE = 1e-3
# So many vertices more come through, and so much farther, in metres, at most.
MORE, FARTHER = 2, 1e-3


def clothes_poses(rig: Rig) -> dict[str, Rotations]:
    """The nine poses; the elbow is bent by 47 degrees at rest."""
    arm, thigh, _, forearm, _, hand, *_ = BONES[rig]
    before_hand, spine, _ = MORE_BONES[rig]
    return {
        "elbow bent 90": {forearm: rotation(43.0)},
        "elbow bent 125": {forearm: rotation(78.0)},
        "arm up 90": {arm: rotation(0.0, 0.0, 90.0)},
        "arm forward 90": {arm: rotation(90.0)},
        "arm twisted 80": {arm: rotation(0.0, 80.0)},
        "hand twisted 90": {hand: twist_about_parent(rig, hand, before_hand, 90.0)},
        "spine bent 35": {spine: rotation(35.0)},
        "spine twisted 40": {spine: rotation(0.0, 40.0)},
        "thigh raised 90": {thigh: rotation(-90.0)},
    }


@dataclass(frozen=True)
class Through:
    """What comes through: how many vertices, and how far the farthest, metres."""

    count: int
    farthest: float


@dataclass(frozen=True)
class ClothesRow:
    """The skin that comes through a piece of clothes in one pose.

    Attributes:
        piece: what lies on what.
        look: a key of `LOOKS`.
        found, painted: with this look, and as painted.
        tied: with this look, by clothes that are tied to the skin.
    """

    rig: str
    piece: str
    pose: str
    look: str
    found: Through
    painted: Through
    tied: Through

    @property
    def more(self) -> tuple[int, float]:
        """How many vertices more than as painted or tied, and how much farther, metres."""
        count = max(self.painted.count, self.tied.count)
        farthest = max(self.painted.farthest, self.tied.farthest)
        return self.found.count - count, self.found.farthest - farthest


def _positions(obj: bpy.types.Object) -> Array:
    """Shape (n, 3), as the object is posed, object space."""
    shown: Any = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    found = np.zeros((len(shown.vertices), 3), np.float32)
    shown.vertices.foreach_get("co", found.reshape(-1))
    return found.astype(np.float64)


def _triangles(obj: bpy.types.Object) -> Indices:
    mesh: Any = obj.data
    mesh.calc_loop_triangles()
    return np.array([tuple(each.vertices) for each in mesh.loop_triangles], np.intp)


class Covered:
    """The vertices of a body that are below a piece of clothes at rest; made at rest.

    Whether a vertex is outside is said by the normal of the nearest face; where an edge or a vertex
    is nearest, by the mean normal there (Bærentzen and Aanæs 2005, Signed distance computation
    using the angle weighted pseudonormal): one of two faces that meet in a fold may say the
    opposite.
    """

    def __init__(self, body: bpy.types.Object, cloth: bpy.types.Object) -> None:
        self.body, self.cloth = body, cloth
        self._triangles = _triangles(cloth)
        skin, places = _positions(body), _positions(cloth)
        self.rows = np.arange(len(skin))
        heights = self._heights(skin, places, COVERED)
        self.rows = np.flatnonzero(heights < 0.0)
        corners = _triangles(body)
        tree = BVHTree.FromPolygons(skin.tolist(), corners.tolist())
        nearest: list[Any] = [tree.find_nearest(Vector(place)) for place in places.tolist()]
        self._carrying = corners[[face for _, _, face, _ in nearest]]
        away = places - skin[self._carrying[:, 0]]
        self._carried = np.linalg.solve(self._frames(skin), away[:, :, None])

    def through(self) -> tuple[Through, Through]:
        """What comes through the clothes as they are posed, and if they were tied to the skin."""
        skin = _positions(self.body)
        tied = skin[self._carrying[:, 0]] + (self._frames(skin) @ self._carried)[:, :, 0]
        found = []
        for places in (_positions(self.cloth), tied):
            heights = self._heights(skin, places, _REACH)
            found.append(Through(int((heights > THROUGH).sum()), float(max(heights.max(), 0.0))))
        return found[0], found[1]

    def _frames(self, skin: Array) -> Array:
        """Shape (n, 3, 3): two edges and the normal of the triangle that carries each vertex."""
        first, second, third = np.moveaxis(skin[self._carrying], 1, 0)
        edges = second - first, third - first
        return np.stack((*edges, unit_or(cross(*edges), 0.0)), axis=2)

    @cached_property
    def _edges(self) -> tuple[Indices, NDArray[np.bool_]]:
        """Shape (t, 3), the edge behind each corner, and whether each edge is open."""
        pairs = np.sort(np.stack((self._triangles, np.roll(self._triangles, -1, 1)), 2), axis=2)
        keys = pairs @ (len(self.cloth.data.vertices), 1)
        _, edges, counts = np.unique(keys, return_inverse=True, return_counts=True)
        return edges.reshape(-1, 3), counts == 1

    def _heights(self, skin: Array, places: Array, within: float) -> Array:
        """How far `rows` are above the cloth, metres; 0 where none is near, and at its hems."""
        tree = BVHTree.FromPolygons(places.tolist(), self._triangles.tolist())
        found: list[Any] = [tree.find_nearest(Vector(p), within) for p in skin[self.rows].tolist()]
        near = np.flatnonzero([face is not None for _, _, face, _ in found])
        heights = np.zeros(len(self.rows))
        if not len(near):
            return heights
        face = np.array([found[row][2] for row in near])
        nearest = np.array([tuple(found[row][0]) for row in near])
        at = places[self._triangles]
        turns = cross(at[:, 1] - at[:, 0], at[:, 2] - at[:, 0])
        normals = unit_or(turns, 0.0)
        edges, is_open = self._edges
        of_edges, of_vertices = np.zeros((len(is_open), 3)), np.zeros_like(places)
        hems = np.zeros(len(places), np.bool_)
        shares = np.zeros((len(near), 3))
        for corner in range(3):
            one, other = (corner + 1) % 3, (corner + 2) % 3
            to_one, to_other = (unit_or(at[:, k] - at[:, corner], 0.0) for k in (one, other))
            angles = np.arccos(np.clip(dots(to_one, to_other), -1.0, 1.0))
            np.add.at(of_edges, edges[:, corner], normals)
            np.add.at(of_vertices, self._triangles[:, corner], normals * angles[:, None])
            ends = self._triangles[is_open[edges[:, corner]]]
            hems[ends[:, [corner, one]]] = True
            opposite = cross(at[face, one] - nearest, at[face, other] - nearest)
            shares[:, corner] = dots(opposite, normals[face])
        on = shares > _ON_EDGE * np.linalg.norm(turns[face], axis=1)[:, None]
        ways, at_hem = normals[face], np.zeros(len(near), np.bool_)
        for corner in range(3):
            one, other = (corner + 1) % 3, (corner + 2) % 3
            alone = on[:, corner] & ~on[:, other]
            rows = np.flatnonzero(alone & on[:, one])
            edge = edges[face[rows], corner]
            ways[rows], at_hem[rows] = of_edges[edge], is_open[edge]
            rows = np.flatnonzero(alone & ~on[:, one])
            vertex = self._triangles[face[rows], corner]
            ways[rows], at_hem[rows] = of_vertices[vertex], hems[vertex]
        away = skin[self.rows[near]] - nearest
        above = np.linalg.norm(away, axis=1) * np.sign(dots(away, ways))
        heights[near] = np.where(at_hem, 0.0, above)
        return heights


def rows_of(
    rig: Rig,
    meshes: Sequence[bpy.types.Object],
    armature: bpy.types.Object,
    looks: Mapping[str, Mapping[str, Any]] = LOOKS,
) -> Iterator[ClothesRow]:
    """What comes through in each pose, of meshes that are at rest and as painted.

    Args:
        meshes: the body, and clothes over it, each over those before it.
        looks: what `api.enable` gets; the first one is as painted.
    """
    pairs = [(below, cloth) for row, cloth in enumerate(meshes) for below in meshes[:row]]
    pieces = {f"{cloth.name} on {below.name}": Covered(below, cloth) for below, cloth in pairs}
    painted: dict[tuple[str, str], Through] = {}
    for look, values in looks.items():
        api.enable(list(meshes), **values)
        for pose, rotations in clothes_poses(rig).items():
            apply_pose(armature, rotations)
            bpy.context.view_layer.update()
            for piece, covered in pieces.items():
                found, tied = covered.through()
                before = painted.setdefault((pose, piece), found)
                if before is not found:
                    yield ClothesRow(rig, piece, pose, look, found, before, tied)
        apply_pose(armature, {})
        bpy.context.view_layer.update()


def clothes_of(rig: Rig) -> Iterator[ClothesRow]:
    """The figures of all pieces of clothes on the whole human, each in an empty file."""
    arrays = load_human_arrays(rig)
    for pieces in CLOTHES.values():
        bpy.ops.wm.read_factory_settings(use_empty=True)
        armature = build_armature(arrays)
        meshes = [add_mesh("Body", arrays, armature)]
        for name, (covers, thickness, share) in pieces.items():
            meshes.append(add_mesh(name, garment(arrays, covers, thickness, share), armature))
        yield from rows_of(rig, meshes, armature)


def clothes_table(rows: Sequence[ClothesRow]) -> list[list[str]]:
    """The head, and a line for each piece and pose with skin that comes through."""
    lines = [["rig", "piece", "pose", "look", "as painted", "found", "tied to the skin"]]
    for row in rows:
        each = row.painted, row.found, row.tied
        if any(through.count for through in each):
            figures = [f"{one.count}; {1e3 * one.farthest:.1f} mm" for one in each]
            lines.append([row.rig, row.piece, row.pose, row.look, *figures])
    return lines


if __name__ == "__main__":
    import dq_compensation
    from human.model import RIGS
    from quality.report import as_markdown

    dq_compensation.register()
    print(as_markdown(clothes_table([row for rig in RIGS for row in clothes_of(rig)])))

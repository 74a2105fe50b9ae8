"""The skin of a character: of all its enabled meshes, on which its limbs and joints are found.

Each mesh of a character has vertices of its own; where limbs run, which of them twist, and how the
bones hang together are the same for all of them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from ...analysis.face_features import limb_radii
from ...analysis.limbs import with_limbs
from ...analysis.surface.seams import find_seam, seam_points
from ...arrays import Booleans, Float64s, Indices, Int64s
from ...core.influences import Influences
from ...core.limb_joints import LimbJoints
from ...core.nearest_points import nearest_within
from ...core.ropes import rope_joints
from ...core.skeleton import BoneKinds, LimbAxis, Skeleton
from ...core.skin_at_rest import SkinAtRest
from ...core.twist_limbs import TwistLimbs
from ...core.vectors import extent, smooth_step
from .facts import digest
from .layers import LayeredSkin, LayerMesh, Layers, inner_meshes, joined_surface


@dataclass(frozen=True, eq=False)
class Carried:
    """The vertices of rigid pieces that lie on skin, as a button does: they turn as one with it.

    Attributes:
        rows: shape (m,), vertices.
        middles: shape (m, 3), of their pieces, armature space.
        influences: shapes (m, k), of the skin nearest to the middles.
    """

    rows: Indices
    middles: Float64s
    influences: Influences

    @classmethod
    def of(cls, mesh: LayerMesh, pieces: Int64s, skin: LayerMesh) -> Carried:
        """The pieces of a mesh that a skin carries: near it, and with weights like it."""
        rows = np.flatnonzero(pieces >= 0)
        if not len(rows):
            return _NOT_CARRIED
        first, piece = np.unique(pieces[rows], return_index=True, return_inverse=True)[1:]
        piece, places = piece.reshape(-1), mesh.positions[rows]
        radii = limb_radii(places, mesh.influences.at(rows), mesh.skeleton)
        sums = [np.bincount(piece, each) for each in (*places.T, radii)]
        middles = (np.stack(sums) / np.bincount(piece)).T
        ours = mesh.influences.at(rows[first])
        on, below, _ = skin.near(middles[:, :3], ours, middles[:, 3])
        chosen = on[piece]
        of_skin = skin.influences.at(below[piece[chosen]])
        return cls(rows[chosen], middles[piece[chosen], :3], of_skin)

    def of_pieces(self, pieces: Int64s) -> Carried:
        """The carried pieces among some rigid pieces, shape (n,), -1 for none."""
        kept = np.flatnonzero(pieces[self.rows] >= 0)
        if len(kept) == len(self.rows):
            return self
        return Carried(self.rows[kept], self.middles[kept], self.influences.at(kept))


_NOT_CARRIED = Carried(
    np.zeros(0, np.intp),
    np.zeros((0, 3)),
    Influences(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.float32)),
)


LimbSettings = tuple[LimbAxis, bool, BoneKinds]
"""The settings by which limbs are found: `limb_axis`, `use_mesh_joints` and `bone_kinds`.

Bones are their indices: names change."""
_DEFAULT_KINDS: frozenset[LimbSettings] = frozenset({("AUTO", True, ())})


@dataclass(frozen=True, eq=False)
class CharacterSkin:
    """The skin of several meshes on one armature, at rest. See `inner_meshes`.

    Attributes:
        parts: its meshes.
        skeleton: the bones of all of them.
        sides: shape (B,), of `SkinAtRest`.
        kinds: the settings by which its meshes ask for limbs: of `at_rest`.
        linked: the skin of those of its meshes that keep what another file has found on these
            alone; None without any.
    """

    parts: tuple[LayerMesh, ...]
    skeleton: Skeleton
    sides: NDArray[np.int8]
    kinds: frozenset[LimbSettings] = _DEFAULT_KINDS
    linked: CharacterSkin | None = None
    _skins: dict[LimbSettings, SkinAtRest] = field(default_factory=dict, repr=False, init=False)

    def is_of(
        self,
        parts: Sequence[LayerMesh],
        skeleton: Skeleton,
        kinds: frozenset[LimbSettings],
    ) -> bool:
        """Whether it is the skin of just these meshes, on equal bones, for these settings."""
        if len(parts) != len(self.parts) or not all(map(operator.is_, parts, self.parts)):
            return False
        ours, arrays = self.skeleton, attrgetter("parents", "rest", "tails")
        same = ours is skeleton or all(map(np.array_equal, arrays(ours), arrays(skeleton)))
        return same and ours.names == skeleton.names and kinds == self.kinds

    @cached_property
    def findings(self) -> str:
        """A digest of all that is found on the skin; it says the same in every session.

        Meshes of the character change only when it does.
        """
        return digest(
            *(self._findings_of(kind) for kind in sorted(self.kinds)),
            *(joined for joined in self._pieces if joined is not None),
            *(() if self.linked is None else (self.linked.findings,)),
            *chain.from_iterable(
                (each.rows, each.influences.bones) for each in self._carried if len(each.rows)
            ),
        )

    @cached_property
    def moves(self) -> Booleans:
        """Shape (B,), the bones that move its skin: a part of what is found; cheap for one mesh."""
        if len(self.parts) == 1:
            return self.parts[0].influences.moving_bones(self.skeleton.bone_count)
        return self.at_rest(next(iter(self.kinds))).moves

    def _findings_of(self, kind: LimbSettings) -> str:
        skin = self.at_rest(kind)
        no_vertex = Influences(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.float32))
        bare = replace(skin, positions=np.zeros((0, 3)), influences=no_vertex, whole=skin)
        whole = skin.with_whole_limbs
        joints = LimbJoints.of(whole.skeleton, skin.limb_axis, whole.mesh_parents)
        ropes = rope_joints(whole, joints)
        limbs = TwistLimbs.of(bare)
        return digest(
            *(skin.skeleton.rest, skin.skeleton.tails, skin.moves, skin.body_parents),
            *(skin.limbs_of_bones, skin.mesh_parents, limbs.bones, limbs.before, limbs.behind),
            sorted(limbs.left_out.items()),
            np.round(ropes, 3),
        )

    def _row(self, part: LayerMesh) -> int | None:
        """Which of its meshes one is: an equal one, after another one has changed."""
        equal = (np.array_equal(mesh.positions, part.positions) for mesh in self.parts)
        return next((row for row, is_equal in enumerate(equal) if is_equal), None)

    def rests_on(self, part: LayerMesh, other: LayerMesh) -> bool:
        """Whether one of its meshes lies on another one, or their open edges meet."""
        row, below = self._row(part), self._row(other)
        if row is None or below is None:
            return False
        size = extent(np.concatenate([mesh.positions for mesh in self.parts]))
        lies = int(self._layers.bodies[row]) == below
        return lies or find_seam(part.seam_mesh, other.seam_mesh, size) is not None

    def shares_of_linked(self, part: LayerMesh) -> Float64s:
        """Shape (n,), how near the vertices of a mesh are to a seam with linked ones.

        It is 1 there and falls to 0 over the radius of the limb.
        """
        beside = [] if self.linked is None else self.linked.parts
        count = len(part.positions)
        points = seam_points([mesh.seam_mesh for mesh in (part, *beside)])
        at = np.flatnonzero(np.isin(points[:count], points[count:]))
        radii = limb_radii(part.positions[at], part.influences.at(at), self.skeleton)
        farthest = float(radii.max(initial=0.0))
        nearest = nearest_within(part.positions[at], part.positions, max(farthest, 1e-30))
        near, shares = np.flatnonzero(nearest >= 0), np.zeros(count)
        apart = np.linalg.norm(part.positions[near] - part.positions[at[nearest[near]]], axis=1)
        shares[near] = 1.0 - smooth_step(apart / np.maximum(radii[nearest[near]], 1e-30), 0.0, 1.0)
        return shares

    @cached_property
    def _layers(self) -> Layers:
        surface = joined_surface([mesh.seam_mesh for mesh in self.parts])
        influences = Influences.joined([mesh.influences for mesh in self.parts])
        return Layers.of(LayeredSkin.of(self.parts, surface, influences.at(surface.vertices)))

    def pieces(self, part: LayerMesh) -> Int64s:
        """Shape (n,), the rigid pieces of one of its meshes, which no skin of another one joins."""
        row = self._row(part)
        joined = None if row is None else self._pieces[row]
        return part.pieces if joined is None else joined

    @cached_property
    def _pieces(self) -> list[Int64s | None]:
        """Of each mesh; None where no piece is joined with other skin."""
        starts = np.cumsum([0, *(len(mesh.positions) for mesh in self.parts)])
        pairs = list(zip(self.parts, starts.tolist(), strict=False))
        pieces = np.concatenate([np.where(m.pieces < 0, -1, m.pieces + at) for m, at in pairs])
        kept = pieces >= 0
        if len(self.parts) < 2 or not kept.any():
            return [None] * len(self.parts)
        points = self._points
        while True:
            others = np.bincount(points, ~kept)[points] > 0
            joined = kept & np.isin(pieces, np.unique(pieces[kept & others]))
            if not joined.any():
                break
            kept &= ~joined
        found = (np.where(kept[at : at + len(m.pieces)], m.pieces, -1) for m, at in pairs)
        changed = zip(self.parts, found, strict=True)
        return [None if np.array_equal(m.pieces, each) else each for m, each in changed]

    def carried(self, part: LayerMesh) -> Carried:
        """The rigid pieces of one of its meshes that skin carries."""
        row = self._row(part)
        return _NOT_CARRIED if row is None else self._carried[row]

    @cached_property
    def _carried(self) -> list[Carried]:
        """Of each mesh."""
        pieces = [self.pieces(mesh) for mesh in self.parts]
        if not any((each >= 0).any() for each in pieces):
            return [_NOT_CARRIED] * len(pieces)
        starts = np.cumsum([0, *(len(each) for each in pieces)])
        triangles = np.concatenate(
            [m.triangles + start for m, start in zip(self.parts, starts, strict=False)]
        )
        rigid = np.concatenate(pieces) >= 0
        triangles = triangles[~rigid[triangles].any(axis=1)]
        if not len(triangles):
            return [_NOT_CARRIED] * len(pieces)
        influences = Influences.joined([mesh.influences for mesh in self.parts])
        positions = np.concatenate([mesh.positions for mesh in self.parts])
        none = np.full(len(positions), -1)
        skin = LayerMesh(positions, influences, self.skeleton, triangles, none, influences)
        pairs = zip(self.parts, pieces, strict=True)
        return [Carried.of(mesh, each, skin) for mesh, each in pairs]

    @cached_property
    def _points(self) -> Indices:
        return seam_points([mesh.seam_mesh for mesh in self.parts])

    def at_rest(self, key: LimbSettings) -> SkinAtRest:
        """The skin with the limbs and joints that it shows; the same object each time."""
        limb_axis, use_mesh_joints, kinds = key
        if key not in self._skins:
            inner = [self.parts[row] for row in inner_meshes(self.parts)]
            kept = _once_at_seams(inner, self._points if len(inner) == len(self.parts) else None)
            influences = painted = Influences.joined([mesh.influences for mesh in inner]).at(kept)
            if any(mesh.painted is not mesh.influences for mesh in inner):
                painted = Influences.joined([mesh.painted for mesh in inner]).at(kept)
            skin = SkinAtRest(
                np.concatenate([mesh.positions for mesh in inner])[kept],
                influences,
                self.skeleton,
                limb_axis,
                sides=self.sides,
                painted=painted,
                kinds=kinds,
            )
            self._skins[key] = with_limbs(skin, use_mesh_joints=use_mesh_joints)
        return self._skins[key]


def _once_at_seams(meshes: Sequence[LayerMesh], points: Indices | None) -> Indices:
    """The vertices of meshes, one mesh behind the other, without those of seams with earlier ones.

    So a mesh that is cut has as much skin as it had whole.

    Args:
        points: `seam_points` of these meshes, where they are known.
    """
    counts = [len(mesh.positions) for mesh in meshes]
    if len(meshes) < 2:
        return np.arange(sum(counts))
    if points is None:
        points = seam_points([mesh.seam_mesh for mesh in meshes])
    mesh_of_vertex = np.repeat(np.arange(len(meshes)), counts)
    first = np.full(int(points.max(initial=-1)) + 1, len(meshes))
    np.minimum.at(first, points, mesh_of_vertex)
    return np.flatnonzero(first[points] == mesh_of_vertex)

"""The skin of a character that softening reads, a subject of its own: meshes joined at edges."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import bpy
import numpy as np
from numpy.typing import NDArray

from ..analysis.limbs import Limbs
from ..analysis.mesh_graph import islands
from ..analysis.seams import SeamMesh, seam_points
from ..analysis.soft_weights import (
    SkinSurface,
    SoftWeights,
    feature_bones,
    followed_weights,
    limb_radii,
    smooth_radii,
    soft_weights,
)
from ..arrays import Booleans, Float64s, Indices, Int32s, Int64s, Integers
from ..core.influences import Influences
from ..core.limb_joints import SkinAtRest
from ..core.ropes import rope_shares
from ..core.skeleton import BoneKinds, LimbAxis, Skeleton, bones_of
from ..core.topology import MeshArrays
from ..core.vectors import cross
from ..errors import UserError
from ..painting.compensation_weights import masked_vertices
from ..scene.binding.binding import Binding
from ..scene.binding.layers import LayerMesh, Layers, inner_meshes
from ..scene.settings.object_settings import settings_of
from ..wording import counted


@dataclass(frozen=True, eq=False)
class Skin:
    """A mesh on its skeleton, as softening reads it. It holds no Blender references.

    Attributes:
        uid, name: session_uid and name of the object.
        mesh: as it is now, armature space, at rest.
        painted: its influences before an earlier softening, or as they are now.
        amounts: shape (n,), 0 to 1, how much of the softening each vertex gets.
        locked: shape (B,), bones that keep their weights.
        lies_on: session_uid of the mesh below it that the user has chosen; 0: it is found.
        pieces: shape (n,), of `Binding.pieces_of`: a rigid piece changes as one, or not at all.
        kinds: what the user takes bones for.
    """

    uid: int
    name: str
    mesh: LayerMesh
    skeleton: Skeleton
    sides: NDArray[np.int8]
    limb_axis: LimbAxis
    faces: MeshArrays
    painted: Influences
    amounts: Float64s
    locked: Booleans
    lies_on: int
    pieces: Int64s
    kinds: BoneKinds

    @classmethod
    def of(cls, obj: bpy.types.Object, binding: Binding, only: Integers | None) -> Skin:
        """Read an object.

        Args:
            binding: of its own vertices, as they are painted; with the soft weights that act, of a
                mesh that keeps these.
            only: vertices, in the place of a paint mask.

        Raises:
            UserError: it cannot be softened.
        """
        mesh = binding.part
        broken = np.flatnonzero(~np.isfinite(mesh.positions).all(axis=1))
        if len(broken):
            count = counted(len(broken), "vertex")
            raise UserError(
                f"{count} of {obj.name} have a position that is not a number, the first is "
                f"{broken[0]}. Remove them (Edit Mode, Mesh, Clean Up) and try again."
            )
        names = binding.skeleton.names
        locked_names = {group.name for group in obj.vertex_groups if group.lock_weight}
        locked = np.array([name in locked_names for name in names])
        amounts = binding.painted(settings_of(obj).softness_group).astype(np.float64)
        chosen = masked_vertices(obj) if only is None else only
        if chosen is not None:
            amounts[np.setdiff1d(np.arange(len(amounts)), chosen)] = 0.0
        settings, faces, sides = settings_of(obj), binding.mesh_arrays, binding.bone_sides
        bones = binding.skeleton, sides, settings.limb_axis
        lies_on = 0 if settings.lies_on is None else settings.lies_on.session_uid
        kinds = binding.kinds_of(settings.bone_kinds)
        pieces = binding.pieces_of(kinds)
        own = obj.session_uid, obj.name, mesh
        return cls(*own, *bones, faces, mesh.painted, amounts, locked, lies_on, pieces, kinds)

    @property
    def still(self) -> Booleans:
        """Shape (B,), the bones that keep their weights: locked ones, and rigid ones."""
        found = self.locked.copy()
        found[bones_of(self.kinds, "RIGID")] = True
        return found

    @property
    def influences(self) -> Influences:
        """The influences by its weights as they are now."""
        return self.mesh.influences

    def refusal(self) -> str | None:
        """Why there is nothing to soften, or None."""
        moving = len(np.unique(self.influences.bones[self.influences.weights > 0.0]))
        if moving < 2:
            follows = f"{self.name} follows {counted(moving, 'bone')}"
            return f"{follows}: no weights change from one bone to another there."
        first, second, third = np.moveaxis(self.mesh.positions[self.mesh.triangles], 1, 0)
        if not cross(second - first, third - first).any():
            return f"{self.name} has no faces with an area. Weights are softened over faces."
        return None

    def followed(self, body: Skin, change: SoftWeights | None, most: int) -> SoftWeights:
        """Its weights, changed as those of a body do now, or as they were when it was softened."""
        before, after, own = body.painted, body.influences, self.painted
        if change is not None:
            before, after, own = after, _with_soft_rows(after, change), self.influences
        # A rigid piece changes as the body does at its middle.
        corners, shares, _ = body.mesh.nearest(self._of_pieces(self.mesh.positions))
        still, changes = self.still, (before, after)
        amounts = self.amounts_beside(still)
        amounts = self._of_pieces(amounts[:, None])[:, 0]
        return followed_weights(own, (corners, shares), changes, amounts, still, most)

    def _of_pieces(self, values: Float64s) -> Float64s:
        """Values (n, k) with the means of rigid pieces at all their vertices."""
        result, rows = values.copy(), np.flatnonzero(self.pieces >= 0)
        piece = np.unique(self.pieces[rows], return_inverse=True)[1].reshape(-1)
        for column in result.T:
            column[rows] = (np.bincount(piece, column[rows]) / np.bincount(piece))[piece]
        return result

    def amounts_beside(self, still: Booleans) -> Float64s:
        """The amounts, 0 where a bone that keeps its weights moves a vertex."""
        moved = self.influences.weights > 0.0
        return np.where((still[self.influences.bones] & moved).any(axis=1), 0.0, self.amounts)


@dataclass(frozen=True, eq=False)
class JoinedSkin:
    """The skin of meshes of one character, as one surface where their open edges meet.

    Attributes:
        skins: its meshes, those behind which keep the weights that they have.
        influences: of all their vertices, one mesh behind the other; before softening.
        surface: likewise.
        fixed: of `soft_weights`: the points of the meshes that keep their weights.
        skin: of all their vertices, on the limbs that the skin shows, without leaves on them.
        limbs: shape (B,), of `SkinAtRest.limbs_of_bones`.
        features: shape (B,), bones of a face: they keep their weights.
    """

    skins: tuple[Skin, ...]
    influences: Influences
    surface: SkinSurface
    fixed: tuple[Indices, Influences] | None
    skin: SkinAtRest
    limbs: Int32s
    features: Booleans

    @classmethod
    def of(cls, skins: Sequence[Skin], fixed: Sequence[Skin] = ()) -> JoinedSkin:
        """Join meshes, none of which lies on another one.

        Args:
            fixed: those that keep the weights that they have; so do seams with them.
        """
        count, skins = len(skins), [*skins, *fixed]
        before = [skin.influences for skin in skins[:count]] + [skin.painted for skin in fixed]
        # Seams with meshes that were softened elsewhere are where both were painted alike.
        compared = [skin.painted for skin in skins] if fixed else before
        meshes = [
            SeamMesh(s.mesh.positions, each, s.faces.face_starts, s.faces.corner_vertex)
            for s, each in zip(skins, compared, strict=True)
        ]
        positions = np.concatenate([skin.mesh.positions for skin in skins])
        influences = Influences.joined(before)
        corners = np.cumsum([0, *(len(mesh.corner_vertex) for mesh in meshes)])
        vertices = np.cumsum([0, *(len(mesh.positions) for mesh in meshes)])
        surface = SkinSurface.of(
            positions,
            influences,
            np.concatenate([m.face_starts + c for m, c in zip(meshes, corners, strict=False)]),
            np.concatenate([m.corner_vertex + v for m, v in zip(meshes, vertices, strict=False)]),
            seam_points(meshes),
        )
        held = None
        if fixed:
            of_fixed = surface.point_of_vertex[vertices[count] :]
            held_points, row = np.unique(of_fixed, return_index=True)
            acting = Influences.joined([skin.influences for skin in fixed])
            held = held_points, acting.at(row)
        first = skins[0]
        inner = inner_meshes([skin.mesh for skin in skins])
        mesh_of_point = np.searchsorted(vertices, surface.vertices, side="right") - 1
        points = np.flatnonzero(np.isin(mesh_of_point, inner))
        rows = surface.vertices[points]
        of_points, bones = influences.at(rows), (first.skeleton, first.limb_axis)
        chosen = first.sides, first.kinds
        skin = SkinAtRest(positions[rows], of_points, *bones, sides=first.sides, kinds=first.kinds)
        whole, limbs = skin.with_whole_limbs, skin.limbs_of_bones
        skeleton = Limbs.of(whole).skeleton
        areas = surface.areas[points], surface.area_vectors[points]
        features = feature_bones(whole.positions, areas, whole.influences, skeleton, *chosen)
        inside = whole.with_limbs(skeleton, None)
        of_limbs = influences.of_bones(limbs)
        every = replace(inside, positions=positions, influences=of_limbs, whole=inside)
        return cls(tuple(skins), influences, surface, held, every, limbs, features[limbs])

    def softened(self, amount: float, most: int) -> Generator[float, None, list[SoftWeights]]:
        """The new weights of each mesh, spread over this much of the limb's radius.

        Args:
            most: limbs that a vertex follows.
        """
        results = dict[int, SoftWeights]()
        for chosen, still in self._parts_by_locks():
            pairs = zip(self.skins, chosen, strict=True)
            amounts = [
                np.where(skin.pieces < 0, amount * skin.amounts_beside(still) * one, 0.0)
                for skin, one in pairs
            ]
            steps = soft_weights(
                self.surface,
                self.influences,
                self._radii,
                self._spread * np.concatenate(amounts),
                still | self.features,
                most=most,
                limbs=self.limbs,
                fixed=self.fixed,
            )
            soft = yield from steps
            results |= {row: self._of_mesh(row, soft) for row in np.flatnonzero(chosen).tolist()}
        return [results[row] for row in range(len(self.skins))]

    @cached_property
    def _radii(self) -> Float64s:
        """Shape (n,), of the points."""
        skin = self.skin
        radii = limb_radii(skin.positions, skin.influences, skin.skeleton)
        return smooth_radii(self.surface, radii[self.surface.vertices])

    @cached_property
    def _spread(self) -> Float64s:
        """Shape (v,), how much of the amounts counts: the weights of ropes are wide; they stay."""
        return 1.0 - rope_shares(self.skin)

    def _parts_by_locks(self) -> list[tuple[Booleans, Booleans]]:
        """The meshes that share bones with fixed weights, (k,) bool, and these, (B,) bool.

        What keeps its weights in a mesh keeps them in all that it is joined with.
        """
        points, mesh = self.surface.point_of_vertex, self.mesh_of_vertex
        # The vertices of a point are of joined meshes.
        pairs = np.stack((mesh, mesh[self.surface.vertices[points]]), axis=1)
        labels = islands(pairs, len(self.skins))
        locks = np.array([skin.still for skin in self.skins])
        joined = np.array([locks[labels == label].any(axis=0) for label in labels])
        kinds, kind = np.unique(joined, axis=0, return_inverse=True)
        return [(kind.reshape(-1) == row, locked) for row, locked in enumerate(kinds)]

    def _of_mesh(self, row: int, soft: SoftWeights) -> SoftWeights:
        """The new weights of one mesh."""
        begin = int(np.searchsorted(self.mesh_of_vertex, row))
        rows = np.flatnonzero(self.mesh_of_vertex[soft.vertices] == row)
        return SoftWeights(soft.vertices[rows] - begin, soft.bones[rows], soft.weights[rows])

    @property
    def mesh_of_vertex(self) -> Indices:
        """Shape (v,), the mesh that each vertex is of."""
        return np.repeat(np.arange(len(self.skins)), [len(s.mesh.positions) for s in self.skins])


@dataclass(frozen=True, eq=False)
class Softened:
    """The new weights of a mesh.

    Attributes:
        body: the mesh whose change its weights took; None: it was softened by itself.
        features: the bones that kept their weights as parts of a face; none with a body.
    """

    skin: Skin
    soft: SoftWeights
    body: Skin | None
    features: tuple[int, ...]

    @property
    def influences(self) -> Influences:
        """The influences of all its vertices, strongest first."""
        found, count = _with_soft_rows(self.skin.influences, self.soft), len(self.skin.amounts)
        vertices, slots = np.nonzero(found.weights > 0.0)
        of = found.bones[vertices, slots], found.weights[vertices, slots]
        return Influences.from_triples(vertices, *of, count)


def softened_together(
    skins: Sequence[Skin],
    amounts: Sequence[float],
    most: int,
    body: Skin | None = None,
    fixed: Sequence[Skin] = (),
    known: dict[tuple[Skin, ...], JoinedSkin] | None = None,
) -> Generator[float, None, list[Softened]]:
    """The new weights of meshes of one character: clothes change as the body below them does.

    Args:
        amounts: of each mesh, over how much of the radius its weights are spread.
        most: limbs that a vertex follows; influences of clothes.
        body: which all others lie on; it may be another mesh, softened before. None: what lies on
            what is found.
        fixed: meshes that keep the weights that they have; others may lie on them, or meet them:
            seams then have their weights.
        known: what was joined of these very skins before; it gets what is joined now.
    """
    if body is not None and body not in skins:
        return [Softened(each, each.followed(body, None, most), body, ()) for each in skins]
    count, skins = len(skins), [*skins, *fixed]
    if body is None:
        layers = Layers.of([skin.mesh for skin in skins])
    else:
        row = next(row for row, skin in enumerate(skins) if skin is body)
        bodies = np.array([-1 if skin is body else row for skin in skins], np.intp)
        layers = Layers(bodies, np.zeros(len(skins), np.bool_))
    uids = [skin.uid for skin in skins] if body is None else []
    for row, skin in enumerate(skins):
        if skin.lies_on in uids:
            layers.choose(row, uids.index(skin.lies_on))
    each = np.append(amounts, np.full(len(fixed), np.nan))
    layers.bodies[layers.copies & (each != each[layers.bodies])] = -1
    bare, found = layers.bodies < 0, dict[int, Softened]()
    every = dict[tuple[Skin, ...], JoinedSkin]()
    kept = [skins[row] for row in range(count, len(skins)) if bare[row]]
    bare[count:] = False
    # What is softened by another amount cannot meet it.
    for amount in np.unique(each[bare]).tolist():
        rows = np.flatnonzero(bare & (each == amount)).tolist()
        parts = [skins[row] for row in rows]
        joined = (known or {}).get((*parts, *kept)) or JoinedSkin.of(parts, kept)
        every[(*parts, *kept)] = joined
        changes = yield from joined.softened(amount, most)
        for row, soft in zip(rows, changes, strict=False):
            moves = skins[row].influences.moving_bones(joined.skin.skeleton.bone_count)
            features = np.flatnonzero(moves & joined.features).tolist()
            found[row] = Softened(skins[row], soft, None, tuple(features))
    if known is not None:
        known.clear()
        known.update(every)
    for row in layers.order:
        if row not in found and row < count:
            below = int(layers.bodies[row])
            change = found[below].soft if below < count else None
            soft = skins[row].followed(skins[below], change, most)
            found[row] = Softened(skins[row], soft, skins[below], ())
    return [found[row] for row in range(count)]


def _with_soft_rows(influences: Influences, soft: SoftWeights) -> Influences:
    """Influences with the new rows of some vertices, whose order is any."""
    return influences.with_rows(soft.vertices, Influences(soft.bones, soft.weights))

"""The skin of a character that softening reads: its meshes, joined where they meet."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import bpy
import numpy as np
from numpy.typing import NDArray

from ..analysis.face_features import feature_bones, limb_radii
from ..analysis.joint_softness import less_soft, parents_at_joints, softness_between
from ..analysis.limbs import Limbs, with_limbs
from ..analysis.soft_proof import LessSoft, ProvedSkin
from ..analysis.soft_weights import Matches, SoftWeights, smooth_radii, soft_weights
from ..analysis.surface.rigid_pieces import islands
from ..analysis.surface.seams import SeamMesh
from ..analysis.surface.skin_surface import SkinSurface
from ..arrays import Booleans, Float64s, Floats, Indices, Int32s, Int64s, Integers
from ..core.influences import Influences
from ..core.ropes import rope_shares
from ..core.skeleton import BoneKinds, JointStrengths, LimbAxis, Skeleton, bones_of
from ..core.skin_at_rest import SkinAtRest
from ..core.topology import MeshArrays
from ..core.vectors import cross
from ..errors import UserError
from ..painting.compensation_weights import masked_vertices
from ..scene.binding.binding import Binding
from ..scene.binding.layers import (
    LayeredSkin,
    LayerMesh,
    Layers,
    inner_meshes,
    joined_surface,
)
from ..scene.blender.triangle_trees import overlapping_triangles
from ..scene.settings.object_settings import settings_of
from ..steps import part_of
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

    @property
    def as_painted(self) -> Skin:
        """The same with the weights before an earlier softening."""
        return replace(self, mesh=replace(self.mesh, influences=self.painted))

    def amounts_beside(self, still: Booleans) -> Float64s:
        """The amounts, 0 where a bone that keeps its weights moves a vertex."""
        moved = self.influences.weights > 0.0
        return np.where((still[self.influences.bones] & moved).any(axis=1), 0.0, self.amounts)


@dataclass(frozen=True, eq=False)
class JoinedSkin:
    """The skin of meshes of one character, as one surface, and what of it lies on what.

    Attributes:
        skins: its meshes, those behind which keep the weights that they have.
        influences: of all their vertices, one mesh behind the other; before softening.
        surface: likewise.
        fixed: of `soft_weights`: the points of the meshes that keep their weights.
        layers: what lies on what; nothing that is fixed lies on others.
        skin: of the points, on the limbs that the skin shows, without leaves on them.
        limbs: shape (B,), of `SkinAtRest.limbs_of_bones`.
        features: shape (B,), bones of a face: they keep their weights.
        rigid: shape (n,), the points of rigid pieces.
        found: the new weights that were found last, by what they were made with.
        proved: likewise, the joints at which these act less softly.
    """

    skins: tuple[Skin, ...]
    influences: Influences
    surface: SkinSurface
    fixed: tuple[Indices, Influences] | None
    layers: Layers
    skin: SkinAtRest
    limbs: Int32s
    features: Booleans
    rigid: Booleans
    found: dict[object, list[SoftWeights]] = field(default_factory=dict)
    proved: dict[object, list[LessSoft]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, skins: Sequence[Skin], fixed: Sequence[Skin] = (), body: Skin | None = None
    ) -> JoinedSkin:
        """Join meshes.

        Args:
            fixed: those that keep the weights that they have; so do seams with them.
            body: the only mesh that others may lie on; None: any.
        """
        count, skins = len(skins), [*skins, *fixed]
        before = [skin.influences for skin in skins[:count]] + [skin.painted for skin in fixed]
        # Seams with meshes that were softened elsewhere are where both were painted alike.
        compared = [skin.painted for skin in skins] if fixed else before
        surface = joined_surface(
            [
                SeamMesh(s.mesh.positions, each, s.faces.face_starts, s.faces.corner_vertex)
                for s, each in zip(skins, compared, strict=True)
            ]
        )
        influences = Influences.joined(before)
        of_points, positions = influences.at(surface.vertices), surface.positions
        held = None
        if fixed:
            first = sum(len(skin.amounts) for skin in skins[:count])
            held_points, row = np.unique(surface.point_of_vertex[first:], return_index=True)
            acting = Influences.joined([skin.influences for skin in fixed])
            held = held_points, acting.at(row)
        meshes = [skin.mesh for skin in skins]
        layered = LayeredSkin.of(meshes, surface, of_points)
        layers = Layers.of(layered, *_lies_on(skins, range(count), body))
        # Limbs are those of the skin on which others lie.
        bare = np.isin(layered.meshes, inner_meshes(meshes))
        bare[layers.points] = False
        points = np.flatnonzero(bare) if bare.any() else np.arange(len(bare))
        first = skins[0]
        chosen = first.sides, first.kinds
        skin = SkinAtRest(
            positions[points],
            of_points.at(points),
            first.skeleton,
            first.limb_axis,
            sides=first.sides,
            kinds=first.kinds,
        )
        whole, limbs = skin.with_whole_limbs, skin.limbs_of_bones
        skeleton = Limbs.of(whole).skeleton
        areas = surface.areas[points], surface.area_vectors[points]
        features = feature_bones(whole.positions, areas, whole.influences, skeleton, *chosen)
        inside = whole.with_limbs(skeleton, None)
        every = replace(
            inside, positions=positions, influences=of_points.of_bones(limbs), whole=inside
        )
        of_limbs = every, limbs, features[limbs]
        return cls(tuple(skins), influences, surface, held, layers, *of_limbs, layered.rigid)

    def softened(
        self, amounts: Sequence[float], most: int
    ) -> Generator[float, None, list[SoftWeights]]:
        """The new weights of each mesh, spread over so much of the limb's radius.

        Args:
            amounts: of each mesh that does not keep its weights.
            most: limbs that a vertex follows.
        """
        key = tuple(amounts), most
        if key in self.found:
            return self.found[key]
        count = len(self.surface.vertices)
        locks, kind = self._locks
        kept = (locks | self.features)[kind[self.mesh_of_vertex[self.surface.vertices]]]
        beside = [
            skin.amounts_beside(locks[row])
            for skin, row in zip(self.skins, kind.tolist(), strict=True)
        ]
        of_mesh = np.append(amounts, np.zeros(len(self.skins) - len(amounts)))
        pairs = zip(beside, of_mesh.tolist(), strict=True)
        of_vertices = np.concatenate([each * amount for each, amount in pairs])
        # Where meshes meet that are softened by other amounts, the seam goes by the least.
        least = np.full(count, np.inf)
        np.minimum.at(least, self.surface.point_of_vertex, of_vertices)
        least[self.rigid] = 0.0
        soft = yield from soft_weights(
            self.surface,
            self.influences,
            self._radii * self._spread * least,
            kept[0] if len(locks) == 1 else kept,
            most=most,
            limbs=self.limbs,
            fixed=self.fixed,
            matches=self._matches(of_mesh, np.concatenate(beside)[self.surface.vertices]),
        )
        self.found.clear()
        self.found[key] = [self._of_mesh(row, soft) for row in range(len(amounts))]
        return self.found[key]

    def _matches(self, of_mesh: Floats, amounts: Floats) -> Matches:
        """What changes as what it lies on does; copies that are softened by other amounts do not.

        Args:
            of_mesh: shape (k,), over how much of the radius the weights of a mesh are spread.
            amounts: shape (n,), how much of that each point gets.
        """
        layers, mesh = self.layers, self.mesh_of_vertex[self.surface.vertices]
        kept = ~layers.copies | (of_mesh[mesh[layers.points]] == of_mesh[layers.meshes])
        if self.fixed is not None:
            kept &= ~np.isin(layers.points, self.fixed[0])
        points = layers.points[kept]
        places = layers.corners[kept], layers.shares[kept], layers.alike[kept]
        return Matches(points, *places, amounts[points], layers.rigid[kept], layers.turns)

    @cached_property
    def _radii(self) -> Float64s:
        """Shape (n,), of the points; those of what changes as others do do not matter."""
        skin, matched = self.skin, self.layers.points[~self.layers.copies]
        radii = limb_radii(skin.positions, skin.influences, skin.skeleton)
        return smooth_radii(self.surface, radii, matched)

    @cached_property
    def _spread(self) -> Float64s:
        """Shape (n,), how much of the amounts counts: the weights of ropes are wide; they stay."""
        return 1.0 - rope_shares(self.skin)

    @cached_property
    def _locks(self) -> tuple[Booleans, Indices]:
        """Sets of bones that keep their weights, (l, B), and which of them each mesh has, (k,).

        What keeps its weights in a mesh keeps them in all that it is joined with.
        """
        labels = self._joined_meshes
        locks = np.array([skin.still for skin in self.skins])
        joined = np.array([locks[labels == label].any(axis=0) for label in labels])
        kinds, kind = np.unique(joined, axis=0, return_inverse=True)
        return kinds, kind.reshape(-1)

    @cached_property
    def _joined_meshes(self) -> Indices:
        """Shape (k,), the same number for meshes that are joined by seams."""
        points, mesh = self.surface.point_of_vertex, self.mesh_of_vertex
        # The vertices of a point are of joined meshes.
        pairs = np.stack((mesh, mesh[self.surface.vertices[points]]), axis=1)
        return islands(pairs, len(self.skins))

    def proof(
        self, softened: Sequence[Softened], key: object
    ) -> Generator[float, None, list[LessSoft]]:
        """The joints at which the new weights have to act less softly: `ProvedSkin.proof`.

        Args:
            softened: of each mesh that does not keep its weights, fully.
            key: what they were made with.
        """
        if key not in self.proved:
            kept = [skin.influences for skin in self.skins[len(softened) :]]
            soft = Influences.joined([*(each.influences for each in softened), *kept])
            edges = self._on_points([skin.faces.edges for skin in self.skins])
            meshes = self._joined_meshes[self.mesh_of_vertex[self.surface.vertices[edges[:, 0]]]]
            order = np.argsort(meshes, kind="stable")
            triangles = self._on_points([skin.mesh.triangles for skin in self.skins])
            copies = np.zeros(len(self.surface.vertices), np.bool_)
            copies[self.layers.points[self.layers.copies]] = True
            crossing = triangles[~copies[triangles].all(axis=1)], copies, overlapping_triangles
            proved = ProvedSkin(self._points, edges[order], meshes[order], *crossing)
            found = yield from proved.proof(soft.at(self.surface.vertices))
            self.proved.clear()
            self.proved[key] = found
        yield 1.0
        return self.proved[key]

    def _on_points(self, of_meshes: Sequence[Integers]) -> Indices:
        """Edges or triangles of all meshes, of points; without those that have a point twice."""
        starts = np.searchsorted(self.mesh_of_vertex, np.arange(len(self.skins)))
        every = [each + start for each, start in zip(of_meshes, starts, strict=True)]
        corners = self.surface.point_of_vertex[np.concatenate(every)]
        return corners[(corners != np.roll(corners, 1, axis=1)).all(axis=1)]

    @cached_property
    def _points(self) -> SkinAtRest:
        """The points with the weights as they are now, on all bones."""
        first = self.skins[0]
        influences = Influences.joined([skin.influences for skin in self.skins])
        return SkinAtRest(
            self.surface.positions.astype(np.float32),
            influences.at(self.surface.vertices),
            first.skeleton,
            first.limb_axis,
            sides=first.sides,
            kinds=first.kinds,
        )

    @cached_property
    def parents_at_joints(self) -> Int32s:
        """Shape (B,), the bone that each bone turns with; -1 for none."""
        return parents_at_joints(with_limbs(self._points, use_mesh_joints=True))

    def less_soft(
        self, row: int, soft: SoftWeights, softness: JointStrengths, most: int
    ) -> SoftWeights:
        """The new weights of a mesh where some joints are less soft; seams with fixed ones stay.

        Args:
            most: limbs that a vertex follows: between two sets of weights there are more.
        """
        if all(value == 1.0 for _, value in softness):
            return soft
        between = softness_between(softness, self.parents_at_joints)
        painted = self.skins[row].influences.at(soft.vertices)
        whole = Influences(soft.bones, soft.weights)
        found = less_soft(painted, whole, between)
        if self.fixed is not None:
            begin = int(np.searchsorted(self.mesh_of_vertex, row))
            points = self.surface.point_of_vertex[soft.vertices + begin]
            seams = np.flatnonzero(np.isin(points, self.fixed[0]))
            found = found.with_rows(seams, whole.at(seams))
        return SoftWeights(soft.vertices, found.bones, found.weights).cut(most, self.limbs)

    def _of_mesh(self, row: int, soft: SoftWeights) -> SoftWeights:
        """The new weights of one mesh."""
        begin = int(np.searchsorted(self.mesh_of_vertex, row))
        rows = np.flatnonzero(self.mesh_of_vertex[soft.vertices] == row)
        return SoftWeights(soft.vertices[rows] - begin, soft.bones[rows], soft.weights[rows])

    @cached_property
    def mesh_of_vertex(self) -> Indices:
        """Shape (v,), the mesh that each vertex is of."""
        return np.repeat(np.arange(len(self.skins)), [len(s.mesh.positions) for s in self.skins])


def _lies_on(
    skins: Sequence[Skin], softened: Sequence[int], body: Skin | None
) -> tuple[Booleans, Booleans]:
    """Which mesh may lie on which other one, and what does whatever is outside; (k, k) both."""
    may_lie, chosen = np.zeros((2, len(skins), len(skins)), np.bool_)
    below = [skin.uid for skin in skins]
    for row in softened:
        if body is not None:
            may_lie[row] = chosen[row] = [skin is body is not skins[row] for skin in skins]
        elif skins[row].lies_on in below:
            column = below.index(skins[row].lies_on)
            may_lie[row, column] = chosen[row, column] = True
        else:
            may_lie[row] = True
    return may_lie, chosen


@dataclass(frozen=True, eq=False)
class Softened:
    """The new weights of a mesh.

    Attributes:
        body: the mesh whose change most of its weights took; None: it was softened by itself.
        features: the bones that kept their weights as parts of a face; none with a body.
        less_soft: the joints at which the proof found that its weights have to act less; None:
            there was none.
    """

    skin: Skin
    soft: SoftWeights
    body: Skin | None
    features: tuple[int, ...]
    less_soft: tuple[LessSoft, ...] | None = None

    @property
    def influences(self) -> Influences:
        """The influences of all its vertices, strongest first."""
        soft, count = self.soft, len(self.skin.amounts)
        rows = Influences(soft.bones, soft.weights)
        found = self.skin.influences.with_rows(soft.vertices, rows)
        vertices, slots = np.nonzero(found.weights > 0.0)
        of = found.bones[vertices, slots], found.weights[vertices, slots]
        return Influences.from_triples(vertices, *of, count)


Proof = Literal["MADE"] | Sequence[LessSoft] | None
"""The proof of soft weights: it is to be made now, this is what was found before, or none."""


def softened_together(
    skins: Sequence[Skin],
    amounts: Sequence[float],
    most: int,
    body: Skin | None = None,
    fixed: Sequence[Skin] = (),
    *,
    known: dict[tuple[Skin, ...], JoinedSkin] | None = None,
    joints: Sequence[JointStrengths] | None = None,
    proof: Proof = None,
) -> Generator[float, None, list[Softened]]:
    """The new weights of meshes of one character: what lies on a body changes as that does.

    Args:
        amounts: of each mesh, over how much of the radius its weights are spread.
        most: limbs that a vertex follows; influences of clothes.
        body: the only mesh that others may lie on; it may be another mesh, softened before. None:
            what lies on what is found.
        fixed: meshes that keep the weights that they have; others may lie on them, or meet them:
            seams then have their weights.
        known: what was joined of these very skins before; it gets what is joined now.
        joints: of each mesh, how softly its weights act at some joints, whatever the proof finds;
            None: it is not chosen anywhere.
        proof: see `Proof`.
    """
    if body is not None and body not in skins:
        # Clothes start where the body did.
        skins, fixed = [skin.as_painted for skin in skins], [body]
    key = (*skins, *fixed)
    joined = (known or {}).get(key) or JoinedSkin.of(skins, fixed, body)
    if known is not None:
        known.clear()
        known[key] = joined
    proves = proof == "MADE"
    changes = yield from part_of(joined.softened(amounts, most), 0.0, 0.4 if proves else 1.0)
    found = []
    for row, (skin, soft) in enumerate(zip(skins, changes, strict=True)):
        below = int(joined.layers.bodies[row])
        moves = skin.influences.moving_bones(len(joined.features)) & joined.features
        features = () if below >= 0 else tuple(np.flatnonzero(moves).tolist())
        found.append(Softened(skin, soft, joined.skins[below] if below >= 0 else None, features))
    less: tuple[LessSoft, ...] | None = None
    if proves:
        key = tuple(amounts), most
        less = tuple((yield from part_of(joined.proof(found, key), 0.4, 0.6)))
    elif proof is not None:
        less = tuple(proof)
    proved = {each.bone: each.softness for each in less or ()}
    for row, each in enumerate(found):
        chosen = proved | dict(() if joints is None else joints[row])
        soft = joined.less_soft(row, each.soft, tuple(sorted(chosen.items())), most)
        found[row] = replace(each, soft=soft, less_soft=less)
    return found

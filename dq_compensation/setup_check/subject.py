"""The subject of the checks: one character, read once for all checks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar, cast

import bpy
import numpy as np

from ..analysis.mirror_map import mirrored_bones
from ..analysis.skin_fit import SkinnedJoints, find_movement, with_hard_edges
from ..analysis.surface.seams import SEAM_APART, SEAM_MEANT, MeshSeams, Seam, SeamMesh
from ..arrays import Booleans, Float32s, Float64s, Indices, Int32s
from ..core.influences import MIN_WEIGHT_SUM, WEAKEST_SHARE, Influences
from ..core.skeleton import BoneKinds, Skeleton
from ..core.skin_at_rest import SkinAtRest
from ..core.vectors import extent, transformed_points
from ..errors import BindingError
from ..scene.binding.bind import modifier_influences
from ..scene.binding.edited_facts import facts_of_object, facts_with_keys
from ..scene.binding.facts import structure_of
from ..scene.binding.modifiers_before import writes_weights
from ..scene.binding.soft_copy import keeps_soft_weights
from ..scene.blender.armature import armature_of, deforming_bones, read_skeleton
from ..scene.blender.bone_names import bone_side
from ..scene.blender.bulk_arrays import AttributeType, read_attribute, read_property
from ..scene.blender.mesh import (
    VertexGroupWeights,
    mesh_of,
    read_edges,
    read_positions,
    read_weights,
)
from ..scene.blender.own_objects import is_posed_copy
from ..scene.blender.placement import has_moved, object_to_armature
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.selected_characters import deformed_meshes
from ..scene.settings.bone_texts import kinds_by_index
from ..scene.settings.object_settings import Settings, armature_with_settings
from ..session.known_bindings import is_behind
from ..session.status import status_of
from .misplacement import Misplacement, plain_places

Found = TypeVar("Found")


# Skin is no thicker than other skin up to this ratio of radii: two halves of a limb are thinner.
_AS_THICK = 1.5
# Sizes of a scale that differ by more, in parts of the largest, are meant to, or a fault.
_UNEQUAL = 1e-3


@dataclass(frozen=True, eq=False)
class DeformingWeights:
    """The weights of the groups that deforming bones move, one row per (vertex, group) pair.

    Attributes:
        rows: shape (m,), indices into the weights of all groups.
        vertices: shape (m,), int32, rising.
        groups: shape (m,), int32.
        weights: shape (m,), float64, 0 or more; 0 for a vertex with a weight that is not a number,
            which Blender does not move.
        sums: shape (n,), float64, of every vertex.
        moved: shape (n,), bool; whether Blender moves the vertex: where the sum is above 1e-4.
        broken: shape (n,), bool; whether a weight of the vertex is not a number.
    """

    rows: Indices
    vertices: Int32s
    groups: Int32s
    weights: Float64s
    sums: Float64s
    moved: Booleans
    broken: Booleans


class Subject(SkinnedObject):
    """One character, original. Arrays are read when they are first asked for, and only once."""

    def __init__(
        self,
        obj: bpy.types.Object,
        depsgraph: bpy.types.Depsgraph,
        known: dict[int, Subject] | None = None,
    ) -> None:
        """Look at an object, enabled or not.

        Args:
            known: subjects read just now, by session_uid, to which this one is added.
        """
        super().__init__(obj)
        self.depsgraph = depsgraph
        self._known = {} if known is None else known
        self._known[obj.session_uid] = self
        self._shared: dict[tuple[Hashable, ...], Any] = {}
        self.reads_other_meshes = False

    def once(self, find: Callable[..., Found], *arguments: Hashable) -> Found:
        """What is found with these arguments, once for all subjects read at the same time."""
        shared = next(iter(self._known.values()))._shared
        key = (find, *arguments)
        if key not in shared:
            shared[key] = find(*arguments)
        return shared[key]

    @cached_property
    def beside(self) -> tuple[Subject, ...]:
        """The other meshes on its armature."""
        rig = self.find_rig()
        if rig is None:
            return ()
        layer = cast("bpy.types.ViewLayer", self.depsgraph.view_layer)
        return tuple(
            self._known.get(obj.session_uid) or Subject(obj, self.depsgraph, self._known)
            for obj in deformed_meshes(rig, layer)
            if obj != self.obj and not is_posed_copy(obj)
        )

    @cached_property
    def all_meshes(self) -> tuple[Subject, ...]:
        """The meshes on its armature, itself among them: those with fewer vertices first."""
        every = (self, *self.beside)
        return tuple(sorted(every, key=lambda each: (len(each.rest), each.obj.name)))

    @cached_property
    def with_its_settings(self) -> tuple[Subject, ...]:
        """The meshes that have the settings of one character: itself first.

        Before a character is enabled, all meshes on the armature.
        """
        own = armature_with_settings(self.obj)
        return (self, *(each for each in self.beside if armature_with_settings(each.obj) == own))

    @cached_property
    def seams(self) -> tuple[MeshSeam, ...]:
        """The seams with other meshes, open or closed."""
        of_character = self.once(_SeamsOfCharacter, self.all_meshes)
        found = (of_character.between(self, other) for other in self.beside)
        return tuple(each for each in found if each is not None)

    @cached_property
    def box(self) -> Float64s | None:
        """Shape (2, 3), the lowest and the highest corner at rest, armature space."""
        positions = self.rest_in_armature
        if positions is None or not len(positions):
            return None
        return np.stack((positions.min(axis=0), positions.max(axis=0)))

    @cached_property
    def character_size(self) -> float:
        """The size of all meshes on its armature, armature space."""
        boxes = [each.box for each in (self, *self.beside) if each.box is not None]
        return extent(np.concatenate(boxes)) if boxes else 0.0

    @cached_property
    def seam_mesh(self) -> SeamMesh | None:
        """The mesh for its seams with others; None where it is no mesh at rest."""
        positions = self.rest_in_armature
        faces = not self.mesh.is_editmode and len(self.mesh.polygons)
        if positions is None or not faces or not np.isfinite(positions).all():
            return None
        starts = read_property(self.mesh.polygons, "loop_start", np.int32)
        count = len(self.mesh.loops)
        corners = read_attribute(self.mesh, ".corner_vert", AttributeType.INTEGER, count)
        return SeamMesh(positions, self.influences, starts, corners)

    @cached_property
    def is_current(self) -> bool:
        """Whether it is enabled, and as it was when its modifier was last found to be right."""
        status = status_of(self.obj)
        known = (
            None if status.edits_read is None or not self.settings.is_enabled else status.binding
        )
        open_ends = status.waits or status.problem or status.failure or status.softness.older_than
        # Modifiers before ours may make other vertices in every frame; an undo may bring other soft
        # weights, and another object that has the mesh may write its own attributes into it.
        varies = self.modifiers_before or keeps_soft_weights(self) or self.mesh.users > 1
        if known is None or open_ends or varies or is_behind(self.obj):
            return False
        # What an armature does changes nothing of the mesh.
        if has_moved(known.object_to_armature, self.obj, self.rig, known.extent):
            return False
        now = facts_of_object(self.obj), facts_with_keys(self.mesh, self.weights)
        return now == status.facts and known.structure == structure_of(self)

    @cached_property
    def is_changeable(self) -> bool:
        """Whether fixes can be tried: its data is of this file, and in no Edit Mode."""
        rig = self.find_rig()
        armature = armature_of(rig) if rig is not None else None
        blocks = [each for each in (self.obj, self.mesh, rig, armature) if each is not None]
        editing = self.mesh.is_editmode or (armature is not None and armature.is_editmode)
        return not editing and all(block.library is None for block in blocks)

    @cached_property
    def rest(self) -> Float32s:
        """Shape (n, 3), object space; the mesh without shape keys."""
        return read_positions(self.mesh)

    @cached_property
    def edges(self) -> Int32s:
        """Shape (m, 2), vertex indices."""
        return read_edges(self.mesh)

    @cached_property
    def weights(self) -> VertexGroupWeights:
        """Every vertex group's, as painted."""
        return read_weights(self.mesh)

    @cached_property
    def group_names(self) -> tuple[str, ...]:
        """The vertex groups, in their order."""
        return tuple(group.name for group in self.obj.vertex_groups)

    @cached_property
    def deforming_bones(self) -> frozenset[str]:
        """The names of the bones that have Deform turned on; empty without an armature."""
        rig = self.find_rig()
        return deforming_bones(rig) if rig is not None else frozenset()

    @cached_property
    def still_bones(self) -> tuple[str, ...]:
        """The vertex groups with weights whose bones do not deform."""
        rig, weights = self.find_rig(), self.weights
        bones = armature_of(rig).bones if rig is not None else ()
        weighted = set(weights.groups[weights.weights > 0.0].tolist())
        names = (name for group, name in enumerate(self.group_names) if group in weighted)
        return tuple(n for n in names if n in bones and n not in self.deforming_bones)

    @cached_property
    def on_still_bones(self) -> Int32s:
        """The vertices with a weight in one of these groups."""
        return self.vertices_in(self.still_bones)

    def vertices_in(self, names: Iterable[str]) -> Int32s:
        """The vertices with a weight above 0 in one of these groups."""
        weights, places = self.weights, [self.group_names.index(name) for name in names]
        has_any = np.isin(weights.groups, places) & (weights.weights > 0.0)
        return np.unique(weights.vertices[has_any])

    @cached_property
    def deforming_weights(self) -> DeformingWeights:
        """The weights on these bones, as painted; none without an armature."""
        return self._on_deforming_bones(self.weights)

    @cached_property
    def weights_of_modifiers(self) -> DeformingWeights | None:
        """The same as modifiers before the Armature modifier make them now; None without such.

        Of the vertices of the evaluated mesh, which may be others.
        """
        if not writes_weights(self):
            return None
        return self._on_deforming_bones(
            read_weights(mesh_of(self.obj.evaluated_get(self.depsgraph)))
        )

    def _on_deforming_bones(self, every: VertexGroupWeights) -> DeformingWeights:
        names = enumerate(self.group_names)
        groups = [group for group, name in names if name in self.deforming_bones]
        rows = np.flatnonzero(np.isin(every.groups, groups))
        vertices = every.vertices[rows]
        weights = every.weights[rows].astype(np.float64)
        broken = np.zeros(every.vertex_count, np.bool_)
        broken[vertices[~np.isfinite(weights)]] = True
        weights = np.where((weights > 0.0) & ~broken[vertices], weights, 0.0)
        sums = np.bincount(vertices, weights=weights, minlength=every.vertex_count)
        moved = sums > MIN_WEIGHT_SUM
        return DeformingWeights(rows, vertices, every.groups[rows], weights, sums, moved, broken)

    @cached_property
    def skeleton(self) -> Skeleton:
        """Every bone at rest, parents first; with an armature only."""
        return read_skeleton(self.rig)

    @property
    def bone_kinds(self) -> BoneKinds:
        """What the user takes bones of `skeleton` for."""
        text = self.settings.bone_kinds
        return kinds_by_index(text, self.skeleton.names) if text else ()

    @cached_property
    def mirrored_bones(self) -> Indices:
        """Shape (B,): the bone that is the mirror image of each bone, -1 where there is none."""
        return mirrored_bones(self.skeleton.heads, self.skeleton.tails)

    @cached_property
    def influences(self) -> Influences:
        """The influences of every vertex on the bones of `skeleton`; with an armature only."""
        # Of a flat mesh the envelopes do not matter: the check of the objects' scales says that.
        there = self.rest if self.rest_in_armature is None else self.rest_in_armature
        return modifier_influences(self.obj, self.modifier, self.weights, self.skeleton, there)

    @cached_property
    def moving_bones(self) -> frozenset[str]:
        """The names of the bones that move a vertex; with an armature only."""
        moves = self.influences.moving_bones(self.skeleton.bone_count)
        return frozenset(self.skeleton.names[int(bone)] for bone in np.flatnonzero(moves))

    @cached_property
    def blended_bones(self) -> frozenset[str]:
        """The names of the bones that move a vertex together with another bone."""
        weights, bones = self.influences.weights, self.influences.bones
        rows, slots = np.nonzero(weights > WEAKEST_SHARE)
        blends = np.bincount(rows, minlength=len(weights)) > 1
        found = np.unique(bones[rows, slots][blends[rows]])
        return frozenset(self.skeleton.names[bone] for bone in found.tolist())

    @cached_property
    def object_to_armature(self) -> Float64s | None:
        """Shape (4, 4), the current A^-1 O; None without an armature, or where one of them is flat.

        The check of the objects' scales says that.
        """
        try:
            return object_to_armature(
                self.obj.evaluated_get(self.depsgraph), self.rig.evaluated_get(self.depsgraph)
            )
        except BindingError:
            return None

    @cached_property
    def rest_in_armature(self) -> Float64s | None:
        """Shape (n, 3), `rest` in armature space; None where there is no `object_to_armature`."""
        matrix = self.object_to_armature
        return None if matrix is None else transformed_points(matrix, self.rest)

    @cached_property
    def skin(self) -> SkinAtRest:
        """The skin of this mesh alone, with its limbs; with a `rest_in_armature` only."""
        assert self.rest_in_armature is not None
        sides = np.array([bone_side(name) for name in self.skeleton.names], np.int8)
        read = (self.rest_in_armature, self.influences, self.skeleton)
        axis = Settings.of(self.obj).limb_axis
        return SkinAtRest(*read, axis, sides=sides, kinds=self.bone_kinds)

    @cached_property
    def skin_with_hard_edges(self) -> tuple[Float64s, Influences]:
        """`rest_in_armature` and `influences`, with the middles of hard edges."""
        assert self.rest_in_armature is not None
        count = self.skeleton.bone_count
        return with_hard_edges(self.rest_in_armature, self.influences, self.edges, count)

    @cached_property
    def skinned_joints(self) -> SkinnedJoints:
        """The joints that bend the skin; with a `rest_in_armature` only."""
        return SkinnedJoints.of(*self.skin_with_hard_edges, self.skeleton)

    @cached_property
    def joints_in_character(self) -> frozenset[str]:
        """The bones at whose heads are joints inside of the skin of other meshes that they bend.

        Of one of the meshes on its armature, or of all together, where it is no thicker than that
        of this mesh: of a coat the neck is in the body, but no arm is where its sleeve is.
        """
        self.reads_other_meshes = True
        meshes = [each for each in self.beside if each.rest_in_armature is not None]
        if self.rest_in_armature is None or not meshes:
            return frozenset()
        skins = [each.skin_with_hard_edges for each in (self, *meshes)]
        positions, influences = zip(*skins, strict=True)
        every = np.concatenate(positions), Influences.joined(influences)
        most = np.zeros(self.skeleton.bone_count)
        others = [each.skinned_joints for each in meshes]
        elsewhere = np.concatenate([joints.bones for joints in others])
        own = np.isin(self.skinned_joints.bones, elsewhere)
        most[self.skinned_joints.bones[own]] = _AS_THICK * self.skinned_joints.radii[own]
        found: list[int] = []
        for joints in (*others, SkinnedJoints.of(*every, self.skeleton)):
            inside = joints.inside(np.eye(4)) & (joints.radii <= most[joints.bones])
            found += joints.bones[inside].tolist()
        return frozenset(self.skeleton.names[bone] for bone in found)

    @cached_property
    def misplacement(self) -> Misplacement | None:
        """The movement that puts the mesh on its rig; None where it fits, or without an armature.

        What is measured between skin and bones says nothing where it was.
        """
        positions, to_armature = self.rest_in_armature, self.object_to_armature
        if positions is None or to_armature is None:
            return None
        basis, now = np.array(self.obj.matrix_basis, np.float64), self.skinned_joints
        scale = np.array(self.obj.scale, np.float64) * np.array(self.obj.delta_scale, np.float64)
        places = [(basis, scale, to_armature, now)]
        if np.ptp(np.abs(scale)) > _UNEQUAL * np.abs(scale).max():
            # No rotation undoes an unequal scale: the mesh is looked at without it first.
            even = basis.copy()
            even[:3, :3] *= np.sign(scale) / scale
            there = to_armature @ np.linalg.solve(basis, even)
            positions = self.skin_with_hard_edges[0]
            positions = transformed_points(there @ np.linalg.inv(to_armature), positions)
            joints = SkinnedJoints.of(positions, self.skin_with_hard_edges[1], self.skeleton)
            places.insert(0, (even, np.sign(scale), there, joints))
        for own, size, there, joints in places:
            if len(joints.bones) != len(now.bones):
                continue
            back = np.linalg.inv(there)
            plain = partial(plain_places, own, size, to_armature=there)
            movement = find_movement(
                joints, lambda near, p=plain, b=back: (place @ b for place in p(near)), now
            )
            if movement is not None:
                left = int((~joints.inside(movement)).sum())
                return Misplacement(movement, now, movement @ there, left)
        return None


@dataclass(frozen=True, eq=False)
class MeshSeam:
    """A seam of two meshes: `pairs.one` are vertices of the small one."""

    small: Subject
    large: Subject
    pairs: Seam

    @property
    def is_apart(self) -> Booleans:
        """Shape (p,), the pairs that are not in one place."""
        return self.pairs.distances > SEAM_APART * self.small.character_size


class _SeamsOfCharacter:
    """The seams between meshes on one armature, each found once."""

    def __init__(self, subjects: tuple[Subject, ...]) -> None:
        self._size = subjects[0].character_size
        meshes = {each: mesh for each in subjects if (mesh := each.seam_mesh) is not None}
        self._rows = {each: row for row, each in enumerate(meshes)}
        self._seams = MeshSeams(tuple(meshes.values()), self._size)
        self._found: dict[tuple[Subject, Subject], MeshSeam | None] = {}

    def between(self, one: Subject, other: Subject) -> MeshSeam | None:
        """The seam of two of the meshes; None where they have none."""
        if one not in self._rows or other not in self._rows or not self._may_meet(one, other):
            return None
        both = small, large = (one, other) if self._rows[one] < self._rows[other] else (other, one)
        if both not in self._found:
            pairs = self._seams.between(self._rows[small], self._rows[large])
            self._found[both] = None if pairs is None else MeshSeam(small, large, pairs)
        return self._found[both]

    def _may_meet(self, one: Subject, other: Subject) -> bool:
        ours, theirs = one.box, other.box
        if ours is None or theirs is None or self._size <= 0.0:
            return False
        low, high = np.maximum(ours[0], theirs[0]), np.minimum(ours[1], theirs[1])
        return bool((low <= high + SEAM_MEANT * self._size).all())

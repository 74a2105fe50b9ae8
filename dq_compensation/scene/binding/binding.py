"""The binding: the arrays of a mesh and its armature that do not change with the pose.

`bind` reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

import bpy
import numpy as np
from numpy.typing import NDArray

from ...analysis.limbs import with_limbs
from ...analysis.surface.rigid_pieces import islands, rigid_pieces
from ...arrays import Booleans, Float32s, Float64s, Floats, Indices, Int64s
from ...core.compensation import PublishedCompensation
from ...core.deform import RULES, Deformation
from ...core.influences import Influences
from ...core.measured_joints import MeasuredJoints
from ...core.segment_influences import segment_influences
from ...core.skeleton import (
    BoneKinds,
    JointStrengths,
    LimbAxis,
    Skeleton,
    bones_not_of,
    bones_of,
)
from ...core.skin_at_rest import SkinAtRest
from ...core.solved_shapes import SolvedShapes
from ...core.spherical_joints import JointSets, joint_sets
from ...core.swing_joints import SwingJoints
from ...core.topology import MeshArrays, Topology, topology
from ...core.twist_limbs import TwistLimbs
from ...core.vectors import extent, transformed_points
from ..blender.armature import is_in_edit_mode, pose_matrices
from ..blender.bendy_bones import with_segments
from ..blender.bone_names import bone_side
from ..blender.mesh import VertexGroupWeights, mesh_of, read_weights
from ..blender.placement import same_place
from ..settings.bone_texts import kinds_by_index
from ..settings.object_settings import (
    BONE_SETTINGS,
    JOINT_SETTINGS,
    Settings,
)
from .character_skin import Carried, CharacterSkin, LimbSettings
from .facts import Facts, digest
from .kept_examples import ExampleItem, Examples
from .kept_shapes import ReadShapes
from .layers import LayerMesh
from .shape_key_offsets import ShapeKeys, written_by_drivers

# A share of the deformation this near to 0 or 1 is taken for 0 or 1.
_NEAR = 1e-3

AnyCompensation = PublishedCompensation | MeasuredJoints
_Amounts = TypeVar("_Amounts", PublishedCompensation, MeasuredJoints, SwingJoints, TwistLimbs)


@dataclass(frozen=True)
class _Found:
    """A compensation as it was found.

    Attributes:
        place: shape (4, 4), A^-1 O.
        strengths: of joints.
        acting: with what takes some of it away.
    """

    place: Float64s
    strengths: JointStrengths
    acting: AnyCompensation

    def is_of(self, place: Float64s, strengths: JointStrengths, extent: float) -> bool:
        """Whether it was found at this place, with these strengths, of a skin of this size."""
        return self.strengths == strengths and same_place(self.place, place, extent)


@dataclass(frozen=True, eq=False)
class Binding:
    """The static side of one deformed object. It holds arrays and names, no Blender references.

    `topology`, `sets`, compensations and examples are computed when they are first asked for. The
    argument `object_to_armature` is the current A^-1 O, shape (4, 4); by default that at binding.

    Attributes:
        object_uid: session_uid of the mesh object.
        armature_uid: session_uid of the armature object.
        rest: shape (n, 3), float32, object space; the basis shape.
        shape_keys: None when the mesh has none.
        influences: of every vertex, on the bones of `skeleton`; soft ones where softness acts.
        painted_influences: by the weights that are painted; the same object where it does not.
        first_influences: by the weights that were painted before *Soften Weights*; the same object
            where none are kept. They say what is a limb.
        mask: shape (n,), float32; how much of the deformation the vertex group of the Armature
            modifier lets through; None without it.
        is_mixed: whether others mix their results with that of the Armature modifier.
        skeleton: every bone, parents first.
        pose_order: shape (B,); where each bone of `skeleton` is among the pose bones.
        object_to_armature: shape (4, 4), float64; A^-1 O when it was bound.
        group_names: the vertex groups, in their order.
        followed: the names of the modifiers before the Armature modifier that are followed: the
            vertices are those that come into the Armature modifier then. Empty where they are
            those of the mesh itself.
        reshaped: whether modifiers before the Armature modifier may move the vertices in each
            frame; `rest` is where they were when it was bound.
        mesh_arrays: the faces of `topology`.
        solved: the solved shapes of the mesh's own vertices; None without any.
        structure: `scene.binding.facts.structure_of` the object when it was bound.
        bones_at_rest: the digest of the bones without their names.
        whole: the skin of its character; None where no other mesh of that is enabled.
    """

    object_name: str
    object_uid: int
    mesh_uid: int
    armature_name: str
    armature_uid: int
    rest: Float32s
    shape_keys: ShapeKeys | None
    influences: Influences
    painted_influences: Influences
    first_influences: Influences
    mask: Float32s | None
    is_mixed: bool
    skeleton: Skeleton
    pose_order: Indices
    object_to_armature: Float64s
    group_names: tuple[str, ...]
    example_items: tuple[ExampleItem, ...]
    solved: ReadShapes | None
    structure: Facts
    bones_at_rest: str
    followed: tuple[str, ...]
    reshaped: bool
    mesh_arrays: MeshArrays = field(repr=False)
    _weights: VertexGroupWeights = field(repr=False)
    whole: CharacterSkin | None = field(default=None, repr=False)
    _compensations: dict[tuple[object, ...], _Found] = field(
        default_factory=dict, repr=False, init=False
    )
    _twists: dict[tuple[object, ...], tuple[Float64s, TwistLimbs]] = field(
        default_factory=dict, repr=False, init=False
    )
    # The last one that was asked for.
    _skins: dict[LimbSettings, tuple[Float64s, SkinAtRest]] = field(
        default_factory=dict, repr=False, init=False
    )
    _painted: dict[str, Float32s] = field(default_factory=dict, repr=False, init=False)
    # Of `alone`, by its kinds.
    _alone: dict[object, CharacterSkin] = field(default_factory=dict, repr=False, init=False)
    _segments: list[tuple[Float64s, Influences]] = field(
        default_factory=list, repr=False, init=False
    )
    _written: list[Binding] = field(default_factory=list, repr=False, init=False)
    _examples: dict[LimbAxis, Examples] = field(default_factory=dict, repr=False, init=False)
    # Of `acting_shapes`, by which joints are switched on.
    _shapes: dict[tuple[bool, ...], SolvedShapes] = field(
        default_factory=dict, repr=False, init=False
    )

    def renamed(
        self,
        names: tuple[str, ...],
        group_names: tuple[str, ...],
        example_items: tuple[ExampleItem, ...],
        structure: Facts,
    ) -> Binding:
        """The same with other names of the bones, of the groups and in the examples."""
        found = replace(
            self,
            skeleton=replace(self.skeleton, names=names),
            group_names=group_names,
            example_items=example_items,
            structure=structure,
        )
        found._segments.extend(self._segments)
        kept = ["topology", "extent", "bends"]
        if [item.key for item in example_items] == [item.key for item in self.example_items]:
            kept.append("_digests")
        vars(found).update({name: vars(self)[name] for name in kept if name in vars(self)})
        if "part" in vars(self):
            vars(found)["part"] = replace(self.part, skeleton=found.skeleton)
        # Joints know bones by their places, but sides and twist bones by names.
        same_twists = np.array_equal(found.skeleton.twisting, self.skeleton.twisting)
        if same_twists and np.array_equal(found.bone_sides, self.bone_sides):
            found._compensations.update(self._compensations)
            found._twists.update(self._twists)
            for key, (place, skin) in self._skins.items():
                skeleton = replace(skin.skeleton, names=names)
                found._skins[key] = place, skin.with_limbs(skeleton, skin.mesh_parents)
        return found

    def in_character(self, whole: CharacterSkin | None) -> Binding:
        """The same as a part of its character; itself where that changes nothing."""
        if not self.differs_in(whole):
            return self
        found = replace(self, whole=whole)
        kept = ("topology", "sets", "part", "alone", "extent", "bone_sides", "bends", "_digests")
        vars(found).update({name: vars(self)[name] for name in kept if name in vars(self)})
        for name in ("_painted", "_examples", "_alone"):
            getattr(found, name).update(getattr(self, name))
        found._segments.extend(self._segments)
        return found

    def differs_in(self, whole: CharacterSkin | None) -> bool:
        """Whether the skin of its character shows something else than when it was bound."""
        return whole is not self.whole and self.findings != self._findings_with(whole)

    @property
    def findings(self) -> str | None:
        """What is found on the skin of its character; None where it alone shows the same."""
        return self._findings_with(self.whole)

    def _findings_with(self, whole: CharacterSkin | None) -> str | None:
        if whole is None:
            return None
        # Most meshes of many have a part of the bones: what each shows alone is not asked.
        if not np.array_equal(whole.moves, self.alone.moves):
            return whole.findings
        if whole.kinds not in self._alone:
            self._alone[whole.kinds] = replace(self.alone, kinds=whole.kinds)
        differs = whole.findings != self._alone[whole.kinds].findings
        return whole.findings if differs else None

    @cached_property
    def part(self) -> LayerMesh:
        """The mesh as a part of its character."""
        positions = transformed_points(self.object_to_armature, self.rest.astype(np.float64))
        faces = self.mesh_arrays
        pieces = rigid_pieces(self.rest, self.painted_influences, faces.edges, self._islands)
        return LayerMesh(
            positions,
            self.influences,
            self.skeleton,
            faces.triangles,
            pieces,
            self.first_influences,
        )

    @cached_property
    def _islands(self) -> Int64s:
        return islands(self.mesh_arrays.edges, self.vertex_count)

    def keep_part_of(self, known: Binding) -> None:
        """Be the very part of its character that it was, if what was read anew is the same.

        The skin of the character stays the same object then.
        """
        are_same = map(np.array_equal, self._arrays_of_part, known._arrays_of_part)
        if self.skeleton is known.skeleton and all(are_same):
            kept = ("part", "alone")
            vars(self).update({name: vars(known)[name] for name in kept if name in vars(known)})
            self._alone.update(known._alone)
        same = len(self.rest) == len(known.rest)
        if same and np.array_equal(self.mesh_arrays.edges, known.mesh_arrays.edges):
            vars(self)["_islands"] = known._islands

    @property
    def _arrays_of_part(self) -> list[NDArray[np.generic]]:
        faces = self.mesh_arrays
        arrays = [self.object_to_armature, self.rest, faces.edges, faces.corner_vertex]
        for each in (self.influences, self.painted_influences, self.first_influences):
            arrays += [each.bones, each.weights]
        return [*arrays, faces.triangle_corners]

    @cached_property
    def alone(self) -> CharacterSkin:
        """The skin of a character that has no other mesh."""
        return CharacterSkin((self.part,), self.skeleton, self.bone_sides)

    @property
    def vertex_count(self) -> int:
        """The n vertices."""
        return len(self.rest)

    @property
    def weights_of_mesh(self) -> VertexGroupWeights | None:
        """All weights of the object's own mesh; None where modifiers before were read."""
        return None if self.followed or self.reshaped else self._weights

    @cached_property
    def extent(self) -> float:
        """The longest side of the box of `rest`."""
        return extent(self.rest)

    @property
    def content(self) -> dict[str, str | None]:
        """The digests of what was read from the mesh, and from the others of its character."""
        others = None if self.whole is None else self.findings
        return {**self._digests, "other meshes": others}

    @cached_property
    def _digests(self) -> Facts:
        ours, keys, shapes = self.influences, self.shape_keys, None
        if keys is not None and self.example_items:
            names = keys.key_names
            rows = [names.index(item.key) for item in self.example_items if item.key in names]
            shapes = keys.own_offsets[rows]
        as_skinned = self.not_compensated | (self.part.pieces >= 0)
        weights = (ours.bones, ours.weights, ours.blending_order, as_skinned)
        if self.first_influences is not self.painted_influences:
            weights += (self.first_influences.bones, self.first_influences.weights)
        return {
            "vertices": digest(self.rest),
            "weights": digest(*weights),
            "example shapes": digest(shapes),
            # Nodes take any other shape.
            "shapes of keys": digest(keys.own_offsets if keys and self.is_soft_and_bends else None),
        }

    @property
    def is_soft_and_bends(self) -> bool:
        """Whether bendy bones move vertices by soft weights: the soft copy may have shape keys."""
        return self.is_soft and self.bends

    @property
    def shape_varies(self) -> bool:
        """Whether shape keys or modifiers can change the shape that comes to be skinned."""
        return self.shape_keys is not None or self.reshaped

    @cached_property
    def not_compensated(self) -> Booleans:
        """Shape (n,): the vertices on which the Armature modifier acts in part and alone.

        Where others mix their results with its result, nodes cannot know what it alone has done. No
        evaluator compensates these vertices.
        """
        if self.mask is None or not self.is_mixed:
            return np.zeros(self.vertex_count, np.bool_)
        return (self.mask > _NEAR) & (self.mask < 1.0 - _NEAR)

    @cached_property
    def pieces(self) -> Int64s:
        """Shape (n,), the rigid piece of each vertex, -1 for none: `mesh_graph.rigid_pieces`.

        A piece follows its bones as dual quaternions blend them: it keeps its shape. What is joined
        with the skin of another mesh of the character is none.
        """
        return self.part.pieces if self.whole is None else self.whole.pieces(self.part)

    def pieces_of(self, kinds: BoneKinds) -> Int64s:
        """`pieces`, but for those of bones that the user does not take for rigid ones."""
        bones, pieces = bones_not_of(kinds, "RIGID"), self.pieces
        if not bones:
            return pieces
        strongest = self.painted_influences.bones[:, 0]
        return np.where(np.isin(strongest, bones), -1, pieces)

    def kinds_of(self, bone_kinds: str) -> BoneKinds:
        """What the user takes its bones for, by the setting of that name."""
        return kinds_by_index(bone_kinds, self.skeleton.names) if bone_kinds else ()

    @property
    def _carried(self) -> Carried:
        return (self.whole or self.alone).carried(self.part)

    def _acting(
        self, found: _Amounts, kinds: BoneKinds, but_for: Indices | None = None
    ) -> _Amounts:
        """The same without amounts for the vertices to whose skinning nothing is added.

        Where bones that the user takes for rigid ones move a vertex it is less by their weights.

        Args:
            but_for: vertices of rigid pieces that keep theirs.
        """
        pieces, rigid = self.pieces_of(kinds), bones_of(kinds, "RIGID")
        shares = np.where(self.not_compensated | (pieces >= 0), 0.0, 1.0)
        if but_for is not None:
            shares[but_for] = ~self.not_compensated[but_for]
        if rigid:
            of_rigid = np.isin(self.influences.bones, rigid) * self.influences.weights
            shares *= np.maximum(1.0 - of_rigid.sum(axis=1), 0.0)
        if (shares == 1.0).all():
            return found
        amounts = found.amounts
        shares = shares.astype(amounts.dtype).reshape(-1, *[1] * (amounts.ndim - 1))
        return replace(found, amounts=amounts * shares)

    @cached_property
    def _beside_linked(self) -> tuple[Binding, Float64s] | None:
        """The same with the joints of linked meshes that it meets, and how much these count."""
        if self.whole is None or self.whole.linked is None:
            return None
        shares = self.whole.shares_of_linked(self.part)
        return (self.in_character(self.whole.linked), shares) if shares.any() else None

    @cached_property
    def topology(self) -> Topology:
        """Triangles, edges and normal groups of the mesh."""
        return topology(self.mesh_arrays)

    @cached_property
    def sets(self) -> JointSets:
        """The distinct sets of bones that move vertices, and their joints."""
        return joint_sets(self.influences, self.skeleton)

    def painted(self, vertex_group: str) -> Float32s:
        """The weights of a group that says where compensation or blending act, as painted.

        Shape (n,), float32; the same array each time, not to be written to. 1 everywhere where the
        object has no group of that name, as Blender's modifiers take it.
        """
        if vertex_group not in self._painted:
            if vertex_group in self.group_names:
                weights = self._weights.of_group(self.group_names.index(vertex_group))
            else:
                weights = np.ones(self.vertex_count, np.float32)
            self._painted[vertex_group] = weights
        return self._painted[vertex_group]

    @cached_property
    def is_soft(self) -> bool:
        """Whether soft weights move a vertex otherwise than the painted weights do."""
        pairs = ((each.bones, each.weights) for each in (self.influences, self.painted_influences))
        return not all(map(np.array_equal, *pairs))

    @cached_property
    def as_painted(self) -> Binding:
        """The same without softness."""
        return replace(self, influences=self.painted_influences) if self.is_soft else self

    def as_skinned(self, settings: Settings) -> Binding:
        """The same without softness where the method does not compensate."""
        return self if settings.compensates else self.as_painted

    def deformation(
        self, settings: Settings, object_to_armature: Float64s | None = None
    ) -> Deformation:
        """How the settings deform the object: what every evaluator takes.

        Its arrays are the same objects as long as they are true; compare them with `is`.
        """
        if (skinned := self.as_skinned(settings)) is not self:
            return skinned.deformation(settings, object_to_armature)
        groups = (settings.vertex_group, settings.blend_group)
        vertex_weights, blend_weights = (
            self.painted(group) if settings.acts(setting) and group in self.group_names else None
            for setting, group in zip(("vertex_group", "blend_group"), groups, strict=True)
        )
        needs, compensation, twists = RULES[settings.acting_method].needs, None, None
        if needs == "compensation":
            compensation = self.compensation(settings, object_to_armature)
            if settings.twist_spread > 0.0:
                twists = self.twist_limbs(settings, object_to_armature)
        return Deformation(
            settings.acting_method,
            self.influences,
            compensation,
            vertex_weights,
            settings.factor,
            self.sets if needs == "sets" else None,
            blend_weights,
            self.mask,
            partial(self.segments, object_to_armature) if self.bends else None,
            twists,
            settings.twist_spread,
            self.acting_shapes(settings),
        )

    def acting_shapes(self, settings: Settings) -> SolvedShapes | None:
        """The solved shapes that act on the object; None where there are none.

        They are of the mesh's own vertices: where modifiers are followed, none acts. With another
        method than the one on which they were made, and without `use_solved_shapes`, none acts. The
        same object comes back.
        """
        read = self.solved
        if read is None or read.shapes is None or self.followed:
            return None
        if not settings.use_solved_shapes or read.base != settings.acting_method:
            return None
        names = settings.bones_left_out("shapes_left_out")
        bones = read.shapes.hats.behind.tolist()
        acting = tuple(self.skeleton.names[bone] not in names for bone in bones)
        if acting not in self._shapes:
            self._shapes.clear()
            found = read.shapes.of_joints(np.array(acting, np.bool_))
            self._shapes[acting] = found.without(self.not_compensated)
        found = self._shapes[acting]
        return found if found.blocks else None

    def with_shapes(self, read: ReadShapes | None) -> Binding:
        """The same with other solved shapes, or none; all else that was found is true of both."""
        found = copy(self)
        for name in ("as_painted", "bones_with_shapes"):
            vars(found).pop(name, None)
        vars(found).update(solved=read, _shapes={}, _written=[])
        return found

    @cached_property
    def bones_with_shapes(self) -> frozenset[str]:
        """The bones at whose heads the mesh has solved shapes, whether they act or not."""
        shapes = None if self.solved is None else self.solved.shapes
        bones = [] if shapes is None else shapes.hats.behind.tolist()
        return frozenset(self.skeleton.names[bone] for bone in bones)

    @cached_property
    def bends(self) -> bool:
        """Whether a bendy bone moves a vertex."""
        if self.skeleton.bendy is None:
            return False
        bendy = np.zeros(self.skeleton.bone_count, np.bool_)
        bendy[self.skeleton.bendy.bones] = True
        return bool((bendy[self.influences.bones] & (self.influences.weights > 0.0)).any())

    def segments(self, object_to_armature: Float64s | None = None) -> Influences:
        """The influences of the rows of a pose; those of bones where no bendy one moves any."""
        if self.skeleton.bendy is None:
            return self.influences
        to_armature = self.object_to_armature if object_to_armature is None else object_to_armature
        known = self._segments
        if not known or not same_place(known[0][0], to_armature, self.extent):
            rest = transformed_points(to_armature, self.rest)
            known[:] = [(to_armature, segment_influences(self.influences, self.skeleton, rest))]
        return known[0][1]

    def skinning_of(self, shape: Floats, object_to_armature: Float64s) -> Influences:
        """The influences on a shape by the Armature modifier, with the segments of bendy bones.

        Args:
            shape: shape (n, 3), object space; shape keys may move vertices to other segments.
            object_to_armature: shape (4, 4), A^-1 O.
        """
        if shape is self.rest or self.skeleton.bendy is None:
            return self.segments(object_to_armature)
        there = transformed_points(object_to_armature, shape)
        return segment_influences(self.influences, self.skeleton, there)

    def compensation(
        self, settings: Settings, object_to_armature: Float64s | None = None
    ) -> AnyCompensation:
        """The compensation of COMPENSATED, without painted weights and factor.

        It is found on the basis shape: shape keys do not change it. The same object comes back
        while the object stays where it is to its armature.
        """
        to_armature = self.object_to_armature if object_to_armature is None else object_to_armature
        if settings.curve != "MEASURED" and settings.use_ball_joints:
            settings = replace(settings, use_ball_joints=False)
        # Bones by their numbers: names change.
        strengths = self._strengths(settings)
        kinds = self.kinds_of(settings.bone_kinds)
        others = (name for name in JOINT_SETTINGS if name not in BONE_SETTINGS)
        key = (*(getattr(settings, name) for name in others), kinds)
        known = self._compensations.get(key)
        # While a strength is dragged, only the last one is kept.
        if known is not None and known.is_of(to_armature, strengths, self.extent):
            return known.acting
        ball_joints, skin = settings.use_ball_joints, self.skin(settings, to_armature)
        skin = skin.with_whole_limbs if ball_joints else skin.with_whole_limbs.without_sides
        if settings.curve == "MEASURED":
            found = MeasuredJoints.of(skin, ball_joints=ball_joints, strengths=strengths)
            if found.swings is not None:
                found = replace(found, swings=self._acting(found.swings, kinds))
            found = self._acting(found, kinds)
            if (linked := self._beside_linked) is not None:
                theirs, shares = linked
                found = found.towards(theirs.measured(settings, to_armature), shares)
        else:
            published = PublishedCompensation.of(skin, settings.curve, strengths)
            found = self._acting(published, kinds)
        self._compensations[key] = _Found(to_armature, strengths, found)
        return found

    def twist_limbs(
        self, settings: Settings, object_to_armature: Float64s | None = None
    ) -> TwistLimbs:
        """The limbs of COMPENSATED whose twists are spread; found and kept as `compensation`."""
        to_armature = self.object_to_armature if object_to_armature is None else object_to_armature
        named = frozenset(settings.bones_left_out("twist_left_out"))
        left_out = tuple(bone for bone, name in enumerate(self.skeleton.names) if name in named)
        kinds = self.kinds_of(settings.bone_kinds)
        key = (settings.limb_axis, settings.use_mesh_joints, left_out, kinds)
        known = self._twists.get(key)
        if known is not None and same_place(known[0], to_armature, self.extent):
            return known[1]
        skin = replace(self.skin(settings, to_armature), left_out=left_out)
        carried = self._carried.of_pieces(self.pieces_of(kinds))
        positions, influences = skin.positions.copy(), skin.influences
        if len(carried.rows):
            # Rigid pieces on skin turn as it does below their middle.
            positions[carried.rows] = carried.middles
            influences = influences.with_rows(carried.rows, carried.influences)
        skin = replace(skin, positions=positions, influences=influences, whole=skin.body)
        found = self._acting(TwistLimbs.of(skin).turning_once(carried.rows), kinds, carried.rows)
        self._twists[key] = (to_armature, found)
        return found

    def _strengths(self, settings: Settings) -> JointStrengths:
        """How much of the compensation acts at the heads of bones where not all of it does."""
        named = settings.strengths_of_joints
        bones = enumerate(self.skeleton.names if named else ())
        return tuple((bone, named[name]) for bone, name in bones if name in named)

    def skin(self, settings: Settings, object_to_armature: Float64s | None = None) -> SkinAtRest:
        """The skin at rest in armature space, with the limbs and joints that the mesh shows.

        Compensation finds joints by its `with_whole_limbs`.
        Without *Mesh Joints* there are no such joints.
        """
        to_armature = self.object_to_armature if object_to_armature is None else object_to_armature
        kinds = self.kinds_of(settings.bone_kinds)
        key = settings.limb_axis, settings.use_mesh_joints, kinds
        known = self._skins.get(key)
        if known is not None and same_place(known[0], to_armature, self.extent):
            return known[1]
        rest = transformed_points(to_armature, self.rest).astype(np.float32)
        if self.whole is not None:
            whole = self.whole.at_rest(key)
            skin = replace(
                whole,
                positions=rest,
                influences=self.influences,
                painted=self.first_influences,
                whole=whole,
            )
        else:
            skin = SkinAtRest(
                rest,
                self.influences,
                self.skeleton,
                settings.limb_axis,
                sides=self.bone_sides,
                painted=self.first_influences,
                kinds=kinds,
            )
            skin = with_limbs(skin, use_mesh_joints=settings.use_mesh_joints)
        self._skins.clear()
        self._skins[key] = (to_armature, skin)
        return skin

    @cached_property
    def bone_sides(self) -> NDArray[np.int8]:
        """Shape (B,), -1 left, 1 right, 0 the middle, by the names."""
        return np.array([bone_side(name) for name in self.skeleton.names], np.int8)

    def measured(
        self, settings: Settings, object_to_armature: Float64s | None = None
    ) -> MeasuredJoints:
        """`compensation` by the curve MEASURED."""
        found = self.compensation(replace(settings, curve="MEASURED"), object_to_armature)
        assert isinstance(found, MeasuredJoints)
        return found

    def pose_matrices(self, armature: bpy.types.Object) -> Float64s:
        """D_b of every bone of an evaluated armature, and of segments of bendy bones: (R, 4, 4)."""
        matrices = pose_matrices(armature, self.pose_order)
        if is_in_edit_mode(armature):
            return matrices
        return with_segments(matrices, armature, self.skeleton, self.pose_order)

    def examples(self, limb_axis: LimbAxis = "AUTO") -> Examples:
        """The example poses that can act, solved; limbs point along `limb_axis`."""
        if limb_axis not in self._examples:
            names = self.shape_keys.key_names if self.shape_keys is not None else ()
            self._examples[limb_axis] = Examples.of(
                self.object_name, self.example_items, names, self.skeleton, limb_axis
            )
        return self._examples[limb_axis]

    def acting_examples(self, settings: Settings) -> Examples | None:
        """The example poses that act on the object; None where there are none.

        Their shapes are of the mesh's own vertices: where modifiers are followed, none acts.
        """
        if not settings.by_example or self.followed:
            return None
        examples = self.examples(settings.limb_axis)
        return examples if examples.poses.pose_count else None

    def with_written_keys(self, obj: bpy.types.Object) -> Binding:
        """The same with the points of shape keys that drivers have written; mostly itself.

        Args:
            obj: the evaluated mesh object: only its keys have such points.
        """
        known = self.shape_keys
        if known is None or not written_by_drivers(mesh_of(obj)):
            return self
        original = cast("bpy.types.Object", obj.original)
        own = self._weights if not self.followed else read_weights(mesh_of(original))
        now = ShapeKeys.read(obj, own)
        last = self._written[0].shape_keys if self._written else known
        assert now is not None
        assert last is not None
        if not np.array_equal(now.own_offsets, last.own_offsets):
            if known.follow is not None:
                through = {"follow": known.follow, "same_vertices": known.same_vertices}
                now = replace(now, basis=known.basis, **through)
            # All else that was found is true of both.
            found = copy(self)
            found.__dict__.update(shape_keys=now, _written=[])
            self._written[:] = [found]
        return self._written[0] if self._written else self

    def shape(self, values: Floats | None) -> Float32s:
        """The shape before skinning, (n, 3), float32, object space. Not to be written to.

        Args:
            values: shape (m,), how much of each row of the shape keys' offsets is on; None without
                shape keys.
        """
        if self.shape_keys is None or values is None:
            return self.rest
        return self.shape_keys.positions(values)


# What copies of a character do not have in common.
_OWN = frozenset(
    ("object_name", "object_uid", "mesh_uid", "armature_name", "armature_uid")
    + ("object_to_armature", "structure")
)

_digests: WeakKeyDictionary[Binding | Skeleton, str] = WeakKeyDictionary()


def equality_digest(value: Binding | Skeleton) -> str:
    """A text that is equal for bindings, or skeletons, with all in common but names and places."""
    if value not in _digests:
        _digests[value] = digest(*_parts(value))
    return _digests[value]


def _parts(value: object) -> Iterator[object]:
    """The arrays and plain values in a dataclass, in a fixed order."""
    if isinstance(value, CharacterSkin):
        yield value.findings
    elif is_dataclass(value):
        for each in fields(value):
            if each.init and each.name not in _OWN:
                yield from _parts(getattr(value, each.name))
    elif isinstance(value, np.ndarray) or not callable(value):
        yield value
    else:
        # Modifiers that are followed belong to one object.
        yield id(value)

"""The characters on one armature, read once, as they were before any bake to helper bones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..analysis.limbs import joined_skeleton, parents_of_side
from ..arrays import Float64s, Int32s, Int64s
from ..core.dual_quaternion import matrices_from_quaternions
from ..core.influences import Influences
from ..core.skeleton import LimbAxis, Skeleton
from ..core.skin_at_rest import SkinAtRest
from ..core.vectors import transformed_points, unit_or
from ..errors import UserError
from ..lifecycle.following import binding_with_current_softness
from ..scene.binding.binding import Binding
from ..scene.binding.soft_copy import softness_of
from ..scene.blender.armature import armature_of
from ..scene.blender.rigging import deformation_refusal, rig_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.kept_weights import kept_influences, kept_record
from ..scene.settings.object_settings import Settings
from ..softness.softening import with_softness
from ..wording import listed
from .bake_source import REFUSAL_HIDDEN, REFUSAL_REST, Source

_Number = TypeVar("_Number", bound=np.generic)

_REFUSAL_BEFORE = (
    "The modifier {modifier} of {obj} acts before {armature}, so its vertices are not those of the "
    "mesh. Apply {modifier}, or turn it off in the viewport."
)
_REFUSAL_UNEVEN = (
    "{obj} is scaled unevenly, which constraints do not follow. Apply it (Ctrl A, Scale)."
)
REFUSAL_EDIT_MODE = "{armature} is in Edit Mode. Leave it (Tab) and try again."

# The largest scale of an armature's axes to the smallest one, where they count as equal.
_EVEN = 1.0001
# A joint that takes some skin along chords by more than this, of 1/4, is a ball.
_BALL = 0.1
# The turn from Y to -Y.
_HALF_TURN = np.array([0.0, 0.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class RigSource:
    """An armature and the characters on it. Arrays have the vertices of all, one after another.

    Attributes:
        sources: the characters, without masks, and with the weights before an earlier bake.
        influences: of the N vertices.
        rest: shape (N, 3), armature space.
    """

    armature: bpy.types.Object
    sources: tuple[Source, ...]
    influences: Influences
    rest: Float64s

    @classmethod
    def of(
        cls,
        objects: Sequence[bpy.types.Object],
        depsgraph: bpy.types.Depsgraph,
        *,
        straightens: bool = False,
    ) -> RigSource:
        """Read characters.

        Args:
            objects: mesh objects on one armature without a `bones_refusal`.
            straightens: take bendy bones for straight ones, where they are refused otherwise.

        Raises:
            UserError: one of them cannot be baked.
        """
        bindings = [original_binding(obj, depsgraph, straightens=straightens) for obj in objects]
        rests = [transformed_points(b.object_to_armature, b.rest) for b in bindings]
        influences = _together([binding.influences for binding in bindings])
        rest = np.concatenate(rests).astype(np.float64)
        sources = tuple(map(Source, objects, bindings))
        return cls(rig_of(objects[0]), sources, influences, rest)

    @property
    def objects(self) -> list[bpy.types.Object]:
        """The mesh objects."""
        return [source.obj for source in self.sources]

    @property
    def skeleton(self) -> Skeleton:
        """The skeleton of the armature; helper bones of an earlier bake are among its bones."""
        return self.sources[0].binding.skeleton

    @cached_property
    def joined(self) -> tuple[Skeleton, Int32s]:
        """The skeleton in which joints turn, and each bone's place in it: `joined_skeleton`.

        Where tails do not tell the limbs, or an axis is named, see `_along_limbs`.
        """
        source, skeleton = self.sources[0], self.skeleton
        axis, sides = Settings.of(source.obj).limb_axis, source.binding.bone_sides
        skin = SkinAtRest(self.rest, self.influences, skeleton, axis, sides=sides)
        joined, place = joined_skeleton(skin)
        turned = (joined.rest[place, :3, 1] != skeleton.rest[:, :3, 1]).any()
        if axis == "AUTO" and not turned:
            return joined, place
        of_side, leads = parents_of_side(skin), joined.parents.copy()
        is_leaf = skin.limbs_of_bones != np.arange(skeleton.bone_count)
        leads[place[is_leaf | ((of_side < 0) & (skeleton.parents >= 0))]] = -1
        return _along_limbs(joined, axis, leads), place

    @cached_property
    def limbs(self) -> Skeleton:
        """The skeleton with the axes and tails of limbs, which helper bones have."""
        joined, place = self.joined
        return replace(self.skeleton, rest=joined.rest[place], tails=joined.tails[place])

    def ball_joints(self) -> list[int]:
        """The bones behind the joints that *Ball Joints* takes for balls on some character."""
        found: set[int] = set()
        for source in self.sources:
            compensation = source.binding.deformation(Settings.of(source.obj)).compensation
            swings = None if compensation is None else compensation.swings
            if swings is not None:
                joints = np.unique(swings.joints[swings.amounts > _BALL])
                found.update(swings.children[joints].tolist())
        return sorted(found)

    @property
    def pieces(self) -> Int64s:
        """Shape (N,), the rigid piece of each vertex, -1 for none."""
        found, start = [], 0
        for source in self.sources:
            pieces = source.pieces
            found.append(np.where(pieces >= 0, pieces + start, -1))
            start += source.vertex_count
        return np.concatenate(found)

    def live(self, matrices: Float64s) -> Float64s:
        """Our deformation in a pose, shape (N, 3), armature space.

        Args:
            matrices: shape (B, 4, 4), D_b.
        """
        depsgraph = bpy.context.evaluated_depsgraph_get()
        found = []
        for source in self.sources:
            posed = source.posed(depsgraph, matrices)
            found.append(transformed_points(posed.to_armature, posed.wanted))
        return np.concatenate(found).astype(np.float64)

    def split(self, rows: NDArray[_Number]) -> list[NDArray[_Number]]:
        """Rows of the N vertices by object."""
        counts = [source.vertex_count for source in self.sources]
        return np.split(rows, np.cumsum(counts)[:-1])


def _along_limbs(skeleton: Skeleton, axis: LimbAxis, parents: Int32s) -> Skeleton:
    """The skeleton with axes and tails of its limbs: the same wherever the tails of its bones lie.

    They are those of a bone along the limb, without roll.

    Args:
        axis: along which limbs point; see `Skeleton.limb_directions`.
        parents: shape (B,), whose children show where limbs lead; -1 for none.
    """
    along, rest = skeleton.limb_directions(axis, parents), skeleton.rest.copy()
    # Half of the shortest turn from Y: (1 + y . along, y x along), up to its length.
    x, y, z = along.T
    half = np.stack((1.0 + y, z, np.zeros(len(along)), -x), axis=1)
    rest[:, :3, :3] = matrices_from_quaternions(unit_or(half, _HALF_TURN))
    above = np.where(parents >= 0, parents, np.arange(skeleton.bone_count))
    tails = skeleton.heads + skeleton.limb_lengths(above)[:, None] * along
    return replace(skeleton, rest=rest, tails=tails)


def bones_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object cannot get helper bones at all, or None; cheap."""
    skinned = SkinnedObject(obj)
    if reason := deformation_refusal(skinned):
        return reason
    modifier = skinned.modifier
    for other in skinned.modifiers_before:
        if other.show_viewport:
            return _REFUSAL_BEFORE.format(modifier=other.name, obj=obj.name, armature=modifier.name)
    multiplied = [b for b in skinned.armature.bones if b.use_envelope_multiply]
    if modifier.use_bone_envelopes or any(bone.use_deform for bone in multiplied):
        return (
            f"{obj.name} follows bone envelopes, which engines do not know. Turn them off in the "
            "Armature modifier, or in the bones (Envelope Multiply), and use vertex groups alone."
        )
    return _state_refusal(obj)


def _state_refusal(obj: bpy.types.Object) -> str | None:
    """Why an object and its armature cannot be baked in their current state."""
    armature = rig_of(obj)
    if armature_of(armature).is_editmode:
        return REFUSAL_EDIT_MODE.format(armature=armature.name)
    if armature_of(armature).pose_position == "REST":
        return REFUSAL_REST.format(armature=armature.name)
    for one in (armature, obj):
        if one.matrix_world.is_negative:
            return f"{one.name} has a negative scale. Apply it (Ctrl A, Scale)."
    scales = np.abs(np.array(armature.matrix_world.to_scale()))
    if scales.max() > _EVEN * scales.min():
        return _REFUSAL_UNEVEN.format(obj=armature.name)
    return None if obj.visible_get() else REFUSAL_HIDDEN.format(obj=obj.name)


def original_binding(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, *, straightens: bool = False
) -> Binding:
    """The binding of an object without its mask, with the weights that an earlier bake has kept."""
    obj = cast("bpy.types.Object", obj.original)
    binding = replace(binding_with_current_softness(obj, depsgraph, follow=False), mask=None)
    if kept_record(obj) is not None:
        influences = kept_influences(obj, binding.skeleton.names)
        first = binding.first_influences
        first = influences if first is binding.painted_influences else first
        binding = replace(
            binding,
            influences=influences,
            painted_influences=influences,
            first_influences=first,
        )
        binding = with_softness(obj, binding, softness_of(SkinnedObject(obj)))
    if not straightens:
        _require_straight_bones(obj, binding)
    return binding


def _require_straight_bones(obj: bpy.types.Object, binding: Binding) -> None:
    """Raise `UserError` where bendy bones move vertices."""
    bendy, ours = binding.skeleton.bendy, binding.influences
    if bendy is None:
        return
    moving = np.unique(ours.bones[ours.weights > 0.0])
    names = [binding.skeleton.names[bone] for bone in np.intersect1d(moving, bendy.bones)]
    if names:
        raise UserError(
            f"{obj.name} follows bendy bones of {binding.armature_name}, which engines do not "
            f"know: {listed(names)}. Set their Segments to 1 (Bone properties, Bendy Bones) and "
            "look at the result first."
        )


def _together(parts: Sequence[Influences]) -> Influences:
    """The influences of several meshes on one skeleton."""
    width = max(part.width for part in parts)

    def padded(rows: NDArray[_Number]) -> NDArray[_Number]:
        return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))

    bones = np.concatenate([padded(part.bones) for part in parts])
    return Influences(bones, np.concatenate([padded(part.weights) for part in parts]))

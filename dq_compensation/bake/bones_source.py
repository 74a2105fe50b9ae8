"""The characters on one armature that get helper bones: read once, as they were before any bake."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import bpy
import numpy as np
from numpy.typing import NDArray

from ..analysis.limbs import joined_skeleton, parents_of_side
from ..analysis.twist_bones import TwistedRig
from ..arrays import Float64s, Int32s, Int64s, Integers
from ..core.influences import Influences
from ..core.limb_joints import SkinAtRest
from ..core.skeleton import Skeleton
from ..core.vectors import transformed_points
from ..errors import UserError, raise_refusal
from ..lifecycle.following import binding_with_current_softness
from ..modifier.modifier_stack import choose_preserve_volume
from ..scene.binding.binding import Binding
from ..scene.binding.content import softness_of
from ..scene.blender.animation_curves import all_actions, bone_channel
from ..scene.blender.armature import armature_of, deforming_bones
from ..scene.blender.mesh import mesh_of, other_users
from ..scene.blender.own_objects import linked_refusal
from ..scene.blender.rigging import deformation_refusal, find_rig, rig_of
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.helper_rig import gauges_of, helper_names, remove_helpers
from ..scene.key_writing import remove_curves, remove_keys, remove_made_basis
from ..scene.settings.object_settings import Settings
from ..scene.vertex_groups import (
    kept_influences,
    kept_record,
    restore_refusal,
    restore_weights,
    writing_refusal,
)
from ..softness.softening import with_softness
from ..wording import listed
from .bake_source import REFUSAL_HIDDEN, REFUSAL_REST, BakeOnto, Source
from .bones_poses import along_limbs

_Number = TypeVar("_Number", bound=np.generic)

_REFUSAL_BEFORE = (
    "The modifier {modifier} of {obj} acts before {armature}, so its vertices are not those of the "
    "mesh. Apply {modifier}, or turn it off in the viewport."
)
_REFUSAL_UNEVEN = (
    "{obj} is scaled unevenly, which constraints do not follow. Apply it (Ctrl A, Scale)."
)
_ADVICE_LINKED = "Bake onto a copy."
_REFUSAL_SHARED_BONES = (
    "{count} objects share the bones of {armature} and would all get the helpers. Bake onto a "
    "copy, or make {armature} single user (Object, Relations, Make Single User)."
)
_REFUSAL_SHARED_MESH = (
    "{count} objects share the mesh of {obj} and would all get the weights. Bake onto a copy, or "
    "make {obj} single user (Object, Relations, Make Single User)."
)
_REFUSAL_SCULPT = "{obj} is in Sculpt Mode. Leave it to change weights."
_REFUSAL_BAKED = "{obj} follows helper bones of an earlier bake. Turn on Replace Earlier Bake."

# The largest scale of an armature's axes to the smallest one, where they count as equal.
_EVEN = 1.0001
# A joint that takes some skin along chords by more than this, of 1/4, is a ball.
_BALL = 0.1
REFUSAL_EDIT_MODE = "{armature} is in Edit Mode. Leave it (Tab) and try again."


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

        Where tails do not tell the limbs, or an axis is named, see `along_limbs`.
        """
        source, parents = self.sources[0], self.skeleton.parents.copy()
        # An earlier bake's, which no vertex follows here.
        helpers = helper_names(self.armature)
        parents[[name in helpers for name in self.skeleton.names]] = -1
        axis, sides = Settings.of(source.obj).limb_axis, source.binding.bone_sides
        skeleton = replace(self.skeleton, parents=parents)
        skin = SkinAtRest(self.rest, self.influences, skeleton, axis, sides=sides)
        joined, place = joined_skeleton(skin)
        turned = (joined.rest[place, :3, 1] != skeleton.rest[:, :3, 1]).any()
        if axis == "AUTO" and not turned:
            return joined, place
        of_side, leads = parents_of_side(skin), joined.parents.copy()
        is_leaf = skin.limbs_of_bones != np.arange(skeleton.bone_count)
        leads[place[is_leaf | ((of_side < 0) & (parents >= 0))]] = -1
        return along_limbs(joined, axis, leads), place

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

    def twisted(self, pairs: Integers) -> TwistedRig:
        """The rig with twist bones in the limbs among these pairs of bones whose twists spread."""
        spreads, start = [], 0
        for source in self.sources:
            part = start + np.flatnonzero(source.pieces < 0)
            start += source.vertex_count
            deformation = source.binding.deformation(Settings.of(source.obj))
            if deformation.twist_limbs is not None:
                spreads.append((deformation.twist_limbs, deformation.twist_spread, part))
        chosen = set(pairs.ravel().tolist())
        rig = TwistedRig.of(self.limbs, self.influences, self.rest, spreads, chosen)
        return replace(rig, plain=self.skeleton)

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


def writing_bones_refusal(obj: bpy.types.Object, onto: BakeOnto, *, overwrite: bool) -> str | None:
    """Why helper bones and weights cannot be written for an object, or None."""
    if kept_record(obj) is not None:
        reason = restore_refusal(obj) if overwrite else _REFUSAL_BAKED.format(obj=obj.name)
        if reason is not None:
            return reason
    return _own_refusal(obj) if onto == "THIS" else None


def _own_refusal(obj: bpy.types.Object) -> str | None:
    """Why neither the armature nor the mesh of an object itself can be changed, or None."""
    armature, mesh = rig_of(obj), mesh_of(obj)
    blocks = (armature, armature_of(armature))
    if reason := linked_refusal(armature.name, blocks, _ADVICE_LINKED, overridden=True):
        return reason
    sharing = [other for other in bpy.data.objects if other.data == armature.data]
    if len(sharing) > 1:
        return _REFUSAL_SHARED_BONES.format(count=len(sharing), armature=armature.name)
    named = f"{obj.name} or its mesh"
    if reason := linked_refusal(named, (obj, mesh), _ADVICE_LINKED, overridden=True):
        return reason
    if others := other_users(mesh):
        return _REFUSAL_SHARED_MESH.format(count=others + 1, obj=obj.name)
    if obj.mode == "SCULPT":
        return _REFUSAL_SCULPT.format(obj=obj.name)
    return writing_refusal(obj, deforming_bones(armature))


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


# Takes back what an earlier bake of helper bones has made: bones, weights, keys, animation.


def remove_bones_bake(objects: Sequence[bpy.types.Object]) -> int:
    """Give objects the weights and Preserve Volume that they had before they got helper bones.

    Helper bones that no other mesh follows are removed, with their animation.

    Args:
        objects: mesh objects on one armature, which is of this file. Those without a bake stay as
            they are.

    Returns:
        how many bones were removed.

    Raises:
        UserError: the weights of one cannot be put back; see `restore_refusal`.
    """
    armature = rig_of(objects[0])
    known = set(helper_names(armature))
    for obj in objects:
        record = kept_record(obj)
        if record is None:
            continue
        raise_refusal(restore_refusal(obj))
        # First, because removing a group changes the order of a vertex's other entries.
        for name in known.union(record["added"]):
            if (group := obj.vertex_groups.get(name)) is not None:
                obj.vertex_groups.remove(group)
        restore_weights(obj)
        choose_preserve_volume(SkinnedObject(obj), preserved=record["preserve_volume"])
        _remove_correctives(obj, record)
    unused = helpers_without(armature)
    _remove_channels(armature, unused)
    remove_helpers(armature, unused)
    return len(unused)


def helpers_without(
    armature: bpy.types.Object, objects: Collection[bpy.types.Object] = ()
) -> list[str]:
    """The helper bones of an armature that no mesh but these has weights for, and their gauges."""
    groups = {
        group.name
        for obj in bpy.data.objects
        if obj.type == "MESH" and find_rig(obj) == armature and obj not in objects
        if kept_record(obj) is not None
        for group in obj.vertex_groups
    }
    names = helper_names(armature)
    gauges = {each for name in names if name in groups for each in gauges_of(armature, name)}
    return [name for name in names if name not in groups | gauges]


def _remove_channels(armature: bpy.types.Object, bones: Collection[str]) -> None:
    """Remove the animation of bones from all actions of an armature that are of this file."""
    for played in all_actions(armature):
        if played.action.library is not None:
            continue
        for curve in list(played.curves):
            channel = bone_channel(curve.data_path)
            if channel is not None and channel[0] in bones:
                played.curves.remove(curve)
        for group in list(played.groups):
            if group.name in bones and not len(group.channels):
                played.groups.remove(group)


def _remove_correctives(obj: bpy.types.Object, record: dict[str, Any]) -> None:
    """Remove the shape keys that a bake has listed, and the basis where a bake has made it."""
    key = mesh_of(obj).shape_keys
    if key is None:
        return
    names = [name for name in record.get("keys", ()) if name in key.key_blocks]
    remove_curves(obj, names)
    remove_keys(obj, names)
    remove_made_basis(obj)

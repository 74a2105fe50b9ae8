"""Finds everything that depends on the axes and the place of a bone, and what follows objects."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Euler, Matrix, Quaternion

from ...analysis.bone_axes import skinning_transform
from ...arrays import Float64s, Floats
from ...scene.blender.animation_curves import (
    PlayedAction,
    all_actions,
    bone_channel,
    bone_curves,
    bone_drivers,
    drivers,
    key_points,
    played_actions,
    stored_actions,
)
from ...scene.blender.armature import armature_of
from ...scene.blender.own_objects import is_hidden
from ...scene.blender.rna_properties import node_inputs
from ...scene.stack import own_modifiers
from ...wording import counted, listed
from ..issue import FixError
from .requirements import require_local, require_own_action

# The objects of one armature, and the actions of their bones: a fix rewrites them all.


def objects_with(armature: bpy.types.Armature) -> list[bpy.types.Object]:
    """The objects of this armature datablock; FixError if one of them, or it, is linked."""
    owners = [obj for obj in bpy.data.objects if obj.data == armature]
    for block in (armature, *owners):
        require_local(block)
    return owners


def actions_of(owners: list[bpy.types.Object]) -> list[tuple[PlayedAction, bpy.types.Object]]:
    """The actions of these armature objects, each slot once, with an object that plays it.

    Those that are kept in the file without being played count when they fit no other armature.

    Raises:
        FixError: an action is linked, or other objects play it, too.
    """
    found: dict[tuple[int, int], tuple[PlayedAction, bpy.types.Object]] = {}
    for owner in owners:
        for played in played_actions(owner) + _stored_for(owner):
            found.setdefault((played.action.session_uid, played.slot_handle), (played, owner))
    names = {owner.name for owner in owners}
    for played, owner in found.values():
        others = [name for name in played.other_users(owner) if name not in names]
        require_own_action(played.action, others)
    return list(found.values())


def _stored_for(owner: bpy.types.Object) -> list[PlayedAction]:
    """The unused actions that can be of no other armature."""
    names = {bone.name for bone in owner.pose.bones}
    others = [other for other in bpy.data.objects if other.pose and other.data != owner.data]
    shared = any(bone.name in names for other in others for bone in other.pose.bones)
    return [] if shared else stored_actions(owner)


# Computes the motion of bones by forward kinematics, from their channels and curves.


# The channels that hold a vector in the space of the bone, and where in them it starts.
VECTOR_CHANNELS = {
    "location": 0,
    "rotation_euler": 0,
    "rotation_quaternion": 1,
    "rotation_axis_angle": 1,
    "scale": 0,
}

Curves = dict[tuple[str, str, int], bpy.types.FCurve]


class BoneMotion:
    """The pose matrices of bones of one armature object, as an action plays them.

    For bones that nothing but their channels moves: no constraints, the usual inheritance.

    Args:
        armature: the armature object; channels without a curve have its current values.
        frames: shape (f,).
        played: None: the current pose, whatever the frames.
    """

    def __init__(
        self, armature: bpy.types.Object, frames: Floats, played: PlayedAction | None
    ) -> None:
        self._armature = armature
        self._frames = frames
        self._curves: Curves = curves_by_channel(played) if played is not None else {}
        self._moved: dict[str, Float64s] = {}

    def skinning(self, bone: str) -> Float64s:
        """Shape (f, 4, 4): D = B A^-1, armature space."""
        if bone not in self._moved:
            parent = armature_of(self._armature).bones[bone].parent
            above = self.skinning(parent.name) if parent is not None else np.eye(4)
            self._moved[bone] = skinning_transform(above, self._rest(bone), self.basis(bone))
        return self._moved[bone]

    def pose(self, bone: str) -> Float64s:
        """Shape (f, 4, 4): B, armature space."""
        return self.skinning(bone) @ self._rest(bone)

    def basis(self, bone: str) -> Float64s:
        """Shape (f, 4, 4): M, what the bone's own channels do."""
        pose_bone = self._armature.pose.bones[bone]
        matrices = np.tile(np.eye(4), (len(self._frames), 1, 1))
        values = self._values(pose_bone, rotation_channel(pose_bone)).tolist()
        rotations = np.array([_rotation(pose_bone.rotation_mode, each) for each in values])
        matrices[:, :3, :3] = rotations * self._values(pose_bone, "scale")[:, None, :]
        if not pose_bone.bone.use_connect:  # Blender plays no location of connected bones
            matrices[:, :3, 3] = self._values(pose_bone, "location")
        return matrices

    def _rest(self, bone: str) -> Float64s:
        return np.array(armature_of(self._armature).bones[bone].matrix_local, np.float64)

    def _values(self, bone: bpy.types.PoseBone, channel: str) -> Float64s:
        now: Any = getattr(bone, channel)
        values = np.tile(np.array(now, np.float64), (len(self._frames), 1))
        for index in range(values.shape[1]):
            curve = self._curves.get((bone.name, channel, index))
            if curve is not None:
                values[:, index] = sampled(curve, self._frames)
        return values


def _rotation(mode: str, values: Sequence[float]) -> Matrix:
    if mode == "QUATERNION":
        return Quaternion(values).normalized().to_matrix()
    if mode == "AXIS_ANGLE":
        return Quaternion(values[1:], values[0]).to_matrix()
    return Euler(values, mode).to_matrix()


def curves_by_channel(played: PlayedAction) -> Curves:
    """The curves of bones in an action, by bone, channel and component."""
    curves = (curve for curve in bone_curves([played]) if curve.channel in VECTOR_CHANNELS)
    return {(curve.bone, curve.channel, curve.index): curve.curve for curve in curves}


def sampled(curve: bpy.types.FCurve, frames: Floats) -> Float64s:
    """Shape (f,): the values of a curve at these frames."""
    return np.array([curve.evaluate(frame) for frame in frames.tolist()])


def rotation_channel(bone: bpy.types.PoseBone) -> str:
    """The channel that rotates this bone."""
    channels = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}
    return channels.get(cast("str", bone.rotation_mode), "rotation_euler")


def every_frame(keys: Float64s) -> Float64s:
    """Every whole frame from the first key to the last, and every key between frames."""
    whole = np.arange(np.ceil(keys.min()), np.floor(keys.max()) + 1.0)
    return np.unique(np.concatenate([whole, keys.round(3)]))


# Finds everything that depends on the axes of a bone.


# Constraints whose result does not ask for the axes of the bone that has them (in World Space).
_FREE_OF_OWN_AXES = frozenset({"ARMATURE", "CHILD_OF", "COPY_LOCATION", "LIMIT_DISTANCE"})
# Constraints that only ask where the head of their target bone is.
_ASK_FOR_THE_HEAD = frozenset(
    {"COPY_LOCATION", "DAMPED_TRACK", "LIMIT_DISTANCE", "LOCKED_TRACK", "STRETCH_TO"}
)
# Constraints that move the bones above theirs, too.
_WITH_CHAINS = frozenset({"IK", "SPLINE_IK"})
# Modifiers that follow one bone: the properties that name its armature and the bone.
_BONES_OF_MODIFIERS = (
    ("object", "subtarget"),
    ("object_from", "bone_from"),
    ("object_to", "bone_to"),
)
# Variables of drivers that change with the axes of a bone, in the spaces in which they do.
LOCATION_TYPES = frozenset({"LOC_X", "LOC_Y", "LOC_Z"})


def turning_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """Why bones cannot be turned: names of bones, each with what holds on to its axes."""
    yield from _own_reasons(armature, names)
    yield from _constraint_reasons(armature, names)
    yield from driver_reasons(armature, names)
    for obj in bpy.data.objects:
        for modifier in obj.modifiers:
            for target, bone in _BONES_OF_MODIFIERS:
                name = getattr(modifier, bone, "")
                if name in names and getattr(modifier, target, None) == armature:
                    yield name, f"the modifier {modifier.name} of {obj.name} uses its axes"


def require_no_reasons(reasons: list[tuple[str, str]], what: str) -> None:
    """Raise FixError if there are reasons why bones cannot do `what`, e.g. `cannot be turned`.

    Args:
        reasons: names of bones, each with its reason; the first reason of a bone is named.
    """
    if reasons:
        first = dict(reversed(reasons))
        named = listed([f"{name}: {reason}" for name, reason in first.items()])
        raise FixError(f"{counted(len(first), 'bone')} {what} ({named}).")


def _own_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    bones, scaled = armature_of(armature).bones, scaled_bones(armature)
    for bone in bones:
        concerned = bone.name in names or (bone.parent is not None and bone.parent.name in names)
        if concerned and not inherits_as_usual(bone, scaled):
            yield (
                bone.name,
                "in its Relations, turn on Inherit Rotation and Local Location, and set Inherit "
                "Scale to Full",
            )
    for name in names:
        bone, pose_bone = bones[name], armature.pose.bones[name]
        if bone.bbone_segments > 1:
            yield name, "it is a bendy bone; set its Segments to 1"
        if bone.use_envelope_multiply:
            yield name, "its envelope multiplies weights"
        limited = ("lock_ik", "use_ik_limit")
        if any(getattr(pose_bone, f"{kind}_{axis}") for kind in limited for axis in "xyz"):
            yield name, "it has limits or locks for inverse kinematics"
    for curve in bone_drivers(armature):
        if curve.bone in names and curve.channel in VECTOR_CHANNELS | {"rotation_mode": 0}:
            yield curve.bone, f"a driver moves its {curve.channel}"


def inherits_as_usual(bone: bpy.types.Bone, scaled: set[str]) -> bool:
    """Whether a bone follows its parent, if it has one, as new bones do.

    Args:
        scaled: of `scaled_bones`: how a bone inherits scale does not matter where there is none.
    """
    if bone.parent is None:
        return True
    lineage = {each.name for each in bone.parent_recursive}
    usual = bone.use_inherit_rotation and bone.use_local_location
    return usual and (bone.inherit_scale == "FULL" or scaled.isdisjoint(lineage))


def scaled_bones(armature: bpy.types.Object) -> set[str]:
    """The bones that are or may be scaled, in pose or actions, by drivers or constraints."""
    posed = (bone.name for bone in armature.pose.bones if len(bone.constraints) or _is_scaled(bone))
    keyed = (
        curve.bone
        for curve in bone_curves(all_actions(armature), "scale")
        if len(curve.curve.modifiers) or np.abs(key_points(curve.curve)[:, 1] - 1.0).max() > 1e-5
    )
    return {*posed, *keyed, *(curve.bone for curve in bone_drivers(armature, "scale"))}


def _is_scaled(bone: bpy.types.PoseBone) -> bool:
    return bool(np.abs(np.array(bone.scale) - 1.0).max() > 1e-5)


def chain_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """The bones in the chains of inverse kinematics, which run along parents, each with why."""
    for pose_bone in armature.pose.bones:
        for constraint in pose_bone.constraints:
            chain = _ik_chain(pose_bone, constraint) if constraint.type in _WITH_CHAINS else []
            for bone in chain:
                if bone in names:
                    yield bone, f"it is in the chain of {constraint.name} of {pose_bone.name}"


def _constraint_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    yield from chain_reasons(armature, names)
    for pose_bone in armature.pose.bones:
        for constraint in pose_bone.constraints if pose_bone.name in names else ():
            if constraint.type not in _WITH_CHAINS and not _is_free_of_own_axes(constraint):
                yield pose_bone.name, f"its constraint {constraint.name} works along its axes"
    for owner, constraint in all_constraints():
        bone = getattr(constraint, "subtarget", "")
        targeted = bone in names and constraint.target == armature
        if targeted and not _asks_for_the_head(constraint):
            yield bone, f"the constraint {constraint.name} of {owner} looks at its axes"
        bone = getattr(constraint, "space_subtarget", "")
        # Sizes along the axes of the target are the same in any space.
        in_space = bone in names and constraint.space_object == armature
        if in_space and _uses_custom_space(constraint) and constraint.type != "COPY_SCALE":
            yield bone, f"the constraint {constraint.name} of {owner} works along its axes"


def _uses_custom_space(constraint: Any) -> bool:
    return "CUSTOM" in {constraint.owner_space, getattr(constraint, "target_space", "")}


def _ik_chain(bone: bpy.types.PoseBone, constraint: Any) -> list[str]:
    """The names of the bones that inverse kinematics, or Spline IK, of a bone moves."""
    links = [each.name for each in (bone, *bone.parent_recursive)]
    if constraint.type == "IK" and not constraint.use_tail:
        links = links[1:]
    return links[: constraint.chain_count] if constraint.chain_count else links


def _is_free_of_own_axes(constraint: Any) -> bool:
    in_world = constraint.owner_space == constraint.target_space == "WORLD"
    return in_world and constraint.type in _FREE_OF_OWN_AXES


def all_constraints() -> Iterator[tuple[str, Any]]:
    """The constraints of all objects and pose bones, with the names of their owners."""
    for obj in bpy.data.objects:
        for constraint in obj.constraints:
            yield obj.name, constraint
        for bone in obj.pose.bones if obj.pose is not None else ():
            for constraint in bone.constraints:
                yield f"{bone.name} ({obj.name})", constraint


def bones_behind(
    armature: bpy.types.Object,
    names: Iterable[str],
    *,
    poles: bool = False,
    scaling: bool = False,
) -> set[str]:
    """These bones, their ancestors, and the bones that their constraints follow.

    A bone that is a slider, for drivers to read, is none of them.

    Args:
        poles: also the targets of poles.
        scaling: without ancestors whose scale is not inherited.
    """
    pose: Any = armature.pose
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        bone = pose.bones.get(waiting.pop())
        if bone is None or bone.name in found:
            continue
        found.add(bone.name)
        if bone.parent is not None and (inherits_scale(bone.bone) or not scaling):
            waiting.append(bone.parent.name)
        for constraint in bone.constraints:
            if poles and getattr(constraint, "pole_target", None) == armature:
                waiting.append(constraint.pole_subtarget)
            ends = (constraint, *getattr(constraint, "targets", ()))
            waiting.extend(e.subtarget for e in ends if getattr(e, "target", None) == armature)
    return found


def inherits_scale(bone: bpy.types.Bone) -> bool:
    """Whether a bone takes the scale of its parent."""
    return bone.inherit_scale not in {"NONE", "NONE_LEGACY"}


def _asks_for_the_head(constraint: Any) -> bool:
    """Whether nothing of the target bone counts but where its head is."""
    in_world = getattr(constraint, "target_space", "WORLD") == "WORLD"
    at_head = getattr(constraint, "head_tail", 0.0) == 0.0
    return constraint.type in _ASK_FOR_THE_HEAD and in_world and at_head


def driver_reasons(armature: bpy.types.Object, names: set[str]) -> Iterator[tuple[str, str]]:
    """Drivers anywhere that read channels or rotations of these bones."""
    for owner in animated():
        for curve in drivers(owner):
            for variable in curve.driver.variables:
                for target in variable.targets:
                    bone = _read_bone(variable, target, names) if target.id == armature else None
                    if bone is not None:
                        yield bone, f"a driver of {owner.name} reads it ({variable.name})"


def _read_bone(variable: Any, target: Any, names: set[str]) -> str | None:
    if variable.type == "SINGLE_PROP":
        for name in names:
            start = f'pose.bones["{bpy.utils.escape_identifier(name)}"].'
            if target.data_path.startswith(start):
                read = target.data_path[len(start) :]
                return name if read.startswith(tuple(VECTOR_CHANNELS)) else None
        return None
    if target.bone_target not in names or variable.type == "LOC_DIFF":
        return None
    in_world = target.transform_space == "WORLD_SPACE"
    is_place = target.transform_type in LOCATION_TYPES
    harmless = variable.type == "TRANSFORMS" and in_world and is_place
    return None if harmless else target.bone_target


def animated() -> Iterator[Any]:
    """The datablocks with animation or drivers."""
    for name in dir(bpy.data):
        collection = getattr(bpy.data, name)
        if isinstance(collection, bpy.types.bpy_prop_collection):
            yield from (each for each in collection if getattr(each, "animation_data", None))


# Finds what goes where an object, or some of its bones, go.


# How paths of an object's properties begin that say where it is.
_PLACE = ("location", "rotation", "scale", "delta_", "matrix_")


class Followers:
    """What follows each object of the file: for all questions of a check, found in one walk.

    Children, and what follows by constraints, drivers and modifiers. What an armature deforms is
    left out, and so are hidden objects of ours.
    """

    def __init__(self) -> None:
        # By the session_uid of what is followed: who does, which bone if any, and whether the
        # place of the object counts.
        self._found: dict[int, set[tuple[str, str, bool]]] = {}
        for find in (_children, _constrained, _driven, _modified):
            for followed, name, bone, by_object in find():
                known = self._found.setdefault(followed.session_uid, set())
                known.add((name, bone, by_object))

    def sentence(self, obj: bpy.types.Object, bones: Collection[str] | None = None) -> str:
        """A sentence on what goes where an object goes, with a space before; empty without any.

        Args:
            bones: of an armature object; what follows one of these, from outside, counts then.
        """
        found = {
            name
            for name, bone, by_object in self._found.get(obj.session_uid, ())
            if (by_object if bones is None else bone in bones)
        }
        follows = "goes with it" if bones is None else "changes its place or size, too"
        return f" What follows it {follows}: {listed(sorted(found))}." if found else ""


# What is followed, who follows it, which of its bones, and whether the object's own place counts.
_Follower = tuple[bpy.types.ID, str, str, bool]


def _shown() -> Iterator[bpy.types.Object]:
    """The objects of the file, without hidden ones of ours."""
    yield from (obj for obj in bpy.data.objects if not is_hidden(obj))


def _children() -> Iterator[_Follower]:
    for child in _shown():
        if child.parent is not None:
            bone = child.parent_bone if child.parent_type == "BONE" else ""
            yield child.parent, child.name, bone, True


def _constrained() -> Iterator[_Follower]:
    for owner, constraint in all_constraints():
        ends = (
            *((constraint, "target", "subtarget"), (constraint, "pole_target", "pole_subtarget")),
            (constraint, "space_object", "space_subtarget"),
            *((each, "target", "subtarget") for each in getattr(constraint, "targets", ())),
        )
        for end, target, subtarget in ends if not is_hidden(constraint.id_data) else ():
            followed = getattr(end, target, None)
            if followed is not None and followed != constraint.id_data:
                yield followed, owner, getattr(end, subtarget, ""), True


def _driven() -> Iterator[_Follower]:
    for owner in animated():
        if isinstance(owner, bpy.types.Object) and is_hidden(owner):
            continue
        for variable in (each for curve in drivers(owner) for each in curve.driver.variables):
            for target in variable.targets:
                if target.id is not None and target.id != owner:
                    yield target.id, owner.name, *_place_read(variable, target)


def _place_read(variable: Any, target: Any) -> tuple[str, bool]:
    """The bone whose place a driver reads, or empty; and whether it reads that of the object."""
    if variable.type in {"TRANSFORMS", "LOC_DIFF", "ROTATION_DIFF"}:
        return target.bone_target, not target.bone_target
    place = bone_channel(re.sub(r"\[\d+\]$", "", target.data_path))
    bone = place[0] if place is not None and place[1] in VECTOR_CHANNELS else ""
    return bone, target.data_path.startswith(_PLACE)


def _modified() -> Iterator[_Follower]:
    for other, modifier, held in _modifiers():
        if modifier.type != "ARMATURE":
            for obj in held:
                for _, bone in _BONES_OF_MODIFIERS:
                    yield obj, other.name, getattr(modifier, bone, ""), True


def _modifiers() -> Iterator[tuple[bpy.types.Object, Any, list[bpy.types.Object]]]:
    """All modifiers of others, with the other objects in their fields, and whose they are."""
    for other in _shown():
        for modifier in other.modifiers:
            fields = (each for each in modifier.bl_rna.properties if each.type == "POINTER")
            held = [getattr(modifier, field.identifier) for field in fields]
            if modifier.type == "NODES" and modifier not in own_modifiers(other):
                held += node_inputs(cast("bpy.types.NodesModifier", modifier))
            objects = [each for each in held if isinstance(each, bpy.types.Object)]
            yield other, modifier, [each for each in objects if each != other]


def modifiers_by_object() -> dict[int, list[tuple[str, Any]]]:
    """By the session_uid of objects: modifiers of others that have them in a field, and whose."""
    found: dict[int, list[tuple[str, Any]]] = {}
    for other, modifier, held in _modifiers():
        for obj in held:
            found.setdefault(obj.session_uid, []).append((other.name, modifier))
    return found

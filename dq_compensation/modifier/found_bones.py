"""What the bones of enabled objects were taken for, as names that their records keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache

import bpy
import numpy as np

from ..core.measured_joints import IdleReason, MeasuredJoints, idle_joints
from ..core.skeleton import BoneKind
from ..scene.binding.binding import Binding
from ..scene.binding.facts import (
    digest_of_bones,
)
from ..scene.binding.soft_copy import FEATURES_PROPERTY, keeps_soft_weights, record_of, soft_copy
from ..scene.blender.mesh import mesh_of
from ..scene.blender.own_objects import parsed_record, record_in, text_in
from ..scene.blender.skinned_object import SkinnedObject
from ..scene.settings.object_settings import Settings
from .parts import Wanted

# A custom property of the object.
BONES_PROPERTY = "dq_compensation_joints"

IDLE_REASONS: dict[IdleReason, str] = {
    "ROPE": "weights wider than the bones, as those of a tail or a rope",
    "ANOTHER_PART": "another part of the body begins there",
    "LITTLE_SKIN": "too little skin bends there",
}
"""Why nothing is compensated at the heads of bones."""


@dataclass(frozen=True)
class FoundBones:
    """The names of the bones that move the skin of an object or a character, by what they are.

    Attributes:
        joints: those at whose heads skin is compensated.
        ball_joints: those at whose heads *Ball Joints* acts.
        limbs: those of limbs that twist along themselves.
        ropes: those at whose heads a tail or another rope bends, which needs no compensation.
        twist_bones: leaves on limbs.
        features: parts of a face; they are looked for where there is *Softness*.
        rigid: those all of whose skin is rigid pieces.
        moves: all others.
        another_part, little_skin: those at whose heads nothing is compensated, by `IDLE_REASONS`.
    """

    joints: frozenset[str] = frozenset()
    ball_joints: frozenset[str] = frozenset()
    limbs: frozenset[str] = frozenset()
    ropes: frozenset[str] = frozenset()
    twist_bones: frozenset[str] = frozenset()
    features: frozenset[str] = frozenset()
    rigid: frozenset[str] = frozenset()
    moves: frozenset[str] = frozenset()
    another_part: frozenset[str] = frozenset()
    little_skin: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """All bones that move skin."""
        return self.moves | self.rigid | self.joints | self.ball_joints | self.limbs | self.ropes

    def kind_of(self, bone: str) -> BoneKind:
        """What a bone was taken for."""
        kinds: dict[BoneKind, frozenset[str]] = {
            "TWIST_BONE": self.twist_bones,
            "RIGID": self.rigid,
            "FACE": self.features,
            "ROW": self.ropes,
        }
        for kind, names in kinds.items():
            if bone in names:
                return kind
        return "LIMB"

    def reason(self, bone: str, settings: Settings) -> str:
        """Why nothing is compensated at the head of a bone; empty where something is."""
        kind = settings.kinds_of_bones.get(bone)
        if settings.strengths_of_joints.get(bone) == 0.0:
            return "you left it out"
        if bone in self.joints or bone in self.ball_joints:
            return ""
        if bone in self.twist_bones:
            return "it is a part of its limb, whose joints compensate its skin"
        if bone in self.rigid or kind == "RIGID":
            return "its skin keeps its shape"
        if kind == "ROW":
            return "you took it for one of a row"
        reasons = (IDLE_REASONS[reason] for reason, names in self.idle.items() if bone in names)
        return next(reasons, "it has no joint that moves skin")

    @property
    def idle(self) -> dict[IdleReason, frozenset[str]]:
        """The bones at whose heads nothing is compensated, by the reason."""
        idle: dict[IdleReason, frozenset[str]] = {
            "ROPE": self.ropes,
            "ANOTHER_PART": self.another_part,
            "LITTLE_SKIN": self.little_skin,
        }
        done = self.joints | self.ball_joints | self.rigid
        return {reason: names - done for reason, names in idle.items()}


def kinds_by_name(made: Wanted) -> dict[str, list[str]]:
    """What the bones of an object are taken for in its deformation, as `FoundBones` has it."""
    skinned, binding, settings = made.skinned, made.binding, made.settings
    names = binding.skeleton.names
    compensation, limbs = made.found.compensation, made.found.twist_limbs
    found: dict[str, Iterable[int]] = {"limbs": [] if limbs is None else limbs.bones.tolist()}
    if compensation is not None:
        swings = compensation.swings
        found["joints"] = compensation.joint_bones.tolist()
        found["ball_joints"] = [] if swings is None else swings.joint_bones.tolist()
        found |= _kinds(skinned, binding, settings)
    if isinstance(compensation, MeasuredJoints):
        done = {*found["joints"], *found["ball_joints"]}
        idle = idle_joints(binding.skin(settings).with_whole_limbs, compensation, done)
        for reason, key in (("ANOTHER_PART", "another_part"), ("LITTLE_SKIN", "little_skin")):
            found[key] = [bone for bone, why in idle.items() if why == reason]
        found["ropes"] = compensation.rope_bones.tolist()
    return {key: [names[bone] for bone in bones] for key, bones in found.items()}


def _kinds(
    skinned: SkinnedObject, binding: Binding, settings: Settings
) -> dict[str, Iterable[int]]:
    """The twist bones, parts of a face and rigid bones among those that move the object."""
    influences, count = binding.painted_influences, binding.skeleton.bone_count
    pieces = binding.pieces_of(binding.kinds_of(settings.bone_kinds))
    moves = influences.at(np.flatnonzero(pieces < 0)).moving_bones(count)
    rigid = influences.at(np.flatnonzero(pieces >= 0)).moving_bones(count) & ~moves
    is_leaf = binding.skin(settings).limbs_of_bones != np.arange(count)
    return {
        "twist_bones": np.flatnonzero(is_leaf & (moves | rigid)).tolist(),
        "features": _features(skinned) if keeps_soft_weights(skinned) else [],
        "rigid": np.flatnonzero(rigid).tolist(),
        "moves": np.flatnonzero(moves).tolist(),
    }


def _features(skinned: SkinnedObject) -> list[int]:
    """The parts of a face in the soft copy; none where it was made for other bones."""
    copy, record = soft_copy(skinned), record_of(skinned)
    if copy is None or record.get("bones") != digest_of_bones(skinned.rig, named=False):
        return []
    return record_in(mesh_of(copy), FEATURES_PROPERTY).get("bones", [])


def found_bones(*objects: bpy.types.Object) -> FoundBones:
    """What the bones of enabled objects of one character were taken for."""
    return _together(*(text_in(obj, BONES_PROPERTY) for obj in objects))


@lru_cache(maxsize=64)
def _together(*records: str) -> FoundBones:
    parsed = [parsed_record(record) for record in records]
    names = [each.name for each in fields(FoundBones)]
    found = {key: frozenset[str]().union(*(each.get(key, ()) for each in parsed)) for key in names}
    # What is rigid on one mesh may be skin on another one.
    found["rigid"] -= found["moves"]
    return FoundBones(**found)

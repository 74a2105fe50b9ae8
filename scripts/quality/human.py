"""The human of `human.model` without Blender objects: skeleton, influences, poses of its joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import bpy
import numpy as np

from dq_compensation.core.dual_quaternion import matrices_from_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from human.model import HumanArrays, Rig, load_human_arrays
from human.poses import Quaternion, Rotations, rotation
from quality.body import Body
from quality.crossings import Crossings


@dataclass(frozen=True, eq=False)
class Human(Body):
    """The body with one rig, as `core` wants it."""

    @classmethod
    def with_rig(cls, rig: Rig) -> Human:
        """Read the model."""
        return cls.of(load_human_arrays(rig))

    @classmethod
    def of(cls, arrays: HumanArrays) -> Human:
        """The same of arrays that are read already."""
        rest = np.tile(np.eye(4), (len(arrays.names), 1, 1))
        along = (arrays.tails - arrays.heads).tolist()
        for bone, (way, roll) in enumerate(zip(along, arrays.rolls.tolist(), strict=True)):
            rest[bone, :3, :3] = bpy.types.Bone.MatrixFromAxisRoll(way, roll)
        rest[:, :3, 3] = arrays.heads
        parents = arrays.parents.astype(np.int32)
        skeleton = Skeleton(arrays.names, parents, rest, arrays.tails.astype(np.float64))
        influences = Influences.from_triples(
            arrays.weight_vertex, arrays.weight_bone, arrays.weight, len(arrays.vertices)
        )
        return cls(arrays.vertices.astype(np.float64), arrays.faces, influences, skeleton)

    @cached_property
    def crossings(self) -> Crossings:
        """Its skin, to count what crosses in poses."""
        return Crossings.of(self.rest, self.faces)

    def pose(self, rotations: Mapping[str, Quaternion]) -> Pose:
        """Turn bones in their own rest axes; the others follow their parents."""
        skeleton = self.skeleton
        matrices = np.tile(np.eye(4), (skeleton.bone_count, 1, 1))
        for bone, (name, parent) in enumerate(
            zip(skeleton.names, skeleton.parents.tolist(), strict=True)
        ):
            if parent >= 0:
                matrices[bone] = matrices[parent]
            if name in rotations:
                rest = skeleton.rest[bone]
                turn = np.eye(4)
                turn[:3, :3] = matrices_from_quaternions(np.array(rotations[name]))
                matrices[bone] = matrices[bone] @ rest @ turn @ np.linalg.inv(rest)
        return Pose.from_matrices(matrices, skeleton)


@dataclass(frozen=True)
class JointPose:
    """A pose of one joint of the left side.

    Attributes:
        title: for the table.
        bone: the bone behind the joint.
        rotations: of bones.
    """

    title: str
    bone: str
    rotations: Rotations


# Of the left side: arm, thigh, foot, forearm, shin, hand, a finger, and what lifts the shoulder.
BONES: dict[Rig, tuple[str, ...]] = {
    "default": ("upperarm01.L", "upperleg01.L", "foot.L", "lowerarm01.L", "lowerleg01.L", "wrist.L",
                "finger2-2.L", "clavicle.L"),
    "game_engine": ("upperarm_l", "thigh_l", "foot_l", "lowerarm_l", "calf_l", "hand_l",
                    "index_02_l", "clavicle_l"),
    "cmu_mb": ("LeftArm", "LeftUpLeg", "LeftFoot", "LeftForeArm", "LeftLeg", "LeftHand",
               "LeftHandFinger1", "LeftShoulder"),
}  # fmt: skip


def broad_poses(rig: Rig) -> list[JointPose]:
    """Shoulders, hips and feet, where one limb does not continue the other, away from rest."""
    arm, thigh, foot = BONES[rig][:3]
    turned = (
        ("arm raised 60", arm, (0.0, 0.0, 60.0)),
        ("arm raised 100", arm, (0.0, 0.0, 100.0)),
        ("arm forward 90", arm, (90.0, 0.0, 0.0)),
        ("hip flexed 90", thigh, (-90.0, 0.0, 0.0)),
        ("hip abducted 50", thigh, (0.0, 0.0, -50.0)),
        ("hip extended 40", thigh, (40.0, 0.0, 0.0)),
        ("foot 40", foot, (40.0, 0.0, 0.0)),
    )
    return [JointPose(title, bone, {bone: rotation(*angles)}) for title, bone, angles in turned]


def twisted_arm(rig: Rig, degrees: float = 90.0) -> JointPose:
    """The arm turned about itself."""
    arm = BONES[rig][0]
    return JointPose(f"arm twisted {degrees:.0f}", arm, {arm: rotation(0.0, degrees, 0.0)})


def mixed_poses(rig: Rig) -> list[JointPose]:
    """Several joints, swing with twist, and a foot that hardly stretches the skin."""
    arm, thigh, foot, *_, collar = BONES[rig]
    lifted = {collar: rotation(0.0, 0.0, 20.0), arm: rotation(0.0, 0.0, 80.0)}
    raised = {arm: rotation(0.0, 60.0, 80.0)}
    squat = {thigh: rotation(-90.0, 0.0, -30.0)}
    return [
        JointPose("shoulder 20, arm 80", arm, lifted),
        JointPose("arm raised 80, twisted 60", arm, raised),
        JointPose("hip 90, out 30", thigh, squat),
        JointPose("foot -20", foot, {foot: rotation(-20.0, 0.0, 0.0)}),
    ]


def hinge_poses(rig: Rig) -> list[JointPose]:
    """Elbow, knee, wrist and a finger."""
    _, _, _, forearm, shin, hand, finger, _ = BONES[rig]
    turned = (
        ("elbow 80", forearm, (80.0, 0.0, 0.0)),
        ("knee 110", shin, (110.0, 0.0, 0.0)),
        ("wrist 40", hand, (40.0, 0.0, 0.0)),
        ("finger 70", finger, (70.0, 0.0, 0.0)),
    )
    return [JointPose(title, bone, {bone: rotation(*angles)}) for title, bone, angles in turned]

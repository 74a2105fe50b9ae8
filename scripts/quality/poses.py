"""The 24 poses of the quality report, through the range of motion of a rig, and their figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from demos.measures import JointRegion, LimbAxes, closed_volume, openings
from dq_compensation.core.pose import Pose
from human.model import Rig
from human.poses import rotation, twist_about_parent
from quality.human import (
    BONES,
    Human,
    JointPose,
    broad_poses,
    hinge_poses,
    mixed_poses,
    twisted_arm,
)
from quality.measures import Figures, SurfaceRegion, axis_distances

Array = NDArray[np.float64]
Kind = Literal["hinge", "ball joint", "twist", "everyday"]

# The bone before the left hand, the middle of the spine, and the head.
MORE_BONES: dict[Rig, tuple[str, str, str]] = {
    "default": ("lowerarm02.L", "spine03", "head"),
    "game_engine": ("lowerarm_l", "spine_02", "head"),
    "cmu_mb": ("LeftForeArm", "Spine", "Head"),
}
# How far from the joint bulge and dent are measured, in metres.
_ELBOW, _KNEE = 0.14, 0.16
# Skin with a share behind the joint between this and 1 less this is of its region.
_SHARE = 1e-3


@dataclass(frozen=True)
class RangePose:
    """A pose of one joint, and what is measured in it.

    Attributes:
        limb: the bones at whose heads the limb before the joint begins and the limb behind it
            ends, and how far from the joint bulge and dent are measured; None: they are not.
        axis: of a twist, the bone that has it; the axis goes through the joint.
    """

    kind: Kind
    joint_pose: JointPose
    limb: tuple[str, str, float] | None = None
    axis: str | None = None


def range_of_motion(rig: Rig) -> list[RangePose]:
    """The poses; angles are from the rest pose, which has the elbow bent by 47 degrees."""
    arm, thigh, foot, forearm, shin, hand, *_ = BONES[rig]
    before_hand, spine, head = MORE_BONES[rig]
    elbow, knee = (arm, hand, _ELBOW), (thigh, foot, _KNEE)

    def turned(title: str, bone: str, x: float = 0.0, y: float = 0.0) -> JointPose:
        return JointPose(title, bone, {bone: rotation(x, y, 0.0)})

    bent_elbow, bent_knee, *others = hinge_poses(rig)
    hinges = [
        RangePose("hinge", bent_elbow, limb=elbow),
        RangePose("hinge", turned("elbow -40", forearm, -40.0), limb=elbow),
        RangePose("hinge", turned("knee 60", shin, 60.0), limb=knee),
        RangePose("hinge", bent_knee, limb=knee),
        *(RangePose("hinge", each) for each in others),
        RangePose("hinge", turned("wrist -40", hand, -40.0)),
        RangePose("hinge", turned("spine 30", spine, 30.0)),
    ]
    balls = [*broad_poses(rig), *mixed_poses(rig), turned("arm back 40", arm, -40.0)]
    twist = twist_about_parent(rig, hand, before_hand, 90.0)
    twists = [
        RangePose("twist", twisted_arm(rig), axis=arm),
        RangePose("twist", JointPose("hand twisted 90", hand, {hand: twist}), axis=before_hand),
        RangePose("twist", turned("thigh twisted 40", thigh, y=40.0), axis=thigh),
        RangePose("twist", turned("head turned 60", head, y=60.0), axis=head),
    ]
    return [*hinges, *(RangePose("ball joint", each) for each in balls), *twists]


def everyday_bends(rig: Rig) -> list[RangePose]:
    """Two more, where no skin is to cross: an elbow bent by 90 degrees in all, and a knee."""
    _, _, _, forearm, shin, *_ = BONES[rig]
    turned = (("elbow 43", forearm, 43.0), ("knee 90", shin, 90.0))
    return [
        RangePose("everyday", JointPose(title, bone, {bone: rotation(x, 0.0, 0.0)}))
        for title, bone, x in turned
    ]


class MeasuredPose:
    """A pose of the human, ready to measure what methods make of it.

    Attributes:
        pose: of the skeleton.
    """

    def __init__(self, human: Human, range_pose: RangePose) -> None:
        self._human, self._range_pose = human, range_pose
        joint_pose, skeleton = range_pose.joint_pose, human.skeleton
        self.pose: Pose = human.pose(joint_pose.rotations)
        shares = human.shares_behind(joint_pose.bone)
        self._region = SurfaceRegion.of_joint(human.rest, human.faces, shares)
        self._mixed = np.flatnonzero((shares > _SHARE) & (shares < 1.0 - _SHARE))
        of_faces = shares[human.faces]
        both = (of_faces.max(axis=1) > _SHARE) & (of_faces.min(axis=1) < 1.0 - _SHARE)
        self._faces = human.faces[both]
        self._openings = openings(self._faces)
        self._joint = skeleton.heads[skeleton.names.index(joint_pose.bone)]

    def measure(self, deformed: Array) -> Figures:
        """Compare deformed positions (n, 3) with those at rest."""
        bulge, dent = self._bulge_and_dent(deformed)
        return Figures(
            **vars(self._region.measure(deformed)),
            bulge=bulge,
            dent=dent,
            volume=self._volume(deformed),
            twist_radius=self._twist_radius(deformed),
            crossings=self._human.crossings.count(deformed),
        )

    def _bulge_and_dent(self, deformed: Array) -> tuple[float, float]:
        if self._range_pose.limb is None:
            return math.nan, math.nan
        start, end, reach = self._range_pose.limb
        names, heads = self._human.skeleton.names, self._human.skeleton.heads
        back, forth = (heads[names.index(bone)] - self._joint for bone in (start, end))
        axes = LimbAxes(self._joint, back / np.linalg.norm(back), forth / np.linalg.norm(forth))
        region = JointRegion.around(self._joint, reach, self._human.rest, self._human.faces, axes)
        bones = (names.index(start), names.index(self._range_pose.joint_pose.bone))
        measures = region.measure(deformed, *(self.pose.matrices[bone] for bone in bones))
        radius = axes.nearest(self._human.rest[self._mixed])[1].mean()
        return 100.0 * measures.bulge / radius, 100.0 * measures.pinch / radius

    def _volume(self, deformed: Array) -> float:
        """Of the region, closed; at shoulders and hips it is no piece of a limb."""
        if self._range_pose.kind == "ball joint":
            return math.nan
        volume, at_rest = (
            closed_volume(each, self._faces, self._openings)
            for each in (deformed, self._human.rest)
        )
        return 100.0 * volume / at_rest

    def _twist_radius(self, deformed: Array) -> float:
        if self._range_pose.axis is None:
            return math.nan
        skeleton = self._human.skeleton
        along = skeleton.rest[skeleton.names.index(self._range_pose.axis), :3, 1]
        radii, at_rest = (
            axis_distances(each[self._mixed], self._joint, along)
            for each in (deformed, self._human.rest)
        )
        return 100.0 * float((radii / at_rest).min())

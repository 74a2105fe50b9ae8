"""How much each method distorts shoulders, hips and feet of the human, with each rig.

    .venv-5.2/bin/python scripts/run.py quality.joints [RIG ...]

For each pose: the stretch of LINEAR, DUAL_QUATERNION and COMPENSATED with *Ball Joints*, of the
triangles that follow bones on both sides of the joint, and the largest change of an angle between
two of them. COMPENSATED is to stay below the limits: LINEAR's stretch plus a third of the way to
that of DUAL_QUATERNION, the larger jump of these two plus 5 degrees, and in a twist of the arm 2 %
of the radius. Figures beyond have a star; then the exit status is 1. Poses below the line have no
limit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, Method, deform
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.skin_at_rest import SkinAtRest
from human.model import RIGS, Rig
from quality.human import Human, JointPose, broad_poses, hinge_poses, mixed_poses, twisted_arm
from quality.measures import SurfaceRegion, axis_distances

METHODS: tuple[Method, ...] = ("LINEAR", "DUAL_QUATERNION", "COMPENSATED")
# Degrees, and a share of the radius.
MOST_JUMP, MOST_TWIST_LOSS = 5.0, 0.02
# Skin with a share behind the joint between this and 1 less this is of its region.
_SHARE = 1e-3

Array = NDArray[np.floating]


class Figures:
    """One rig: what the methods make of it.

    Args:
        rig: of the human.
    """

    def __init__(self, rig: Rig) -> None:
        self.human = Human.with_rig(rig)
        human = self.human
        self._measured = MeasuredJoints.of(
            SkinAtRest(human.rest, human.influences, human.skeleton), ball_joints=True
        )

    def deformed(self, joint_pose: JointPose) -> list[Array]:
        """The positions by `METHODS`, each (n, 3)."""
        human, pose = self.human, self.human.pose(joint_pose.rotations)
        deformations = (Deformation(each, human.influences, self._measured) for each in METHODS)
        return [deform(each, human.rest, None, pose)[0] for each in deformations]

    def row(self, joint_pose: JointPose) -> tuple[str, bool]:
        """A line of the table, and whether COMPENSATED stays within the limits."""
        human = self.human
        shares = human.shares_behind(joint_pose.bone)
        region = SurfaceRegion.of_joint(human.rest, human.faces, shares)
        linear, dual, found = (region.measure(each) for each in self.deformed(joint_pose))
        most = linear.stretch + (dual.stretch - linear.stretch) / 3.0
        most_jump = max(linear.jump, dual.jump) + MOST_JUMP
        stretched = found.stretch > most
        jumps = found.jump > most_jump
        stretches = f"{linear.stretch:9.1f}{dual.stretch:9.1f}{found.stretch:9.1f}"
        angles = f"{linear.jump:8.0f}{dual.jump:6.0f}{found.jump:6.0f}"
        rough = f"{linear.roughness:8.1f}{dual.roughness:6.1f}{found.roughness:6.1f}"
        line = f"{joint_pose.title:<26}{stretches}{most:9.1f}{'*' if stretched else ' '}"
        return f"{line}{angles}{most_jump:6.0f}{'*' if jumps else ' '}{rough}", not (
            stretched or jumps
        )

    def twist(self, joint_pose: JointPose) -> tuple[str, bool]:
        """A line on the radius of a twisted limb, against that of DUAL_QUATERNION."""
        human, skeleton = self.human, self.human.skeleton
        shares = human.shares_behind(joint_pose.bone)
        rows = np.flatnonzero((shares > _SHARE) & (shares < 1.0 - _SHARE))
        bone = skeleton.names.index(joint_pose.bone)
        start, way = skeleton.heads[bone], skeleton.rest[bone, :3, 1]
        radii = [axis_distances(each[rows], start, way) for each in self.deformed(joint_pose)]
        linear, found = radii[0] / radii[1], radii[2] / radii[1]
        off = float(np.abs(found - 1.0).max())
        text = f"radius LINEAR {linear.min():.3f} to {linear.max():.3f}"
        text += f", COMPENSATED {found.min():.3f} to {found.max():.3f} of DUAL_QUATERNION's"
        return f"{joint_pose.title}: {text}", off <= MOST_TWIST_LOSS


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 if anything is beyond its limit."""
    wanted = [rig for rig in RIGS if rig in arguments or not arguments]
    good = True
    for rig in wanted:
        figures = Figures(rig)
        print(f"\n{rig:<26}{'stretch':>9}{'':>27} {'jump':>8}{'':>18} {'rough':>8}")
        print(
            f"{'':<26}"
            + f"{'LIN':>9}{'DQ':>9}{'COMP':>9}{'limit':>9} {'LIN':>8}{'DQ':>6}{'COMP':>6}"
        )
        for each in broad_poses(rig):
            line, within = figures.row(each)
            good &= within
            print(line)
        line, within = figures.twist(twisted_arm(rig))
        good &= within
        print(line)
        print("-" * 40)
        for each in (*mixed_poses(rig), *hinge_poses(rig)):
            print(figures.row(each)[0])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How much distortion *Spread Twist* leaves of twisted limbs of the human, with each rig.

    .venv-5.2/bin/python scripts/run.py quality.twists [RIG ...]

For each pose, as painted and softened: the stretch of the whole skin with all twists spread, as a
part of that without, and the crossings of both. Figures beyond their limit have a star; then the
exit status is 1. `default` has its limbs in two bones each, and no limits.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.twist_limbs import TwistLimbs
from human.model import RIGS, Rig
from human.poses import rotation, twist_about_parent
from quality.body import triangles_of
from quality.human import BONES, Human, JointPose, twisted_arm
from quality.measures import SurfaceRegion
from quality.poses import MORE_BONES
from quality.softening import softened

# The largest part that may be left, as painted and softened; no pose may have crossings.
_HAND, _LIMB = (0.35, 0.75), (0.2, 0.3)


def poses(rig: Rig) -> list[tuple[JointPose, tuple[float, float]]]:
    """The twists of the left side, with their limits."""
    thigh, hand, before_hand = BONES[rig][1], BONES[rig][5], MORE_BONES[rig][0]
    hands = (
        JointPose(
            f"hand twisted {degrees}",
            hand,
            {hand: twist_about_parent(rig, hand, before_hand, float(degrees))},
        )
        for degrees in (90, 150)
    )
    turned = JointPose("thigh twisted 90", thigh, {thigh: rotation(0.0, 90.0, 0.0)})
    arms = (twisted_arm(rig), twisted_arm(rig, 150.0))
    return [(each, _HAND) for each in hands] + [(each, _LIMB) for each in (*arms, turned)]


def rows(human: Human, rig: Rig, influences: Influences, way: int) -> list[tuple[str, bool]]:
    """The lines of one set of weights, and whether each stays within its limits.

    Args:
        way: 0 as painted, 1 softened.
    """
    at_rest = (human.rest, influences, human.skeleton)
    measured = MeasuredJoints.of(SkinAtRest(*at_rest), ball_joints=True)
    without = Deformation("COMPENSATED", influences, measured)
    spread = replace(without, twist_limbs=TwistLimbs.of(SkinAtRest(*at_rest)))
    region, found = SurfaceRegion(human.rest, triangles_of(human.faces)), []
    for joint_pose, limits in poses(rig):
        pose = human.pose(joint_pose.rotations)
        before, after = (
            deform(each, human.rest, None, pose)[0].astype(float) for each in (without, spread)
        )
        left = region.measure(after).stretch / region.measure(before).stretch
        crossings = [human.crossings.count(each) for each in (before, after)]
        within = rig == "default" or (left <= limits[way] and not crossings[1])
        line = f"{joint_pose.title:<26}{left:8.2f}{limits[way]:8.2f}{'' if within else '*':2}"
        found.append((f"{line}{crossings[0]:6}{crossings[1]:6}", within))
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 if anything is beyond its limit."""
    good = True
    for rig in (rig for rig in RIGS if rig in arguments or not arguments):
        human = Human.with_rig(rig)
        for way, influences in enumerate((human.influences, softened(human))):
            title = f"{rig}, {('as painted', 'softened')[way]}"
            print(f"\n{title:<26}{'left':>8}{'limit':>8}{'crossings':>14}")
            for line, within in rows(human, rig, influences, way):
                good &= within
                print(line)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

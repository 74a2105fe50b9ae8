"""How much each method distorts shoulders, hips and feet of the human, with each rig."""

from __future__ import annotations

import sys
import time

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, Method, deform
from dq_compensation.core.measured_joints import MeasuredJoints
from human_model import RIGS, Rig
from quality_human import Human, JointPose, broad_poses, hinge_poses, mixed_poses, twisted_arm
from quality_measures import SurfaceRegion, axis_distances

METHODS: tuple[Method, ...] = ("LINEAR", "DUAL_QUATERNION", "COMPENSATED")


def positions_by_method(human, compensation, pose) -> dict[str, NDArray[np.float64]]:
    found = {}
    for method in METHODS:
        of = Deformation(method, human.influences, compensation)
        found[method] = deform(of, human.rest, None, pose)[0]
    return found


def main(candidates=None) -> None:
    candidates = candidates or {}
    wanted = sys.argv[1:] or RIGS
    names = ["LINEAR", "DUAL_QUATERNION", "COMPENSATED", *candidates]
    for rig in wanted:
        human = Human.with_rig(rig)
        compensation = MeasuredJoints.of(human.rest, human.influences, human.skeleton)
        made = {}
        for name, make in candidates.items():
            start = time.perf_counter()
            made[name] = make(human)
            print(f"{rig} {name}: set up in {time.perf_counter() - start:.3f} s")
        head = "".join(f"{n[:12]:>13}" for n in names)
        print(f"\n{rig:<26}{'limit':>7}{head}   | jumps {'max+5':>6}")
        groups = (broad_poses(rig), mixed_poses(rig), hinge_poses(rig))
        for group in groups:
            for each in group:
                pose = human.pose(each.rotations)
                region = SurfaceRegion.of_joint(
                    human.rest, human.arrays.faces, human.shares_behind(each.bone)
                )
                found = positions_by_method(human, compensation, pose)
                for name, run in made.items():
                    found[name] = run(found["DUAL_QUATERNION"], pose)
                m = {n: region.measure(found[n]) for n in names}
                low, high = m["LINEAR"].stretch, m["DUAL_QUATERNION"].stretch
                limit = low + (high - low) / 3.0
                most = max(m["LINEAR"].jump, m["DUAL_QUATERNION"].jump) + 5.0
                row = "".join(
                    f"{m[n].stretch:12.2f}{'*' if m[n].stretch > limit + 1e-9 else ' '}" for n in names
                )
                jumps = " ".join(f"{m[n].jump:5.0f}{'*' if m[n].jump > most else ''}/{m[n].roughness:4.1f}" for n in names)
                print(f"{each.title:<26}{limit:7.2f}{row}   | {most:6.0f}  {jumps}")
            print()
        each = twisted_arm(rig)
        pose = human.pose(each.rotations)
        bone = human.skeleton.names.index(each.bone)
        start, way = human.skeleton.heads[bone], human.skeleton.rest[bone, :3, 1]
        shares = human.shares_behind(each.bone)
        region = SurfaceRegion.of_joint(human.rest, human.arrays.faces, shares)
        found = positions_by_method(human, compensation, pose)
        for name, run in made.items():
            found[name] = run(found["DUAL_QUATERNION"], pose)
        at = np.flatnonzero((shares > 1e-3) & (shares < 1 - 1e-3))
        wish = axis_distances(found["DUAL_QUATERNION"][at], start, way)
        text = []
        for n in names:
            got = axis_distances(found[n][at], start, way) / wish
            text.append(f"{n[:12]} {region.measure(found[n]).stretch:.2f} radius {got.min():.4f}..{got.max():.4f}")
        print(f"{each.title}: " + ", ".join(text))


if __name__ == "__main__":
    main()

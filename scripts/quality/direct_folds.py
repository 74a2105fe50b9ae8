"""Solved shapes as they are played between poses, and where joints bend together, beside solutions.

    .venv-5.2/bin/python scripts/run.py quality.direct_folds lowerarm01.L [...] [--rig default]

Half way between two poses that are kept, and in the deepest combined poses, the shape that is
played is compared with one that is solved in that very pose. Distances are root mean squares over
the region, mm; that of the base says how much there is to solve.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import pairwise

import bpy
import numpy as np

import dq_compensation
from dq_compensation import api
from dq_compensation.analysis.flesh.measures import SkinMeasures
from dq_compensation.analysis.flesh.region import FleshRegion
from dq_compensation.analysis.flesh.solving import KeptPose, solve_folds
from dq_compensation.analysis.folding_joints import (
    folding_joints,
    together_matrices,
    way_matrices,
)
from dq_compensation.arrays import Float64s
from dq_compensation.core.pose import Pose
from dq_compensation.folds.joined_body import JoinedBody
from dq_compensation.folds.motion import known_motion
from dq_compensation.scene.blender.triangle_trees import SurfaceTree
from dq_compensation.steps import run_through
from human.model import RIGS, build_human
from leaving import leave


def compare(
    body: JoinedBody, title: str, joints: Sequence[int], rows: Sequence[Float64s]
) -> tuple[float, float]:
    """Print a line for each pose on a way; returns the worst share of the base's distance.

    Args:
        rows: shape (R, 4, 4) each, evenly on the way; every other one is half way.

    Returns:
        that share, and the seconds of the direct solution.
    """
    start = time.monotonic()
    bases = [body.base(each) for each in rows]
    shares = (np.arange(len(rows)) + 1.0) / len(rows)
    kept = [KeptPose(share, base) for share, base in zip(shares.tolist(), bases, strict=True)]
    end = Pose.from_matrices(rows[-1], body.skeleton)
    found = run_through(solve_folds(body.skin, body.triangles, joints, end, kept, SurfaceTree))
    seconds = time.monotonic() - start
    region = FleshRegion.of(body.skin, body.triangles, joints)
    measures, worst = SkinMeasures(region, SurfaceTree), 0.0
    shapes = [mesh.editing.shapes() for mesh in body.meshes]
    for place, offsets in zip(rows, found.offsets, strict=True):
        base, direct = body.base(place), np.zeros_like(bases[0])
        direct[found.vertices] = offsets
        played = body.displaced(shapes, place)
        far, whole = (
            1000.0 * float(np.sqrt((each[region.vertices] ** 2).sum(axis=1).mean()))
            for each in (played - direct, direct)
        )
        figures = [measures.of((base + each)[region.vertices]) for each in (0.0, played, direct)]
        text = ", ".join(
            f"{name} {each.crossings} {100 * each.volume:.1f} % {each.stretch:.2f}"
            for name, each in zip(("base", "played", "direct"), figures, strict=True)
        )
        print(f"  {title}: {far:.2f} mm of {whole:.2f}; {text}", flush=True)
        worst = max(worst, far / max(whole, 1e-3))
    return worst, seconds


def main() -> int:
    """Print all lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bones", nargs="+", metavar="BONE", help="at whose heads joints are")
    parser.add_argument("--rig", default="default", choices=RIGS)
    options = parser.parse_args()
    dq_compensation.register()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    obj, rig = build_human(options.rig)
    api.enable(obj, look="SOFT_WITH_TWIST")
    report = api.solve_folds(obj, options.bones)
    print("\n".join(report.details()))
    depsgraph = bpy.context.evaluated_depsgraph_get()
    body = JoinedBody.of([obj], depsgraph, anew=False)
    names = body.skeleton.names
    bones = [names.index(name) for name in options.bones]
    found = folding_joints(body.skin, known_motion(rig, body.skeleton), bones)
    for joint in found.joints:
        name = names[joint.bone]
        for way in joint.ways:
            stops = (0.0, *way.degrees)
            ends = [a for one, two in pairwise(stops) for a in (0.5 * (one + two), two)]
            poses = [way_matrices(body.skin, joint.bone, way, each) for each in ends]
            title = f"{name} to {way.degrees[-1]:.0f}"
            worst, seconds = compare(body, title, [joint.bone], body.rows_in(poses))
            print(f"  {title}: at most {worst:.0%} of the way, {seconds:.1f} s")
    for each in found.together:
        ends = [way.degrees[-1] for way in each.ways]
        poses = [
            together_matrices(body.skin, each, [part * end for end in ends]) for part in (0.5, 1.0)
        ]
        title = " and ".join(names[bone] for bone in each.bones)
        worst, seconds = compare(body, title, each.bones, body.rows_in(poses))
        print(f"  {title}: at most {worst:.0%} of the way, {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    leave(main())

"""Direct delta mush of libigl, with which the quality report compares: it moves what it gets."""

from __future__ import annotations

import numpy as np

from dq_compensation.core.dual_quaternion import matrices_from_quaternions
from dq_compensation.core.pose import Pose
from dq_compensation.core.skinning import linear_blend
from quality.cylinders import SHAPES, Cylinder
from quality.delta_mush import DeltaMush

# Of a radius of 1: libigl smooths in float64, by 20 solutions of a system of equations.
TOLERANCE = 1e-6


def test_it_keeps_rest_and_rigid_motion_and_smooths_a_bend() -> None:
    body = Cylinder.of(SHAPES["round"], 1.0).body
    mush, count = DeltaMush(body), body.skeleton.bone_count
    assert not len(mush.lost)
    motion = np.tile(np.eye(4), (count, 1, 1))
    assert np.abs(mush.deform(Pose.from_matrices(motion, body.skeleton)) - body.rest).max() < (
        TOLERANCE
    )
    motion[:, :3, :3] = matrices_from_quaternions(np.array((0.5, 0.5, -0.5, 0.5)))
    motion[:, :3, 3] = (3.0, -1.0, 2.0)
    expected = body.rest @ motion[0, :3, :3].T + motion[0, :3, 3]
    moved = mush.deform(Pose.from_matrices(motion, body.skeleton))
    assert np.abs(moved - expected).max() < 10.0 * TOLERANCE
    # One bone turned by 90 degrees about X: near linear skinning, and not the same.
    motion = np.tile(np.eye(4), (count, 1, 1))
    half = np.sqrt(0.5)
    motion[-1, :3, :3] = matrices_from_quaternions(np.array((half, half, 0.0, 0.0)))
    pose = Pose.from_matrices(motion, body.skeleton)
    linear, _ = linear_blend(body.rest, None, body.influences, pose)
    apart = np.linalg.norm(mush.deform(pose) - linear, axis=1)
    assert 1e-3 < apart.max() < 0.3

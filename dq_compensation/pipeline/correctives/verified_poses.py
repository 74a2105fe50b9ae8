"""Poses to verify correctives in: they lie between the baked poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...analysis.posed_bones import Quaternion, swing, twist
from ...arrays import Float64s, Floats
from ...core.dual_quaternion import concatenate_quaternions
from .corrective_joints import AxisJoint, BallJoint, CorrectiveJoint

# Swings of a ball joint, and poses of all bones.
_SWINGS = 8
_AT_ONCE = 8

_SEED = 20

# Radians: nearer poses are the same.
SAME_POSE = 0.05

Rotations = dict[str, Quaternion]


def poses_of_joint(joint: CorrectiveJoint) -> list[Rotations]:
    """Poses of one bone: the whole range, between the poses of the keys."""
    if isinstance(joint, AxisJoint):
        knots = np.sort(np.array((0.0, *joint.angles)))
        # Far out, where joints without keys are off most.
        parts = np.where(knots[1:] > 0.0, 2.0, 1.0) / 3.0
        angles = (knots[:-1] + parts * np.diff(knots)).tolist()
        return [{joint.bone: twist(angle, joint.axis)} for angle in angles]
    if isinstance(joint, BallJoint):
        rng = np.random.default_rng(_SEED)
        return [{joint.bone: _any_rotation(joint, rng)} for _ in range(_SWINGS)]
    centres = joint.centres
    pairs = [(place, (place + 1) % len(centres)) for place in range(len(centres))]
    return [{joint.bone: _halfway(centres[one], centres[other])} for one, other in pairs]


def poses_at_once(joints: Sequence[CorrectiveJoint]) -> list[Rotations]:
    """Poses of all bones together, at random within what their keys cover; none for one joint."""
    if len(joints) < 2:
        return []
    rng = np.random.default_rng(_SEED)
    poses: list[Rotations] = []
    for _ in range(_AT_ONCE):
        rotations: Rotations = {}
        for joint in joints:
            turned = _any_rotation(joint, rng)
            if joint.bone in rotations:
                # A bend and a twist of one bone: the twist comes first.
                twists = isinstance(joint, AxisJoint) and joint.twists
                both = (
                    (rotations[joint.bone], turned) if twists else (turned, rotations[joint.bone])
                )
                turned = _as_tuple(concatenate_quaternions(np.array(both[0]), np.array(both[1])))
            rotations[joint.bone] = turned
        poses.append(rotations)
    return poses


def _any_rotation(joint: CorrectiveJoint, rng: np.random.Generator) -> Quaternion:
    """A rotation within what the keys of a joint cover."""
    if isinstance(joint, AxisJoint):
        angles = (0.0, *joint.angles)
        return twist(float(rng.uniform(min(angles), max(angles))), joint.axis)
    if isinstance(joint, BallJoint):
        return swing(float(rng.uniform(0.0, joint.angles[-1])), float(rng.uniform(0.0, 2 * np.pi)))
    one, other = rng.choice(len(joint.centres), 2, replace=False)
    return _halfway(joint.centres[one], joint.centres[other])


def _halfway(one: Float64s, other: Float64s) -> Quaternion:
    middle = one + (other if one @ other >= 0.0 else -other)
    return _as_tuple(middle / np.linalg.norm(middle))


def _as_tuple(quaternion: Floats) -> Quaternion:
    w, x, y, z = quaternion.tolist()
    return (w, x, y, z)

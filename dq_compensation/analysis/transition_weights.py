"""Compensation weights to start painting from: where joints bulge, and nowhere else."""

from __future__ import annotations

import numpy as np

from ..arrays import Float32s, Floats, Integers
from ..core.dual_quaternion import quaternion_conjugate, rotate_vectors
from ..core.influences import Influences
from ..core.measured_joints import MeasuredJoints, from_ray
from ..core.pose import Pose
from ..core.vectors import smooth_step

# The share of the weaker of two bones from which a vertex belongs to their transition in full.
_IN_TRANSITION = 0.05

# The amount of compensation from which it is to act in full.
_COMPENSATED = 0.25

# Angles between two limbs below which their joint has no inner side, and above which it has one.
_STRAIGHT, _BENT = np.radians((5.0, 20.0))

# Cosine of the angle to the inside of the bend from which skin is on its inner side: 60 degrees.
_INNER = 0.5


def transition_weights(
    positions: Floats, influences: Influences, measured: MeasuredJoints, pose: Pose
) -> Float32s:
    """1 on the outer sides of the joints, 0 on their inner sides and where a third bone takes over.

    With w1 >= w2 the strongest weights of a vertex, m its amount of MEASURED compensation (see
    `MeasuredJoints`: it fades out where a third bone takes over, far from the joint and where the
    two bones are no limb with a joint) and S(x, a, b) rising smoothly from 0 at a to 1 at b
    (3 t^2 - 2 t^3), the weight is

        side S(w2 / (w1 + w2), 0, 0.05) S(m, 0, 0.25)

    The joint J of a vertex and the nearer of its two limbs are those of `MeasuredJoints`. In the
    pose the limbs leave the joint along r' (the nearer one) and s'; the inside of the bend, seen
    from the nearer limb, is i' = s' - (s' . r') r', and i is that turned back to rest by the limb's
    bone. With the vertex at rest a = v - J - max(0, (v - J) . r) r from the limb and
    c = a . i / (|a| |i|),

        side = 1 - S(beta, 5, 20 degrees) S(c, 0, 0.5),    |r' + s'| = 2 sin(beta / 2)

    so that a joint whose limbs are straight has an outer side all around.

    Args:
        positions: shape (n, 3), armature space, at rest.
        pose: says which side of a joint is the outer one; the rest pose has bends, too.

    Returns:
        shape (n,), 0 to 1.
    """
    count = len(positions)
    weights = np.zeros(count, np.float32)
    if influences.width < 2 or not count:
        return weights
    rows = measured.rows
    w1, w2 = influences.weights[rows, 0], influences.weights[rows, 1]
    shares = smooth_step(w2 / (w1 + w2), 0.0, _IN_TRANSITION)
    shares *= smooth_step(measured.amounts[rows], 0.0, _COMPENSATED)
    weights[rows] = shares * _outer_sides(positions[rows], measured, rows, pose)
    return weights


def _outer_sides(positions: Floats, measured: MeasuredJoints, rows: Integers, pose: Pose) -> Floats:
    """The `side` of `transition_weights`, shape (m,), for the vertices `rows` at `positions`."""
    limbs, joints, bones = measured.limbs, measured.joints[rows], measured.bones[rows]
    children, forth, back = limbs.children[joints], limbs.forth[joints], limbs.back[joints]
    posed_forth = rotate_vectors(pose.rotations[children], forth)
    posed_back = rotate_vectors(pose.rotations[limbs.parents[joints]], back)
    beside_child = (bones == children)[:, None]
    ray = np.where(beside_child, forth, back)
    own = np.where(beside_child, posed_forth, posed_back)
    other = np.where(beside_child, posed_back, posed_forth)
    inside = other - np.sum(other * own, axis=1, keepdims=True) * own
    inside = rotate_vectors(quaternion_conjugate(pose.rotations[bones]), inside)
    away = from_ray(positions - limbs.heads[joints], ray)
    lengths = np.linalg.norm(away, axis=1) * np.linalg.norm(inside, axis=1)
    cosines = np.sum(away * inside, axis=1) / np.where(lengths > 0.0, lengths, 1.0)
    openings = np.linalg.norm(own + other, axis=1)
    bent = smooth_step(2.0 * np.arcsin(np.minimum(openings / 2.0, 1.0)), _STRAIGHT, _BENT)
    return 1.0 - bent * smooth_step(cosines, 0.0, _INNER)

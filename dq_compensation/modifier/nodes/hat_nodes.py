"""Nodes for the weight of a listed pose of a joint: `core.solved_shapes.PoseHats`."""

from __future__ import annotations

from math import pi

from ...core.solved_shapes import BALL, FADE, HINGE, OFF_PLANE, ROTATES, TURNED_ROUND
from .node_values import Rotation, Scalar, TreeBuilder, Vector


def hat_weight(
    build: TreeBuilder,
    bones: tuple[Rotation, Rotation],
    frame: tuple[Vector, Vector],
    kind: Scalar,
    hat: tuple[Vector, Vector],
    *,
    rotates: bool = False,
) -> Scalar:
    """The weight of a listed pose, 0 to 1.

    Args:
        bones: the rotations before and behind the joint.
        frame: the limb at rest, and `toward`.
        kind: `BALL`, `HINGE` or `ROTATES`.
        hat: the three angles; the azimuth, and how far the hat reaches below and above it.
        rotates: whether any joint is of the third kind.
    """
    before, behind = bones
    limb, toward = frame
    between = before.inverted().after(behind)
    seen, third = between.rotate(limb), limb.cross(toward)
    x, y, z = seen.dot(limb), seen.dot(toward), seen.dot(third)
    if rotates:
        turned = between.quaternion()
        w, along = turned.w, turned.axis.dot(third)
        of_turn = kind > 0.5 * (HINGE + ROTATES)
        x = build.choose(of_turn, x, w * w - along * along)
        y = build.choose(of_turn, y, w * along * 2.0)
    bent = y.arctangent(x)
    swung = y.times_plus(y, z * z).square_root().arctangent(x)
    in_plane = x.times_plus(x, y * y).smooth_step(0.0, OFF_PLANE)
    in_plane = in_plane * (pi - bent.absolute()).smooth_step(0.0, FADE)
    is_hinge = kind > 0.5 * (BALL + HINGE)
    angle = build.choose(is_hinge, swung, bent)
    in_plane = build.choose(is_hinge, 1.0, in_plane)

    low, own, high = hat[0].components()
    weight = ((angle - low) / (own - low)).minimum((high - angle) / (high - own))
    azimuth, below, above = hat[1].components()
    apart = (z.arctangent(y) - azimuth).wrapped(pi, -pi)
    beside = 1.0 - (apart / above).maximum(apart / (below * -1.0))
    fade = between.quaternion().w.absolute().smooth_step(0.0, TURNED_ROUND) * in_plane
    return weight.clamped(0.0, 1.0) * beside.clamped(0.0, 1.0) * fade

"""The poses of a joint that get shape keys, and the weight of each pose in a rotation of its bone.

Four kinds: the bone turns about one axis, swings in every direction, has poses of any kind, or the
example poses of an artist. Rotations are unit quaternions (w, x, y, z) in the bone's rest axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...analysis.posed_bones import OWN_AXIS, Axis, Quaternion, swing, twist
from ...arrays import Float64s, Floats
from ...core.dual_quaternion import rotate_vectors
from ...core.example_poses import (
    ExampleBone,
    ExampleWeights,
    RadialBasis,
    rotation_distances,
)
from ...core.poses_in_rows import BESIDE
from ...core.solved_shapes import PoseHats
from .pose_curves import SmoothCurve, cardinal_curves, direction_curve, swing_and_twist

# Radians. Between twelve random poses of an arm it leaves two thirds of the error that 1 leaves,
# less than a half of what 1.5 does, and the equations are well conditioned.
_SCATTERED_SIGMA = 0.75


@dataclass(frozen=True)
class JointPose:
    """One bone turned, every other one at rest.

    Attributes:
        label: its part of the key's name.
    """

    label: str
    rotation: Quaternion


@dataclass(frozen=True)
class AxisJoint:
    """A joint that turns about one axis: a hinge, or a bone's twist.

    Attributes:
        axis: about which it turns; that of a hinge is across the bone, any other one's y is not 0.
        angles: of the poses, degrees, none of them 0.
        poses: as many.
    """

    bone: str
    axis: Axis
    angles: tuple[float, ...]
    poses: tuple[JointPose, ...]

    @property
    def twists(self) -> bool:
        """Whether it is no hinge."""
        return self.axis[1] != 0.0

    @cached_property
    def curves(self) -> tuple[SmoothCurve, ...]:
        """The weight of each pose by the angle in degrees."""
        return cardinal_curves(np.array(self.angles), smooth_at_rest=self.twists)

    def angles_of(self, rotations: Floats) -> Float64s:
        """The angles of rotations (m, 4) about the axis: shape (m,), degrees, -180 to 180.

        A rotation is a turn about the axis and a swing of the axis; this is the turn.
        """
        q = np.asarray(rotations, np.float64)
        q = np.where(q[:, :1] < 0.0, -q, q)
        return np.degrees(2.0 * np.arctan2(q[:, 1:] @ np.array(self.axis), q[:, 0]))

    def weights(self, rotations: Floats) -> Float64s:
        """The weights of the k poses, shape (m, k), at rotations (m, 4)."""
        angles = self.angles_of(rotations)
        return np.stack([curve.at(angles) for curve in self.curves], axis=1)


@dataclass(frozen=True)
class BallJoint:
    """A joint that swings in every direction: poses on rings, in directions evenly spread.

    Attributes:
        directions: how many; the first swings about X, the quarter of them further on about Z.
        angles: of the rings, degrees, rising, above 0.
        poses: directions x rings, of a direction together.
    """

    bone: str
    directions: int
    angles: tuple[float, ...]
    poses: tuple[JointPose, ...]

    @cached_property
    def ring_curves(self) -> tuple[SmoothCurve, ...]:
        """The weight of each ring by the size of the swing in degrees."""
        return cardinal_curves(np.array(self.angles), smooth_at_rest=True)

    @cached_property
    def direction_curve(self) -> SmoothCurve:
        """The weight of every direction by the angle from it, -180 to 180 degrees."""
        return direction_curve(self.directions)

    @property
    def azimuths(self) -> tuple[float, ...]:
        """The directions of the swings' axes: radians from X towards Z."""
        return tuple(2.0 * np.pi * place / self.directions for place in range(self.directions))

    def weights(self, rotations: Floats) -> Float64s:
        """The weights of the k poses, shape (m, k), at rotations (m, 4)."""
        swings, _ = swing_and_twist(rotations)
        sizes = np.degrees(2.0 * np.arccos(np.clip(swings[:, 0], -1.0, 1.0)))
        rings = np.stack([curve.at(sizes) for curve in self.ring_curves], axis=1)
        columns = []
        for azimuth in self.azimuths:
            c, s = np.cos(azimuth), np.sin(azimuth)
            x, z = swings[:, 1], swings[:, 3]
            apart = np.degrees(np.arctan2(c * z - s * x, c * x + s * z))
            columns.append(self.direction_curve.at(apart)[:, None] * rings)
        return np.concatenate(columns, axis=1)


@dataclass(frozen=True)
class ScatteredJoint:
    """A joint with poses of any kind, swing and twist together.

    Attributes:
        poses: any number.
        sigma: of the Gaussians, radians.
    """

    bone: str
    poses: tuple[JointPose, ...]
    sigma: float = _SCATTERED_SIGMA

    @cached_property
    def centres(self) -> Float64s:
        """Shape (k + 1, 4): rest, then the poses."""
        return np.array([(1.0, 0.0, 0.0, 0.0), *(pose.rotation for pose in self.poses)])

    @cached_property
    def basis(self) -> RadialBasis:
        """Solved for the poses.

        Raises:
            PosesTooClose: two are the same.
        """
        return RadialBasis.solve(self.distances(self.centres), self.sigma)

    def distances(self, rotations: Floats) -> Float64s:
        """Radians from rotations (m, 4) to rest and the poses: shape (m, k + 1)."""
        return rotation_distances(rotations, self.centres)

    def weights(self, rotations: Floats) -> Float64s:
        """The weights of the k poses, shape (m, k), at rotations (m, 4)."""
        return self.basis.weights(self.distances(rotations))


@dataclass(frozen=True)
class ExampleJoint(ScatteredJoint):
    """A joint with the poses and the weights of `core.example_poses`.

    Attributes:
        limb: the unit direction of the limb in the bone's rest axes; None where the full rotation
            counts, not only the direction in which the limb points.
        blend: how the poses blend.
    """

    limb: tuple[float, float, float] | None = None
    blend: ExampleWeights = "SMOOTH"

    @cached_property
    def hats(self) -> PoseHats | None:
        """The weights where they are linear, of a bone 0 without a parent; else None."""
        rotations, limb = self.centres[1:], np.array(self.limb or OWN_AXIS)
        directions = rotate_vectors(rotations, np.tile(limb, (len(rotations), 1)))
        names = tuple(pose.label for pose in self.poses)
        twists = self.limb is None
        bone = ExampleBone(0, names, directions, rotations, self.sigma, twists, self.blend)
        joint = bone.joint(-1, limb)
        return None if joint is None else PoseHats.of([joint], BESIDE)

    @cached_property
    def forms(self) -> Float64s:
        """Shape (k + 1, 4, 4), symmetric; empty where the full rotation counts.

        q^T F q is the cosine of the angle between the limb turned by q and turned by a centre.
        """
        if self.limb is None:
            return np.zeros((0, 4, 4))
        limb = np.array(self.limb)
        towards = rotate_vectors(self.centres, np.tile(limb, (len(self.centres), 1)))
        return np.array([_cosine_form(direction, limb) for direction in towards])

    @cached_property
    def hat_forms(self) -> Float64s:
        """Shape (3, 4, 4), symmetric: q^T F q are the x, y, z that `PoseHats` measures."""
        assert self.hats is not None
        limb, toward, third = self.hats.frames[0]
        if not self.hats.rotates[0]:
            return np.array([_cosine_form(each, limb) for each in (limb, toward, third)])
        forms = np.zeros((3, 4, 4))
        forms[0, 0, 0], forms[0, 1:, 1:] = 1.0, -np.outer(third, third)
        forms[1, 0, 1:] = forms[1, 1:, 0] = third
        return forms

    def distances(self, rotations: Floats) -> Float64s:
        """Radians from rotations (m, 4) to rest and the poses: shape (m, k + 1)."""
        if self.limb is None:
            return super().distances(rotations)
        cosines = np.einsum("mi,kij,mj->mk", rotations, self.forms, rotations)
        return np.arccos(np.clip(cosines, -1.0, 1.0))

    def weights(self, rotations: Floats) -> Float64s:
        """The weights of the k poses, shape (m, k), at rotations (m, 4); together at most 1."""
        if self.hats is not None:
            rest = np.array([[1.0, 0.0, 0.0, 0.0]])
            return np.array([self.hats.weights_between(rest, each[None]) for each in rotations])
        shares = np.clip(super().weights(rotations), 0.0, 1.0)
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1.0)


def _cosine_form(direction: Floats, limb: Floats) -> Float64s:
    """The symmetric F, shape (4, 4), with q^T F q = direction . (q limb q^-1)."""
    d, v = direction, limb
    form = np.zeros((4, 4))
    crossed = np.cross(v, d)
    form[0, 0] = d @ v
    form[0, 1:] = form[1:, 0] = crossed
    form[1:, 1:] = np.outer(d, v) + np.outer(v, d) - (d @ v) * np.eye(3)
    return form


CorrectiveJoint = AxisJoint | BallJoint | ScatteredJoint


def hinge_joint(bone: str, azimuth: float, angles: tuple[float, ...]) -> AxisJoint:
    """A joint that bends about an axis across the bone, by signed angles in degrees."""
    poses = tuple(JointPose(f"{angle:g}", swing(angle, azimuth)) for angle in angles)
    return AxisJoint(bone, (float(np.cos(azimuth)), 0.0, float(np.sin(azimuth))), angles, poses)


def twist_joint(bone: str, angles: tuple[float, ...], axis: Axis = OWN_AXIS) -> AxisJoint:
    """A bone that is twisted about itself or about another axis, by signed angles in degrees."""
    poses = tuple(JointPose(f"twist {angle:g}", twist(angle, axis)) for angle in angles)
    return AxisJoint(bone, axis, angles, poses)


_DIRECTION_LABELS = ("X", "X+Z", "Z", "-X+Z", "-X", "-X-Z", "-Z", "X-Z")


def ball_joint(bone: str, directions: int, angles: tuple[float, ...]) -> BallJoint:
    """A joint that swings about 4 or 8 axes, X, Z and axes between, by angles above 0."""
    if directions not in (4, 8):
        raise ValueError(f"ball_joint: {directions} directions, expected 4 or 8")
    rings = tuple(sorted(angles))
    labels = _DIRECTION_LABELS[:: 8 // directions]
    poses = tuple(
        JointPose(f"{angle:g} {label}", swing(angle, 2.0 * np.pi * place / directions))
        for place, label in enumerate(labels)
        for angle in rings
    )
    return BallJoint(bone, directions, rings, poses)

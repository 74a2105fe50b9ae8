"""The poses of a joint that get shape keys, and the weight of each pose in a rotation of its bone.

Four kinds: the bone turns about one axis, swings in every direction, has poses of any kind, or the
example poses of an artist. Rotations are unit quaternions (w, x, y, z) in the bone's rest axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...analysis.bone_axes import OWN_AXIS, Axis, Quaternion, swing, twist
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

# The weight of each pose in a bone's rotation: smooth curves of its swing and of its twist.
#
# Every pose has a weight that is 1 in it and 0 in the other poses and at rest. Two ways to fill
# what lies between; `core.example_poses.RadialBasis` has a third, for poses anywhere, and
# `core.solved_shapes.PoseHats` a fourth, for examples in rows:
#
# - along one axis, `cardinal_curves`: cubic in between, held beyond the last pose;
# - on a sphere, where a bone swings in every direction: a curve of the swing's size times one of
#   its direction (`direction_curve`).
#
# Quaternions are (w, x, y, z). A bone's own Y runs along it; its rotation q in its rest axes is
# first a twist about Y and then a swing about an axis across it, as in Blender's Swing and Twist.


@dataclass(frozen=True)
class SmoothCurve:
    """A cubic Hermite curve, constant before its first and after its last knot.

    It is what an F-Curve with Bezier handles at a third of the way to the next knot draws.

    Attributes:
        knots: n rising arguments.
        values: n, at the knots.
        slopes: n, at the knots; of the side that is within the knots.
    """

    knots: tuple[float, ...]
    values: tuple[float, ...]
    slopes: tuple[float, ...]

    def at(self, arguments: Floats) -> Float64s:
        """The values at arguments of shape (m,)."""
        knots = np.array(self.knots)
        x = np.clip(np.asarray(arguments, np.float64), knots[0], knots[-1])
        left = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
        width = np.diff(knots)[left]
        t = (x - knots[left]) / width
        values, slopes = np.array(self.values), np.array(self.slopes)
        return (
            (1.0 + 2.0 * t) * (1.0 - t) ** 2 * values[left]
            + t * (1.0 - t) ** 2 * width * slopes[left]
            + t**2 * (3.0 - 2.0 * t) * values[left + 1]
            + t**2 * (t - 1.0) * width * slopes[left + 1]
        )


def cardinal_curves(poses: Floats, *, smooth_at_rest: bool) -> tuple[SmoothCurve, ...]:
    """A curve for each pose along one axis; with that of rest they add up to 1.

    Between its neighbours a knot's slope is that of the parabola through the three. At rest it is 0
    where the curves should be smooth there; otherwise each side goes by itself and has that of its
    own parabola, or of the straight line where it has one pose only. The last slope is the
    parabola's.

    Args:
        poses: shape (k,), the arguments of the poses, none of them 0, no two the same.
        smooth_at_rest: whether what is interpolated is smooth at 0, as in a twist; in a bend it
            grows from 0 on either side.
    """
    order = np.argsort(poses)
    negative = [int(place) for place in order if poses[place] < 0.0][::-1]
    positive = [int(place) for place in order if poses[place] > 0.0]
    curves: dict[int, SmoothCurve] = {}
    for side in (negative, positive):
        knots = np.array([0.0, *(abs(float(poses[place])) for place in side)])
        for rank, place in enumerate(side):
            values = np.zeros(len(knots))
            values[rank + 1] = 1.0
            slopes = _slopes(knots, values, smooth_at_rest)
            if poses[place] > 0.0:
                curve = SmoothCurve(tuple(knots), tuple(values), tuple(slopes))
            else:
                curve = SmoothCurve(tuple(-knots[::-1]), tuple(values[::-1]), tuple(-slopes[::-1]))
            curves[place] = curve
    return tuple(curves[place] for place in range(len(poses)))


def direction_curve(count: int) -> SmoothCurve:
    """The weight of one of `count` evenly spread directions, by the angle from it in degrees.

    For angles from -180 to 180. All directions' weights add up to 1; Catmull and Rom's spline.

    Args:
        count: 4 or more.
    """
    step = 360.0 / count
    slope = 0.5 / step
    return SmoothCurve(
        (-2.0 * step, -step, 0.0, step, 2.0 * step),
        (0.0, 0.0, 1.0, 0.0, 0.0),
        (0.0, slope, 0.0, -slope, 0.0),
    )


def swing_and_twist(rotations: Floats) -> tuple[Float64s, Float64s]:
    """Split rotations of bones into a twist about themselves and a swing of their tips.

    Args:
        rotations: shape (m, 4), unit quaternions in the bones' rest axes.

    Returns:
        swings of shape (m, 4), with y = 0 and w >= 0; and twists (m,), radians, -pi to pi.
    """
    q = np.asarray(rotations, np.float64)
    q = np.where(q[:, :1] < 0.0, -q, q)
    half = np.arctan2(q[:, 2], q[:, 0])
    cosine, sine = np.cos(half), np.sin(half)
    w, x, y, z = q.T
    swings = np.stack(
        (w * cosine + y * sine, x * cosine + z * sine, 0.0 * y, z * cosine - x * sine), axis=1
    )
    return swings, 2.0 * half


def _slopes(knots: Float64s, values: Float64s, smooth_at_rest: bool) -> Float64s:
    """Slopes at rising knots that begin with rest; see `cardinal_curves`."""
    widths = np.diff(knots)
    chords = np.diff(values) / widths
    slopes = np.empty(len(knots))
    slopes[1:-1] = (widths[1:] * chords[:-1] + widths[:-1] * chords[1:]) / (
        widths[1:] + widths[:-1]
    )
    if len(knots) == 2:
        # One pose: the parabola that is flat at rest, or the straight line.
        slopes[:] = (0.0, 2.0 * chords[0]) if smooth_at_rest else chords[0]
        return slopes
    slopes[0] = 0.0 if smooth_at_rest else 2.0 * chords[0] - slopes[1]
    slopes[-1] = 2.0 * chords[-1] - slopes[-2]
    return slopes


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

"""The weight of each pose in a bone's rotation: smooth curves of its swing and of its twist.

Every pose has a weight that is 1 in it and 0 in the other poses and at rest. Two ways to fill what
lies between; `core.example_poses.RadialBasis` has a third, for poses anywhere, and
`core.solved_shapes.PoseHats` a fourth, for examples in rows:

- along one axis, `cardinal_curves`: cubic in between, held beyond the last pose;
- on a sphere, where a bone swings in every direction: a curve of the swing's size times one of its
  direction (`direction_curve`).

Quaternions are (w, x, y, z). A bone's own Y runs along it; its rotation q in its rest axes is first
a twist about Y and then a swing about an axis across it, as in Blender's Swing and Twist.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Float64s, Floats


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

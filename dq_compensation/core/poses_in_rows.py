"""Which poses of a bone are in a row, for weights that are linear in the angle.

A *row* is what lies on one way from rest. Seen from the bone before, the limb leaves its direction
at rest with some azimuth: poses are in one row where each azimuth is at most `BESIDE` from the
next one, and all are within `WIDEST_ROW`. Where full rotations count, the poses of a row turn about
one axis, within `BESIDE`, on one side of rest.

Poses in rows are a joint of `solved_shapes`: a hinge where all lie in one plane with rest, or turn
about one axis; else a ball with a spoke for each row. So its hats are their weights: convex, with
that of rest they sum to 1, exact at each pose, held beyond the last.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Float64s, Floats
from .solved_shapes import TURNED_ROUND, SolvedJoint, spokes
from .vectors import unit_or

# Radians.
BESIDE = np.radians(15.0)
WIDEST_ROW = np.radians(30.0)
# Poses of a row, and rest, that are nearer make weights too steep.
_APART = np.radians(2.0)
# So many poses of a row swing about the right shapes with Gaussians.
ENOUGH = 3


def joint_in_rows(
    bone: int, before: int, limb: Floats, directions: Floats, rotations: Floats, *, rotates: bool
) -> tuple[SolvedJoint, int] | None:
    """The joint that lists poses in rows, and how many poses the longest row has.

    None where some are not in rows: two are less than 2 degrees apart along a row, full rotations
    count and have several axes, or the bone is turned by more than 165 degrees against the one
    before, where hats fade.

    Args:
        bone, before: indices in the skeleton; -1 before a root.
        limb: unit, armature space at rest.
        directions: shape (k, 3), unit; of the limb, as the bone before sees it.
        rotations: shape (k, 4), unit quaternions of the bone against the one before.
        rotates: whether full rotations count, not only where the limb points.
    """
    if np.abs(rotations[:, 0]).min() < TURNED_ROUND:
        return None
    if rotates:
        return _about_one_axis(bone, before, rotations)
    furthest = directions[int(np.argmin(directions @ limb))]
    toward = unit_or(furthest - (furthest @ limb) * limb, 0.0)
    x, y, z = np.stack((limb, toward, np.cross(limb, toward))) @ directions.T
    across = np.hypot(y, z)
    hinge = bool((np.abs(z) <= np.sin(BESIDE) * across).all())
    angles = np.arctan2(y, x) if hinge else np.arctan2(across, x)
    azimuths = np.zeros(len(z)) if hinge else np.arctan2(z, y)
    return _listed(bone, before, (limb, toward), (azimuths, angles), hinge=hinge, rotates=False)


def _about_one_axis(bone: int, before: int, rotations: Floats) -> tuple[SolvedJoint, int] | None:
    """The same where full rotations count."""
    turned = np.where(rotations[:, :1] < 0.0, -rotations, rotations)
    axis = unit_or(turned[int(np.argmin(turned[:, 0])), 1:], 0.0)
    along, sizes = turned[:, 1:] @ axis, np.linalg.norm(turned[:, 1:], axis=1)
    if (np.abs(along) < np.cos(BESIDE) * sizes).any():
        return None
    # Any two directions that make a right-handed frame with the axis.
    first = unit_or(np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))]), 0.0)
    frame, angles = (first, np.cross(axis, first)), 2.0 * np.arctan2(along, turned[:, 0])
    poses = np.zeros(len(angles)), angles
    return _listed(bone, before, frame, poses, hinge=True, rotates=True)


def _listed(
    bone: int,
    before: int,
    frame: tuple[Floats, Floats],
    poses: tuple[Float64s, Float64s],
    *,
    hinge: bool,
    rotates: bool,
) -> tuple[SolvedJoint, int] | None:
    """The joint with these azimuths and angles, and the size of its longest row."""
    azimuths, angles = poses
    rows = angles > 0.0 if hinge else spokes(azimuths, BESIDE)[0]
    longest = 0
    for row in np.unique(rows):
        here = rows == row
        steps = np.diff(np.sort(np.append(np.abs(angles[here]), 0.0)))
        apart = azimuths[here] - azimuths[here][0]
        apart -= 2.0 * np.pi * np.round(apart / (2.0 * np.pi))
        if steps.min() < _APART or np.ptp(apart) > WIDEST_ROW:
            return None
        longest = max(longest, int(here.sum()))
    limb, toward = (tuple(each.tolist()) for each in frame)
    listed = tuple(zip(azimuths.tolist(), angles.tolist(), strict=True))
    return SolvedJoint(before, bone, limb, toward, hinge, listed, rotates), longest

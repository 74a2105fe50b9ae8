"""Tells how straight the limbs of bendy bones are in a pose: compensation is for straight ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .pose import Pose
from .skeleton import Skeleton
from .vectors import dots, smooth_step, unit_or

# Cosines of the angle between a bendy bone, from its head to its tail in a pose, and the direction
# of either end: below the first (10 degrees) it is curved and nothing is compensated at it, above
# the second (2.5 degrees) it counts as straight.
CURVED, STRAIGHT = 0.9848078, 0.9990482


def limb_straightness(skeleton: Skeleton, pose: Pose) -> NDArray[np.float64]:
    """The share to which the limbs of all bones are as straight as at rest: shape (B,), 0 to 1.

    Let c be the direction from a bendy bone's head to its tail at rest, c' that from where its
    first segment takes the head to where its last one takes the tail, d and e what these two
    segments make of c, as directions. Then the lesser of d . c' and e . c' goes by `smooth_step`
    from `CURVED` to `STRAIGHT`. Other bones are straight.
    """
    found = np.ones(skeleton.bone_count)
    if skeleton.bendy is None:
        return found
    bones = skeleton.bendy.bones
    heads, tails = skeleton.heads[bones], skeleton.tails[bones]
    starts, ends = skeleton.start_rows[bones], skeleton.end_rows[bones]
    chords = unit_or(tails - heads, 0.0)
    posed = _moved(pose.matrices[ends], tails) - _moved(pose.matrices[starts], heads)
    posed = unit_or(posed, 0.0)
    cosines = [dots(_turned(pose.matrices[rows], chords), posed) for rows in (starts, ends)]
    found[bones] = smooth_step(np.minimum(*cosines), CURVED, STRAIGHT)
    return found


def _turned(matrices: NDArray[np.float64], directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Directions (m, 3), each by its own matrix (m, 4, 4)."""
    return unit_or(np.einsum("mij,mj->mi", matrices[:, :3, :3], directions), 0.0)


def _moved(matrices: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (m, 3), each by its own matrix (m, 4, 4)."""
    return np.einsum("mij,mj->mi", matrices[:, :3, :3], points) + matrices[:, :3, 3]

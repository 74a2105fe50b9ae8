"""Helper bones in a limb, which turn about it as *Spread Twist* turns its skin.

A helper of a limb follows the limb and turns about it by x b + y e, with b and e the twists at the
limb's beginning and end; see `twist_limbs`. That is what riggers call a twist bone. In Blender: an
Armature constraint with the limb alone, then a Transformation for each of the two twists, from the
Y of Swing and Y Twist of a gauge in Local Space to a turn about the bone's own Y, After Original.
The gauge hangs on the one bone of the twist and goes where the other one goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .dual_quaternion import (
    matrices_from_quaternions,
    quaternions_from_axis_angle,
)
from .pose import Pose
from .skeleton import Skeleton
from .twist_limbs import TwistLimbs
from .vectors import unit_or


@dataclass(frozen=True)
class TwistHelper:
    """A bone that turns about a limb.

    Attributes:
        limb, before, behind: bones of the skeleton; see `TwistLimbs`.
        axis: unit, armature space, along the limb at rest.
        at_beginning, at_end: how much of the twists there it has.
    """

    limb: int
    before: int
    behind: int
    axis: tuple[float, float, float]
    at_beginning: float
    at_end: float

    @property
    def turns(self) -> list[tuple[int, int, float]]:
        """The twists with which it turns: bones above and below, and the part of the angle."""
        both = (self.before, self.limb, self.at_beginning), (self.limb, self.behind, self.at_end)
        return [turn for turn in both if turn[2]]


def twist_axes(helper: TwistHelper, skeleton: Skeleton) -> NDArray[np.float64]:
    """The axes of a helper at rest, shape (3, 3): the limb's, turned until Y is along its axis."""
    rest, axis = skeleton.rest[helper.limb, :3, :3], np.array(helper.axis)
    # Half of the turn from one unit vector to another: (1 + a . b, a x b), up to its length.
    half = np.append(1.0 + rest[:, 1] @ axis, np.cross(rest[:, 1], axis))
    if np.linalg.norm(half) < 1e-6:
        half = np.append(0.0, rest[:, 0])
    return matrices_from_quaternions(unit_or(half, 0.0)) @ rest


def twist_transforms(
    helpers: Sequence[TwistHelper], pose: Pose, skeleton: Skeleton
) -> NDArray[np.float64]:
    """The skinning matrices of helpers, shape (H, 4, 4): from rest to the pose, armature space."""
    if not helpers:
        return np.zeros((0, 4, 4))
    bones, before, behind = np.array(
        [(helper.limb, helper.before, helper.behind) for helper in helpers], np.int32
    ).T
    axes = np.array([helper.axis for helper in helpers])
    heads = skeleton.heads[bones]
    no_skin = np.zeros((0, 1), np.int32), np.zeros((0, 1, 2))
    line = heads, axes, np.ones(len(bones))
    limbs = TwistLimbs(skeleton, bones, before, behind, *line, *no_skin, {})
    _, _, twists = limbs.posed(pose)
    factors = np.array([(helper.at_beginning, helper.at_end) for helper in helpers])
    angles = (factors * twists).sum(axis=1)
    turns = np.tile(np.eye(4), (len(helpers), 1, 1))
    turns[:, :3, :3] = matrices_from_quaternions(quaternions_from_axis_angle(axes, angles))
    turns[:, :3, 3] = heads - np.einsum("hij,hj->hi", turns[:, :3, :3], heads)
    return pose.matrices[bones] @ turns

"""Measures the transition between the weights of two bones: its width and its place.

The model is that of the published compensation (Rudenko 2020): along the limb the child's share is
a unit step smoothed by a Gaussian, w_c / (w_p + w_c) = 1/2 (1 + erf((z - z0) / (c r sqrt 2))), with
z along the limb from the joint, r the radius of the limb, c the width and z0 / r the shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from ...core.skeleton import LimbAxis, Skeleton
from ...core.vectors import dots, two_across, unit_or

# Which shares of the child are measured: nearer to 0 and 1 painting and cleaning decide.
LEAST_SHARE = 0.1
# How much of a vertex the two bones must move together.
LEAST_TOGETHER = 0.6
# Residuals, in standard deviations, from which a vertex is left out of the second fit.
_OUTLIER = 2.5
# How far from the joint along the limb the thickness of its two sides is compared, in radii.
_SIDES = (0.4, 1.6)
# The cosine from which on one bone continues another at rest: a limb, and not a branch.
_CONTINUES = 0.5

_QUANTILES = np.linspace(-3.5, 3.5, 1401)
_SHARES = np.array([0.5 * (1.0 + math.erf(q / math.sqrt(2.0))) for q in _QUANTILES])


def share_of_quantile(quantiles: NDArray[np.floating]) -> NDArray[np.float64]:
    """1/2 (1 + erf(q / sqrt 2)): 0 below -3.5, 1 above 3.5."""
    return np.interp(quantiles, _QUANTILES, _SHARES, left=0.0, right=1.0)


def quantile_of_share(shares: NDArray[np.floating]) -> NDArray[np.float64]:
    """The inverse of `share_of_quantile`, -3.5 to 3.5."""
    return np.interp(shares, _SHARES, _QUANTILES)


@dataclass(frozen=True, eq=False)
class TransitionJoints:
    """The joint at the head of every bone, between it and the deforming bone before it; at rest.

    In armature space. `core.limb_joints.LimbJoints` has every bone, deforming or not.

    Attributes:
        parents: shape (B,), int32; the nearest deforming ancestor, -1 where there is none, and for
            bones that do not deform.
        heads: shape (B, 3).
        along: shape (B, 3), unit; the mean of the directions of the two limbs.
        lengths: shape (B,), of the shorter of the two limbs.
        continues: shape (B,), bool; whether the bone continues its parent's limb.
    """

    parents: NDArray[np.int32]
    heads: NDArray[np.float64]
    along: NDArray[np.float64]
    lengths: NDArray[np.float64]
    continues: NDArray[np.bool_]

    @classmethod
    def of(
        cls, skeleton: Skeleton, deforms: NDArray[np.bool_], limb_axis: LimbAxis = "AUTO"
    ) -> TransitionJoints:
        """The joints of a skeleton.

        Args:
            deforms: shape (B,).
        """
        parents = np.full(skeleton.bone_count, -1, np.int32)
        for bone, parent in enumerate(skeleton.parents):  # parents come first
            if parent >= 0:
                parents[bone] = parent if deforms[parent] else parents[parent]
        has_parent = parents >= 0
        own = np.arange(skeleton.bone_count, dtype=np.int32)
        ways, lengths, shorter = skeleton.limbs_at_joints(np.where(has_parent, parents, own))
        forth = skeleton.limb_directions(limb_axis)
        before = unit_or(ways, forth, 1e-9)
        along = unit_or(before + forth, forth, 1e-6)
        continues = has_parent & (lengths > 1e-9) & (dots(before, forth) > _CONTINUES)
        parents = np.where(deforms, parents, -1).astype(np.int32)
        return cls(parents, skeleton.heads, along, shorter, continues)


@dataclass(frozen=True, eq=False)
class Transitions:
    """The measured transition at each of the B joints; 0 where there is none.

    Attributes:
        counts: shape (B,), the vertices that were measured.
        radii: shape (B,), units of armature space; mean distance of those vertices from the middle
            of the limb.
        widths: shape (B,), in radii; c. Negative where the weights run backwards.
        shifts: shape (B,), in radii; z0 / r, where both bones weigh the same, from the joint
            towards the child.
        offsets: shape (B,), in radii; how far beside the middle of the limb the joint lies.
        tilts: shape (B,); the tangent of the angle between the plane in which the weights cross
            over and the limb's cross-section.
        spreads: shape (B,), in radii; root mean square distance along the limb from the model.
    """

    counts: NDArray[np.intp]
    radii: NDArray[np.float64]
    widths: NDArray[np.float64]
    shifts: NDArray[np.float64]
    offsets: NDArray[np.float64]
    tilts: NDArray[np.float64]
    spreads: NDArray[np.float64]


def measure_transitions(
    positions: NDArray[np.floating], influences: Influences, joints: TransitionJoints
) -> Transitions:
    """Measure every joint.

    A vertex counts where a bone and its deforming parent are its two strongest bones, have 0.6 of
    its weight together, and neither less than a tenth of that. z = c r q + z0 + a x + b y, with q
    the quantile of the share and x, y across the limb from its middle, is fitted by least squares,
    once more without the outliers: weights often cross over in a plane that is tilted, which must
    not be taken for width.

    Args:
        positions: shape (n, 3), armature space, at rest and without shape keys.
        joints: between the bones that the influences name.
    """
    if influences.width < 2 or not len(positions):
        return fitted_transitions(np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.intp), joints)
    first, second = influences.bones[:, 0], influences.bones[:, 1]
    w1, w2 = influences.weights[:, 0], influences.weights[:, 1]
    together = w1 + w2
    child_is_second = joints.parents[second] == first
    child_is_first = joints.parents[first] == second
    measured = (child_is_second | child_is_first) & (together >= LEAST_TOGETHER)
    measured &= w2 >= LEAST_SHARE * together
    rows = np.flatnonzero(measured)
    children = np.where(child_is_second[rows], second[rows], first[rows])
    weights = np.where(child_is_second[rows], w2[rows], w1[rows]).astype(np.float64)
    return fitted_transitions(
        positions[rows], weights / together[rows], children.astype(np.intp), joints
    )


def fitted_transitions(
    positions: NDArray[np.floating],
    shares: NDArray[np.floating],
    children: NDArray[np.intp],
    joints: TransitionJoints,
) -> Transitions:
    """Fit the lines of all joints.

    Args:
        positions: shape (m, 3), armature space, at rest; vertices of one joint each.
        shares: shape (m,), of the child bone.
        children: shape (m,), the child bones.
    """
    size = len(joints.parents)
    from_joint = positions - joints.heads[children]
    along = joints.along[children]
    z = dots(from_joint, along)
    across = from_joint - z[:, None] * along
    counts = np.bincount(children, minlength=size)
    middles = np.stack(
        [_means(across[:, axis], children, counts) for axis in range(3)], axis=1
    ).reshape(size, 3)
    radii = _means(np.linalg.norm(across - middles[children], axis=1), children, counts)
    units = np.where(radii > 0.0, radii, 1.0)
    beside = (across - middles[children]) / units[children, None]
    first, second = two_across(joints.along)
    features = np.stack(
        (
            quantile_of_share(shares),
            np.ones(len(z)),
            dots(beside, first[children]),
            dots(beside, second[children]),
        )
    )
    z /= units[children]
    everyone = np.ones(len(z))
    fits = _planes(features, z, children, everyone, size)
    residuals = z - np.einsum("fm,mf->m", features, fits[children])
    spreads = np.sqrt(_means(residuals**2, children, counts))
    inliers = (np.abs(residuals) <= _OUTLIER * spreads[children] + 1e-12).astype(np.float64)
    fits = _planes(features, z, children, inliers, size)
    offsets = np.linalg.norm(middles, axis=1) / units
    tilts = np.hypot(fits[:, 2], fits[:, 3])
    return Transitions(counts, radii, fits[:, 0], fits[:, 1], offsets, tilts, spreads)


def _planes(
    features: NDArray[np.float64],
    values: NDArray[np.float64],
    groups: NDArray[np.intp],
    weights: NDArray[np.float64],
    size: int,
) -> NDArray[np.float64]:
    """The least-squares coefficients (size, f) of every group: values (m,) by features (f, m)."""
    count = len(features)
    normal, right = np.zeros((size, count, count)), np.zeros((size, count))

    def sums(products: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(groups, weights=products * weights, minlength=size)

    for row in range(count):
        right[:, row] = sums(features[row] * values)
        for column in range(row, count):
            normal[:, row, column] = normal[:, column, row] = sums(features[row] * features[column])
    # What does not vary in a group has no coefficient.
    normal += (1e-6 * np.trace(normal, axis1=1, axis2=2) + 1e-12)[:, None, None] * np.eye(count)
    return np.linalg.solve(normal, right[:, :, None])[:, :, 0]


def _means(
    values: NDArray[np.float64], groups: NDArray[np.intp], counts: NDArray[np.intp]
) -> NDArray[np.float64]:
    return np.bincount(groups, weights=values, minlength=len(counts)) / np.maximum(counts, 1)


def thickness_ratio(
    positions: NDArray[np.floating],
    influences: Influences,
    joints: TransitionJoints,
    measured: Transitions,
    joint: int,
) -> float:
    """The thickness of the child's limb near a joint, divided by that of the parent's.

    Taken from the vertices that one of the two bones moves most, 0.4 to 1.6 radii from the joint: a
    head on a neck has about 2, an upper arm at a chest much less than 1.

    Returns:
        the ratio of the mean distances from the middle; 1 where a side has too few vertices.
    """
    strongest = influences.bones[:, 0]
    mine = (strongest == joint) | (strongest == joints.parents[joint])
    rows = np.flatnonzero(mine & (influences.weights[:, 0] > 0.0))
    from_joint = (positions[rows] - joints.heads[joint]) / measured.radii[joint]
    z = from_joint @ joints.along[joint]
    across = from_joint - z[:, None] * joints.along[joint]
    radii = []
    for side in (z, -z):
        points = across[(side > _SIDES[0]) & (side < _SIDES[1])]
        if len(points) < 4:
            return 1.0
        radii.append(float(np.linalg.norm(points - points.mean(axis=0), axis=1).mean()))
    return radii[0] / max(radii[1], 1e-9)

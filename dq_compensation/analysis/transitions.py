"""The transition between the weights of two bones: its width and place, measured and changed.

The model is that of the published compensation (Rudenko 2020): along the limb the child's share
is a unit step smoothed by a Gaussian, w_c / (w_p + w_c) = 1/2 (1 + erf((z - z0) / (c r sqrt 2))),
with z along the limb from the joint, r the radius of the limb, c the width and z0 / r the shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Int32s
from ..core.influences import Influences
from ..core.skeleton import LimbAxis, Skeleton
from ..core.vectors import dots, smooth_step, two_across, unit_or

# Which shares of the child are measured: nearer to 0 and 1 painting and cleaning decide.
_LEAST_SHARE = 0.1
# How much of a vertex the two bones must move together.
_LEAST_TOGETHER = 0.6
# Residuals, in standard deviations, from which a vertex is left out of the second fit.
_OUTLIER = 2.5
# The cosine from which on one bone continues another at rest: a limb, and not a branch.
_CONTINUES = 0.5

_QUANTILES = np.linspace(-3.5, 3.5, 1401)
_SHARES = np.array([0.5 * (1.0 + math.erf(q / math.sqrt(2.0))) for q in _QUANTILES])


def share_of_quantile(quantiles: Floats) -> Float64s:
    """1/2 (1 + erf(q / sqrt 2)): 0 below -3.5, 1 above 3.5."""
    return np.interp(quantiles, _QUANTILES, _SHARES, left=0.0, right=1.0)


def quantile_of_share(shares: Floats) -> Float64s:
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

    parents: Int32s
    heads: Float64s
    along: Float64s
    lengths: Float64s
    continues: Booleans

    @classmethod
    def of(
        cls, skeleton: Skeleton, deforms: Booleans, limb_axis: LimbAxis = "AUTO"
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
        rounds: shape (B,); the least mean square across the limb, in parts of the largest: 1 where
            the skin goes all round, 0.05 where it is a strip along a quarter of the limb.
    """

    counts: Indices
    radii: Float64s
    widths: Float64s
    shifts: Float64s
    offsets: Float64s
    tilts: Float64s
    spreads: Float64s
    rounds: Float64s


def measure_transitions(
    positions: Floats, influences: Influences, joints: TransitionJoints
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
        return _fitted_transitions(np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.intp), joints)
    first, second = influences.bones[:, 0], influences.bones[:, 1]
    w1, w2 = influences.weights[:, 0], influences.weights[:, 1]
    together = w1 + w2
    child_is_second = joints.parents[second] == first
    child_is_first = joints.parents[first] == second
    measured = (child_is_second | child_is_first) & (together >= _LEAST_TOGETHER)
    measured &= w2 >= _LEAST_SHARE * together
    rows = np.flatnonzero(measured)
    children = np.where(child_is_second[rows], second[rows], first[rows])
    weights = np.where(child_is_second[rows], w2[rows], w1[rows]).astype(np.float64)
    return _fitted_transitions(
        positions[rows], weights / together[rows], children.astype(np.intp), joints
    )


def _fitted_transitions(
    positions: Floats, shares: Floats, children: Indices, joints: TransitionJoints
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
    rounds = _rounds(features[2:], children, counts)
    return Transitions(counts, radii, fits[:, 0], fits[:, 1], offsets, tilts, spreads, rounds)


def _rounds(across: Float64s, children: Indices, counts: Indices) -> Float64s:
    """The least mean square of points (2, m) about their middle, in parts of the largest; (B,)."""
    pairs = combinations_with_replacement(across, 2)
    first, both, second = (_means(one * other, children, counts) for one, other in pairs)
    mean, half = 0.5 * (first + second), np.hypot(0.5 * (first - second), both)
    return (mean - half) / np.maximum(mean + half, 1e-30)


def _planes(
    features: Float64s, values: Float64s, groups: Indices, weights: Float64s, size: int
) -> Float64s:
    """The least-squares coefficients (size, f) of every group: values (m,) by features (f, m)."""
    count = len(features)
    normal, right = np.zeros((size, count, count)), np.zeros((size, count))

    def sums(products: Float64s) -> Float64s:
        return np.bincount(groups, weights=products * weights, minlength=size)

    for row in range(count):
        right[:, row] = sums(features[row] * values)
        for column in range(row, count):
            normal[:, row, column] = normal[:, column, row] = sums(features[row] * features[column])
    # What does not vary in a group has no coefficient.
    normal += (1e-6 * np.trace(normal, axis1=1, axis2=2) + 1e-12)[:, None, None] * np.eye(count)
    return np.linalg.solve(normal, right[:, :, None])[:, :, 0]


def _means(values: Float64s, groups: Indices, counts: Indices) -> Float64s:
    return np.bincount(groups, weights=values, minlength=len(counts)) / np.maximum(counts, 1)


# The width to which the published curves were fitted.
BEST_WIDTH = 0.63


@dataclass(frozen=True, eq=False)
class Reshaped:
    """Other shares of the child at one joint.

    Attributes:
        vertices: shape (k,), those whose share changes.
        shares: shape (k,), float64; the child's part of what the two bones have together.
        width: in radii, as `measure_transitions` would measure it then.
        shift: in radii, likewise.
    """

    vertices: Indices
    shares: Float64s
    width: float
    shift: float


def reshape_transition(
    positions: Floats,
    influences: Influences,
    joints: TransitionJoints,
    measured: Transitions,
    joint: int,
    width: float = BEST_WIDTH,
) -> Reshaped:
    """Move the transition of two bones' weights to their joint, with this width.

    Where the share q of a vertex (as a quantile) differs from the fitted line by e, in length along
    the limb, that stays: q' = (z + e) / (c' r), so that what was painted round the limb survives. e
    is at most 0.3 r, and fades where the share is nearly 0 or 1 and tells nothing of it. What the
    two bones have together stays at every vertex. Far from the joint, along the limb or beside it,
    nothing changes. c' is tried until the width that is measured is the wanted one.

    Args:
        positions: shape (n, 3), armature space, at rest.
        measured: at the joints, of the same vertices.
        joint: the child bone.
        width: wanted, in radii.
    """
    parent = int(joints.parents[joint])
    of_either = (influences.bones == parent) | (influences.bones == joint)
    of_either &= influences.weights > 0.0
    vertices = np.flatnonzero(of_either.any(axis=1))
    bones, weights = influences.bones[vertices], influences.weights[vertices].astype(np.float64)
    of_child = np.where(bones == joint, weights, 0.0).sum(axis=1)
    together = np.where(bones == parent, weights, 0.0).sum(axis=1) + of_child
    third = np.where(of_either[vertices], 0.0, weights).max(axis=1)
    shares = of_child / together
    radius = float(measured.radii[joint])
    from_joint = (positions[vertices] - joints.heads[joint]) / radius
    z = from_joint @ joints.along[joint]
    quantiles = quantile_of_share(shares)
    old_width, old_shift = float(measured.widths[joint]), float(measured.shifts[joint])
    painted = np.clip(quantiles * old_width + old_shift - z, -0.3, 0.3)
    painted *= 1.0 - smooth_step(np.abs(quantiles), 1.2, 2.0)
    reach = max(1.7, abs(old_shift) + 2.6 * old_width)
    across = from_joint - z[:, None] * joints.along[joint]
    blends = np.abs(quantiles) < 1.3
    if not blends.any():  # hard weights
        blends = np.abs(z) < 1.0
    across -= across[blends].mean(axis=0)
    near = 1.0 - smooth_step(np.abs(z), reach, reach + 0.5)
    near *= 1.0 - smooth_step(np.linalg.norm(across, axis=1), 2.0, 2.5)

    asked, result = width, shares
    new_width = new_shift = 0.0
    for _ in range(4):
        wanted = (z + painted) / asked
        wanted = np.where(np.abs(wanted) < 2.6, share_of_quantile(wanted), wanted > 0.0)
        result = shares + near * (wanted - shares)
        weaker = np.minimum(result, 1.0 - result)
        counts = (together >= _LEAST_TOGETHER) & (weaker >= _LEAST_SHARE)
        counts &= weaker * together >= third
        again = _fitted_transitions(
            positions[vertices[counts]],
            result[counts],
            np.full(int(counts.sum()), joint, np.intp),
            joints,
        )
        new_width, new_shift = float(again.widths[joint]), float(again.shifts[joint])
        if new_width <= 0.0:
            break
        asked = float(np.clip(asked * width / new_width, 0.5 * width, 2.0 * width))
    changed = np.abs(result - shares) * together > 1e-4
    return Reshaped(vertices[changed], result[changed], new_width, new_shift)

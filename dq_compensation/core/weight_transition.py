"""How wide the weights cross over at a joint, and where: measured, and brought to a given width.

The model is that of the published compensation (Rudenko 2020): along the limb the child's share is
a unit step smoothed by a Gaussian, w_c / (w_p + w_c) = 1/2 (1 + erf((z - z0) / (c r sqrt 2))), with
z along the limb from the joint, r the radius of the limb, c the width and z0 / r the shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .influences import Influences
from .skeleton import LimbAxis, Skeleton

# The width to which the published curves were fitted.
BEST_WIDTH = 0.63
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


def share_of_quantile(quantiles: NDArray[np.floating]) -> NDArray[np.float64]:
    """1/2 (1 + erf(q / sqrt 2)): 0 below -3.5, 1 above 3.5."""
    return np.interp(quantiles, _QUANTILES, _SHARES, left=0.0, right=1.0)


def quantile_of_share(shares: NDArray[np.floating]) -> NDArray[np.float64]:
    """The inverse of `share_of_quantile`, -3.5 to 3.5."""
    return np.interp(shares, _SHARES, _QUANTILES)


@dataclass(frozen=True, eq=False)
class TransitionJoints:
    """The joints between deforming bones, one at the head of every bone; armature space, at rest.

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
            skeleton: the bones.
            deforms: shape (B,).
            limb_axis: where the limbs point.
        """
        parents = np.full(skeleton.bone_count, -1, np.int32)
        for bone, parent in enumerate(skeleton.parents):  # parents come first
            if parent >= 0:
                parents[bone] = parent if deforms[parent] else parents[parent]
        heads = skeleton.heads
        has_parent = parents >= 0
        ways = np.where(has_parent[:, None], heads - heads[parents], 0.0)
        before_length = np.linalg.norm(ways, axis=1)
        forth = skeleton.limb_directions(limb_axis)
        exists = before_length > 1e-9
        before = np.where(
            exists[:, None], ways / np.where(exists, before_length, 1.0)[:, None], forth
        )
        along = before + forth
        norms = np.linalg.norm(along, axis=1)
        along = np.where(norms[:, None] > 1e-6, along / np.maximum(norms, 1e-6)[:, None], forth)
        own = np.zeros(skeleton.bone_count)
        np.maximum.at(own, parents[has_parent], before_length[has_parent])
        own = np.where(own > 0.0, own, np.linalg.norm(skeleton.tails - heads, axis=1))
        continues = has_parent & exists & (np.einsum("bi,bi->b", before, forth) > _CONTINUES)
        parents = np.where(deforms, parents, -1).astype(np.int32)
        return cls(parents, heads, along, np.minimum(before_length, own), continues)


@dataclass(frozen=True, eq=False)
class Transitions:
    """What was measured at each of the B joints; 0 where nothing was.

    Attributes:
        counts: shape (B,), the vertices that were measured.
        radii: shape (B,), units of armature space; mean distance of those vertices from the middle
            of the limb.
        widths: shape (B,), in radii; c. Negative where the weights run backwards.
        shifts: shape (B,), in radii; z0 / r, where both bones weigh the same, from the joint
            towards the child.
        offsets: shape (B,), in radii; how far beside the middle of the limb the joint lies.
        spreads: shape (B,), in radii; root mean square distance along the limb from the model.
    """

    counts: NDArray[np.intp]
    radii: NDArray[np.float64]
    widths: NDArray[np.float64]
    shifts: NDArray[np.float64]
    offsets: NDArray[np.float64]
    spreads: NDArray[np.float64]


def measure_transitions(
    positions: NDArray[np.floating], influences: Influences, joints: TransitionJoints
) -> Transitions:
    """Measure every joint.

    A vertex counts where a bone and its deforming parent are its two strongest bones, have 0.6 of
    its weights together, and neither less than a tenth of that. The line z = c r q + z0, with q the
    quantile of the share, is fitted by least squares, once more without the outliers.

    Args:
        positions: shape (n, 3), armature space, at rest and without shape keys.
        influences: of the n vertices.
        joints: between the bones that the influences name.
    """
    bone_count = len(joints.parents)
    if influences.width < 2 or not len(positions):
        return _fitted(np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.intp), joints)
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
    assert len(children) == 0 or children.max() < bone_count
    return _fitted(positions[rows], weights / together[rows], children.astype(np.intp), joints)


def _fitted(
    positions: NDArray[np.floating],
    shares: NDArray[np.floating],
    children: NDArray[np.intp],
    joints: TransitionJoints,
) -> Transitions:
    """The lines of all joints from their vertices: positions (m, 3), shares and joints (m,)."""
    size = len(joints.parents)
    from_joint = positions - joints.heads[children]
    along = joints.along[children]
    z = np.einsum("mi,mi->m", from_joint, along)
    across = from_joint - z[:, None] * along
    counts = np.bincount(children, minlength=size)
    middles = np.stack(
        [_means(across[:, axis], children, counts) for axis in range(3)], axis=1
    ).reshape(size, 3)
    radii = _means(np.linalg.norm(across - middles[children], axis=1), children, counts)
    quantiles = quantile_of_share(shares)
    everyone = np.ones(len(z))
    slopes, starts = _lines(quantiles, z, children, everyone, size)
    residuals = z - slopes[children] * quantiles - starts[children]
    spreads = np.sqrt(_means(residuals**2, children, counts))
    inliers = (np.abs(residuals) <= _OUTLIER * spreads[children] + 1e-12).astype(np.float64)
    slopes, starts = _lines(quantiles, z, children, inliers, size)
    units = np.where(radii > 0.0, radii, 1.0)
    return Transitions(
        counts,
        radii,
        slopes / units,
        starts / units,
        np.linalg.norm(middles, axis=1) / units,
        spreads / units,
    )


def _lines(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    groups: NDArray[np.intp],
    weights: NDArray[np.float64],
    size: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least-squares line y = slope x + start of every group; zeros where x does not vary."""

    def sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(groups, weights=values * weights, minlength=size)

    counts = np.maximum(sums(np.ones(len(x))), 1.0)
    mean_x, mean_y = sums(x) / counts, sums(y) / counts
    dx = x - mean_x[groups]
    variances = sums(dx * dx)
    slopes = sums(dx * (y - mean_y[groups])) / np.where(variances > 1e-9, variances, np.inf)
    return slopes, mean_y - slopes * mean_x


def _means(
    values: NDArray[np.float64], groups: NDArray[np.intp], counts: NDArray[np.intp]
) -> NDArray[np.float64]:
    return np.bincount(groups, weights=values, minlength=len(counts)) / np.maximum(counts, 1)


@dataclass(frozen=True, eq=False)
class Reshaped:
    """Other shares of the child at one joint.

    Attributes:
        vertices: shape (k,), those whose share changes.
        shares: shape (k,), float64; the child's part of what the two bones have together.
        width: in radii, as `measure_transitions` would measure it then.
        shift: in radii, likewise.
    """

    vertices: NDArray[np.intp]
    shares: NDArray[np.float64]
    width: float
    shift: float


def reshape_transition(
    positions: NDArray[np.floating],
    influences: Influences,
    joints: TransitionJoints,
    measured: Transitions,
    joint: int,
    width: float = BEST_WIDTH,
) -> Reshaped:
    """Let the weights of two bones cross over at their joint, and that wide.

    Where the share q of a vertex (as a quantile) differs from the fitted line by e, in length along
    the limb, that stays: q' = (z + e) / (c' r), so that what was painted round the limb survives. e
    is at most 0.3 r, and fades where the share is nearly 0 or 1 and tells nothing of it. What the
    two bones have together stays at every vertex. Far from the joint, along the limb or beside it,
    nothing changes. c' is tried until the width that is measured is the wanted one.

    Args:
        positions: shape (n, 3), armature space, at rest.
        influences: of the n vertices.
        joints: between the bones.
        measured: at the joints, of the same vertices.
        joint: the child bone.
        width: wanted, in radii.
    """
    parent = int(joints.parents[joint])
    of_parent, of_child, third = _weights_of_pair(influences, parent, joint)
    together = of_parent + of_child
    vertices = np.flatnonzero(together > 0.0)
    together, third = together[vertices], third[vertices]
    shares = of_child[vertices] / together
    radius = float(measured.radii[joint])
    from_joint = (positions[vertices] - joints.heads[joint]) / radius
    z = from_joint @ joints.along[joint]
    quantiles = quantile_of_share(shares)
    old_width, old_shift = float(measured.widths[joint]), float(measured.shifts[joint])
    painted = np.clip(quantiles * old_width + old_shift - z, -0.3, 0.3)
    painted *= 1.0 - _smooth(np.abs(quantiles), 1.2, 2.0)
    reach = 1.7 + abs(old_shift)
    across = from_joint - z[:, None] * joints.along[joint]
    across -= across[np.abs(quantiles) < 1.0].mean(axis=0)
    near = 1.0 - _smooth(np.abs(z), reach, reach + 0.5)
    near *= 1.0 - _smooth(np.linalg.norm(across, axis=1), 2.0, 2.5)

    asked, result = width, shares
    new_width = new_shift = 0.0
    for _ in range(4):
        wanted = (z + painted) / asked
        wanted = np.where(np.abs(wanted) < 2.6, share_of_quantile(wanted), wanted > 0.0)
        result = shares + near * (wanted - shares)
        weaker = np.minimum(result, 1.0 - result)
        counts = (together >= _LEAST_TOGETHER) & (weaker >= _LEAST_SHARE)
        counts &= weaker * together >= third
        again = _fitted(
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


def _weights_of_pair(
    influences: Influences, parent: int, child: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Shapes (n,): the weights of two bones, and the largest of any other bone."""
    weights = influences.weights.astype(np.float64)
    is_parent, is_child = influences.bones == parent, influences.bones == child
    others = np.where(is_parent | is_child, 0.0, weights)
    return (
        np.where(is_parent, weights, 0.0).sum(axis=1),
        np.where(is_child, weights, 0.0).sum(axis=1),
        others.max(axis=1),
    )


def _smooth(values: NDArray[np.floating], start: float, end: float) -> NDArray[np.floating]:
    """0 up to `start`, 1 from `end`, smooth between."""
    t = np.clip((values - start) / (end - start), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)

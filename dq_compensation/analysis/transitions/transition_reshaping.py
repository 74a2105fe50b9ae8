"""Moves the transition of two bones' weights to their joint, with the best width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.influences import Influences
from ...core.vectors import smooth_step
from .transition_measurement import (
    LEAST_SHARE,
    LEAST_TOGETHER,
    TransitionJoints,
    Transitions,
    fitted_transitions,
    quantile_of_share,
    share_of_quantile,
)

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
    across -= across[np.abs(quantiles) < 1.3].mean(axis=0)
    near = 1.0 - smooth_step(np.abs(z), reach, reach + 0.5)
    near *= 1.0 - smooth_step(np.linalg.norm(across, axis=1), 2.0, 2.5)

    asked, result = width, shares
    new_width = new_shift = 0.0
    for _ in range(4):
        wanted = (z + painted) / asked
        wanted = np.where(np.abs(wanted) < 2.6, share_of_quantile(wanted), wanted > 0.0)
        result = shares + near * (wanted - shares)
        weaker = np.minimum(result, 1.0 - result)
        counts = (together >= LEAST_TOGETHER) & (weaker >= LEAST_SHARE)
        counts &= weaker * together >= third
        again = fitted_transitions(
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

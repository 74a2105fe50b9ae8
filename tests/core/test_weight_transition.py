"""The width and the place of a transition are measured, and brought to wanted ones."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import Cylinder, distance_from_capsules, skeleton_of_points
from numpy.typing import NDArray

from dq_compensation.analysis.transitions import (
    BEST_WIDTH,
    TransitionJoints,
    measure_transitions,
    quantile_of_share,
    reshape_transition,
    share_of_quantile,
)
from dq_compensation.core.influences import Influences

BOTH_DEFORM = np.ones(2, np.bool_)


def joints_of(cylinder: Cylinder) -> TransitionJoints:
    return TransitionJoints.of(cylinder.skeleton, BOTH_DEFORM)


def reshaped(cylinder: Cylinder) -> Cylinder:
    """The cylinder with the weights that are proposed for it."""
    joints = joints_of(cylinder)
    measured = measure_transitions(cylinder.positions, cylinder.influences, joints)
    proposed = reshape_transition(cylinder.positions, cylinder.influences, joints, measured, 1)
    shares = shares_of(cylinder)
    shares[proposed.vertices] = proposed.shares
    return with_shares(cylinder, shares)


def with_shares(cylinder: Cylinder, shares: NDArray[np.float64]) -> Cylinder:
    """The cylinder with these shares of the upper bone."""
    count = len(shares)
    influences = Influences.from_triples(
        np.tile(np.arange(count), 2),
        np.repeat([0, 1], count),
        np.concatenate((1.0 - shares, shares)),
        count,
    )
    return Cylinder(
        cylinder.rows,
        cylinder.columns,
        cylinder.positions,
        cylinder.normals,
        influences,
        cylinder.skeleton,
    )


def shares_of(cylinder: Cylinder) -> NDArray[np.float64]:
    """What the upper bone has of each vertex."""
    influences = cylinder.influences
    return np.where(influences.bones == 1, influences.weights, 0.0).sum(axis=1).astype(np.float64)


def largest_error(cylinder: Cylinder) -> float:
    """Bent by 90 degrees with the fitted curve, outer half, % of the radius."""
    pose = cylinder.bent(90)
    points = cylinder.deformed("COMPENSATED", pose, "FITTED")[cylinder.outside()]
    return float(100.0 * np.abs(distance_from_capsules(points, pose.matrices[1, :3, 2])).max())


def test_quantiles_and_shares_are_inverse() -> None:
    shares = np.linspace(0.001, 0.999, 500)
    np.testing.assert_allclose(share_of_quantile(quantile_of_share(shares)), shares, atol=1e-6)
    np.testing.assert_array_equal(share_of_quantile(np.array([-9.0, 9.0])), [0.0, 1.0])


@pytest.mark.parametrize("shift", [-0.8, 0.0, 0.5])
@pytest.mark.parametrize("width", [0.15, 0.3, 0.63, 1.0, 1.3])
def test_the_width_and_the_shift_of_a_cylinder_are_measured(width: float, shift: float) -> None:
    """Within 2 % of the width: rows are 0.05 radii apart, so that narrow ones have a dozen."""
    cylinder = Cylinder.with_transition(width, shift=shift)
    measured = measure_transitions(cylinder.positions, cylinder.influences, joints_of(cylinder))
    assert measured.widths[1] == pytest.approx(width, rel=0.02)
    assert measured.shifts[1] == pytest.approx(shift, abs=0.01)
    assert measured.radii[1] == pytest.approx(1.0, abs=1e-6)
    assert measured.offsets[1] == pytest.approx(0.0, abs=1e-6)
    assert measured.counts[0] == 0


def test_a_tilt_is_not_taken_for_width() -> None:
    """A narrow transition in a plane that is tilted by 20 degrees."""
    cylinder = Cylinder.with_transition(0.3)
    tilted = with_shares(
        cylinder,
        share_of_quantile((cylinder.positions[:, 2] - 0.36 * cylinder.positions[:, 0]) / 0.3),
    )
    measured = measure_transitions(tilted.positions, tilted.influences, joints_of(tilted))
    assert measured.widths[1] == pytest.approx(0.3, rel=0.02)
    assert measured.tilts[1] == pytest.approx(0.36, abs=0.01)
    assert measured.spreads[1] < 0.01


def test_a_joint_beside_the_limb_is_found() -> None:
    cylinder = Cylinder.with_transition(0.63)
    measured = measure_transitions(
        cylinder.positions + [1.5, 0.0, 0.0], cylinder.influences, joints_of(cylinder)
    )
    assert measured.offsets[1] == pytest.approx(1.5, abs=1e-6)
    assert measured.radii[1] == pytest.approx(1.0, abs=1e-6)


def test_a_few_stray_vertices_do_not_matter() -> None:
    """Twenty of 10,000 vertices, far away and weighted half and half."""
    cylinder = Cylinder.with_transition(0.63)
    stray = np.arange(0, 2000, 100)
    positions = cylinder.positions.copy()
    bones, weights = cylinder.influences.bones.copy(), cylinder.influences.weights.copy()
    bones[stray] = [0, 1]
    weights[stray] = 0.5
    measured = measure_transitions(positions, Influences(bones, weights), joints_of(cylinder))
    assert measured.widths[1] == pytest.approx(0.63, abs=0.05)
    assert measured.shifts[1] == pytest.approx(0.0, abs=0.02)


def test_a_bone_that_does_not_deform_is_passed_over() -> None:
    """Its child belongs to the next deforming bone above."""
    heads = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
    skeleton = skeleton_of_points(heads, heads + [0.0, 0.0, 1.0], [-1, 0, 1])
    joints = TransitionJoints.of(skeleton, np.array([True, False, True]))
    assert joints.parents.tolist() == [-1, -1, 0]
    assert joints.lengths[2] == pytest.approx(1.0)  # the shorter limb: the last bone's own


@pytest.mark.parametrize(("width", "shift"), [(0.15, 0.0), (0.3, 0.4), (1.0, 0.0), (1.3, -0.8)])
def test_reshaping_brings_width_and_place(width: float, shift: float) -> None:
    """Measured again, and the compensated bend is right: 2.2 % are what the best width leaves."""
    cylinder = Cylinder.with_transition(width, shift=shift)
    better = reshaped(cylinder)
    measured = measure_transitions(better.positions, better.influences, joints_of(better))
    assert measured.widths[1] == pytest.approx(BEST_WIDTH, abs=0.02)
    assert measured.shifts[1] == pytest.approx(0.0, abs=0.02)
    assert largest_error(cylinder) > 5.0
    assert largest_error(better) < 4.0


def test_reshaping_keeps_what_was_painted_round_the_limb() -> None:
    """A transition that lies higher on one side still does, by as much, up to 0.3 radii."""
    cylinder = Cylinder.with_transition(0.3)
    tilt = 0.2 * cylinder.positions[:, 0]
    tilted = with_shares(cylinder, share_of_quantile((cylinder.positions[:, 2] - tilt) / 0.3))
    better = shares_of(reshaped(tilted)).reshape(cylinder.rows, cylinder.columns)
    heights = cylinder.positions[:, 2].reshape(cylinder.rows, cylinder.columns)
    crossings = [
        float(np.interp(0.5, better[:, column], heights[:, column]))
        for column in (0, cylinder.columns // 2)
    ]
    assert crossings[0] - crossings[1] == pytest.approx(0.4, abs=0.05)


def test_far_from_the_joint_nothing_changes() -> None:
    """The old transition is over at 2.6 times its width; the rest fades within half a radius."""
    cylinder = Cylinder.with_transition(1.0)
    joints = joints_of(cylinder)
    measured = measure_transitions(cylinder.positions, cylinder.influences, joints)
    proposed = reshape_transition(cylinder.positions, cylinder.influences, joints, measured, 1)
    assert np.abs(cylinder.positions[proposed.vertices, 2]).max() < 3.1

"""The methods on an analytic shape: a bent and a twisted cylinder (distances in % of the radius).

The table was measured independently, with the same weights, on the outer half of a cylinder of
length 8; 0.2 points allow for another density of the mesh.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from bodies import Cylinder, distance_from_capsules, posed, skeleton_of_points, turn
from numpy.typing import NDArray

from dq_compensation.core.compensation import PUBLISHED_CURVES, Curve, compensation_amounts
from dq_compensation.core.deform import Method
from dq_compensation.core.pose import Pose
from dq_compensation.core.skin_at_rest import SkinAtRest

TOLERANCE = 0.2

# (width, angle, method): largest outward, largest inward, rms; None where nothing was published.
TABLE: list[tuple[float, float, Method, float, float | None, float]] = [
    (0.63, 60, "LINEAR", 2.5, -13.4, 2.07),
    (0.63, 60, "DUAL_QUATERNION", 8.9, 0.0, 2.52),
    (0.63, 60, "COMPENSATED", 3.6, 0.0, 1.08),
    (0.63, 90, "LINEAR", 1.7, -29.3, 4.79),
    (0.63, 90, "DUAL_QUATERNION", 11.9, 0.0, 3.38),
    (0.63, 90, "COMPENSATED", 2.2, 0.0, 0.62),
    (0.63, 120, "LINEAR", 0.9, -50.0, 8.50),
    (0.63, 120, "DUAL_QUATERNION", 14.1, 0.0, 4.02),
    (0.63, 120, "COMPENSATED", 2.3, None, 0.64),
    (0.3, 90, "LINEAR", 0.4, -29.3, 3.75),
    (0.3, 90, "DUAL_QUATERNION", 4.6, 0.0, 0.89),
    (0.3, 90, "COMPENSATED", 0.2, -6.2, 0.96),
    (1.0, 90, "LINEAR", 4.3, -29.3, 5.51),
    (1.0, 90, "DUAL_QUATERNION", 20.6, 0.0, 7.53),
    (1.0, 90, "COMPENSATED", 10.5, 0.0, 3.89),
]


def errors_outside(
    cylinder: Cylinder, method: Method, pose: Pose, curve: Curve = "FITTED"
) -> NDArray[np.floating]:
    points = cylinder.deformed(method, pose, curve)[cylinder.outside()]
    return 100.0 * distance_from_capsules(points, pose.matrices[1, :3, 2])


@pytest.mark.parametrize(("width", "angle", "method", "outward", "inward", "rms"), TABLE)
def test_distance_from_the_ideal(
    width: float, angle: float, method: Method, outward: float, inward: float | None, rms: float
) -> None:
    cylinder = Cylinder.with_transition(width)
    errors = errors_outside(cylinder, method, cylinder.bent(angle))
    assert errors.max() == pytest.approx(outward, abs=TOLERANCE)
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(rms, abs=TOLERANCE)
    if inward is not None:
        assert errors.min() == pytest.approx(inward, abs=TOLERANCE)


@pytest.mark.parametrize(
    ("method", "percent"), [("LINEAR", 95.6), ("DUAL_QUATERNION", 100.0), ("COMPENSATED", 99.3)]
)
def test_volume_at_90_degrees(method: Method, percent: float) -> None:
    cylinder = Cylinder.with_transition(0.63)
    volume = cylinder.volume(cylinder.deformed(method, cylinder.bent(90)))
    assert 100.0 * volume / cylinder.volume(cylinder.positions) == pytest.approx(percent, abs=0.2)


@pytest.mark.parametrize("curve", [*PUBLISHED_CURVES, "MEASURED"])
@pytest.mark.parametrize("side", [-1, 1], ids=["vertices of the parent", "vertices of the child"])
def test_the_compensation_goes_towards_the_joint(curve: Curve, side: int) -> None:
    """With the opposite sign the bulge grows: 11.9 % becomes more than 20 %."""
    cylinder = Cylinder.with_transition(0.63)
    pose = cylinder.bent(90)
    on_side = np.sign(cylinder.positions[cylinder.outside(), 2]) == side
    bulge = errors_outside(cylinder, "DUAL_QUATERNION", pose)[on_side]
    left = errors_outside(cylinder, "COMPENSATED", pose, curve)[on_side]
    bulging = bulge > 4.0
    assert bulging.sum() > 100
    assert np.all(left[bulging] < bulge[bulging])
    assert left.max() < 0.55 * bulge.max()


def test_the_amounts_have_opposite_signs_on_the_two_sides() -> None:
    cylinder = Cylinder.with_transition(0.63)
    amounts = compensation_amounts(
        SkinAtRest(cylinder.positions, cylinder.influences, cylinder.skeleton)
    )
    heights = cylinder.positions[:, 2]
    # Between x = 0.423 and 1/2 the fitted cubic is slightly negative, hence not the whole side.
    assert np.all(amounts[(heights < -0.2) & (heights > -2.0)] > 0.0)
    assert np.all(amounts[(heights > 0.2) & (heights < 2.0)] < 0.0)
    assert amounts.max() == pytest.approx(0.149, abs=0.001)


@pytest.mark.parametrize("width", [0.3, 0.63, 1.0])
@pytest.mark.parametrize("degrees", [30, 60, 90, 120])
def test_measured_compensation_leaves_less_than_1_percent(width: float, degrees: int) -> None:
    """Dual quaternions leave 2 to 25 %. What remains is where it fades, far from the joint."""
    cylinder = Cylinder.with_transition(width)
    errors = errors_outside(cylinder, "COMPENSATED", cylinder.bent(degrees), "MEASURED")
    assert errors.max() < 1.0
    assert errors.min() > -1e-6
    assert np.sqrt(np.mean(errors**2)) < 0.35


@pytest.mark.parametrize("degrees", [30, 60, 90, 120])
def test_measured_compensation_never_presses_skin_closer_than_at_rest(degrees: int) -> None:
    """On the inner side too: what dual quaternions have put close already is left where it is."""
    cylinder = Cylinder.with_transition(0.63)
    pose = cylinder.bent(degrees)
    plain = cylinder.deformed("DUAL_QUATERNION", pose)
    compensated = cylinder.deformed("COMPENSATED", pose, "MEASURED")
    before = distance_from_capsules(plain, pose.matrices[1, :3, 2])
    after = distance_from_capsules(compensated, pose.matrices[1, :3, 2])
    moved = np.linalg.norm(compensated - plain, axis=1)
    assert np.all(moved[before <= 0.0] == 0.0)
    assert after[moved > 1e-9].min() > -1e-6


@pytest.mark.parametrize("curve", [*PUBLISHED_CURVES, "MEASURED"])
@pytest.mark.parametrize("degrees", [10.0, 60.0, 120.0, 170.0])
def test_a_pure_twist_is_not_compensated(curve: Curve, degrees: float) -> None:
    cylinder = Cylinder.with_transition(0.63)
    pose = cylinder.twisted(degrees)
    compensated = cylinder.deformed("COMPENSATED", pose, curve)
    np.testing.assert_allclose(
        compensated, cylinder.deformed("DUAL_QUATERNION", pose), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("method", ["DUAL_QUATERNION", "COMPENSATED", "SPHERICAL_JOINT"])
def test_a_twist_keeps_the_radius_where_linear_collapses(method: Method) -> None:
    cylinder = Cylinder.with_transition(0.63)
    pose = cylinder.twisted(120.0)
    radii = np.linalg.norm(cylinder.deformed(method, pose)[:, :2], axis=1)
    np.testing.assert_allclose(radii, 1.0, rtol=0, atol=1e-6)
    linear = np.linalg.norm(cylinder.deformed("LINEAR", pose)[:, :2], axis=1)
    assert linear.min() == pytest.approx(np.cos(np.radians(60.0)), abs=1e-6)


def test_spherical_joint_and_dual_quaternions_agree_about_one_joint() -> None:
    """Both rotate about the shared joint, so that the blended rotation is the whole difference."""
    cylinder = Cylinder.with_transition(0.63)
    pose = cylinder.bent(90)
    np.testing.assert_allclose(
        cylinder.deformed("SPHERICAL_JOINT", pose),
        cylinder.deformed("DUAL_QUATERNION", pose),
        rtol=0,
        atol=1e-6,
    )


def test_a_twisted_hand_that_points_aside_takes_no_skin_along() -> None:
    """Its limb turns about the forearm, by 40 degrees off: a twist keeps the radius, to 2 %."""
    cylinder = Cylinder.with_transition(0.63)
    aside = math.radians(40.0)
    fingers = 4.0 * np.array([math.sin(aside), 0.0, math.cos(aside)])
    heads = np.vstack((cylinder.skeleton.heads, fingers))
    tails = np.vstack((heads[1:], 1.5 * fingers))
    hand = replace(cylinder, skeleton=skeleton_of_points(heads, tails, [-1, 0, 1]))
    rest = [1.0, 0.0, 0.0, 0.0]
    pose = posed(hand.skeleton, np.array([rest, turn((0.0, 0.0, 1.0), 90.0), rest]))
    found = hand.deformed("COMPENSATED", pose, "MEASURED")
    np.testing.assert_allclose(np.linalg.norm(found[:, :2], axis=1), 1.0, atol=0.02)
    # Bent, it is held as before.
    pose = posed(hand.skeleton, np.array([rest, turn((0.0, 1.0, 0.0), 60.0), rest]))
    bent = hand.deformed("COMPENSATED", pose, "MEASURED")
    bulging = hand.deformed("DUAL_QUATERNION", pose, "MEASURED")
    assert np.linalg.norm(bent - bulging, axis=1).max() > 0.05

"""Bulge and pinch of a cylinder whose skin two bones share half and half, against the formulas."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import chain
from numpy.typing import NDArray

from dq_compensation.analysis.joint_quality import JointBend, joint_bends
from dq_compensation.core.deform import Deformation, Method, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skin_at_rest import SkinAtRest

RADIUS, REACH = 0.2, 0.15
# float64 all the way.
EXACT = 1e-12


def cylinder() -> NDArray[np.float64]:
    """Rings about the joint at (0, 0, 1), up to REACH before and behind it."""
    angle, z = np.meshgrid(np.arange(16) * np.pi / 8.0, np.linspace(-REACH, REACH, 7))
    places = RADIUS * np.cos(angle), RADIUS * np.sin(angle), 1.0 + z
    return np.stack(places, axis=-1).reshape(-1, 3)


def bent(
    degrees: float, method: Method, points: NDArray[np.float64]
) -> tuple[JointBend, NDArray[np.floating]]:
    skeleton, count = chain(2), len(points)
    vertices, bones = np.repeat(np.arange(count), 2), np.tile([0, 1], count)
    influences = Influences.from_triples(vertices, bones, np.full(2 * count, 0.5), count)
    measured = MeasuredJoints.of(SkinAtRest(points, influences, skeleton))
    (bend,) = joint_bends(points, measured, skeleton, degrees)
    pose = Pose.from_matrices(bend.matrices, skeleton)
    return bend, deform(Deformation(method, influences, measured), points, None, pose)[0]


def farther(scale: float, half: float) -> NDArray[np.float64]:
    """How much farther from the limbs outer skin is that turns by half the bend, (m,).

    A vertex that is z beside the joint along the limb, h out of it and k across both goes to
    s (z cos - h sin) along the limb that it has not turned with, and s (h cos + z sin) out of it.
    """
    angle, along = np.meshgrid(np.arange(16) * np.pi / 8.0, np.linspace(-REACH, REACH, 7))
    out, across = RADIUS * np.cos(angle), RADIUS * np.sin(angle)
    from_limbs = [
        np.sqrt(
            across**2
            + (scale * (out * np.cos(half) + z * np.sin(half))) ** 2
            + np.minimum(scale * (z * np.cos(half) - out * np.sin(half)), 0.0) ** 2
        )
        for z in (along, -along)
    ]
    return np.minimum(*from_limbs)[out > EXACT] - RADIUS


@pytest.mark.parametrize("degrees", [60.0, 90.0])
@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION", "COMPENSATED"])
def test_a_cylinder_has_the_bulge_and_the_pinch_of_the_formulas(
    method: Method, degrees: float
) -> None:
    """Linear skinning keeps cos(d / 2) of the plane of the bend; compensation keeps all."""
    bend, positions = bent(degrees, method, cylinder())
    half = np.radians(degrees) / 2.0
    expected = np.zeros(1)
    if method != "COMPENSATED":
        expected = farther(np.cos(half) if method == "LINEAR" else 1.0, half)
    found = bend.bulge_and_pinch(positions)
    limits = max(0.0, expected.max()), max(0.0, -expected.min())
    np.testing.assert_allclose(found, limits, rtol=0, atol=EXACT)
    assert bend.radius == pytest.approx(RADIUS, abs=EXACT)
    if method == "LINEAR":
        assert found[1] == pytest.approx(RADIUS * (1.0 - np.cos(half)), abs=EXACT)


def test_only_the_outer_side_counts() -> None:
    bend, positions = bent(90.0, "DUAL_QUATERNION", cylinder())
    from_parent = positions[bend.rows] - [0.0, 0.0, 1.0]
    towards = bend.matrices[1, :3, 2]  # where the child's limb has gone
    assert (from_parent @ towards < 0.0).any()
    assert (cylinder()[bend.rows] @ (towards * [1.0, 1.0, 0.0]) <= EXACT).all()


def test_a_joint_without_skin_is_left_out() -> None:
    skeleton, points = chain(2), cylinder()[:2]
    influences = Influences.from_triples(
        np.repeat([0, 1], 2), np.tile([0, 1], 2), np.full(4, 0.5), 2
    )
    measured = MeasuredJoints.of(SkinAtRest(points, influences, skeleton))
    assert joint_bends(points, measured, skeleton, 90.0) == []

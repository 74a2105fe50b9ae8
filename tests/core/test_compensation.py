"""The compensation's terms, one by one, and that it does not tear the surface."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import chain, posed, random_influences, random_rotations, skeleton_of_points, turn
from numpy.typing import NDArray

from dq_compensation.core.compensation import (
    CURVE_COEFFICIENTS,
    PUBLISHED_CURVES,
    PublishedCompensation,
    PublishedCurve,
    compensated_skinning,
    compensation_amounts,
    curve_value,
)
from dq_compensation.core.dual_quaternion import matrices_from_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.skinning import dual_quaternion_skinning

VERTICES = 120


@pytest.fixture
def skeleton() -> Skeleton:
    """A trunk of three bones, an arm of two from its top, and a leg of one from its bottom."""
    heads = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3], [1, 0, 3.5], [0, 0, 0]], float)
    tails = np.array([[0, 0, 1], [0, 0, 2], [0, 0, 3], [1, 0, 3.5], [2, 0, 3], [0.5, 0, -1]], float)
    return skeleton_of_points(heads, tails, [-1, 0, 1, 2, 3, -1])


def _angle_and_axis(first: NDArray, second: NDArray) -> tuple[float, NDArray]:
    """The rotation of one 3x3 matrix against another, from the matrix's trace and its logarithm."""
    relative = first @ second.T
    angle = float(np.arccos(np.clip((np.trace(relative) - 1.0) / 2.0, -1.0, 1.0)))
    axis = np.array([relative[2, 1], relative[0, 2], relative[1, 0]]) - np.array(
        [relative[1, 2], relative[2, 0], relative[0, 1]]
    )
    return angle, axis / np.linalg.norm(axis)


def _expected_offset(
    vertex: NDArray,
    bones: NDArray,
    weights: NDArray,
    skeleton: Skeleton,
    pose: Pose,
    curve: PublishedCurve,
) -> NDArray:
    """The displacement of one vertex, written out step by step with matrices and angles."""
    first, second = int(bones[0]), int(bones[1])
    w1, w2 = float(weights[0]), float(weights[1])
    w3 = float(weights[2]) if len(weights) > 2 else 0.0

    def ancestors(bone: int) -> list[int]:
        parent = int(skeleton.parents[bone])
        return [] if parent < 0 else [parent, *ancestors(parent)]

    sign = (first in ancestors(second)) - (second in ancestors(first))
    if w2 == 0.0 or sign == 0:
        return np.zeros(3)
    rotations = matrices_from_quaternions(pose.rotations)
    directions = skeleton.limb_directions()
    bisector = rotations[first] @ directions[first] + rotations[second] @ directions[second]
    bisector = bisector / np.linalg.norm(bisector)
    angle, axis = _angle_and_axis(rotations[first], rotations[second])
    a, b, c = CURVE_COEFFICIENTS[curve]
    x = w2 / (w1 + w2)
    length = a * x + b * x**2 + c * x**3
    radius = np.linalg.norm(np.cross(vertex - skeleton.heads[first], directions[first]))
    length *= min(1.0, 2.0 * np.sqrt(1.0 - np.cos(angle / 2.0)))
    length *= (w1 + w2) * (1.0 - w3 / w2)
    return sign * length * radius * (bisector - axis * (axis @ bisector))


@pytest.mark.parametrize("curve", PUBLISHED_CURVES)
def test_against_the_steps_written_out(
    rng: np.random.Generator, skeleton: Skeleton, curve: PublishedCurve
) -> None:
    positions = rng.uniform(-1.0, 3.0, (VERTICES, 3))
    influences = random_influences(rng, VERTICES, skeleton.bone_count, 4)
    pose = posed(skeleton, random_rotations(rng, skeleton.bone_count, 60.0))
    compensation = PublishedCompensation.of(
        SkinAtRest(positions, influences, skeleton, "AUTO"), curve
    )
    compensated, _ = compensated_skinning(
        positions, None, influences, pose, compensation, compensation.amounts
    )
    plain, _ = dual_quaternion_skinning(positions, None, influences, pose)
    expected = [
        _expected_offset(*vertex, skeleton, pose, curve)
        for vertex in zip(positions, influences.bones, influences.weights, strict=True)
    ]
    # The weights are float32.
    np.testing.assert_allclose(compensated - plain, expected, rtol=0, atol=1e-6)
    assert np.count_nonzero(np.linalg.norm(expected, axis=1) > 0.01) > VERTICES // 10


@pytest.mark.parametrize("curve", PUBLISHED_CURVES)
def test_curves_are_zero_at_both_ends(curve: PublishedCurve) -> None:
    assert curve_value(np.array([0.0, 0.5]), curve) == pytest.approx([0.0, 0.0], abs=1e-12)


def test_the_fitted_curve_is_the_published_one() -> None:
    shares = np.linspace(0.0, 0.5, 5001)
    depths = curve_value(shares, "FITTED")
    assert depths.max() == pytest.approx(0.149, abs=0.0005)
    assert shares[depths.argmax()] == pytest.approx(0.152, abs=0.001)
    assert shares[depths < -1e-9].min() == pytest.approx(0.423, abs=0.001)


def test_unrelated_bones_are_not_compensated(skeleton: Skeleton, rng: np.random.Generator) -> None:
    positions = rng.normal(size=(2, 3))
    influences = Influences(
        np.array([[4, 5], [2, 5]], np.int32), np.array([[0.7, 0.3]] * 2, np.float32)
    )
    np.testing.assert_array_equal(
        compensation_amounts(SkinAtRest(positions, influences, skeleton)), 0.0
    )


def test_limb_axis_and_painted_weights_reach_the_amounts(skeleton: Skeleton) -> None:
    positions = np.array([[0.3, 0.4, 0.9]])
    influences = Influences(np.array([[0, 1]], np.int32), np.array([[0.8, 0.2]], np.float32))
    along_limb = compensation_amounts(SkinAtRest(positions, influences, skeleton))
    np.testing.assert_allclose(along_limb, 0.5 * curve_value(np.array([0.2]), "FITTED"), atol=1e-8)
    across = compensation_amounts(SkinAtRest(positions, influences, skeleton, "X"))
    assert abs(across[0] - along_limb[0]) > 0.01
    pose = posed(skeleton, np.stack([turn((0, 1, 0), 40.0 * bone) for bone in range(6)]))
    compensation = PublishedCompensation.of(SkinAtRest(positions, influences, skeleton))
    moved = [
        compensated_skinning(positions, None, influences, pose, compensation, share * along_limb)[0]
        for share in (0.0, 0.5, 1.0)
    ]
    np.testing.assert_allclose(moved[1], 0.5 * (moved[0] + moved[2]), atol=1e-12)
    assert np.abs(moved[2] - moved[0]).max() > 1e-3


def test_limbs_folded_on_each_other_have_no_direction(rng: np.random.Generator) -> None:
    skeleton = chain(2)
    positions = rng.normal(size=(50, 3))
    influences = random_influences(rng, 50, 2, 2)
    pose = posed(skeleton, np.stack((turn((1, 0, 0), 0.0), turn((0, 1, 0), 180.0))))
    compensation = PublishedCompensation.of(SkinAtRest(positions, influences, skeleton))
    moved, _ = compensated_skinning(
        positions, None, influences, pose, compensation, compensation.amounts
    )
    plain, _ = dual_quaternion_skinning(positions, None, influences, pose)
    np.testing.assert_array_equal(moved, plain)


def _along_weights(
    weights: NDArray[np.float64], *, with_fade: bool = True
) -> tuple[NDArray[np.floating], NDArray[np.float64]]:
    """One vertex at an elbow of three bones, with each row of weights (n, 3); positions (n, 3)."""
    skeleton = chain(3)
    count = len(weights)
    influences = Influences.from_triples(
        np.repeat(np.arange(count), 3), np.tile(np.arange(3), count), weights.ravel(), count
    )
    positions = np.tile([-1.0, 0.2, 1.4], (count, 1))
    pose = posed(
        skeleton,
        np.stack((turn((1, 0, 0), 0.0), turn((0, 1, 0), 80.0), turn((0.3, 1, 0), 70.0))),
    )
    compensation = PublishedCompensation.of(SkinAtRest(positions, influences, skeleton))
    amounts = compensation.amounts
    if not with_fade:
        of_two = Influences(influences.bones[:, :2], influences.weights[:, :2])
        amounts = compensation_amounts(SkinAtRest(positions, of_two, skeleton))
    moved, _ = compensated_skinning(positions, None, influences, pose, compensation, amounts)
    return moved, np.abs(np.diff(weights, axis=0)).max(axis=1)


# Weights of bones 0, 1, 2 on a line on which two of them change places in the middle.
SWAPS = {
    "first and second": ([0.55, 0.4, 0.05], [0.4, 0.55, 0.05]),
    "second and third": ([0.3, 0.5, 0.2], [0.2, 0.5, 0.3]),
    "third is the ancestor": ([0.2, 0.3, 0.5], [0.3, 0.2, 0.5]),
    "a third one appears": ([0.6, 0.4, 0.0], [0.6, 0.3, 0.1]),
    "all three": ([0.36, 0.33, 0.31], [0.31, 0.33, 0.36]),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_the_surface_does_not_tear_where_bones_change_places(swap: str) -> None:
    """Steps of 1e-4 in the weights move the vertex by at most 10 times as much, in radii."""
    start, end = (np.array(row) for row in SWAPS[swap])
    steps = np.linspace(0.0, 1.0, 2001)[:, None]
    moved, step_sizes = _along_weights(start + steps * (end - start))
    jumps = np.linalg.norm(np.diff(moved, axis=0), axis=1)
    assert np.all(jumps <= 10.0 * step_sizes + 1e-6)


def test_without_the_fade_it_does_tear() -> None:
    """Guards the test above: without the fade of step 7 the same walk has a jump of centimetres."""
    start, end = (np.array(row) for row in SWAPS["second and third"])
    steps = np.linspace(0.0, 1.0, 2001)[:, None]
    moved, step_sizes = _along_weights(start + steps * (end - start), with_fade=False)
    jumps = np.linalg.norm(np.diff(moved, axis=0), axis=1)
    assert jumps.max() > 0.01
    assert jumps.max() > 50.0 * step_sizes.max()


def test_the_compensation_grows_smoothly_from_nothing() -> None:
    """From 0 to 90 degrees; the axis is lost in rounding below 0.1 degrees and must not jump."""
    skeleton = chain(2)
    influences = Influences(np.array([[0, 1]], np.int32), np.array([[0.8, 0.2]], np.float32))
    positions = np.array([[-1.0, 0.0, 0.8]])
    compensation = PublishedCompensation.of(SkinAtRest(positions, influences, skeleton))
    path = []
    for angle in np.concatenate((np.linspace(0.0, 1.0, 101), np.linspace(1.0, 90.0, 891))):
        pose = posed(skeleton, np.stack((turn((1, 0, 0), 0.0), turn((0, 1, 0), float(angle)))))
        plain, _ = dual_quaternion_skinning(positions, None, influences, pose)
        moved, _ = compensated_skinning(
            positions, None, influences, pose, compensation, compensation.amounts
        )
        path.append((moved - plain)[0])
    assert np.linalg.norm(path[0]) == 0.0
    assert np.linalg.norm(path[-1]) > 0.09
    assert np.linalg.norm(np.diff(path, axis=0), axis=1).max() < 5e-4

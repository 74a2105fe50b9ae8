"""Weights of example poses: 1 in their pose, 0 in the others, and smooth in between."""

from __future__ import annotations

import numpy as np
import pytest

from dq_compensation.analysis.posed_bones import swing, twist
from dq_compensation.core.dual_quaternion import (
    concatenate_quaternions,
    matrices_from_quaternions,
    rotate_vectors,
)
from dq_compensation.core.example_poses import ExampleBone, ExamplePoses, ExampleWeights
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.pipeline.correctives.corrective_joints import (
    CorrectiveJoint,
    ExampleJoint,
    JointPose,
    ScatteredJoint,
    ball_joint,
    hinge_joint,
    twist_joint,
)
from dq_compensation.pipeline.correctives.pose_curves import (
    SmoothCurve,
    cardinal_curves,
    direction_curve,
    swing_and_twist,
)

# Rounding of float64 through a few dozen operations; a wrong formula is off by hundredths.
EXACT = 1e-9


def tips(rotations: np.ndarray) -> np.ndarray:
    """Shape (m, 3): where the rotations (m, 4) take a bone's own Y."""
    return rotate_vectors(rotations, np.tile([0.0, 1.0, 0.0], (len(rotations), 1)))


def unit(rng: np.random.Generator, count: int, width: int) -> np.ndarray:
    vectors = rng.normal(size=(count, width))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("smooth_at_rest", [True, False])
@pytest.mark.parametrize(
    "angles", [(45.0,), (-40.0, 90.0), (30.0, 60.0, 90.0), (-90.0, -20.0, 45.0, 50.0, 135.0)]
)
def test_a_curve_is_one_in_its_pose_and_nothing_in_the_others_and_at_rest(
    angles: tuple[float, ...], smooth_at_rest: bool
) -> None:
    curves = cardinal_curves(np.array(angles), smooth_at_rest=smooth_at_rest)
    found = np.array([curve.at(np.array((0.0, *angles))) for curve in curves])
    assert found == pytest.approx(np.eye(len(angles), len(angles) + 1, 1), abs=EXACT)


def test_curves_are_held_beyond_the_last_pose() -> None:
    curves = cardinal_curves(np.array([-40.0, 45.0, 90.0]), smooth_at_rest=False)
    far = np.array([curve.at(np.array([-170.0, 170.0])) for curve in curves])
    assert far == pytest.approx(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]), abs=EXACT)


def test_curves_give_a_parabola_back_that_grows_from_rest() -> None:
    """Of what linear skinning lacks the first part is quadratic: it must not be lost."""
    angles = np.array([30.0, 60.0, 100.0])
    curves = cardinal_curves(angles, smooth_at_rest=True)
    between = np.linspace(0.0, 30.0, 20)
    sums = sum(curve.at(between) * angle**2 for curve, angle in zip(curves, angles, strict=True))
    # The slope at 30 is that of the parabola through 0, 30 and 60, so only rest is bent to flat:
    # it is flat already.
    assert sums == pytest.approx(between**2, abs=1e-9 * 100.0**2)


@pytest.mark.parametrize("smooth_at_rest", [True, False])
def test_curves_do_not_jump_and_have_no_corners_at_poses(smooth_at_rest: bool) -> None:
    angles = np.array([-70.0, -35.0, 30.0, 60.0, 100.0])
    steps = np.linspace(-69.9, 99.9, 40001)
    width = float(steps[1] - steps[0])
    for curve in cardinal_curves(angles, smooth_at_rest=smooth_at_rest):
        slopes = np.diff(curve.at(steps)) / width
        bends = np.abs(np.diff(slopes))
        if not smooth_at_rest:
            bends = bends[np.abs(steps[1:-1]) > 2.0 * width]
        # A cubic over 25 degrees bends by at most some hundredths per degree; a corner by tenths.
        assert bends.max() < 0.05 * width


def test_directions_weights_add_up_to_one_and_are_one_in_their_own() -> None:
    apart = np.linspace(-180.0, 180.0, 721)
    for count in (4, 8):
        curve = direction_curve(count)
        places = np.arange(count) * 360.0 / count
        turned = (apart[None] - places[:, None] + 180.0) % 360.0 - 180.0
        weights = np.array([curve.at(row) for row in turned])
        assert weights.sum(axis=0) == pytest.approx(1.0, abs=EXACT)
        assert curve.at(np.array([0.0])) == pytest.approx(1.0)
        assert np.abs(curve.at(places[1:-1] - 360.0 * (places[1:-1] > 180.0))).max() < EXACT


def test_a_curve_is_a_bezier_with_handles_at_thirds() -> None:
    """What the F-Curve of a driver draws; evaluated here by de Casteljau."""
    curve = SmoothCurve((0.0, 30.0, 90.0), (0.0, 1.0, 0.2), (0.01, 0.02, -0.03))
    for left in range(2):
        x0, x1 = curve.knots[left : left + 2]
        third = (x1 - x0) / 3.0
        points = np.array(
            [
                (x0, curve.values[left]),
                (x0 + third, curve.values[left] + third * curve.slopes[left]),
                (x1 - third, curve.values[left + 1] - third * curve.slopes[left + 1]),
                (x1, curve.values[left + 1]),
            ]
        )
        for t in np.linspace(0.0, 1.0, 7):
            row = points
            while len(row) > 1:
                row = (1.0 - t) * row[:-1] + t * row[1:]
            assert curve.at(row[:1, 0]) == pytest.approx(row[0, 1], abs=EXACT)


def test_swing_and_twist_give_the_rotation_back() -> None:
    rotations = unit(np.random.default_rng(0), 200, 4)
    swings, twists = swing_and_twist(rotations)
    half = twists / 2.0
    about_y = np.stack((np.cos(half), 0.0 * half, np.sin(half), 0.0 * half), axis=1)
    again = concatenate_quaternions(swings, about_y)
    assert np.abs((again * rotations).sum(axis=1)) == pytest.approx(1.0, abs=EXACT)
    assert np.abs(swings[:, 2]).max() < EXACT
    assert swings[:, 0].min() >= -EXACT


def test_a_swing_points_where_the_rotation_takes_the_bone() -> None:
    rotations = unit(np.random.default_rng(1), 200, 4)
    swings, _ = swing_and_twist(rotations)
    assert tips(swings) == pytest.approx(tips(rotations), abs=EXACT)


def test_scattered_poses_never_fly_off() -> None:
    """Anywhere, the weights of seven poses of an arm stay near 0 to 1."""
    rng = np.random.default_rng(3)
    poses = [swing(60.0, azimuth) for azimuth in (0.0, 1.5, 3.0, 4.5)]
    poses += [twist(60.0), twist(-60.0), swing(110.0, 0.0)]
    joint = ScatteredJoint("Arm", tuple(JointPose("", q) for q in poses))
    weights = joint.weights(unit(rng, 5000, 4))
    assert weights.max() < 1.1
    assert weights.min() > -0.5


@pytest.mark.parametrize("directions", [4, 8])
def test_a_ball_joint_is_continuous_everywhere_even_through_rest(directions: int) -> None:
    joint = ball_joint("Arm", directions, (45.0, 90.0))
    rng = np.random.default_rng(4)
    starts = unit(rng, 400, 4)
    steps = unit(rng, 400, 3)
    half = np.radians(0.05)
    turned = np.concatenate((np.full((400, 1), np.cos(half)), np.sin(half) * steps), axis=1)
    # The swing itself is not continuous where the bone points back to where it came from.
    forward = tips(swing_and_twist(starts)[0])[:, 1] > -0.9
    moved = concatenate_quaternions(starts, turned)
    change = np.abs(joint.weights(starts) - joint.weights(moved))[forward]
    # A tenth of a degree moves no weight by more than 2 % (the swing turns fastest near the back).
    assert change.max() < 0.02
    near = np.array([swing(0.1, azimuth) for azimuth in np.linspace(0.0, 6.0, 20)])
    assert np.abs(joint.weights(near)).max() < 1e-3


@pytest.mark.parametrize(
    "joint",
    [
        hinge_joint("Elbow", 0.0, (-40.0, 45.0, 90.0)),
        hinge_joint("Elbow", 0.7, (45.0, 90.0)),
        twist_joint("Wrist", (-90.0, -60.0, 60.0, 90.0)),
        ball_joint("Arm", 4, (60.0,)),
        ball_joint("Arm", 8, (45.0, 90.0)),
    ],
    ids=["hinge", "oblique", "twist", "four", "eight"],
)
def test_a_joints_weights_are_one_in_their_own_poses(joint: CorrectiveJoint) -> None:
    rotations = np.array([pose.rotation for pose in joint.poses])
    assert joint.weights(rotations) == pytest.approx(np.eye(len(joint.poses)), abs=1e-7)
    assert np.abs(joint.weights(np.array([[1.0, 0.0, 0.0, 0.0]]))).max() < EXACT
    assert len({pose.label for pose in joint.poses}) == len(joint.poses)


def test_a_twist_does_not_fire_a_bend_nor_a_bend_a_twist() -> None:
    bend, wrist = hinge_joint("Arm", 0.3, (45.0, 90.0)), twist_joint("Arm", (-60.0, 60.0))
    assert np.abs(bend.weights(np.array([twist(120.0)]))).max() < EXACT
    assert np.abs(wrist.weights(np.array([swing(120.0, 1.1)]))).max() < EXACT
    both = concatenate_quaternions(np.array([swing(45.0, 0.3)]), np.array([twist(60.0)]))
    assert bend.weights(both) == pytest.approx(np.array([[1.0, 0.0]]), abs=1e-7)
    assert wrist.weights(both) == pytest.approx(np.array([[0.0, 1.0]]), abs=1e-7)


@pytest.mark.parametrize("weights", ["SMOOTH", "AUTO", "LINEAR"])
@pytest.mark.parametrize("limb", [None, (0.0, 1.0, 0.0), (0.6, 0.0, 0.8)])
def test_an_example_joint_weighs_like_the_example_poses_that_it_stands_for(
    limb: tuple[float, float, float] | None, weights: ExampleWeights
) -> None:
    rng = np.random.default_rng(3)
    rotations = rng.normal(size=(4, 4)) + (2.0, 0.0, 0.0, 0.0)
    if weights != "SMOOTH":
        # In a row, and of directions one aside: about axes at right angles to the limb.
        first = np.cross(limb or (0.0, 1.0, 0.0), (0.8, 0.1, -0.6))
        first /= np.linalg.norm(first)
        last = first if limb is None else np.cross(limb, first)
        axes, half = np.stack((first, first, first, last)), np.radians((15.0, 35.0, 55.0, -25.0))
        rotations = np.hstack((np.cos(half)[:, None], np.sin(half)[:, None] * axes))
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    poses = tuple(JointPose(str(row), tuple(q)) for row, q in enumerate(rotations.tolist()))
    joint = ExampleJoint("Arm", poses, 0.9, limb, weights)
    assert (joint.hats is None) == (weights == "SMOOTH")
    along = np.array(limb or (0.0, 1.0, 0.0))
    # A root whose rest axes are the armature's, and a child that says where its limb points.
    rest = np.tile(np.eye(4), (2, 1, 1))
    rest[1, :3, 3] = along
    tails = np.array([along, 2.0 * along])
    skeleton = Skeleton(("Arm", "Hand"), np.array([-1, 0], np.int32), rest, tails)
    directions = rotate_vectors(rotations, np.tile(along, (4, 1)))
    names = tuple(pose.label for pose in poses)
    example = ExampleBone(0, names, directions, rotations, 0.9, limb is None, weights)
    solved = ExamplePoses.of([example], skeleton)
    for turn in rng.normal(size=(30, 4)):
        unit = turn / np.linalg.norm(turn)
        matrix = np.tile(np.eye(4), (2, 1, 1))
        matrix[:, :3, :3] = matrices_from_quaternions(unit[None])
        wanted = solved.alphas(Pose.from_matrices(matrix, skeleton))
        assert joint.weights(unit[None])[0] == pytest.approx(wanted, abs=1e-9)

"""Limbs whose skin twists along them: `core.twist_limbs`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bodies import posed, random_rotations, skeleton_of_points, turn
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.dual_quaternion import concatenate_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import BendyBones, Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.twist_limbs import TwistLimbs

Array = NDArray[np.float64]

# A trunk, an upper limb, a lower one and a hand, along Z; skin of radius 1 around them.
JOINTS = np.array([-12.0, 0.0, 10.0, 20.0, 22.0])
TRUNK, UPPER, LOWER, HAND = range(4)
UP = (0.0, 0.0, 1.0)
HEIGHTS = np.linspace(-6.0, 22.0, 113)
COLUMNS = 12


def _skeleton(extra: tuple[tuple[float, int], ...] = ()) -> Skeleton:
    """The four bones, and others with their heads at these heights, below these bones."""
    heads = np.zeros((4 + len(extra), 3))
    heads[:, 2] = [*JOINTS[:4], *(height for height, _ in extra)]
    tails = heads.copy()
    tails[:, 2] = [*JOINTS[1:], *(height + 1.0 for height, _ in extra)]
    return skeleton_of_points(heads, tails, [-1, TRUNK, UPPER, LOWER, *(up for _, up in extra)])


def _skin() -> tuple[Array, Influences]:
    """Rings about Z, with weights that cross within one radius of each joint."""
    angles = 2.0 * np.pi * np.arange(COLUMNS) / COLUMNS
    z, around = np.meshgrid(HEIGHTS, angles, indexing="ij")
    points = np.stack((np.cos(around), np.sin(around), z), axis=-1).reshape(-1, 3)
    behind = np.clip((points[:, 2, None] - JOINTS[1:4] + 1.0) / 2.0, 0.0, 1.0)
    bounds = np.hstack((np.ones((len(points), 1)), behind, np.zeros((len(points), 1))))
    weights = bounds[:, :-1] - bounds[:, 1:]
    vertices, bones = np.nonzero(weights)
    influences = Influences.from_triples(vertices, bones, weights[vertices, bones], len(points))
    return points, influences


POINTS, INFLUENCES = _skin()


def _limbs(skeleton: Skeleton | None = None, influences: Influences = INFLUENCES) -> TwistLimbs:
    return TwistLimbs.of(SkinAtRest(POINTS, influences, skeleton or _skeleton()))


def _spread(
    pose: Pose, limbs: TwistLimbs | None = None, spread: float = 1.0
) -> tuple[Array, Array]:
    """Positions and normals, by DUAL_QUATERNION with spread twists."""
    limbs = limbs or _limbs()
    none = MeasuredJoints.of(SkinAtRest(POINTS, INFLUENCES, limbs.skeleton))
    deformation = Deformation(
        "COMPENSATED", INFLUENCES, none, factor=0.0, twist_limbs=limbs, twist_spread=spread
    )
    normals = POINTS * [1.0, 1.0, 0.0]
    positions, normals_found = deform(deformation, POINTS, normals, pose)
    assert normals_found is not None
    return positions.astype(np.float64), normals_found.astype(np.float64)


def _pose(rotations: dict[int, NDArray[np.floating]], skeleton: Skeleton | None = None) -> Pose:
    skeleton = skeleton or _skeleton()
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (skeleton.bone_count, 1))
    for bone, rotation in rotations.items():
        turns[bone] = rotation
    return posed(skeleton, turns)


def _turned(positions: Array) -> Array:
    """How far each point has turned about Z, degrees."""
    one, other = (points[:, 0] + 1j * points[:, 1] for points in (POINTS, positions))
    return np.degrees(np.angle(other / one))


def test_limbs_are_those_with_a_joint_that_twists_them() -> None:
    limbs = _limbs()
    assert limbs.bones.tolist() == [UPPER, LOWER]
    assert limbs.before.tolist() == [TRUNK, UPPER]
    assert limbs.behind.tolist() == [UPPER, HAND]  # the upper limb has no twist at its end


@pytest.mark.parametrize("degrees", [-150.0, -30.0, 90.0, 179.0])
def test_a_twisted_hand_turns_the_rings_of_the_limb_by_their_places(degrees: float) -> None:
    found = _turned(_spread(_pose({HAND: turn(UP, degrees)}))[0])
    z = POINTS[:, 2]
    # Where the limb's weight is 1 a ring at t turns by t times the twist; beyond the joint all of
    # it, and in between, where quaternions do not blend angles evenly, less than 6 % off.
    places = np.clip((z - 10.0) / 10.0, 0.0, 1.0)
    alone = (z >= 11.0) & (z <= 19.0)
    np.testing.assert_allclose(found[alone], places[alone] * degrees, atol=1e-9)
    np.testing.assert_allclose(found[z >= 21.0], degrees, atol=1e-9)
    np.testing.assert_allclose(found[z <= 9.0], 0.0, atol=1e-9)
    beside = (z > 19.0) & (z < 21.0)
    off = (found - places * degrees + 180.0) % 360.0 - 180.0
    assert np.abs(off[beside]).max() < 0.06 * abs(degrees)


def test_a_limb_that_twists_itself_begins_with_the_body() -> None:
    found, z = _turned(_spread(_pose({UPPER: turn(UP, 80.0)}))[0]), POINTS[:, 2]
    alone = (z >= 1.0) & (z <= 9.0)
    np.testing.assert_allclose(found[alone], 8.0 * z[alone], atol=1e-9)
    np.testing.assert_allclose(found[z >= 11.0], 80.0, atol=1e-9)
    np.testing.assert_allclose(found[z <= -1.0], 0.0, atol=1e-9)


def test_half_of_it_turns_half_as_far() -> None:
    z, pose = POINTS[:, 2], _pose({HAND: turn(UP, 100.0)})
    alone = (z >= 11.0) & (z <= 19.0)
    found = _turned(_spread(pose, spread=0.5)[0])
    np.testing.assert_allclose(found[alone], 5.0 * (z[alone] - 10.0), atol=1e-9)


def test_twists_of_neighbouring_limbs_add_up() -> None:
    pose = _pose({UPPER: turn(UP, 40.0), LOWER: turn(UP, -60.0), HAND: turn(UP, 90.0)})
    found, z = _turned(_spread(pose)[0]), POINTS[:, 2]
    alone = ((z >= 1.0) & (z <= 9.0)) | ((z >= 11.0) & (z <= 19.0))
    expected = np.interp(z, [0.0, 10.0, 20.0], [0.0, 40.0, 70.0])
    np.testing.assert_allclose(found[alone], expected[alone], atol=1e-9)


def test_at_rest_and_in_a_swing_nothing_moves() -> None:
    swung = _pose({UPPER: turn((1.0, 0.3, 0.0), 70.0), HAND: turn((0.2, 1.0, 0.0), 50.0)})
    for pose in (_pose({}), swung):
        np.testing.assert_allclose(_spread(pose)[0], _spread(pose, spread=0.0)[0], atol=1e-12)


def test_a_twist_of_a_swung_limb_turns_skin_about_its_posed_axis() -> None:
    oracle = pytest.importorskip("pytransform3d.rotations")
    swing, twist = turn((1.0, 0.0, 0.0), 65.0), turn(UP, 110.0)
    both = _spread(_pose({UPPER: swing, HAND: twist}))[0]
    straight = _spread(_pose({HAND: twist}))[0]
    lower = POINTS[:, 2] >= 11.0
    rotation = oracle.matrix_from_axis_angle((1.0, 0.0, 0.0, np.radians(65.0)))
    np.testing.assert_allclose(both[lower], straight[lower] @ rotation.T, atol=1e-9)


def test_twists_are_those_of_swing_and_twist() -> None:
    rng = np.random.default_rng(5)
    swings = random_rotations(rng, 40, 100.0)
    swings[:, 3] = 0.0  # about axes across the limb
    swings /= np.linalg.norm(swings, axis=1, keepdims=True)
    for swing, degrees in zip(swings, rng.uniform(-179.0, 179.0, 40), strict=True):
        rotation = concatenate_quaternions(swing, turn(UP, float(degrees)))
        _, _, twists = _limbs().posed(_pose({UPPER: rotation}))
        np.testing.assert_allclose(np.degrees(twists[0, 0]), degrees, atol=1e-6)


def test_a_swing_by_half_a_turn_has_no_twist() -> None:
    for degrees, most in ((179.9, 1e-2), (120.0, np.inf)):
        swing = concatenate_quaternions(turn((1.0, 0.0, 0.0), degrees), turn(UP, 80.0))
        _, _, twists = _limbs().posed(_pose({UPPER: swing}))
        assert abs(twists[0, 0]) < most
    assert twists[0, 0] == pytest.approx(np.radians(80.0))


def test_normals_turn_with_the_skin() -> None:
    positions, normals = _spread(_pose({HAND: turn(UP, 120.0)}))
    alone = (POINTS[:, 2] >= 11.0) & (POINTS[:, 2] <= 19.0)
    np.testing.assert_allclose(normals[alone], (positions * [1.0, 1.0, 0.0])[alone], atol=1e-9)


def test_scale_changes_no_twist() -> None:
    skeleton = _skeleton()
    pose = _pose({HAND: turn(UP, 90.0)})
    scale = np.diag([3.0, 3.0, 3.0, 1.0])
    large = Pose.from_matrices(scale @ pose.matrices, skeleton)
    found, expected = _spread(large)[0], _spread(pose)[0]
    np.testing.assert_allclose(found, 3.0 * expected, atol=1e-9)


def test_no_jump_between_vertices_that_follow_other_limbs() -> None:
    # Three limbs from one trunk; along a line the third weight rises past the second.
    points = np.array([[0.5, 0.5, 3.0], [0.1, 0.0, 9.0], *np.eye(3) + [0.0, 0.0, 4.0]])
    heads, tails = np.zeros((7, 3)), np.zeros((7, 3))
    tails[0] = [0.0, 0.0, -9.0]
    heads[1:4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    heads[4:] = tails[1:4] = heads[1:4] + [0.0, 0.0, 9.0]
    tails[4:] = heads[4:] + [0.0, 0.0, 1.0]
    skeleton = skeleton_of_points(heads, tails, [-1, 0, 0, 0, 1, 2, 3])
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (7, 1))
    turns[1:4] = random_rotations(np.random.default_rng(6), 3, 80.0)
    pose = posed(skeleton, turns)

    def moved(more: float) -> Array:
        shares = np.array([0.4, 0.3 + more, 0.3 - more])
        vertices = np.array([0, 0, 0, 1, 1, 1, 1, 2, 3, 4])
        bones = np.array([1, 2, 3, 0, 4, 5, 6, 1, 2, 3])
        weights = np.concatenate((shares, np.full(4, 0.25), np.ones(3)))
        influences = Influences.from_triples(vertices, bones, weights, len(points))
        limbs = TwistLimbs.of(SkinAtRest(points, influences, skeleton))
        assert limbs.bones.tolist() == [1, 2, 3]
        offsets, _, _ = limbs.displacements(points.copy(), pose, 1.0)
        return offsets[0]

    assert np.linalg.norm(moved(0.1)) > 0.1
    np.testing.assert_allclose(moved(1e-6), moved(-1e-6), atol=1e-4)


@pytest.mark.parametrize("height", [10.0, 14.0])
def test_a_limb_with_a_twist_bone_is_left_alone(height: float) -> None:
    skeleton = _skeleton(((height, LOWER),))
    rows, slots = np.nonzero(INFLUENCES.weights)
    bones, weights = INFLUENCES.bones[rows, slots], INFLUENCES.weights[rows, slots]
    middle = (POINTS[rows, 2] > 13.0) & (POINTS[rows, 2] < 17.0) & (bones == LOWER)
    shared = Influences.from_triples(
        np.append(rows, rows[middle]),
        np.append(bones, np.full(np.count_nonzero(middle), 4)),
        np.append(weights, weights[middle]),
        len(POINTS),
    )
    limbs = _limbs(skeleton, shared)
    assert limbs.bones.tolist() == [UPPER]
    assert limbs.left_out == {LOWER: "TWIST_BONES"}


def test_a_helper_at_the_end_of_a_limb_does_not_hide_the_joint() -> None:
    skeleton = _skeleton(((9.5, UPPER),))
    rows, slots = np.nonzero(INFLUENCES.weights)
    bones, weights = INFLUENCES.bones[rows, slots], INFLUENCES.weights[rows, slots]
    elbow = (np.abs(POINTS[rows, 2] - 9.5) < 0.7) & (POINTS[rows, 0] > 0.5)
    shared = Influences.from_triples(
        np.append(rows, rows[elbow]),
        np.append(bones, np.full(np.count_nonzero(elbow), 4)),
        np.append(weights, weights[elbow]),
        len(POINTS),
    )
    assert _limbs(skeleton, shared).bones.tolist() == [UPPER, LOWER]


def test_limbs_are_left_out_by_name_as_bendy_bones_and_where_they_are_thick() -> None:
    skeleton = _skeleton()
    named = TwistLimbs.of(SkinAtRest(POINTS, INFLUENCES, skeleton, left_out=[UPPER]))
    assert named.left_out == {UPPER: "NAMED"}
    assert named.bones.tolist() == [LOWER]
    frames = np.repeat(skeleton.rest[LOWER : LOWER + 1], 3, axis=0)
    bendy = BendyBones(
        np.array([LOWER], np.int32), np.array([2], np.int32), frames, np.zeros(1, np.bool_)
    )
    bent = _limbs(replace(skeleton, bendy=bendy))
    assert bent.left_out == {LOWER: "BENDY"}
    thick = TwistLimbs.of(SkinAtRest(POINTS * [6.0, 6.0, 1.0], INFLUENCES, skeleton))
    assert thick.left_out == {TRUNK: "SHORT", UPPER: "SHORT", LOWER: "SHORT"}
    assert not len(thick.bones)
    assert not len(thick.rows)


@pytest.mark.parametrize("middle", [[], [4.0], [6.0]])
def test_a_limb_without_rings_between_its_ends_is_left_alone(middle: list[float]) -> None:
    """The faces of a box would be wrung along all of its length."""
    heights = POINTS[:, 2]
    kept = np.flatnonzero((heights < 1.5) | (heights > 8.5) | np.isin(heights, middle))
    found = TwistLimbs.of(SkinAtRest(POINTS[kept], INFLUENCES.at(kept), _skeleton()))
    assert found.left_out == ({} if middle else {UPPER: "NO_RINGS"})
    assert found.bones.tolist() == ([UPPER, LOWER] if middle else [LOWER])
    # The forearm twists as before, with the hand and from the elbow on.
    assert (found.before[-1], found.behind[-1]) == (UPPER, HAND)


def test_it_needs_bones_and_vertices() -> None:
    nothing = Influences(np.zeros((0, 1), np.int32), np.zeros((0, 1), np.float32))
    empty = TwistLimbs.of(SkinAtRest(np.zeros((0, 3)), nothing, _skeleton()))
    assert not len(empty.bones)
    one = replace(INFLUENCES, bones=np.zeros_like(INFLUENCES.bones))
    assert not len(_limbs(influences=one).rows)

"""Solved shapes: weights of listed poses, combinations of joints, and what is added to a skin."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.dual_quaternion import matrices_from_quaternions
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.solved_shapes import (
    PoseHats,
    ShapeBlock,
    SolvedJoint,
    SolvedShapes,
    turned_back,
)

Array = NDArray[np.float64]

# A chain of three limbs along Z; the second one is a hinge about X, the third a ball.
HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 2.0]])
UP, BACK = (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)
# Rounding of float64 along a few operations; weights are about 1.
EXACT = 1e-12
# The share that FAR stands for takes from a weight.
HELD = 1e-8


def _chain() -> Skeleton:
    rest = np.tile(np.eye(4), (3, 1, 1))
    rest[:, :3, :3] = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    rest[:, :3, 3] = HEADS
    parents = np.array([-1, 0, 1], np.int32)
    return Skeleton(("root", "thigh", "shin"), parents, rest, HEADS + np.array(UP))


def _turn(axis: Array | tuple[float, ...], degrees: float) -> Array:
    half = np.radians(degrees) / 2
    axis = np.asarray(axis, np.float64) / np.linalg.norm(axis)
    turn = matrices_from_quaternions(np.append(np.cos(half), np.sin(half) * axis))
    return turn.astype(np.float64)


def _posed(skeleton: Skeleton, turns: dict[int, Array], first: Array | None = None) -> Pose:
    """Bones turned about their heads, in armature space; those below follow."""
    matrices = np.tile(np.eye(4) if first is None else first, (3, 1, 1))
    for bone in range(3):
        if bone:
            matrices[bone] = matrices[bone - 1]
        if bone in turns:
            turn = np.eye(4)
            turn[:3, :3] = turns[bone]
            turn[:3, 3] = HEADS[bone] - turn[:3, :3] @ HEADS[bone]
            matrices[bone] = matrices[bone] @ turn
    return Pose.from_matrices(matrices, skeleton)


def _hinge(*degrees: float) -> SolvedJoint:
    # A turn about +X takes +Z to -Y.
    return SolvedJoint(0, 1, UP, BACK, True, tuple((0.0, np.radians(each)) for each in degrees))


def _ball(*poses: tuple[float, float]) -> SolvedJoint:
    listed = tuple((np.radians(azimuth), np.radians(angle)) for azimuth, angle in poses)
    return SolvedJoint(1, 2, UP, BACK, False, listed)


def _swing(azimuth: float, degrees: float) -> Array:
    """The turn that takes +Z by so many degrees towards the azimuth from -Y."""
    third = np.cross(UP, BACK)
    way = np.cos(np.radians(azimuth)) * np.array(BACK) + np.sin(np.radians(azimuth)) * third
    return _turn(np.cross(UP, way), degrees)


def test_a_hinge_is_linear_between_its_poses() -> None:
    skeleton = _chain()
    hats = PoseHats.of([_hinge(90, 45, 125, -30)])
    for angle in np.arange(-160.0, 161.0, 7.0):
        weights = hats.weights(_posed(skeleton, {1: _turn((1, 0, 0), angle)}))
        stops = [-30.0, 0.0, 45.0, 90.0, 125.0]
        wanted = [np.interp(angle, stops, row) for row in np.eye(5)]
        assert weights == pytest.approx(np.array(wanted)[[3, 2, 4, 0]], abs=HELD)


def test_twists_of_either_bone_leave_the_angle_of_a_hinge() -> None:
    skeleton = _chain()
    hats = PoseHats.of([_hinge(45, 90)])
    bent = _turn((1, 0, 0), 60) @ _turn(UP, 70)
    pose = _posed(skeleton, {0: _turn((1, 2, 3), 50), 1: bent})
    assert hats.weights(pose) == pytest.approx([2 / 3, 1 / 3], abs=EXACT)


def test_a_ball_is_linear_in_angle_and_azimuth() -> None:
    skeleton = _chain()
    grid = [(azimuth, angle) for azimuth in (0, 90, 180, 270) for angle in (40, 100)]
    hats = PoseHats.of([_ball(*grid)])
    for row, (azimuth, angle) in enumerate(grid):
        weights = hats.weights(_posed(skeleton, {2: _swing(azimuth, angle)}))
        assert weights == pytest.approx(np.eye(8)[row], abs=HELD)
    weights = hats.weights(_posed(skeleton, {2: _swing(300, 70)}))
    wanted = {(270, 40): 1 / 3, (270, 100): 1 / 3, (0, 40): 1 / 6, (0, 100): 1 / 6}
    assert weights == pytest.approx([wanted.get(each, 0.0) for each in grid], abs=EXACT)
    weights = hats.weights(_posed(skeleton, {2: _swing(45, 10)}))
    wanted = {(0, 40): 1 / 8, (90, 40): 1 / 8}
    assert weights == pytest.approx([wanted.get(each, 0.0) for each in grid], abs=EXACT)


def test_a_single_spoke_gives_nothing_to_the_other_side() -> None:
    skeleton = _chain()
    hats = PoseHats.of([_ball((0, 60))])
    for azimuth, wanted in ((0, 1.0), (45, 0.5), (-45, 0.5), (90, 0.0), (180, 0.0), (-90, 0.0)):
        found = hats.weights(_posed(skeleton, {2: _swing(azimuth, 80)}))
        assert found == pytest.approx([wanted], abs=HELD), azimuth


def test_a_pose_twice_is_refused() -> None:
    for joint in (_hinge(40, 40), _hinge(0), _ball((0, 30), (90, 30), (0, 30))):
        with pytest.raises(ValueError, match="are one"):
            PoseHats.of([joint])


def _shapes(skeleton: Skeleton, random: np.random.Generator) -> SolvedShapes:
    """Two poses of the hinge, four of the ball, and all eight combinations."""
    joints = [_hinge(60, 120), _ball((0, 50), (0, 100), (90, 50), (90, 100))]
    both = np.array([(one, other) for one in (0, 1) for other in (2, 3, 4, 5)], np.int32)
    blocks = [
        (np.array([0]), np.array([[0], [1]]), np.arange(0, 6)),
        (np.array([1]), np.arange(2, 6)[:, None], np.arange(3, 10)),
        (np.array([0, 1]), both, np.array([1, 4, 8])),
    ]
    return SolvedShapes(
        PoseHats.of(joints),
        tuple(
            ShapeBlock(
                named.astype(np.int32),
                poses.astype(np.int32),
                vertices,
                random.normal(size=(len(poses), len(vertices), 3)).astype(np.float32),
            )
            for named, poses, vertices in blocks
        ),
        10,
    )


def test_each_combination_comes_back_where_it_was_made() -> None:
    skeleton, random = _chain(), np.random.default_rng(1)
    shapes = _shapes(skeleton, random)
    hinge, ball, both = shapes.blocks
    for row, (one, other) in enumerate(both.poses):
        bend = _turn((1, 0, 0), (60, 120)[one])
        swing = _swing(*((0, 50), (0, 100), (90, 50), (90, 100))[other - 2])
        pose = _posed(skeleton, {0: _turn((3, 1, 2), 80), 1: bend, 2: swing})
        turns, wanted = shapes.block_turns(pose), np.zeros((10, 3))
        wanted[hinge.vertices] += hinge.offsets[one] @ turns[0].T
        wanted[ball.vertices] += ball.offsets[other - 2] @ turns[1].T
        wanted[both.vertices] += both.offsets[row] @ turns[2].T
        rows, found = shapes.displacements(pose)
        assert rows.tolist() == list(range(10))
        assert found == pytest.approx(wanted, abs=1e-7)  # HELD, three times
        for block, turn in zip(shapes.blocks, turns, strict=True):
            assert turned_back(turn, block.offsets[0] @ turn.T) == pytest.approx(block.offsets[0])


def test_a_combination_gives_nothing_where_one_of_its_joints_rests() -> None:
    skeleton = _chain()
    shapes = _shapes(skeleton, np.random.default_rng(2))
    only_both = replace(shapes, blocks=shapes.blocks[2:])
    for turns in ({}, {1: _turn((1, 0, 0), 100)}, {2: _swing(60, 90)}):
        rows, found = only_both.displacements(_posed(skeleton, turns))
        assert not np.abs(found).max(initial=0.0) > EXACT
        assert len(rows) in (0, 3)
    rows, found = shapes.displacements(Pose.rest(skeleton))
    assert not len(rows)


def test_what_is_added_turns_and_grows_with_the_character() -> None:
    skeleton = _chain()
    shapes = _shapes(skeleton, np.random.default_rng(3))
    turns = {1: _turn((1, 0.1, 0), 75), 2: _swing(30, 80)}
    rows, before = shapes.displacements(_posed(skeleton, turns))
    whole, turn = np.eye(4), _turn((1, -2, 0.5), 140)
    whole[:3, :3] = 3.0 * turn
    again, after = shapes.displacements(_posed(skeleton, turns, whole))
    assert np.array_equal(rows, again)
    assert after == pytest.approx(3.0 * before @ turn.T, abs=1e-9)


def test_the_turn_of_a_joint_is_half_of_its_bend() -> None:
    skeleton = _chain()
    shapes = _shapes(skeleton, np.random.default_rng(4))
    for angle in (-150, -60, 90, 160):
        turn = shapes.block_turns(_posed(skeleton, {1: _turn((1, 0, 0), angle)}))[0]
        assert turn == pytest.approx(_turn((1, 0, 0), angle / 2), abs=EXACT)


def test_joints_that_are_switched_off_take_their_combinations_along() -> None:
    shapes = _shapes(_chain(), np.random.default_rng(5))
    left = shapes.of_joints(np.array([True, False]))
    assert [block.joints.tolist() for block in left.blocks] == [[0]]
    assert shapes.of_joints(np.array([True, True])) is shapes


def test_no_weight_jumps_on_random_ways() -> None:
    """Steps of 0.1 degrees move weights by less than 20 such steps in radians.

    The steepest are: a spoke's hat of 90 degrees just beyond its first pose, a fade over 15 degrees
    (1.5 / 0.26 by radian), and that of a hinge off its plane. Ways lead through full turns.
    """
    skeleton, random = _chain(), np.random.default_rng(6)
    joints = [
        _hinge(45, 90, 125),
        _ball(*((azimuth, angle) for azimuth in (0, 90, 180, 270) for angle in (35, 70, 105))),
    ]
    hats, step = PoseHats.of(joints), np.radians(0.1)
    for _ in range(200):
        start = _turn(random.normal(size=3), 360 * random.random())
        axis, weights = random.normal(size=3), []
        for angle in np.arange(-0.1, 0.15, 0.1):
            turn = _turn(axis, angle) @ start
            weights.append(hats.weights(_posed(skeleton, {1: turn, 2: turn})))
        found = np.array(weights)
        assert np.abs(np.diff(found, axis=0)).max() < 20.0 * step
        assert found.min() >= 0.0
        for joint in (0, 1):
            assert found[:, hats.joints == joint].sum(axis=1).max() <= 1.0 + EXACT


@pytest.mark.parametrize("seed", range(6))
def test_as_many_shapes_act_at_once_as_poses_show(seed: int) -> None:
    """What evaluators provide for, against a fine grid of what the joints can do."""
    random = np.random.default_rng(seed)
    ball = _ball((0, 35), (0, 70), (10, 50), (90, 70), (200, 40))
    hats = PoseHats.of([_hinge(-30, 45, 90, 125), ball])
    every = np.array(list(product(range(4), range(4, 9))), np.int32)
    listed = every if seed == 0 else every[np.sort(random.choice(20, 3 + seed, replace=False))]
    block = ShapeBlock(
        np.array([0, 1], np.int32),
        listed,
        np.zeros(0, np.intp),
        np.zeros((len(listed), 0, 3), np.float32),
    )
    identity = np.array([1.0, 0.0, 0.0, 0.0])
    of_hinge = [_swing_quaternion(0.0, angle) for angle in (-50, -20, 20, 60, 100, 150)]
    ways = [(way, angle) for way in range(0, 360, 2) for angle in (20, 37, 45, 60, 90)]
    of_ball = [_swing_quaternion(*each) for each in ways]
    still = np.stack((identity, identity))

    def acting(first: Array, second: Array) -> NDArray[np.bool_]:
        return hats.weights_between(still, np.stack((first, second))) > 0.0

    by_hinge = np.array([acting(each, identity)[:4] for each in of_hinge])
    by_ball = np.array([acting(identity, each)[4:] for each in of_ball])
    both = by_hinge[:, None, listed[:, 0]] & by_ball[None][:, :, listed[:, 1] - 4]
    assert block.most_acting(hats) == both.sum(axis=2).max()


def _swing_quaternion(azimuth: float, degrees: float) -> Array:
    half, way = np.radians(degrees) / 2, np.radians(azimuth)
    third = np.cross(UP, BACK)
    axis = np.cross(UP, np.cos(way) * np.array(BACK) + np.sin(way) * third)
    return np.append(np.cos(half), np.sin(half) * axis)


def test_a_turn_never_flips_where_a_shape_acts() -> None:
    """A full turn about any axis: what is added changes by less than 20 steps, in its own size."""
    skeleton, random = _chain(), np.random.default_rng(7)
    shapes = _shapes(skeleton, random)
    for axis in (*np.eye(3), *random.normal(size=(5, 3))):
        last, most = None, 0.0
        for angle in np.arange(0.0, 360.0, 1.0):
            turn = _turn(axis, angle)
            pose = _posed(skeleton, {1: turn, 2: turn})
            found = np.zeros((10, 3))
            rows, offsets = shapes.displacements(pose)
            found[rows] = offsets
            if last is not None:
                most = max(most, float(np.abs(found - last).max()))
            last = found
        assert most < 20.0 * np.radians(1.0) * 3.0  # offsets are about 3 long


def _skin() -> tuple[Skeleton, Array, Influences]:
    random = np.random.default_rng(8)
    points = random.normal(size=(10, 3)) * (0.2, 0.2, 1.0) + (0.0, 0.0, 1.0)
    weights = random.dirichlet(np.ones(3), size=10)
    vertex, bone = np.divmod(np.arange(30), 3)
    return _chain(), points, Influences.from_triples(vertex, bone, weights.ravel(), 10)


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION"])
def test_shapes_come_after_the_method_and_before_blend_and_mask(method: str) -> None:
    skeleton, points, influences = _skin()
    shapes = _shapes(skeleton, np.random.default_rng(9))
    pose = _posed(skeleton, {1: _turn((1, 0, 0), 60), 2: _swing(0, 100)})
    rows, offsets = shapes.displacements(pose)
    plain = Deformation(method, influences)  # type: ignore[arg-type]
    base = deform(plain, points, None, pose)[0]
    kept = points.copy()
    wanted = base.copy()
    wanted[rows] += offsets
    with_shapes = replace(plain, solved=shapes)
    assert deform(with_shapes, points, None, pose)[0] == pytest.approx(wanted, abs=EXACT)
    assert np.array_equal(points, kept)
    mask = np.linspace(0.0, 1.0, 10)
    found = deform(replace(with_shapes, mask=mask), points, None, pose)[0]
    between = points + mask[:, None] * (wanted - points)
    assert found == pytest.approx(between, abs=EXACT)
    if method == "DUAL_QUATERNION":
        linear = deform(replace(plain, method="LINEAR"), points, None, pose)[0]
        found = deform(replace(with_shapes, blend=mask), points, None, pose)[0]
        assert found == pytest.approx(linear + mask[:, None] * (wanted - linear), abs=EXACT)


def test_as_much_acts_as_of_the_compensation() -> None:
    skeleton, points, influences = _skin()
    shapes = _shapes(skeleton, np.random.default_rng(10))
    pose = _posed(skeleton, {1: _turn((1, 0, 0), 60), 2: _swing(0, 100)})
    rows, offsets = shapes.displacements(pose)
    skin = SkinAtRest(points, influences, skeleton)
    compensation = PublishedCompensation.of(skin, "FITTED", ())
    painted = np.linspace(0.0, 1.0, 10)
    plain = Deformation("COMPENSATED", influences, compensation, painted, 0.5)
    base = deform(plain, points, None, pose)[0]
    base[rows] += 0.5 * painted[rows, None] * offsets
    found = deform(replace(plain, solved=shapes), points, None, pose)[0]
    assert found == pytest.approx(base, abs=EXACT)


def test_shapes_of_another_mesh_are_refused() -> None:
    skeleton, _, influences = _skin()
    shapes = _shapes(skeleton, np.random.default_rng(11))
    with pytest.raises(ValueError, match="solved of 11 for 10"):
        Deformation("LINEAR", influences, solved=replace(shapes, vertex_count=11))
    with pytest.raises(ValueError, match="more vertices than 9"):
        replace(shapes, vertex_count=9)

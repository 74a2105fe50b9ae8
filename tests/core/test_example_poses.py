"""Example poses: the right one acts at its pose, none at rest, and never too much anywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dq_compensation.core.dual_quaternion import quaternions_from_axis_angle, rotate_vectors
from dq_compensation.core.example_poses import ExampleBone, ExampleError, ExamplePoses
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from tests.counted_work import instructions_of

UP = np.array([0.0, 0.0, 1.0])


def chain(count: int) -> Skeleton:
    """Bones one above the other along Z, each the parent of the next, Y along the limb."""
    rest = np.tile(np.eye(4), (count, 1, 1))
    rest[:, :3, :3] = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]], float)
    rest[:, 2, 3] = np.arange(count)
    tails = rest[:, :3, 3] + UP
    parents = np.arange(-1, count - 1).astype(np.int32)
    return Skeleton(tuple(f"bone{i}" for i in range(count)), parents, rest, tails)


def turned_about_x(*degrees: float) -> NDArray[np.floating]:
    angles = np.radians(degrees)
    axes = np.tile((1.0, 0.0, 0.0), (len(angles), 1))
    return quaternions_from_axis_angle(axes, angles)


def example(bone: int, rotations: NDArray[np.floating], **options: object) -> ExampleBone:
    names = tuple(f"pose{i}" for i in range(len(rotations)))
    directions = rotate_vectors(rotations, np.tile(UP, (len(rotations), 1)))
    return ExampleBone(bone, names, directions, rotations, **options)  # type: ignore[arg-type]


def pose_with(skeleton: Skeleton, turns: dict[int, NDArray[np.floating]]) -> Pose:
    """Bones turned by quaternions about their heads, armature axes; children follow."""
    matrices = np.tile(np.eye(4), (skeleton.bone_count, 1, 1))
    for bone in range(skeleton.bone_count):
        own = np.eye(4)
        if bone in turns:
            basis = np.eye(3)
            own[:3, :3] = rotate_vectors(np.tile(turns[bone], (3, 1)), basis).T
            head = skeleton.heads[bone]
            own[:3, 3] = head - own[:3, :3] @ head
        parent = skeleton.parents[bone]
        matrices[bone] = (matrices[parent] if parent >= 0 else np.eye(4)) @ own
    return Pose.from_matrices(matrices, skeleton)


@pytest.mark.parametrize("twists", [False, True])
def test_each_example_acts_fully_at_its_pose_and_nothing_at_rest(twists: bool) -> None:
    skeleton = chain(4)
    angles = turned_about_x(45.0, 100.0, -60.0, 140.0)
    poses = ExamplePoses.of([example(2, angles, twists=twists)], skeleton)
    # 1e-9: the equations are solved in float64 with a condition of some thousands.
    assert np.abs(poses.alphas(Pose.rest(skeleton))).max() < 1e-9
    for number, angle in enumerate(angles):
        alphas = poses.alphas(pose_with(skeleton, {2: angle}))
        assert np.abs(alphas - np.eye(4)[number]).max() < 1e-9


def test_parents_and_other_bones_do_not_count() -> None:
    skeleton = chain(5)
    poses = ExamplePoses.of([example(2, turned_about_x(90.0))], skeleton)
    half = turned_about_x(70.0)[0]
    other = quaternions_from_axis_angle(np.array([[0.0, 0.6, 0.8]]), np.array([1.1]))[0]
    alone = poses.alphas(pose_with(skeleton, {2: half}))
    together = poses.alphas(pose_with(skeleton, {0: other, 1: other, 2: half, 4: other}))
    assert together == pytest.approx(alone, abs=1e-9)
    assert 0.5 < alone[0] < 1.0


def test_a_twist_counts_only_where_it_is_asked_for() -> None:
    skeleton = chain(3)
    twist = quaternions_from_axis_angle(UP[None], np.array([1.5]))
    bend = turned_about_x(90.0)
    plain = ExamplePoses.of([example(1, bend)], skeleton)
    assert plain.alphas(pose_with(skeleton, {1: twist[0]})) == pytest.approx([0.0], abs=1e-9)
    twisting = ExamplePoses.of([example(1, np.vstack((bend, twist)), twists=True)], skeleton)
    alphas = twisting.alphas(pose_with(skeleton, {1: twist[0]}))
    assert alphas == pytest.approx([0.0, 1.0], abs=1e-9)


def test_a_root_is_seen_from_the_armature() -> None:
    skeleton = chain(2)
    bend = turned_about_x(50.0)
    poses = ExamplePoses.of([example(0, bend)], skeleton)
    assert poses.alphas(pose_with(skeleton, {0: bend[0]})) == pytest.approx([1.0], abs=1e-9)


def test_one_pose_rises_without_overshoot_on_the_way_to_it() -> None:
    skeleton = chain(2)
    poses = ExamplePoses.of([example(1, turned_about_x(100.0))], skeleton)
    way = [pose_with(skeleton, {1: turned_about_x(a)[0]}) for a in np.linspace(0.0, 100.0, 41)]
    alphas = np.array([poses.alphas(pose)[0] for pose in way])
    assert alphas[0] == pytest.approx(0.0, abs=1e-9)
    assert alphas[-1] == pytest.approx(1.0, abs=1e-9)
    # Monotone, and no step larger than three times the mean one: smooth in between.
    assert np.diff(alphas).min() > -1e-9
    assert np.diff(alphas).max() < 3.0 / 40


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.floats(0.3, 3.0), st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_acts_is_never_more_than_one_example_wherever_the_bone_points(
    seed: int, count: int, sigma: float, twists: bool
) -> None:
    rng = np.random.default_rng(seed)
    skeleton = chain(3)
    rotations = rng.normal(size=(count, 4))
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    try:
        poses = ExamplePoses.of([example(1, rotations, sigma=sigma, twists=twists)], skeleton)
    except ExampleError:
        return
    for turn in rng.normal(size=(40, 4)):
        alphas = poses.alphas(pose_with(skeleton, {1: turn / np.linalg.norm(turn)}))
        assert alphas.min() >= 0.0
        assert alphas.sum() <= 1.0 + 1e-12


def test_poses_that_are_too_close_are_refused_by_name() -> None:
    skeleton = chain(2)
    with pytest.raises(ExampleError, match="pose0 and pose2 of bone1"):
        ExamplePoses.of([example(1, turned_about_x(60.0, 90.0, 62.0))], skeleton)
    with pytest.raises(ExampleError, match="rest and pose1 of bone1"):
        ExamplePoses.of([example(1, turned_about_x(60.0, 1.0))], skeleton)


def test_bones_with_different_numbers_of_poses_do_not_mix() -> None:
    skeleton = chain(4)
    few, many = turned_about_x(80.0), turned_about_x(-40.0, 40.0, 80.0)
    poses = ExamplePoses.of([example(3, few), example(1, many)], skeleton)
    assert poses.pose_count == 4
    alphas = poses.alphas(pose_with(skeleton, {1: many[1], 3: few[0]}))
    assert alphas == pytest.approx([1.0, 0.0, 1.0, 0.0], abs=1e-9)
    assert ExamplePoses.of([], skeleton).alphas(Pose.rest(skeleton)).shape == (0,)


def test_eighty_bones_take_as_little_python_as_eight() -> None:
    work = []
    for count in (8, 80):
        skeleton = chain(count + 1)
        angles = turned_about_x(45.0, 90.0, -45.0, -90.0)
        ways = ("SMOOTH", "LINEAR")
        listed = [example(bone, angles, weights=ways[bone % 2]) for bone in range(1, count + 1)]
        poses = ExamplePoses.of(listed, skeleton)
        pose = pose_with(skeleton, {bone: angles[bone % 4] for bone in range(1, count + 1, 3)})
        poses.alphas(pose)
        work.append(instructions_of(lambda of=poses, turned=pose: of.alphas(turned)))
    assert work[0] == work[1] > 0


# Linear weights. Interpolated numbers of float64; FAR, which stands for no neighbour, takes 1e-9.
EXACT = 1e-8


def turned(azimuth: float, degrees: float) -> NDArray[np.floating]:
    """The swing, a quaternion, that takes Z by so many degrees toward an azimuth from -Y."""
    way = np.radians(azimuth)
    axis = np.array([[np.cos(way), np.sin(way), 0.0]])
    return quaternions_from_axis_angle(axis, np.radians([degrees]))[0]


def alphas_on_way(poses: ExamplePoses, rotations: list[NDArray[np.floating]]) -> NDArray:
    skeleton = chain(3)
    return np.array([poses.alphas(pose_with(skeleton, {1: each})) for each in rotations])


def solved(rotations: object, **options: object) -> ExamplePoses:
    return ExamplePoses.of([example(1, np.array(rotations), **options)], chain(3))


def interpolated(listed: list[float], angles: NDArray) -> NDArray:
    """The weights of listed angles by `numpy.interp`, of rest none, shape (m, k)."""
    stops = np.sort([0.0, *listed])
    return np.array([np.interp(angles, stops, stops == angle) for angle in listed]).T


@pytest.mark.parametrize("axis", ["across", "own, with twist", "across, with twist"])
def test_linear_weights_of_a_row_are_linear_in_the_angle(axis: str) -> None:
    listed = [90.0, 45.0, 125.0, -40.0]
    vector = UP[None] if axis.startswith("own") else np.array([[0.6, 0.8, 0.0]])

    def by(degrees: float) -> NDArray[np.floating]:
        return quaternions_from_axis_angle(vector, np.radians([degrees]))[0]

    poses = solved([by(each) for each in listed], weights="LINEAR", twists="twist" in axis)
    angles = np.linspace(-80.0, 150.0, 47)
    found = alphas_on_way(poses, [by(angle) for angle in angles])
    assert found == pytest.approx(interpolated(listed, angles), abs=EXACT)


def test_linear_weights_of_two_rows_share_what_lies_between_them() -> None:
    poses = solved([turned(0, 40), turned(0, 80), turned(0, 120), turned(60, 50)], weights="AUTO")
    # At 60 degrees half way between the two first ones; a third of the way to the other row.
    found = alphas_on_way(poses, [turned(20, 60)])[0]
    assert found == pytest.approx([1 / 3, 1 / 3, 0.0, 1 / 3], abs=EXACT)
    # Beyond a right angle from every row nothing acts.
    assert alphas_on_way(poses, [turned(200, 60)]).max() == 0.0


def test_poses_of_a_row_may_lie_a_little_aside() -> None:
    listed = [turned(0, 30), turned(9, 60), turned(-8, 95), turned(80, 70), turned(88, 30)]
    poses = solved(listed, weights="LINEAR")
    assert len(poses.linear) == 1
    assert alphas_on_way(poses, listed) == pytest.approx(np.eye(5), abs=EXACT)


@pytest.mark.parametrize("twists", [False, True])
def test_three_poses_in_a_row_are_linear_by_themselves(twists: bool) -> None:
    def are_linear(*degrees: float, weights: str = "AUTO") -> bool:
        poses = solved(turned_about_x(*degrees), weights=weights, twists=twists)
        return bool(len(poses.linear))

    assert are_linear(45.0, 90.0, 125.0)
    assert are_linear(-20.0, 45.0, 90.0, 125.0)
    # Two on one side, one on the other.
    assert not are_linear(45.0, 90.0, -30.0)
    assert are_linear(45.0, 90.0, -30.0, weights="LINEAR")
    assert not are_linear(45.0, 90.0, 125.0, weights="SMOOTH")
    # Where hats would fade.
    assert not are_linear(45.0, 90.0, 170.0, weights="LINEAR")


def test_between_three_poses_a_fold_that_deepens_is_met_linearly() -> None:
    """Each part of the skin folds with a power of the angle near 1, as on a solved knee."""
    powers = np.random.default_rng(0).uniform(0.6, 1.3, 200)

    def fold(degrees: float) -> NDArray:
        return (degrees / 125.0) ** powers

    def off(weights: str, degrees: float) -> float:
        poses = solved(turned_about_x(*listed), weights=weights)
        alphas = alphas_on_way(poses, [turned_about_x(degrees)[0]])[0]
        found, right = alphas @ np.array([fold(each) for each in listed]), fold(degrees)
        return float(np.linalg.norm(found - right) / np.linalg.norm(right))

    listed = (45.0, 90.0, 125.0)
    # In parts of what there is without shapes. A solved knee has 0.25 at most, and 0.83 smoothly.
    assert max(off("AUTO", each) for each in np.arange(20.0, 125.0, 5.0)) < 0.25
    assert off("SMOOTH", 22.5) > 0.5


def test_poses_that_are_not_in_rows_keep_the_smooth_weights() -> None:
    # Two of nearly one angle, 10 degrees apart along the circle about rest.
    listed = [turned(0, 40), turned(0, 80), turned(10, 80.5)]
    way = [turned(azimuth, 60.0) for azimuth in range(0, 180, 30)]
    smooth, linear = (alphas_on_way(solved(listed, weights=w), way) for w in ("SMOOTH", "LINEAR"))
    assert np.array_equal(smooth, linear)


@given(st.integers(0, 2**32 - 1), st.integers(2, 7))
@settings(max_examples=40, deadline=None)
def test_linear_weights_are_exact_convex_and_never_jump(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    ways, angles = 60.0 * rng.choice(6, count), rng.uniform(20.0, 150.0, count)
    listed = [turned(*each) for each in zip(ways, angles, strict=True)]
    try:
        poses = solved(listed, weights="LINEAR")
    except ExampleError:
        return
    if not len(poses.linear):
        return
    assert alphas_on_way(poses, listed) == pytest.approx(np.eye(count), abs=EXACT)
    # A great circle through all rotations, 0.1 degrees a step.
    first, second = np.linalg.qr(rng.normal(size=(4, 2)))[0].T
    half = np.radians(np.arange(0.0, 40.0, 0.05))[:, None] + rng.uniform(0.0, np.pi)
    found = alphas_on_way(poses, list(np.cos(half) * first + np.sin(half) * second))
    assert found.min() >= 0.0
    assert found.sum(axis=1).max() <= 1.0 + EXACT
    # The steepest: two angles of a row 2 degrees apart; beside it the azimuth where the limb
    # points nearly at rest or back, and the fade. 0.1 degrees move a weight by 0.05, 0.15 in all.
    assert np.abs(np.diff(found, axis=0)).max() < 0.15


def test_a_root_with_linear_weights_is_seen_from_the_armature() -> None:
    skeleton, listed = chain(2), turned_about_x(30.0, 60.0, 90.0)
    poses = ExamplePoses.of([example(0, listed, weights="LINEAR")], skeleton)
    found = poses.alphas(pose_with(skeleton, {0: turned_about_x(40.0)[0]}))
    assert found == pytest.approx([2 / 3, 1 / 3, 0.0], abs=EXACT)


def test_smooth_and_linear_bones_do_not_mix() -> None:
    skeleton, listed = chain(5), turned_about_x(30.0, 60.0, 90.0)
    both = [
        example(1, listed[:2], weights="AUTO"),
        example(2, listed, weights="AUTO"),
        example(3, turned_about_x(50.0), weights="AUTO"),
        example(4, listed[::-1], weights="LINEAR"),
    ]
    pose = pose_with(skeleton, {bone: turned_about_x(37.0 + bone)[0] for bone in range(1, 5)})
    alone = [ExamplePoses.of([each], skeleton).alphas(pose) for each in both]
    poses = ExamplePoses.of(both, skeleton)
    assert poses.linear.tolist() == [1, 3]
    assert poses.alphas(pose) == pytest.approx(np.concatenate(alone), abs=1e-12)

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
        poses = ExamplePoses.of([example(bone, angles) for bone in range(1, count + 1)], skeleton)
        pose = pose_with(skeleton, {bone: angles[bone % 4] for bone in range(1, count + 1, 3)})
        poses.alphas(pose)
        work.append(instructions_of(lambda of=poses, turned=pose: of.alphas(turned)))
    assert work[0] == work[1] > 0

"""From the matrices of bones to rigid parts, and what cannot be one."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import chain, posed, random_rotations

from dq_compensation.core.dual_quaternion import matrices_from_quaternions, transform_points
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.errors import PoseError


@pytest.fixture
def skeleton() -> Skeleton:
    return chain(12)


@pytest.fixture
def pose(skeleton: Skeleton) -> Pose:
    rng = np.random.default_rng(5)
    return posed(skeleton, random_rotations(rng, skeleton.bone_count, 180.0))


def test_dual_quaternions_do_what_the_matrices_do(pose: Pose) -> None:
    points = np.random.default_rng(6).normal(size=(len(pose.matrices), 3))
    expected = np.einsum("bij,bj->bi", pose.matrices[:, :3, :3], points) + pose.matrices[:, :3, 3]
    np.testing.assert_allclose(
        transform_points(pose.rotations, pose.duals, points), expected, atol=1e-12
    )
    assert not pose.any_scaled


def test_rest_is_the_identity(skeleton: Skeleton) -> None:
    rest = Pose.rest(skeleton)
    np.testing.assert_array_equal(rest.rotations, [[1, 0, 0, 0]] * skeleton.bone_count)
    np.testing.assert_array_equal(rest.duals, 0.0)


@pytest.mark.parametrize(
    ("scale", "scaled"),
    [((1.0, 1.0, 1.0), False), ((1.001, 1.0, 1.0), True), ((1.0, -1.0, 1.0), True)],
)
def test_which_bones_are_scaled(
    skeleton: Skeleton, pose: Pose, scale: tuple[float, float, float], scaled: bool
) -> None:
    matrices = pose.matrices.copy()
    matrices[4, :3, :3] = matrices[4, :3, :3] @ np.diag(scale)
    expected = np.zeros(skeleton.bone_count, np.bool_)
    expected[4] = scaled
    np.testing.assert_array_equal(Pose.from_matrices(matrices, skeleton).scaled, expected)


def test_scale_along_the_axes_leaves_the_rotation(skeleton: Skeleton, pose: Pose) -> None:
    """Scales along the bone's own axes, as a pose bone has them."""
    rest = skeleton.rest[:, :3, :3]
    scales = np.random.default_rng(7).uniform(0.5, 2.0, (skeleton.bone_count, 3))
    matrices = pose.matrices.copy()
    matrices[:, :3, :3] = (
        matrices[:, :3, :3] @ rest @ (scales[:, :, None] * rest.transpose(0, 2, 1))
    )
    scaled = Pose.from_matrices(matrices, skeleton)
    assert scaled.scaled.all()
    np.testing.assert_allclose(
        matrices_from_quaternions(scaled.rotations), pose.matrices[:, :3, :3], atol=1e-12
    )


def test_the_rigid_part_of_a_scaled_bone_carries_its_head(skeleton: Skeleton, pose: Pose) -> None:
    matrices = pose.matrices.copy()
    matrices[:, :3, :3] *= 1.5
    scaled = Pose.from_matrices(matrices, skeleton)
    heads = skeleton.heads
    expected = np.einsum("bij,bj->bi", matrices[:, :3, :3], heads) + matrices[:, :3, 3]
    moved = transform_points(scaled.rotations, scaled.duals, heads)
    np.testing.assert_allclose(moved, expected, atol=1e-12)


@pytest.mark.parametrize("flattened", [(0, 0, 0), (1, 0, 1), (0, 1, 0), (1, 1, 0), (0, 1, 1)])
def test_bones_without_an_extent_have_finite_unit_rotations(
    skeleton: Skeleton, pose: Pose, flattened: tuple[int, int, int]
) -> None:
    rest = skeleton.rest[:, :3, :3]
    matrices = pose.matrices.copy()
    matrices[:, :3, :3] = matrices[:, :3, :3] @ rest @ np.diag(flattened) @ rest.transpose(0, 2, 1)
    scaled = Pose.from_matrices(matrices, skeleton)
    np.testing.assert_allclose(np.linalg.norm(scaled.rotations, axis=1), 1.0, atol=1e-12)
    assert np.isfinite(scaled.duals).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_matrix_that_is_no_number_is_refused_by_name(
    skeleton: Skeleton, pose: Pose, value: float
) -> None:
    matrices = pose.matrices.copy()
    matrices[3, 1, 2] = value
    matrices[9, 0, 3] = value
    with pytest.raises(PoseError, match="bone 3, bone 9"):
        Pose.from_matrices(matrices, skeleton)


def test_many_broken_bones_are_counted(skeleton: Skeleton, pose: Pose) -> None:
    with pytest.raises(PoseError, match="and 9 more"):
        Pose.from_matrices(np.full_like(pose.matrices, np.nan), skeleton)


def test_matrices_of_another_skeleton_are_refused(pose: Pose) -> None:
    with pytest.raises(ValueError, match="for 3 bones"):
        Pose.from_matrices(pose.matrices, chain(3))


def test_no_bones() -> None:
    nothing = Skeleton((), np.zeros(0, np.int32), np.zeros((0, 4, 4)), np.zeros((0, 3)))
    assert Pose.rest(nothing).rotations.shape == (0, 4)

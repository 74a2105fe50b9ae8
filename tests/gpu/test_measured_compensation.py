"""MEASURED compensation on the GPU against `core`, to 1e-4 of the object's size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.influences import Influences
from dq_compensation.core.limb_joints import LimbJoints
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from tests.gpu.one_instance import deform_in

TOLERANCE = 1e-4

# (angle of every bone in radians, spread of scales)
POSES = {"rest": (0.0, 0.0), "mild": (0.6, 0.0), "wild": (3.1, 0.0), "scaled": (0.6, 0.3)}

# The object is turned, moved and unevenly scaled against its armature.
UNEQUAL_SPACES = np.array(
    [[1.2, -0.5, 0.0, 0.3], [0.4, 0.9, 0.1, -0.2], [0.0, 0.2, 1.5, 0.7], [0.0, 0.0, 0.0, 1.0]]
)


@pytest.mark.parametrize("pose_name", POSES)
@pytest.mark.parametrize(
    ("matrix", "ball_joints"),
    [(np.eye(4), False), (UNEQUAL_SPACES, False), (UNEQUAL_SPACES, True)],
    ids=["one space", "two spaces", "ball joints"],
)
def test_positions_equal_core(
    human: Any,
    make_pose: Callable[..., Pose],
    pose_name: str,
    matrix: np.ndarray,
    ball_joints: bool,
) -> None:
    angle, scale = POSES[pose_name]
    rest = human.rest.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
    measured = MeasuredJoints.of(
        SkinAtRest(rest.astype(np.float32), human.influences, human.skeleton),
        ball_joints=ball_joints,
    )
    painted = np.random.default_rng(7).random(len(rest)).astype(np.float32)
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton)
    deformation = Deformation("COMPENSATED", human.influences, measured, painted, 0.7)
    inverse = np.linalg.inv(matrix)
    for seed in range(2):
        pose = make_pose(human.skeleton, seed, angle, scale)
        found = deform_in(deformed, deformation, pose, matrix)
        expected, _ = deform(deformation, rest, None, pose)
        expected = expected @ inverse[:3, :3].T + inverse[:3, 3]
        error = np.abs(found - expected).max() / human.size
        assert error <= TOLERANCE, f"{human.name}, {pose_name}: {error:.2e}"


@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_strengths_of_joints(human: Any, make_pose: Callable[..., Pose], curve: str) -> None:
    less = tuple((bone, bone % 3 / 3.0) for bone in range(0, human.skeleton.bone_count, 2))
    of = (human.rest, human.influences, human.skeleton)
    if curve == "MEASURED":
        every, some = (
            MeasuredJoints.of(SkinAtRest(*of), ball_joints=True, strengths=each)
            for each in ((), less)
        )
    else:
        every, some = (
            PublishedCompensation.of(SkinAtRest(*of), strengths=each) for each in ((), less)
        )
    assert 0 < np.count_nonzero(some.amounts) < np.count_nonzero(every.amounts)
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton)
    deformation = Deformation("COMPENSATED", human.influences, some)
    pose = make_pose(human.skeleton, 3, 0.6, 0.0)
    found = deform_in(deformed, deformation, pose, np.eye(4))
    expected, _ = deform(deformation, human.rest.astype(np.float64), None, pose)
    assert np.abs(found - expected).max() / human.size <= TOLERANCE


def test_joints_of_the_mesh_equal_core(human: Any, make_pose: Callable[..., Pose]) -> None:
    """A flat skeleton in a pose of its hierarchy: each bone continues its former parent."""
    parents = np.full_like(human.skeleton.parents, -1)
    flat = Skeleton(human.skeleton.names, parents, human.skeleton.rest, human.skeleton.tails)
    measured = MeasuredJoints.of(
        SkinAtRest(human.rest, human.influences, flat, mesh_parents=human.skeleton.parents)
    )
    assert measured.joint_counts[0] == 0
    alone = MeasuredJoints.of(SkinAtRest(human.rest, human.influences, human.skeleton))
    pose = make_pose(human.skeleton, 3, 0.6, 0.3)
    rest = human.rest.astype(np.float64)
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), flat)
    for compensation in (measured, alone):
        # Two sets of joints, one after the other.
        deformation = Deformation("COMPENSATED", human.influences, compensation)
        found = deform_in(deformed, deformation, pose)
        expected, _ = deform(deformation, rest, None, pose)
        assert np.abs(found - expected).max() / human.size <= TOLERANCE


def test_limbs_that_are_pulled_apart_equal_core(human: Any, make_pose: Callable[..., Pose]) -> None:
    """Every third bone goes along its parent, and out or in."""
    skeleton, pose = human.skeleton, make_pose(human.skeleton, 3, 0.6)
    limbs = LimbJoints.of(skeleton)
    matrices = pose.matrices.copy()
    for bone in range(1, skeleton.bone_count, 3):
        back = matrices[skeleton.parents[bone], :3, :3] @ limbs.back[bone]
        matrices[bone, :3, 3] += (0.02 if bone % 2 else -0.02) * back * human.size
    moved = Pose.from_matrices(matrices, skeleton)
    assert limbs.posed(moved).gaps.min() < -0.005 * human.size
    measured = MeasuredJoints.of(SkinAtRest(human.rest, human.influences, skeleton))
    deformation = Deformation("COMPENSATED", human.influences, measured)
    found = deform_in(
        DeformedMesh(GpuMesh(human.rest, human.influences), skeleton), deformation, moved
    )
    expected, _ = deform(deformation, human.rest.astype(np.float64), None, moved)
    assert np.abs(found - expected).max() / human.size <= TOLERANCE


def test_it_moves_what_it_should(humans: dict[str, Any], make_pose: Callable[..., Pose]) -> None:
    """The comparison with core would also pass if neither compensated."""
    human = humans["default"]
    measured = MeasuredJoints.of(SkinAtRest(human.rest, human.influences, human.skeleton))
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton)
    pose = make_pose(human.skeleton, 0, 0.6)
    plain = deform_in(deformed, Deformation("DUAL_QUATERNION", human.influences), pose)
    found = deform_in(deformed, Deformation("COMPENSATED", human.influences, measured), pose)
    moved = np.linalg.norm(found - plain, axis=1)
    assert 1e-3 < moved.max() < 0.1
    # And back to a published curve, which needs no joints.
    published = PublishedCompensation.of(SkinAtRest(human.rest, human.influences, human.skeleton))
    nothing = np.zeros(len(plain))
    without = Deformation("COMPENSATED", human.influences, published, nothing)
    np.testing.assert_array_equal(deform_in(deformed, without, pose), plain)


def test_many_joints(make_pose: Callable[..., Pose]) -> None:
    rng = np.random.default_rng(11)
    rest = np.tile(np.eye(4), (300, 1, 1))
    rest[:, 1, 3] = np.linspace(0.0, 30.0, 300)
    names = tuple(f"bone {number}" for number in range(300))
    skeleton = Skeleton(
        names, np.arange(300, dtype=np.int32) - 1, rest, rest[:, :3, 3] + [0.0, 0.1, 0.0]
    )
    lower = rng.integers(0, 299, 2000)
    share = rng.random(2000)
    influences = Influences.from_triples(
        np.tile(np.arange(2000), 2),
        np.concatenate((lower, lower + 1)),
        np.concatenate((share, 1.0 - share)),
        2000,
    )
    points = skeleton.heads[lower + 1] + rng.uniform(-0.04, 0.04, (2000, 3))
    measured = MeasuredJoints.of(SkinAtRest(points.astype(np.float32), influences, skeleton))
    pose = make_pose(skeleton, 4, 0.3)
    deformed = DeformedMesh(GpuMesh(points.astype(np.float32), influences), skeleton)
    deformation = Deformation("COMPENSATED", influences, measured)
    found = deform_in(deformed, deformation, pose)
    expected, _ = deform(deformation, points, None, pose)
    plain, _ = deform(Deformation("DUAL_QUATERNION", influences), points, None, pose)
    assert np.abs(expected - plain).max() > 1e-3
    size = float(np.ptp(expected, axis=0).max())
    assert np.abs(found - expected).max() <= TOLERANCE * size


def test_bones_scaled_to_nothing_give_finite_positions(
    humans: dict[str, Any], make_pose: Callable[..., Pose]
) -> None:
    human = humans["cmu_mb"]
    matrices = make_pose(human.skeleton, 0, 0.5).matrices.copy()
    matrices[5:9, :3, :3] = 0.0
    measured = MeasuredJoints.of(SkinAtRest(human.rest, human.influences, human.skeleton))
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton)
    pose = Pose.from_matrices(matrices, human.skeleton)
    deformation = Deformation("COMPENSATED", human.influences, measured)
    assert np.isfinite(deform_in(deformed, deformation, pose)).all()

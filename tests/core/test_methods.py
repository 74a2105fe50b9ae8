"""What every method has to do, whatever the body: move rigidly with rigid poses, keep dtypes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from bodies import (
    chain,
    deformation_of,
    posed,
    random_influences,
    random_rotations,
    skeleton_of_points,
    turn,
)
from numpy.typing import NDArray

from dq_compensation.core.deform import METHODS, Deformation, Method, deform
from dq_compensation.core.dual_quaternion import (
    dual_from_translation,
    matrices_from_quaternions,
    normalized_dual_quaternions,
    transform_points,
)
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skeleton import Skeleton
from dq_compensation.core.spherical_joints import JointSets, joint_sets

VERTICES = 300
Deformed = tuple[NDArray[np.floating], NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class Body:
    """Points around a skeleton, with normals that have nothing to do with a surface."""

    positions: NDArray[np.floating]
    normals: NDArray[np.floating]
    influences: Influences
    skeleton: Skeleton
    sets: JointSets

    def deformed(
        self, method: Method, pose: Pose, blend: NDArray[np.floating] | None = None
    ) -> Deformed:
        rest = (self.positions, self.influences, self.skeleton)
        deformation = deformation_of(method, *rest, blend=blend)
        positions, normals = deform(deformation, self.positions, self.normals, pose)
        assert normals is not None
        return positions, normals

    def as_type(self, dtype: type) -> Body:
        return replace(
            self, positions=self.positions.astype(dtype), normals=self.normals.astype(dtype)
        )


def _body(rng: np.random.Generator, skeleton: Skeleton, most: int = 5) -> Body:
    influences = random_influences(rng, VERTICES, skeleton.bone_count, most)
    normals = rng.normal(size=(VERTICES, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    positions = rng.uniform(-2.0, 2.0, (VERTICES, 3)) + [0.0, 0.0, 3.0]
    return Body(positions, normals, influences, skeleton, joint_sets(influences, skeleton))


@pytest.fixture
def body(rng: np.random.Generator) -> Body:
    return _body(rng, chain(7))


@pytest.fixture
def pose(rng: np.random.Generator, body: Body) -> Pose:
    return posed(body.skeleton, random_rotations(rng, body.skeleton.bone_count, 70.0))


@pytest.fixture
def scaled_pose(rng: np.random.Generator, body: Body, pose: Pose) -> Pose:
    rest = body.skeleton.rest[:, :3, :3]
    scales = rng.uniform(0.6, 1.6, (body.skeleton.bone_count, 3))
    scales[2, 1] *= -1.0
    matrices = pose.matrices.copy()
    along_axes = rest @ (scales[:, :, None] * rest.transpose(0, 2, 1))
    matrices[1:, :3, :3] = matrices[1:, :3, :3] @ along_axes[1:]
    return Pose.from_matrices(matrices, body.skeleton)


def _motion(rng: np.random.Generator) -> NDArray[np.float64]:
    motion = np.eye(4)
    motion[:3, :3] = matrices_from_quaternions(random_rotations(rng, 1, 180.0))[0]
    motion[:3, 3] = rng.normal(size=3)
    return motion


@pytest.mark.parametrize("method", METHODS)
def test_the_rest_pose_changes_nothing(body: Body, method: Method) -> None:
    positions, normals = body.deformed(method, Pose.rest(body.skeleton))
    np.testing.assert_allclose(positions, body.positions, rtol=0, atol=1e-6)
    np.testing.assert_allclose(normals, body.normals, rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_one_motion_of_all_bones_moves_the_body_rigidly(
    rng: np.random.Generator, body: Body, method: Method
) -> None:
    motion = _motion(rng)
    pose = Pose.from_matrices(np.tile(motion, (body.skeleton.bone_count, 1, 1)), body.skeleton)
    positions, normals = body.deformed(method, pose)
    expected = body.positions @ motion[:3, :3].T + motion[:3, 3]
    np.testing.assert_allclose(positions, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(normals, body.normals @ motion[:3, :3].T, rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_moving_the_whole_pose_moves_the_result(
    rng: np.random.Generator, body: Body, pose: Pose, method: Method
) -> None:
    """No method may depend on where the character stands."""
    motion = _motion(rng)
    moved_pose = Pose.from_matrices(motion @ pose.matrices, body.skeleton)
    positions, normals = body.deformed(method, pose)
    moved_positions, moved_normals = body.deformed(method, moved_pose)
    expected = positions @ motion[:3, :3].T + motion[:3, 3]
    np.testing.assert_allclose(moved_positions, expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(moved_normals, normals @ motion[:3, :3].T, rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scaled", [False, True], ids=["rigid", "scaled"])
def test_a_vertex_with_one_bone_follows_its_matrix(
    rng: np.random.Generator,
    body: Body,
    pose: Pose,
    scaled_pose: Pose,
    method: Method,
    scaled: bool,
) -> None:
    pose = scaled_pose if scaled else pose
    body = _body(rng, body.skeleton, most=1)
    matrices = pose.matrices[body.influences.bones[:, 0], :3]
    positions, normals = body.deformed(method, pose)
    expected = np.einsum("nij,nj->ni", matrices[:, :, :3], body.positions) + matrices[:, :, 3]
    np.testing.assert_allclose(positions, expected, rtol=0, atol=1e-6)
    turned = np.einsum("nji,nj->ni", np.linalg.inv(matrices[:, :, :3]), body.normals)
    turned *= np.sign(np.linalg.det(matrices[:, :, :3]))[:, None]
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    np.testing.assert_allclose(normals, turned, rtol=0, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scaled", [False, True], ids=["rigid", "scaled"])
def test_float32_stays_float32_and_agrees_with_float64(
    body: Body, pose: Pose, scaled_pose: Pose, method: Method, scaled: bool
) -> None:
    """Within 1e-5 of the size, 7: a hundred roundings of float32, one thousandth of a tear."""
    pose = scaled_pose if scaled else pose
    single, double = body.as_type(np.float32), body.as_type(np.float64)
    for exact, rounded, size in zip(
        double.deformed(method, pose), single.deformed(method, pose), (7.0, 1.0), strict=True
    ):
        assert rounded.dtype == np.float32
        assert exact.dtype == np.float64
        np.testing.assert_allclose(rounded, exact, rtol=0, atol=1e-5 * size)


@pytest.mark.parametrize("method", METHODS)
def test_normals_stay_unit_and_arguments_unchanged(
    body: Body, pose: Pose, scaled_pose: Pose, method: Method
) -> None:
    before = body.positions.copy(), body.normals.copy()
    for any_pose in (pose, scaled_pose):
        _, normals = body.deformed(method, any_pose)
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(body.positions, before[0])
    np.testing.assert_array_equal(body.normals, before[1])


@pytest.mark.parametrize("method", METHODS)
def test_vertices_without_influences_stay(body: Body, scaled_pose: Pose, method: Method) -> None:
    weights = body.influences.weights.copy()
    weights[::3] = 0.0
    influences = Influences(body.influences.bones, weights)
    body = replace(body, influences=influences, sets=joint_sets(influences, body.skeleton))
    positions, normals = body.deformed(method, scaled_pose)
    np.testing.assert_array_equal(positions[::3], body.positions[::3])
    np.testing.assert_allclose(normals[::3], body.normals[::3], rtol=0, atol=1e-15)
    assert np.abs(positions[1::3] - body.positions[1::3]).max(axis=1).min() > 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [0, 1])
def test_no_vertices_or_one_that_nothing_moves(
    body: Body, pose: Pose, method: Method, count: int
) -> None:
    nothing = np.zeros(0, np.int64)
    influences = Influences.from_triples(nothing, nothing, np.zeros(0), count)
    small = Body(
        body.positions[:count],
        body.normals[:count],
        influences,
        body.skeleton,
        joint_sets(influences, body.skeleton),
    )
    positions, normals = small.deformed(method, pose)
    np.testing.assert_array_equal(positions, small.positions)
    np.testing.assert_array_equal(normals, small.normals)


@pytest.mark.parametrize("method", METHODS)
def test_an_armature_without_bones(body: Body, method: Method) -> None:
    none = Skeleton((), np.zeros(0, np.int32), np.zeros((0, 4, 4)), np.zeros((0, 3)))
    nothing = np.zeros(0, np.int64)
    influences = Influences.from_triples(nothing, nothing, np.zeros(0), VERTICES)
    bare = replace(body, influences=influences, skeleton=none, sets=joint_sets(influences, none))
    positions, _ = bare.deformed(method, Pose.rest(none))
    np.testing.assert_array_equal(positions, body.positions)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", [0.0, 1e-30])
def test_bones_scaled_to_nothing_give_numbers(
    body: Body, pose: Pose, method: Method, scale: float
) -> None:
    matrices = pose.matrices.copy()
    matrices[::2, :3, :3] *= scale
    flat = Pose.from_matrices(matrices, body.skeleton)
    for dtype in (np.float32, np.float64):
        positions, normals = body.as_type(dtype).deformed(method, flat)
        assert np.isfinite(positions).all()
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_bones_without_a_length_give_numbers(rng: np.random.Generator, method: Method) -> None:
    points = np.tile([0.0, 0.0, 1.0], (4, 1))
    body = _body(rng, skeleton_of_points(points, points, [-1, 0, 1, 0]))
    positions, normals = body.deformed(method, posed(body.skeleton, random_rotations(rng, 4, 90.0)))
    assert np.isfinite(positions).all()
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=0, atol=1e-6)


def test_dual_quaternions_against_a_loop(body: Body, pose: Pose) -> None:
    """The definition, written for one vertex at a time in Blender's order of the groups."""
    bones, weights = body.influences.in_blending_order()
    expected = []
    for vertex in range(VERTICES):
        real, dual = np.zeros(4), np.zeros(4)
        for bone, weight in zip(bones[vertex], weights[vertex].astype(float), strict=True):
            sign = -1.0 if pose.rotations[bone] @ real < 0.0 else 1.0
            translation = pose.matrices[bone, :3, 3]
            real += sign * weight * pose.rotations[bone]
            dual += sign * weight * dual_from_translation(pose.rotations[bone], translation)
        expected.append(
            transform_points(*normalized_dual_quaternions(real, dual), body.positions[vertex])
        )
    positions, _ = body.deformed("DUAL_QUATERNION", pose)
    np.testing.assert_allclose(positions, expected, rtol=0, atol=1e-12)


def test_the_sign_of_a_bones_quaternion_does_not_matter(body: Body, pose: Pose) -> None:
    flipped = replace(pose, rotations=-pose.rotations, duals=-pose.duals)
    for method in METHODS:
        np.testing.assert_allclose(
            body.deformed(method, flipped)[0], body.deformed(method, pose)[0], rtol=0, atol=1e-12
        )


def test_rotations_past_180_degrees_do_not_throw_vertices_away(rng: np.random.Generator) -> None:
    """A bone that turned by 190 degrees goes the short way round: its vertices stay on the limb."""
    skeleton = chain(2)
    body = _body(rng, skeleton, most=2)
    pose = posed(skeleton, np.stack((turn((0, 0, 1), -95.0), turn((0, 0, 1), 190.0))))
    distances = np.linalg.norm(body.positions[:, :2], axis=1)
    for method in ("DUAL_QUATERNION", "COMPENSATED", "SPHERICAL_JOINT"):
        positions, _ = body.deformed(method, pose)
        np.testing.assert_allclose(np.linalg.norm(positions[:, :2], axis=1), distances, atol=1e-6)


def test_missing_and_unfit_arguments_are_named(body: Body, pose: Pose) -> None:
    with pytest.raises(ValueError, match="COMPENSATED needs compensation"):
        Deformation("COMPENSATED", body.influences)
    with pytest.raises(ValueError, match="SPHERICAL_JOINT needs sets"):
        Deformation("SPHERICAL_JOINT", body.influences)
    with pytest.raises(ValueError, match="unknown method 'LBS'"):
        Deformation("LBS", body.influences)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="blend of shape \\(299,\\) for 300"):
        Deformation("DUAL_QUATERNION", body.influences, blend=np.ones(VERTICES - 1))
    linear = Deformation("LINEAR", body.influences)
    with pytest.raises(ValueError, match="expected \\(n, 3\\)"):
        deform(linear, body.positions[:, :2], None, pose)
    with pytest.raises(ValueError, match="influences of 300 vertices for 299"):
        deform(linear, body.positions[1:], None, pose)
    with pytest.raises(ValueError, match="normals of shape"):
        deform(linear, body.positions, body.normals[1:], pose)


@pytest.mark.parametrize("method", ["DUAL_QUATERNION", "COMPENSATED"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blend_weights_go_from_linear_to_the_method(
    body: Body, scaled_pose: Pose, method: Method, dtype: type
) -> None:
    body = body.as_type(dtype)
    linear = body.deformed("LINEAR", scaled_pose)
    whole = body.deformed(method, scaled_pose)
    assert np.abs(linear[0] - whole[0]).max() > 0.1
    blend = np.linspace(-0.5, 1.5, VERTICES).clip(0.0, 1.0)
    positions, normals = body.deformed(method, scaled_pose, blend)
    assert positions.dtype == normals.dtype == dtype
    for share, expected in ((0.0, linear), (1.0, whole)):
        rows = blend == share
        assert rows.sum() > 50
        np.testing.assert_array_equal(positions[rows], expected[0][rows])
        # Normalised once more, so that the last digit may change.
        np.testing.assert_allclose(normals[rows], expected[1][rows], rtol=0, atol=1e-6)
    between = (blend > 0.0) & (blend < 1.0)
    share = blend[between, None]
    mixed = [
        (1.0 - share) * a[between] + share * b[between] for a, b in zip(linear, whole, strict=True)
    ]
    mixed[1] /= np.linalg.norm(mixed[1], axis=1, keepdims=True)
    np.testing.assert_allclose(positions[between], mixed[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(normals[between], mixed[1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", ["LINEAR", "SPHERICAL_JOINT"])
def test_methods_that_do_not_blend_leave_blend_weights_alone(
    body: Body, pose: Pose, method: Method
) -> None:
    positions, normals = body.deformed(method, pose, np.zeros(VERTICES))
    expected = body.deformed(method, pose)
    np.testing.assert_array_equal(positions, expected[0])
    np.testing.assert_array_equal(normals, expected[1])

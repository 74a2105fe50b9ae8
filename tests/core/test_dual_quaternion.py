"""The algebra, against pytransform3d and by properties."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import random_rotations
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dq_compensation.core import dual_quaternion as dq

COUNT = 200

angles = st.floats(-3.2, 3.2, allow_nan=False)
unit_angles = st.tuples(angles, angles, angles)


def test_quaternions_against_pytransform3d(rng: np.random.Generator) -> None:
    oracle = pytest.importorskip("pytransform3d.rotations")
    first, second = random_rotations(rng, COUNT, 180.0), random_rotations(rng, COUNT, 180.0)
    vectors = rng.normal(size=(COUNT, 3))
    products = dq.concatenate_quaternions(second, first)
    rotated = dq.rotate_vectors(first, vectors)
    matrices = dq.matrices_from_quaternions(first)
    for i in range(COUNT):
        expected = oracle.concatenate_quaternions(second[i], first[i])
        np.testing.assert_allclose(products[i], expected, atol=1e-14)
        np.testing.assert_allclose(
            rotated[i], oracle.q_prod_vector(first[i], vectors[i]), atol=1e-13
        )
        expected = oracle.matrix_from_quaternion(first[i])
        np.testing.assert_allclose(matrices[i], expected, atol=1e-13)


def test_dual_quaternions_against_pytransform3d(rng: np.random.Generator) -> None:
    oracle = pytest.importorskip("pytransform3d.transformations")
    real = random_rotations(rng, COUNT, 180.0)
    dual = dq.dual_from_translation(real, rng.normal(size=(COUNT, 3)))
    points = rng.normal(size=(COUNT, 3))
    moved = dq.transform_points(real, dual, points)
    for i in range(COUNT):
        expected = oracle.dq_prod_vector(np.concatenate((real[i], dual[i])), points[i])
        np.testing.assert_allclose(moved[i], expected, atol=1e-13)


def test_translation_comes_back(rng: np.random.Generator) -> None:
    real = random_rotations(rng, COUNT, 180.0)
    translations = rng.normal(size=(COUNT, 3))
    back = dq.translation_from_dual_quaternion(real, dq.dual_from_translation(real, translations))
    np.testing.assert_allclose(back, translations, atol=1e-14)


@settings(max_examples=200, deadline=None)
@given(unit_angles)
def test_matrices_and_quaternions_are_inverses(euler: tuple[float, float, float]) -> None:
    quaternion = _from_euler(euler)
    matrix = dq.matrices_from_quaternions(quaternion)
    back = dq.quaternions_from_matrices(matrix[None])[0]
    assert back[0] >= 0.0
    assert min(np.abs(back - quaternion).max(), np.abs(back + quaternion).max()) < 1e-14


@pytest.mark.parametrize("axis", np.vstack((np.eye(3), -np.eye(3), [[0.6, 0.8, 0.0]])).tolist())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_half_turns_have_exact_quaternions(axis: list[float], dtype: type) -> None:
    unit = np.array(axis, dtype)
    matrix = 2.0 * np.outer(unit, unit).astype(dtype) - np.eye(3, dtype=dtype)
    quaternion = dq.quaternions_from_matrices(matrix[None])[0]
    assert quaternion.dtype == dtype
    assert abs(quaternion[0]) < 1e-6
    assert np.abs(np.abs(quaternion[1:] @ unit) - 1.0) < 1e-6


def test_no_length_becomes_the_identity() -> None:
    identity = np.array([[1.0, 0.0, 0.0, 0.0]])
    zero = np.zeros((1, 4))
    np.testing.assert_array_equal(dq.normalized_quaternions(zero), identity)
    real, dual = dq.normalized_dual_quaternions(zero, np.ones((1, 4)))
    np.testing.assert_array_equal(real, identity)
    np.testing.assert_array_equal(dual, zero)


def test_both_signs_are_the_same_transform(rng: np.random.Generator) -> None:
    real = random_rotations(rng, COUNT, 180.0)
    dual = dq.dual_from_translation(real, rng.normal(size=(COUNT, 3)))
    points = rng.normal(size=(COUNT, 3))
    np.testing.assert_allclose(
        dq.transform_points(-real, -dual, points),
        dq.transform_points(real, dual, points),
        atol=1e-14,
    )


def test_half_turns_face_each_other_in_both_precisions() -> None:
    """Rounding must not decide the sign of bones that are mirrored against each other."""
    identity = np.array([[1.0, 0.0, 0.0, 0.0]] * 2)
    almost = np.array([[-1e-8, 1.0, 0.0, 0.0], [1e-8, 1.0, 0.0, 0.0]])
    assert not dq.faces_away(almost, identity).any()
    assert not dq.faces_away(almost.astype(np.float32), identity.astype(np.float32)).any()
    assert dq.faces_away(np.array([[-1e-5, 1.0, 0.0, 0.0]]), identity[:1]).all()


def test_cross_is_numpys(rng: np.random.Generator) -> None:
    first, second = rng.normal(size=(2, COUNT, 3))
    np.testing.assert_allclose(dq.cross(first, second), np.cross(first, second), atol=1e-15)


def _from_euler(euler: tuple[float, float, float]) -> NDArray[np.floating]:
    quaternion = np.array([1.0, 0.0, 0.0, 0.0])
    for axis, angle in zip(np.eye(3), euler, strict=True):
        turned = dq.quaternions_from_axis_angle(axis, np.array(angle))
        quaternion = dq.concatenate_quaternions(turned, quaternion)
    return quaternion

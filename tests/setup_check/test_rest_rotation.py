"""Turned axes against matrices: what conjugation gives, the channels must give, too."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from mathutils import Euler, Matrix, Quaternion, Vector

from dq_compensation.analysis.rest_rotations import RestRotation, nearest_axes, to_direction

DIRECTIONS = np.vstack([np.eye(3), -np.eye(3), np.random.default_rng(0).normal(size=(20, 3))])
UNIT = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)


@pytest.mark.parametrize("direction", UNIT, ids=str)
def test_y_points_along_the_direction_and_the_turn_is_a_rotation(direction: np.ndarray) -> None:
    rotation = to_direction(direction)
    assert np.allclose(rotation[:, 1], direction, atol=1e-12)
    assert np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    assert np.isclose(np.linalg.det(rotation), 1.0)


@pytest.mark.parametrize("direction", UNIT, ids=str)
def test_the_nearest_axes_are_the_nearest_of_all_six(direction: np.ndarray) -> None:
    rotation = nearest_axes(direction)
    assert np.isclose(rotation[:, 1] @ direction, np.abs(direction).max())
    assert RestRotation("Bone", rotation, 1.0).axes is not None
    assert np.isclose(np.linalg.det(rotation), 1.0)


def test_a_bone_that_points_right_is_not_turned() -> None:
    assert np.array_equal(nearest_axes(np.array([0.0, 1.0, 0.0])), np.eye(3))


@pytest.mark.parametrize("order", ["".join(letters) for letters in permutations("XYZ")])
@pytest.mark.parametrize("direction", UNIT[:6], ids=str)
def test_euler_angles_in_other_places_turn_as_the_matrices_do(
    order: str, direction: np.ndarray
) -> None:
    turn = RestRotation("Bone", nearest_axes(direction), 1.0)
    angles = np.array([0.4, -1.1, 0.7])
    rotation = np.array(Euler(angles.tolist(), order).to_matrix())
    turned = Euler(turn.vectors(angles).tolist(), turn.order(order)).to_matrix()
    expected = turn.rotation.T @ rotation @ turn.rotation
    assert np.allclose(np.array(turned), expected, atol=1e-6)  # mathutils is float32


@pytest.mark.parametrize("direction", UNIT, ids=str)
def test_quaternions_and_locations_turn_as_the_matrices_do(direction: np.ndarray) -> None:
    turn = RestRotation("Bone", to_direction(direction), 1.0)
    quaternion = Quaternion((0.5, 0.1, -0.7, 0.3)).normalized()
    location = Vector((0.1, 0.2, -0.3))
    around = Matrix(turn.rotation.tolist()).to_4x4()
    expected = around.inverted() @ Matrix.LocRotScale(location, quaternion, None) @ around
    turned = Quaternion((quaternion.w, *turn.vectors(np.array(quaternion[1:]))))
    moved = Vector(turn.vectors(np.array(location)).tolist())
    found = Matrix.LocRotScale(moved, turned, None)
    assert np.allclose(np.array(found), np.array(expected), atol=1e-6)  # mathutils is float32


def test_only_axes_that_change_places_have_an_euler_order() -> None:
    turn = RestRotation("Bone", to_direction(np.array([0.6, 0.8, 0.0])), 1.0)
    assert turn.axes is None
    with pytest.raises(ValueError, match="Bone"):
        turn.order("XYZ")

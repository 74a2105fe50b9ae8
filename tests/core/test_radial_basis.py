"""Distances of poses, and weights that are 1 in their pose and 0 in the others."""

from __future__ import annotations

import numpy as np
import pytest

from dq_compensation.analysis.posed_bones import swing, twist
from dq_compensation.core.dual_quaternion import rotate_vectors
from dq_compensation.core.example_poses import (
    PosesTooClose,
    RadialBasis,
    arc_distances,
    rotation_distances,
)

# Rounding of float64.
EXACT = 1e-9


def tips(rotations: np.ndarray) -> np.ndarray:
    """Shape (m, 3): where the rotations (m, 4) take a bone's own Y."""
    return rotate_vectors(rotations, np.tile([0.0, 1.0, 0.0], (len(rotations), 1)))


def test_distances_are_angles() -> None:
    directions = tips(np.array([swing(0.0, 0.0), swing(70.0, 0.4)]))
    assert arc_distances(directions[:1], directions) == pytest.approx(
        np.array([[0.0, np.radians(70.0)]]), abs=1e-7
    )
    turned = np.array([twist(50.0), [-value for value in twist(50.0)]])
    assert rotation_distances(np.array([twist(-10.0)]), turned) == pytest.approx(
        np.radians(60.0), abs=EXACT
    )


def test_a_radial_basis_is_one_in_its_pose_and_nothing_elsewhere() -> None:
    directions = tips(
        np.array([swing(0.0, 0.0), swing(60.0, 0.0), swing(60.0, 2.0), swing(100.0, 4.0)])
    )
    distances = arc_distances(directions, directions)
    weights = RadialBasis.solve(distances).weights(distances)
    # Through a matrix with a condition of some tens.
    assert weights == pytest.approx(np.eye(4)[:, 1:], abs=1e-8)


def test_two_poses_in_one_place_are_refused_by_their_places() -> None:
    poses = np.array([swing(0.0, 0.0), swing(60.0, 0.0), swing(30.0, 1.0), swing(60.2, 0.0)])
    with pytest.raises(PosesTooClose) as caught:
        RadialBasis.solve(rotation_distances(poses, poses))
    assert (caught.value.first, caught.value.second) == (1, 3)

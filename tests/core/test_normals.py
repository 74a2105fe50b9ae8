"""Normals of the methods against those of the deformed surface itself."""

from __future__ import annotations

import numpy as np
import pytest
from bodies import Cylinder
from numpy.typing import NDArray

from dq_compensation.core.deform import Deformation, Method, deform
from dq_compensation.core.pose import Pose
from dq_compensation.core.spherical_joints import joint_sets


def _surface_normals(cylinder: Cylinder, positions: NDArray[np.floating]) -> NDArray[np.floating]:
    """From central differences along and around the cylinder; end rows repeat their neighbours'."""
    grid = positions.reshape(cylinder.rows, cylinder.columns, 3)
    along = np.gradient(grid, axis=0)
    around = np.roll(grid, -1, axis=1) - np.roll(grid, 1, axis=1)
    normals = np.cross(around, along)
    return (normals / np.linalg.norm(normals, axis=2, keepdims=True)).reshape(-1, 3)


def _largest_angle(method: Method, cylinder: Cylinder, pose: Pose) -> float:
    sets = joint_sets(cylinder.influences, cylinder.skeleton)
    deformation = Deformation(method, cylinder.influences, sets=sets)
    positions, normals = deform(deformation, cylinder.positions, cylinder.normals, pose)
    assert normals is not None
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, rtol=0, atol=1e-6)
    surface = _surface_normals(cylinder, positions)
    # The inside of a bend folds into itself, where no surface normal is meant.
    cosines = np.einsum("ni,ni->n", normals, surface)[cylinder.outside()]
    return float(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).max())


def test_the_surface_normals_of_the_test_are_right_at_rest() -> None:
    cylinder = Cylinder.with_transition(0.63)
    assert _largest_angle("DUAL_QUATERNION", cylinder, Pose.rest(cylinder.skeleton)) < 1e-5


@pytest.mark.parametrize("method", ["DUAL_QUATERNION", "SPHERICAL_JOINT"])
@pytest.mark.parametrize(("angle", "bound"), [(30.0, 7.0), (90.0, 15.0)])
def test_normals_follow_the_surface_of_a_bend(method: Method, angle: float, bound: float) -> None:
    """Within the bulge's own slope, 6 and 13 degrees, which rotated normals know nothing of."""
    cylinder = Cylinder.with_transition(0.63)
    assert _largest_angle(method, cylinder, cylinder.bent(angle)) < bound


@pytest.mark.parametrize("angle", [30.0, 90.0])
def test_linear_normals_follow_the_surface_of_a_bend(angle: float) -> None:
    cylinder = Cylinder.with_transition(0.63)
    assert _largest_angle("LINEAR", cylinder, cylinder.bent(angle)) < 5.0

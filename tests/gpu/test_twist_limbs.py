"""Spread twists on the GPU against `core`, to 1e-4 of the object's size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.deform import Deformation, deform
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skin_at_rest import SkinAtRest
from dq_compensation.core.twist_limbs import TwistLimbs
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from tests.gpu.one_instance import deform_in
from tests.gpu.test_measured_compensation import TOLERANCE, UNEQUAL_SPACES


@pytest.mark.parametrize("scale", [0.0, 0.3], ids=["rigid", "scaled"])
@pytest.mark.parametrize("curve", ["MEASURED", "FITTED"])
def test_positions_equal_core(
    human: Any, make_pose: Callable[..., Pose], curve: str, scale: float
) -> None:
    matrix = UNEQUAL_SPACES
    inverse = np.linalg.inv(matrix)
    shape = (human.rest.astype(np.float64) - matrix[:3, 3]) @ inverse[:3, :3].T
    at_rest = (human.rest, human.influences, human.skeleton)
    compensation = (
        MeasuredJoints.of(SkinAtRest(*at_rest), ball_joints=True)
        if curve == "MEASURED"
        else PublishedCompensation.of(SkinAtRest(*at_rest))
    )
    limbs = TwistLimbs.of(SkinAtRest(*at_rest))
    assert len(limbs.rows) > 1000
    whole = Deformation(
        "COMPENSATED", human.influences, compensation, twist_limbs=limbs, twist_spread=0.8
    )
    deformed = DeformedMesh(GpuMesh(shape.astype(np.float32), human.influences), human.skeleton)
    pose = make_pose(human.skeleton, 2, 0.6, scale)
    results = []
    # Without compensation another kernel turns the skin; without spread none does.
    for deformation in (whole, replace(whole, factor=0.0), replace(whole, twist_spread=0.0)):
        found = deform_in(deformed, deformation, pose, matrix)
        expected, _ = deform(deformation, human.rest.astype(np.float64), None, pose)
        expected = expected @ inverse[:3, :3].T + inverse[:3, 3]
        assert np.abs(found - expected).max() / human.size <= TOLERANCE
        results.append(found)
    assert np.abs(results[0] - results[2]).max() > 0.005 * human.size

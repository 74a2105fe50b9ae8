"""Solved shapes on the GPU against `core`, to 1e-4 of the object's size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dq_compensation.core.compensation import PublishedCompensation
from dq_compensation.core.deform import METHODS, Deformation, Method, deform
from dq_compensation.core.limb_joints import SkinAtRest
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.core.pose import Pose
from dq_compensation.core.skinning import joint_sets
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.instance_poses import GivenPoses, InstanceList
from dq_compensation.viewport.kernels import wanted_layout
from tests.gpu.one_instance import deform_in
from tests.gpu.test_measured_compensation import TOLERANCE, UNEQUAL_SPACES
from tests.solved import solved_shapes

# A finger in a row, so that up to four neighbours combine; hinges and balls.
JOINTS = {"index_01_l": False, "index_02_l": True, "index_03_l": True, "calf_r": True}
SIZE = 0.02


def solved_deformation(human: Any, method: Method, combined: int = 1) -> Deformation:
    """A method with shapes, scaled by all that is painted."""
    rng, count = np.random.default_rng(1), len(human.rest)
    at_rest = SkinAtRest(human.rest.astype(np.float64), human.influences, human.skeleton)
    painted, blend, mask = rng.uniform(0.3, 1.0, (3, count))
    return Deformation(
        method,
        human.influences,
        MeasuredJoints.of(at_rest) if method == "COMPENSATED" else None,
        painted,
        0.7,
        joint_sets(human.influences, human.skeleton),
        blend,
        mask,
        solved=solved_shapes(human.skeleton, human.influences, JOINTS, SIZE, combined),
    )


@pytest.mark.parametrize("scale", [0.0, 0.3], ids=["rigid", "scaled"])
@pytest.mark.parametrize("method", METHODS)
def test_positions_equal_core(
    humans: dict[str, Any], make_pose: Callable[..., Pose], method: Method, scale: float
) -> None:
    human = humans["game_engine"]
    matrix = UNEQUAL_SPACES
    inverse = np.linalg.inv(matrix)
    shape = (human.rest.astype(np.float64) - matrix[:3, 3]) @ inverse[:3, :3].T
    deformed = DeformedMesh(GpuMesh(shape.astype(np.float32), human.influences), human.skeleton)
    whole = solved_deformation(human, method, 3)
    plain = replace(whole, blend=None, mask=None, painted=None, factor=1.0)
    for number, deformation in enumerate((whole, plain, replace(plain, factor=0.0))):
        pose = make_pose(human.skeleton, number, 0.9, scale)
        found = deform_in(deformed, deformation, pose, matrix)
        expected, _ = deform(deformation, human.rest.astype(np.float64), None, pose)
        expected = expected @ inverse[:3, :3].T + inverse[:3, 3]
        assert np.abs(found - expected).max() / human.size <= TOLERANCE
        without = deform_in(deformed, replace(deformation, solved=None), pose, matrix)
        acts = deformation.factor > 0.0 or method != "COMPENSATED"
        assert (np.abs(found - without).max() > 0.2 * SIZE) == acts


def test_each_instance_has_its_own_weights(
    humans: dict[str, Any], make_pose: Callable[..., Pose]
) -> None:
    """Also where a list chooses some of them, and factors differ."""
    human = humans["game_engine"]
    at_rest = SkinAtRest(human.rest.astype(np.float64), human.influences, human.skeleton)
    deformation = Deformation(
        "COMPENSATED",
        human.influences,
        PublishedCompensation.of(at_rest),
        solved=solved_shapes(human.skeleton, human.influences, JOINTS, SIZE),
    )
    poses = [make_pose(human.skeleton, seed, 0.9) for seed in range(3)]
    shares = np.array([(1.0, 0.0), (0.5, 0.0), (0.2, 0.0)])
    given = GivenPoses(human.skeleton, 3, wanted_layout(deformation))
    given.upload(np.concatenate([pose.matrices for pose in poses]))
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton, 3)
    for chosen in (None, InstanceList(np.array([0, 2])).part(0, 3)):
        deformed.deform(deformation, given, given.groups[0], shares=shares, chosen=chosen)
        found = deformed.read_positions()
        for pose, (factor, _), positions in zip(poses, shares.tolist(), found, strict=True):
            rest = human.rest.astype(np.float64)
            expected, _ = deform(replace(deformation, factor=factor), rest, None, pose)
            assert np.abs(positions - expected).max() / human.size <= TOLERANCE


def test_they_cost_nothing_where_there_are_none(
    humans: dict[str, Any], make_pose: Callable[..., Pose]
) -> None:
    human = humans["game_engine"]
    deformed = DeformedMesh(GpuMesh(human.rest, human.influences), human.skeleton)
    solved = solved_shapes(human.skeleton, human.influences, JOINTS, SIZE)
    none = replace(solved, blocks=())
    deformation = Deformation("LINEAR", human.influences, solved=none)
    pose = make_pose(human.skeleton, 0, 0.9)
    found = deform_in(deformed, deformation, pose)
    np.testing.assert_array_equal(
        found, deform_in(deformed, replace(deformation, solved=None), pose)
    )
    assert "shape_weights" not in deformed._posed

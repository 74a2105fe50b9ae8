"""Random skins with gaps, *Softness* and *Spread Twist* on the GPU; 1e-4 of the size, as others."""

from __future__ import annotations

import numpy as np
import pytest

from dq_compensation.core.deform import deform
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from tests.core.random_skins import RandomSkin
from tests.gpu.one_instance import deform_in

TOLERANCE = 1e-4


@pytest.mark.parametrize("seed", range(24))
def test_positions_equal_core(seed: int) -> None:
    skin = RandomSkin.apart(seed)
    mesh = GpuMesh(skin.points.astype(np.float32), skin.ours.influences)
    found = deform_in(DeformedMesh(mesh, skin.skeleton), skin.ours, skin.pose, np.eye(4))
    expected, _ = deform(skin.ours, skin.points, None, skin.pose)
    assert np.abs(found - expected).max() / np.ptp(skin.points, axis=0).max() <= TOLERANCE

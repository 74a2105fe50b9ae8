"""What a figure of a crowd is said to take on the GPU, against the textures that are made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dq_compensation.core.deform import Deformation
from dq_compensation.pipeline.crowds.crowd_roles import figure_bytes
from dq_compensation.pipeline.takes.played_takes import Instances, Playback, Playing, TakeTiming
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.kernels import wanted_layout
from tests.gpu.test_playback import deformations, make_take
from tests.gpu_memory import gpu_bytes


@pytest.mark.parametrize("method", ["LINEAR", "MEASURED", "SPHERICAL_JOINT"])
def test_a_figure_takes_what_is_told(humans: dict[str, Any], method: str) -> None:
    """No more, and no less than 15 % of it: methods keep different rows of a pose and joints."""
    human = humans["cmu_mb"]
    found = deformations(human, human.rest.astype(np.float64))
    deformation = found[method]
    few, many = (_bytes(human, deformation, count) for count in (8, 40))
    of_one = (many - few) / 32
    counts = (len(human.rest), human.topology.group_count)
    told = figure_bytes([counts], human.skeleton.row_count)
    assert 0.85 * told <= of_one <= told


def _bytes(human: Any, deformation: Deformation, count: int) -> int:
    """Of so many instances, and their poses."""
    take = make_take(human.skeleton, 1, scale=0.1)
    instances = [Playing(TakeTiming(take, phase=float(number))) for number in range(count)]
    playback = Playback([Instances.of(instances)], wanted_layout(deformation), 24.0)
    mesh = GpuMesh(human.rest, human.influences, topology=human.topology)
    crowd = DeformedMesh(mesh, human.skeleton, count)
    playback.play(1.0)
    crowd.deform(deformation, playback, playback.groups[0])
    sizes = (*gpu_bytes(crowd, without=mesh).values(), *gpu_bytes(playback).values())
    return sum(sizes)

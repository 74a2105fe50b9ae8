"""Instances that are drawn together look as the same objects drawn one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dq_compensation.core.deform import Deformation
from dq_compensation.core.pose import Pose
from dq_compensation.pipeline.takes.played_takes import Instances, Playback
from dq_compensation.viewport.deformed_mesh import DeformedMesh, GpuMesh
from dq_compensation.viewport.kernels import wanted_layout
from dq_compensation.viewport.look import (
    DrawnRun,
    SurfaceMaterial,
    ViewUniforms,
    draw_solid,
    drawing_state,
    placements_texture,
)
from tests.gpu.one_instance import deform_in
from tests.gpu.regions import pixels_of
from tests.gpu.test_playback import instances_of, make_take
from tests.gpu.test_surface import FRONT, LAMP, _orthographic
from tests.played_poses import pose_at

SIZE = 128


def _picture(draw: Any) -> np.ndarray:
    view = ViewUniforms()
    view.update(FRONT, _orthographic(1.2), (LAMP,), (0.1, 0.1, 0.1), highlights=True)

    def draw_in_state() -> None:
        with drawing_state():
            draw(view)

    return pixels_of(draw_in_state)


@pytest.mark.parametrize("slots", [1, 3])
def test_instances_look_like_single_objects(humans: dict[str, Any], slots: int) -> None:
    """Three instances, of two materials, one mirrored; then two of them without the first."""
    human = humans["cmu_mb"]
    surface = human.topology
    parts = np.arange(len(surface.triangle_material)) * slots // len(surface.triangle_material)
    surface = replace(surface, triangle_material=parts.astype(surface.triangle_material.dtype))
    mesh = GpuMesh(human.rest, human.influences, topology=surface)
    takes = [make_take(human.skeleton, seed, 0.3) for seed in (1, 2)]
    instances, linear = instances_of(*takes)[:3], Deformation("LINEAR", human.influences)
    playback = Playback([Instances.of(instances)], wanted_layout(linear), 24.0)
    playback.play(11.5)
    crowd = DeformedMesh(mesh, human.skeleton, 3)
    crowd.deform(linear, playback, playback.groups[0])
    matrices = np.tile(np.eye(4), (3, 1, 1))
    matrices[:, 0, 3] = (-0.7, 0.0, 0.7)
    matrices[1, :3, :3] = np.diag([-1.0, 0.7, 0.9])
    placements = placements_texture(matrices)
    materials = [SurfaceMaterial((0.9, 0.2, 0.1, 1.0)), SurfaceMaterial((0.1, 0.8, 0.3, 1.0), 0.5)]

    def one_by_one(view: ViewUniforms, first: int) -> None:
        for playing, matrix in list(zip(instances, matrices, strict=True))[first:]:
            alone = DeformedMesh(mesh, human.skeleton)
            pose = Pose.from_matrices(pose_at(playing, 11.5), human.skeleton)
            deform_in(alone, linear, pose)
            draw_solid(alone, view, placements_texture([matrix]), materials)

    for first in (0, 1):
        found = _picture(
            lambda view, first=first: draw_solid(
                crowd, view, placements, materials, DrawnRun(first, crowd.count - first)
            )
        )
        expected = _picture(lambda view, first=first: one_by_one(view, first))
        assert 0.05 < (expected[..., 3] > 0).mean() < 0.6
        # Float32 moves single pixels at silhouettes.
        differ = np.abs(found - expected).max(axis=2) > 0.03
        assert differ.sum() <= 0.002 * (expected[..., 3] > 0).sum()

"""Bake Crowd shows the figures where they are drawn, to within the tolerance, in every frame."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.crowd_scenes import (
    add_crowd,
    largest_distance,
    limb_with_takes,
    wanted_figures,
)

pytestmark = pytest.mark.usefixtures("addon")

# Of rounding in float32: positions, times and matrices of nodes.
ROUNDING = 2e-5


@pytest.fixture
def crowd(addon: None) -> bpy.types.Object:
    limb_with_takes()
    return add_crowd()


def set_frame(frame: float) -> None:
    bpy.context.scene.frame_set(int(np.floor(frame)), subframe=frame - np.floor(frame))


FRAMES = (-7.3, 1.0, 1.5, 4.0, 8.25, 10.9, 11.0, 12.1, 17.75, 23.0, 61.3)


@pytest.mark.parametrize("tolerance", [20.0, 4.0])
def test_figures_are_where_they_are_drawn(crowd: bpy.types.Object, tolerance: float) -> None:
    assert bpy.ops.dqc.bake_crowd(tolerance=tolerance) == {"FINISHED"}
    for frame in FRAMES:
        set_frame(frame)
        wanted = wanted_figures(crowd)
        assert len(wanted) == 9
        d = largest_distance(wanted); print("DIST", frame, d); assert d <= 0.001 * tolerance + ROUNDING

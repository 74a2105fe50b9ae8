"""The filmstrip shows the muscles that its examples are meant to make, and nothing at rest."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import gpu
import pytest

import dq_compensation
from demos.by_example import FilmFrame, check_frames, film, filmstrip, table
from human.example_shapes import BELLS, BICEPS, SHOULDER


@pytest.fixture(scope="module")
def frames() -> Iterator[list[FilmFrame]]:
    if not hasattr(gpu, "init"):
        pytest.skip("the demo runs on Blender 5.2: it poses and draws outside of a render")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    dq_compensation.register()
    try:
        yield film()
    finally:
        dq_compensation.unregister()


def test_each_muscle_swells_on_the_way_to_its_pose(frames: list[FilmFrame]) -> None:
    check_frames(frames)
    shoulder = [frame.heights[SHOULDER.name] for frame in frames]
    biceps = [frame.heights[BICEPS.name] for frame in frames]
    assert shoulder[0] < shoulder[1] < shoulder[2]
    # The elbow does not count for the shoulder's example, nor the shoulder for the elbow's.
    assert shoulder[2] == pytest.approx(shoulder[4], abs=0.1)
    assert max(biceps[:3]) < 0.01 < biceps[3] < biceps[4]
    for bell in BELLS:
        assert max(frame.heights[bell.name] for frame in frames) <= 1000.0 * bell.height + 0.01


def test_the_strip_has_a_picture_of_every_frame(frames: list[FilmFrame]) -> None:
    strip = filmstrip(frames)
    assert strip.width > 1500
    assert len(strip.getcolors(1 << 24)) > 100
    assert all(f"{frame.frame}" in table(frames) for frame in frames)

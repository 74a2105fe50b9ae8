"""The parts of the demo of crowds: motions that look right, clothes, and a picture of the bake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from demos import crowd as demo_crowd
from demos.crowd_look import CLOTHES, dress, light_and_ground, place_camera
from human.gait import IDLE_FRAMES, WALK_FRAMES, key_idle, key_walk
from tests.blender.conftest import Human
from tests.human_body import Rig

FEET = ("LeftFoot", "RightFoot")


@pytest.fixture
def human(human_with_rig: Callable[[Rig], Human]) -> Human:
    return human_with_rig("cmu_mb")


def _tails(human: Human, frame: float, bones: tuple[str, ...] = FEET) -> NDArray[np.float64]:
    """Where bones end in a frame, shape (b, 3), world space."""
    bpy.context.scene.frame_set(int(frame), subframe=frame % 1.0)
    pose = human.armature_object.pose.bones
    return np.array([pose[name].tail for name in bones])


def test_the_walk_is_a_loop_of_two_steps(human: Human) -> None:
    assert key_walk(human.armature_object) == WALK_FRAMES + 1
    np.testing.assert_allclose(_tails(human, 1), _tails(human, WALK_FRAMES + 1), atol=1e-5)
    # At a heel strike the foot is half a metre in front of the other; half a cycle later the other.
    left, right = _tails(human, 1)
    assert 0.5 < right[1] - left[1] < 0.9
    left, right = _tails(human, 1 + WALK_FRAMES // 2)
    assert 0.5 < left[1] - right[1] < 0.9
    # Arms swing against the legs.
    hands = ("LeftHand", "RightHand")
    assert _tails(human, 1, hands)[0, 1] > _tails(human, 1, hands)[1, 1]


def test_one_foot_is_on_the_ground_at_any_time(human: Human) -> None:
    ground = human.arrays.vertices[:, 2].min()
    key_walk(human.armature_object)
    for frame in np.arange(1.0, WALK_FRAMES, 2.5):
        bpy.context.scene.frame_set(int(frame), subframe=frame % 1.0)
        # The points that were held to the ground are some of the sole.
        assert abs(human.evaluated_positions()[:, 2].min() - ground) < 0.02


def test_who_stands_idle_stays_where_he_is(human: Human) -> None:
    assert key_idle(human.armature_object) == IDLE_FRAMES + 1
    places = np.array([_tails(human, frame) for frame in range(1, IDLE_FRAMES + 2, 8)])
    assert np.ptp(places, axis=0).max() < 0.05


def test_every_part_of_the_body_has_its_clothes(human: Human) -> None:
    dress(human.mesh_object)
    mesh = human.mesh_object.data
    assert [material.name for material in mesh.materials] == [cloth.name for cloth in CLOTHES]
    numbers = np.array([polygon.material_index for polygon in mesh.polygons])
    heights = np.array([polygon.center.z for polygon in mesh.polygons])
    mean = {cloth.name: heights[numbers == n].mean() for n, cloth in enumerate(CLOTHES)}
    order = sorted(mean, key=lambda name: mean[name])
    assert order == ["Shoes", "Trousers", "Shirt", "Skin", "Hair"]


@pytest.mark.usefixtures("addon")
def test_the_crowd_is_in_the_picture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(demo_crowd, "TAKES", {"Walk": key_walk})
    monkeypatch.setattr(demo_crowd, "ROLES", (("Walk", "", 1.0),))
    crowd = demo_crowd.build_crowd(count=8)
    light_and_ground()
    place_camera(np.array(crowd.matrix_world.translation))
    demo_crowd.bake(crowd, tolerance=150.0)
    demo_crowd.check_instances(8)
    with pytest.raises(demo_crowd.DemoError, match="8 of 9 figures"):
        demo_crowd.check_instances(9)
    shown = _pixels(tmp_path / "crowd.png")
    for obj in bpy.context.view_layer.objects:
        obj.hide_render = obj.hide_render or obj.parent == crowd
    # The figures are far away: 2.6 % of the pixels.
    assert (np.abs(shown - _pixels(tmp_path / "empty.png")).max(axis=1) > 0.2).mean() > 0.01


def _pixels(path: Path) -> NDArray[np.float64]:
    demo_crowd.render(path, 96, 54, 1)
    return np.array(bpy.data.images.load(str(path)).pixels[:]).reshape(-1, 4)

"""Bakes, takes and crowds of a soft character show what it shows, on the painted weights.

Distances are in parts of the object's size; 1e-4 is what all evaluators promise.
"""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.pipeline.bones.bakes_removal import remove_bones_bake
from tests.blender.command_runs import CommandLine
from tests.blender.enabled_scenes import disable, distance
from tests.blender.scene_builders import evaluated_positions
from tests.blender.softness_scenes import (
    AMOUNT,
    MOVED,
    TOLERANCE,
    Scene,
    groups_of,
    size_of,
    soft_limb,
)
from tests.limb import key_limb

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def limb() -> Scene:
    """The soft limb with keys in three frames."""
    obj, rig = soft_limb()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 5
    key_limb(rig, {1: 0.0, 3: 0.4, 5: 1.0})
    scene.frame_set(5)
    return obj, rig


def test_of_an_object_that_is_not_enabled_it_is_the_same(limb: Scene) -> None:
    obj, _ = limb
    soft = evaluated_positions(obj)
    disable(obj)
    before = groups_of(obj)
    for evaluator in ("NUMPY", "MODIFIER"):
        found = api.evaluate(obj, evaluator=evaluator)
        assert distance(found, soft, size_of(obj)) <= TOLERANCE
    assert groups_of(obj) == before
    obj.dq_compensation.as_painted = True
    assert distance(api.evaluate(obj), soft, size_of(obj)) > MOVED


def test_baked_frames_show_it_with_the_painted_weights(limb: Scene) -> None:
    obj, _ = limb
    before, soft = groups_of(obj), {}
    for frame in (1, 3, 5):
        bpy.context.scene.frame_set(frame)
        soft[frame] = evaluated_positions(obj)
    for _ in range(2):  # the second time it is not enabled
        api.bake_frames(obj, first=1, last=5)
        assert not obj.dq_compensation.enabled
        for frame, expected in soft.items():
            bpy.context.scene.frame_set(frame)
            assert distance(evaluated_positions(obj), expected, size_of(obj)) <= TOLERANCE
    assert groups_of(obj) == before


def test_baked_correctives_show_it_in_their_poses(limb: Scene) -> None:
    obj, _ = limb
    soft = evaluated_positions(obj)
    api.bake_correctives(obj, directions="ACTION")
    assert not obj.dq_compensation.enabled
    shown = evaluated_positions(obj)
    plain = _plain(obj)
    assert distance(shown, soft, size_of(obj)) < 0.25 * distance(plain, soft, size_of(obj))


def _plain(obj: bpy.types.Object) -> np.ndarray:
    """As its Armature modifier alone deforms it."""
    for block in obj.data.shape_keys.key_blocks if obj.data.shape_keys else ():
        block.mute = True
    found = evaluated_positions(obj)
    for block in obj.data.shape_keys.key_blocks if obj.data.shape_keys else ():
        block.mute = False
    return found


def test_helper_bones_fit_it_as_if_painted_in_and_so_again() -> None:
    """Linear skinning has no weights of its own to add: the fit has the same to begin with."""
    obj, _ = soft_limb()
    api.soften_weights(obj, amount=AMOUNT)
    api.bake_bones(obj)
    expected = evaluated_positions(obj)
    obj, _ = soft_limb()
    painted = groups_of(obj)
    for overwrite in (False, True):
        api.bake_bones(obj, overwrite=overwrite)
        assert not obj.dq_compensation.enabled
        assert distance(evaluated_positions(obj), expected, size_of(obj)) <= TOLERANCE
    remove_bones_bake([obj])
    assert groups_of(obj) == painted


def test_the_command_makes_it_soft(limb: Scene, command: CommandLine, tmp_path: Path) -> None:
    obj, _ = limb
    api.change_settings(obj, softness=0.8)
    assert api.settings(obj).softness == pytest.approx(0.8)
    soft = evaluated_positions(obj)
    disable(obj)
    obj.dq_compensation.softness = 0.0
    path, made = tmp_path / "limb.blend", tmp_path / "soft.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    outcome = command("enable", "--file", path, "--softness", 0.8, "--output", made)
    assert (outcome.code, outcome.errors) == (0, [])
    bpy.ops.wm.open_mainfile(filepath=str(made))
    obj = bpy.data.objects["Limb"]
    assert obj.dq_compensation.softness == pytest.approx(0.8)
    assert distance(evaluated_positions(obj), soft, size_of(obj)) <= TOLERANCE

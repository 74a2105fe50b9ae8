"""Baked keys that act on an enabled character, and keys that only look like them."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of
from dq_compensation.pipeline.correctives.baked_keys import corrective_keys, played_keys
from dq_compensation.pipeline.correctives.baked_keys_check import BAKED_KEYS
from dq_compensation.setup_check.subject import Subject
from tests.blender.enabled_scenes import check, enable, select
from tests.setup_check.plant_baked_keys import ball, hinge, played
from tests.setup_check.plant_shape_keys import add_keys

from .conftest import Human

pytestmark = pytest.mark.usefixtures("addon")


def found(human: Human) -> list[str]:
    bpy.context.view_layer.update()
    subject = Subject(human.mesh_object, bpy.context.evaluated_depsgraph_get())
    return [issue.message for issue in BAKED_KEYS.find(subject)]


@pytest.mark.parametrize(
    ("plant", "names"),
    [
        (hinge, ["Key 0"]),
        (ball, ["Key 0", "Key 1"]),
        (played, ["Frame 1", "in between", "Frame 3"]),
    ],
)
def test_acting_keys_are_named(
    human: Human, plant: Callable[[Human], None], names: list[str]
) -> None:
    plant(human)
    assert all(name in found(human)[0] for name in names)
    for block in human.mesh_object.data.shape_keys.key_blocks:
        block.mute = True
    assert found(human) == []


def test_what_a_bake_leaves_behind_is_well_until_it_is_enabled_again(human: Human) -> None:
    enable(human.mesh_object)
    bpy.ops.dqc.bake_correctives(bone_names="lowerarm01.L", angles="90", mirror=False, onto="THIS")
    keys = corrective_keys(human.mesh_object)
    assert keys
    assert found(human) == []
    enable(human.mesh_object)
    assert keys[0] in found(human)[0]


def test_the_panel_says_that_it_is_corrected_twice_until_the_keys_are_muted(human: Human) -> None:
    obj = human.mesh_object
    hinge(human)
    enable(obj)

    def said() -> list[str]:
        check()
        return [note for note in notes_of(obj) if "corrected twice" in note]

    assert "Key 0" in said()[0]
    for muted in (True, False):
        obj.data.shape_keys.key_blocks["Key 0"].mute = muted
        assert bool(said()) is not muted


def test_after_muting_it_is_what_it_was_before_the_bake(human: Human) -> None:
    enable(human.mesh_object)
    human.armature_object.pose.bones["lowerarm01.L"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    bpy.context.view_layer.update()
    before = api.evaluate(human.mesh_object)
    bpy.ops.dqc.bake_correctives(bone_names="lowerarm01.L", angles="90", mirror=False, onto="THIS")
    enable(human.mesh_object)
    bpy.context.view_layer.update()
    # The bulge of an elbow is centimetres; doubled, it is not what it was.
    assert np.abs(api.evaluate(human.mesh_object) - before).max() > 1e-3
    select(human.mesh_object)
    arguments = {"object_name": human.mesh_object.name, "check": "baked_keys", "key": "twice"}
    assert bpy.ops.dqc.fix(**arguments, fix="mute_keys") == {"FINISHED"}
    bpy.context.view_layer.update()
    # Float32 of a body of 1.7 m.
    assert np.abs(api.evaluate(human.mesh_object) - before).max() < 1e-6


def test_keys_of_somebody_else_are_not_taken_for_baked_ones(human: Human) -> None:
    """A driver by swing that was made by hand, and one that blinks."""
    keys = add_keys(human, "Own", "Blink", "Smile")
    curve = keys.key_blocks["Own"].driver_add("value")
    curve.driver.type = "SCRIPTED"
    variable = curve.driver.variables.new()
    variable.name, variable.type = "x", "TRANSFORMS"
    target = variable.targets[0]
    target.id, target.bone_target = human.armature_object, "lowerarm01.L"
    target.transform_type, target.rotation_mode = "ROT_X", "SWING_TWIST_Y"
    curve.driver.expression = "x / 1.57"
    for name, first in (("Blink", 3), ("Smile", 20)):
        for frame, value in ((first, 0.0), (first + 2, 1.0), (first + 4, 0.0)):
            keys.key_blocks[name].value = value
            keys.key_blocks[name].keyframe_insert("value", frame=frame)
    assert corrective_keys(human.mesh_object) == []
    assert not played_keys(human.mesh_object)

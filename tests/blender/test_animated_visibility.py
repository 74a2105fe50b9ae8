"""Outfit switches: a driver turns the Armature modifier on and off."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.lifecycle.enabling import problem_of
from dq_compensation.session.status import status_of
from tests.blender.enabled_scenes import check, enable, error, rest_of
from tests.blender.scene_builders import evaluated_positions
from tests.blender.test_modifiers_before import rendered
from tests.kept_files import new_file
from tests.limb import build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

TOLERANCE = 1e-4
Rendered = Callable[[], NDArray[np.float32]]
OFF, ON = 1, 11

assert rendered  # a fixture


@pytest.fixture
def limb() -> bpy.types.Object:
    """The posed limb, not enabled; a driver shows its Armature modifier in frame ON alone."""
    new_file()
    obj, rig = build_posed_limb()
    for frame, value in ((OFF, 0.0), (ON, 1.0)):
        rig["wears"] = value
        rig.keyframe_insert('["wears"]', frame=frame)
    _switch(obj, rig)
    bpy.context.scene.frame_set(ON)
    return obj


def _switch(obj: bpy.types.Object, rig: bpy.types.Object) -> None:
    for name in ("show_viewport", "show_render"):
        driver = obj.modifiers["Armature"].driver_add(name).driver
        variable = driver.variables.new()
        variable.name = "wears"
        variable.targets[0].id, variable.targets[0].data_path = rig, '["wears"]'
        driver.expression = "wears > 0.5"


def _check_both_ends(obj: bpy.types.Object, rendered: Rendered) -> None:
    """Off it is at rest, as in Blender; on it is what NumPy computes. In renders, too."""
    for _ in range(2):
        for frame in (OFF, ON):
            bpy.context.scene.frame_set(frame)
            expected = rest_of(obj) if frame == OFF else api.evaluate(obj)
            np.testing.assert_allclose(evaluated_positions(obj), expected, atol=TOLERANCE)
            np.testing.assert_allclose(rendered(), expected, atol=TOLERANCE)
    issues = {issue.key for issue in api.check(obj)}
    assert issues.isdisjoint({"twice", "turned_off"})


@pytest.mark.parametrize("method", ["COMPENSATED", "LINEAR"])
@pytest.mark.parametrize("frame", [OFF, ON])
def test_a_modifier_that_stays_on_follows_the_switch(
    limb: bpy.types.Object, rendered: Rendered, method: str, frame: int
) -> None:
    bpy.context.scene.frame_set(frame)
    limb.dq_compensation.method = method
    enable(limb)
    _check_both_ends(limb, rendered)


def test_softness_does_not_act_and_says_why(limb: bpy.types.Object, rendered: Rendered) -> None:
    enable(limb)
    painted = evaluated_positions(limb)
    limb.dq_compensation.softness = 0.5
    check()
    problem = status_of(limb).softness.problem
    assert problem is not None
    assert "turned on and off by a driver" in problem
    np.testing.assert_allclose(evaluated_positions(limb), painted, atol=TOLERANCE)
    _check_both_ends(limb, rendered)


def test_what_needs_the_modifier_off_is_refused(limb: bpy.types.Object) -> None:
    before = evaluated_positions(limb)
    limb.dq_compensation.method = "SPHERICAL_JOINT"
    with pytest.raises(api.UserError, match="turned on and off by a driver"):
        api.enable(limb)
    assert not limb.dq_compensation.enabled
    assert [each.name for each in limb.modifiers] == ["Armature"]
    np.testing.assert_array_equal(evaluated_positions(limb), before)


def test_a_switch_that_is_made_later_gives_the_object_to_the_armature_modifier() -> None:
    new_file()
    obj, rig = build_posed_limb()
    plain = evaluated_positions(obj)
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    enable(obj)
    rig["wears"] = 1.0
    _switch(obj, rig)
    check()
    assert "turned on and off by a driver" in str(problem_of(obj))
    np.testing.assert_allclose(evaluated_positions(obj), plain, atol=1e-6)
    for name in ("show_viewport", "show_render"):
        obj.modifiers["Armature"].driver_remove(name)
    check()
    assert problem_of(obj) is None
    assert error(obj) <= TOLERANCE


def test_a_switch_that_is_off_is_no_problem_to_be_fixed(limb: bpy.types.Object) -> None:
    """The button would say FIXED, and the driver would turn it off again."""
    limb.modifiers["Armature"].driver_remove("show_render")
    limb.modifiers["Armature"].show_render = True
    bpy.context.scene.frame_set(OFF)
    assert not limb.modifiers["Armature"].show_viewport
    assert "turned_off" not in {issue.key for issue in api.check(limb)}

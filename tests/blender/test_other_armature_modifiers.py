"""Armature modifiers of other tools on an enabled object: only ours is ours to set."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from tests.blender.enabled_scenes import check, disable, enable, error, ours, rest_of
from tests.kept_files import new_file
from tests.limb import build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

TOLERANCE = 1e-4


def _add_first(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The temporary modifier of a tool that applies a pose as the rest pose."""
    added = obj.modifiers.new("Temporary", "ARMATURE")
    added.object = obj.modifiers["Armature"].object
    bpy.ops.object.modifier_move_to_index(modifier=added.name, index=0)
    bpy.context.view_layer.update()
    check()
    return added


@pytest.mark.parametrize("method", ["COMPENSATED", "DUAL_QUATERNION", "SPHERICAL_JOINT"])
@pytest.mark.parametrize("softness", [0.0, 0.5])
def test_a_modifier_that_a_tool_adds_and_applies_stays_as_the_tool_has_set_it(
    method: str, softness: float
) -> None:
    """The right shape is that of the same tool on an object that was never enabled."""
    shapes = []
    for enabled in (False, True):
        new_file()
        obj, _ = build_posed_limb()
        if enabled:
            obj.dq_compensation.method = method
            enable(obj)
            obj.dq_compensation.softness = softness
            check()
        added = _add_first(obj)
        assert not added.use_deform_preserve_volume
        assert (added.show_viewport, added.show_render) == (True, True)
        said = [note for note in notes_of(obj) if "deformed more than once" in note]
        assert len(said) == enabled
        assert all("Armature and by Temporary" in note for note in said)
        bpy.ops.object.modifier_apply(modifier="Temporary")
        shapes.append(rest_of(obj))
    np.testing.assert_allclose(*shapes, atol=1e-6)
    check()
    assert not any("deformed more than once" in note for note in notes_of(obj))
    assert error(obj) <= TOLERANCE
    disable(obj)
    armature = obj.modifiers["Armature"]
    shown = armature.show_viewport, armature.show_render, armature.use_deform_preserve_volume
    assert shown == (True, True, False)


@pytest.mark.parametrize("method", ["COMPENSATED", "SPHERICAL_JOINT"])
def test_what_deforms_twice_is_the_same_in_all_evaluators(method: str) -> None:
    new_file()
    obj, _ = build_posed_limb()
    obj.dq_compensation.method = method
    enable(obj)
    _add_first(obj)
    assert error(obj) <= TOLERANCE


def test_a_modifier_takes_the_place_of_the_one_that_is_gone() -> None:
    """Rigging tools remove the Armature modifier and add one of their own."""
    new_file()
    obj, rig = build_posed_limb()
    enable(obj)
    expected = api.evaluate(obj)
    obj.modifiers.remove(obj.modifiers["Armature"])
    check()
    obj.modifiers.new("New", "ARMATURE").object = rig
    check()
    assert SkinnedObject(obj).find_modifier() == obj.modifiers["New"]
    assert obj.modifiers.find(ours(obj).name) == obj.modifiers.find("New") + 1
    np.testing.assert_allclose(api.evaluate(obj, evaluator="MODIFIER"), expected, atol=TOLERANCE)
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert not obj.modifiers["New"].use_deform_preserve_volume


def test_after_disable_the_first_modifier_counts_again() -> None:
    new_file()
    obj, _ = build_posed_limb()
    enable(obj)
    added = _add_first(obj)
    assert SkinnedObject(obj).find_modifier() == obj.modifiers["Armature"]
    disable(obj)
    assert SkinnedObject(obj).find_modifier() == added

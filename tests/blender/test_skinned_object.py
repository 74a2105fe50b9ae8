"""The view of a mesh object and its armature: who is who, as the stack has it now."""

from __future__ import annotations

import bpy
import pytest

from dq_compensation.errors import BindingError
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from tests.blender.enabled_scenes import disable, enable
from tests.blender.scene_builders import add_armature, add_grid, character


@pytest.mark.usefixtures("addon")
def test_it_names_mesh_settings_and_armature() -> None:
    obj, rig = character()
    skinned = SkinnedObject(obj)
    assert skinned.obj == obj
    assert skinned.mesh == obj.data
    assert skinned.settings == obj.dq_compensation
    assert skinned.modifier == skinned.find_modifier() == obj.modifiers["Armature"]
    assert skinned.rig == skinned.find_rig() == rig
    assert skinned.armature == rig.data


@pytest.mark.usefixtures("addon")
def test_our_modifier_is_found_as_long_as_it_is_there() -> None:
    obj, _ = character()
    skinned = SkinnedObject(obj)
    assert skinned.ours is None
    nodes = enable(obj)
    assert skinned.ours == nodes
    assert skinned.before_enable.replaced_modifier == "Armature"
    disable(obj)
    assert skinned.ours is None


@pytest.mark.usefixtures("addon")
def test_the_first_modifier_with_an_armature_counts() -> None:
    obj, rig = character()
    skinned = SkinnedObject(obj)
    obj.modifiers["Armature"].object = None
    assert skinned.find_modifier() == obj.modifiers["Armature"]
    assert skinned.find_rig() is None
    second = obj.modifiers.new("Second", "ARMATURE")
    second.object = add_armature(name="Other")
    assert skinned.modifier == second
    assert skinned.rig != rig


@pytest.mark.usefixtures("addon")
def test_without_an_armature_it_says_what_is_missing() -> None:
    obj = add_grid(name="Bare")
    skinned = SkinnedObject(obj)
    assert skinned.find_modifier() is None
    assert skinned.find_rig() is None
    with pytest.raises(BindingError, match="Bare has no Armature modifier"):
        _ = skinned.modifier
    obj.modifiers.new("Armature", "ARMATURE")
    with pytest.raises(BindingError, match="Bare has no Armature modifier with an armature"):
        _ = skinned.rig


@pytest.mark.usefixtures("addon")
def test_an_evaluated_object_has_driven_settings() -> None:
    obj, _ = character()
    driver = obj.driver_add("dq_compensation.factor").driver
    driver.expression = "0.25"
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    assert SkinnedObject(evaluated).settings.factor == pytest.approx(0.25)

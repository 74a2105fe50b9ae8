"""Helper bones beside DQ Compensation, and a mesh whose armature has lost its helpers."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

import dq_compensation
from dq_compensation import api
from dq_compensation.pipeline.bones.baked_bones_check import BAKED_BONES
from dq_compensation.pipeline.bones.helper_rig import helper_names
from dq_compensation.scene.blender.bone_editing import edited_bones
from dq_compensation.setup_check import catalogue
from dq_compensation.setup_check.issue import Issue
from dq_compensation.setup_check.subject import Subject
from tests.blender.bake_scenes import native
from tests.blender.enabled_scenes import enable, enabled_limb, select
from tests.limb import build_posed_limb


@pytest.fixture
def limb(addon: None) -> bpy.types.Object:
    """The limb, posed and baked."""
    obj, _ = build_posed_limb()
    assert bpy.ops.dqc.bake_bones(bones="ALL", budget=2) == {"FINISHED"}
    return obj


def found(obj: bpy.types.Object) -> list[Issue]:
    bpy.context.view_layer.update()
    return BAKED_BONES.find(Subject(obj, bpy.context.evaluated_depsgraph_get()))


def fix(obj: bpy.types.Object, key: str, name: str) -> None:
    select(obj)
    arguments = {"object_name": obj.name, "check": "baked_bones", "key": key, "fix": name}
    assert bpy.ops.dqc.fix(**arguments) == {"FINISHED"}


def test_a_bake_is_well_until_it_is_enabled_again(
    limb: bpy.types.Object, capfd: pytest.CaptureFixture[str]
) -> None:
    assert found(limb) == []
    enable(limb)
    assert "corrected twice" in capfd.readouterr().out
    (issue,) = found(limb)
    assert set(issue.bones) <= set(helper_names(limb.find_armature()))
    assert "Hand_helper1" in issue.message


def test_helpers_are_no_gaps_of_the_hierarchy(limb: bpy.types.Object) -> None:
    assert "bone_hierarchy" not in {issue.check for issue in api.check(limb)}


def test_after_removing_it_is_what_it_was_before_the_bake(addon: None) -> None:
    obj, armature = enabled_limb()
    before = api.evaluate(obj)
    bpy.ops.dqc.bake_bones(bones="ALL", budget=2)
    enable(obj)
    fix(obj, "twice", "remove_helpers")
    assert helper_names(armature) == []
    assert obj.dq_compensation.enabled
    # Float32 of a limb of 1.5 m.
    assert np.abs(native(obj) - before).max() < 1e-5
    assert found(obj) == []


def test_helpers_that_a_rig_has_lost_come_back(limb: bpy.types.Object) -> None:
    """As Rigify's Generate loses them, which removes all bones and bone collections."""
    armature = limb.find_armature()
    before, names = native(limb), helper_names(armature)
    with edited_bones(armature) as bones:
        for name in names:
            bones.remove(bones[name])
    assert np.abs(native(limb) - before).max() > 1e-3
    (issue,) = found(limb)
    assert issue.key == "missing"
    fix(limb, "missing", "add_helpers")
    assert sorted(helper_names(armature)) == sorted(names)
    assert np.abs(native(limb) - before).max() < 1e-6
    assert found(limb) == []


def test_helpers_are_not_made_for_bones_that_are_gone(
    limb: bpy.types.Object, capfd: pytest.CaptureFixture[str]
) -> None:
    armature = limb.find_armature()
    with edited_bones(armature) as bones:
        for name in (*(bone.name for bone in bones if "helper" in bone.name), "Hand"):
            bones.remove(bones[name])
    arguments = {"object_name": limb.name, "check": "baked_bones", "key": "missing"}
    assert bpy.ops.dqc.fix(**arguments, fix="add_helpers") == {"CANCELLED"}
    assert "has no bones Hand" in capfd.readouterr().out


@pytest.mark.usefixtures("addon")
def test_the_checks_of_bakes_stand_where_fix_all_needs_them() -> None:
    """After the shape keys, and before a binding is made anew; gone with the add-on."""
    names = [check.name for check in catalogue.CHECKS]
    place = names.index("shape_keys")
    assert names[place : place + 4] == ["shape_keys", "baked_keys", "baked_bones", "stale_binding"]
    dq_compensation.unregister()
    assert {"baked_keys", "baked_bones"}.isdisjoint(each.name for each in catalogue.CHECKS)

"""The Armature modifier that shows exporters a skin while the user's own one is off."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from bpy.types import Object

import dq_compensation
from dq_compensation import api
from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from tests.blender.enabled_scenes import (
    check,
    description,
    disable,
    enable,
    error,
    without_addon,
)
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.scene_builders import evaluated_positions
from tests.kept_files import new_file
from tests.limb import build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

SKIN = "DQ Compensation: Skin"
TOLERANCE = 1e-4
# An Armature modifier takes vertices to the armature's space and back: the rounding of float32.
ROUNDING = 1e-6


@pytest.fixture
def limb() -> tuple[Object, Object]:
    new_file()
    obj, rig = build_posed_limb()
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    return obj, rig


def skins(obj: Object) -> list[str]:
    return [each.name for each in obj.modifiers if each.name.startswith(SKIN)]


def test_it_is_there_while_the_armature_modifier_is_off(limb: tuple[Object, Object]) -> None:
    obj, rig = limb
    before = description(obj)
    ours = enable(obj).name
    stack = [each.name for each in obj.modifiers]
    assert stack == ["Armature", ours, SKIN]
    assert obj.modifiers[SKIN].object == rig
    assert SkinnedObject(obj).find_modifier() == obj.modifiers["Armature"]
    obj.dq_compensation.method = "COMPENSATED"
    check()
    assert not skins(obj)
    obj.dq_compensation.softness = 0.5
    check()
    assert skins(obj) == [SKIN]
    disable(obj)
    obj.dq_compensation.softness = 0.0
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    assert description(obj) == before


def test_it_moves_nothing_and_nobody_speaks_of_it(limb: tuple[Object, Object]) -> None:
    obj, _ = limb
    enable(obj)
    assert error(obj) <= TOLERANCE
    shown = evaluated_positions(obj)
    assert not notes_of(obj)
    assert not any("Skin" in each.message for each in api.check(obj))
    dq_compensation.unregister()  # it would be shown again
    obj.modifiers[SKIN].show_viewport = False
    without = evaluated_positions(obj)
    dq_compensation.register()
    assert np.abs(without - shown).max() <= ROUNDING


@pytest.mark.parametrize(
    "setting", ["use_vertex_groups", "use_bone_envelopes", "removed", "copied", "renamed"]
)
def test_what_is_changed_by_hand_is_as_it_was(limb: tuple[Object, Object], setting: str) -> None:
    obj, _ = limb
    enable(obj)
    if setting == "removed":
        obj.modifiers.remove(obj.modifiers[SKIN])
    elif setting == "copied":
        bpy.context.view_layer.objects.active = obj
        bpy.ops.object.modifier_copy(modifier=SKIN)
    elif setting == "renamed":
        obj.modifiers[SKIN].name = f"{SKIN}.001"
    else:
        setattr(obj.modifiers[SKIN], setting, True)
    bpy.context.view_layer.update()
    check()
    # Names are the user's.
    assert skins(obj) == [f"{SKIN}.001" if setting == "renamed" else SKIN]
    assert error(obj) <= TOLERANCE
    disable(obj)
    assert not skins(obj)


def test_it_follows_another_armature(limb: tuple[Object, Object]) -> None:
    obj, rig = limb
    enable(obj)
    other = rig.copy()
    bpy.context.scene.collection.objects.link(other)
    obj.modifiers["Armature"].object = other
    check()
    assert obj.modifiers[SKIN].object == other
    obj.modifiers.remove(obj.modifiers["Armature"])
    check()
    assert not skins(obj)


def test_without_the_addon_it_moves_nothing(limb: tuple[Object, Object], tmp_path: Path) -> None:
    obj, _ = limb
    enable(obj)
    shown = evaluated_positions(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "limb.blend"))
    found = np.array(without_addon(tmp_path / "limb.blend", "shown('Limb')"))
    assert np.abs(found - shown).max() <= ROUNDING


def test_a_linked_character_of_before_goes_on_without(
    limb: tuple[Object, Object], tmp_path: Path
) -> None:
    obj, rig = limb
    collected("Character", obj, rig)
    enable(obj)
    shown = evaluated_positions(obj)
    obj.modifiers.remove(obj.modifiers[SKIN])
    bpy.data.libraries.write(str(tmp_path / "limb.blend"), {bpy.data.collections["Character"]})
    new_file()
    obj, _ = overridden(load_collection(tmp_path / "limb.blend", "Character"))
    check()
    assert problem_of(obj) is None
    assert not skins(obj)
    assert np.abs(evaluated_positions(obj) - shown).max() <= ROUNDING


def test_a_bake_leaves_none(limb: tuple[Object, Object]) -> None:
    obj, _ = limb
    enable(obj)
    api.bake_bones(obj)
    assert not [name for each in bpy.data.objects if each.visible_get() for name in skins(each)]


def test_pinned_modifiers_stay_last_and_it_stands_behind_ours(limb: tuple[Object, Object]) -> None:
    obj, _ = limb
    obj.modifiers.new("Triangulate", "TRIANGULATE")
    obj.modifiers.new("Smooth", "SMOOTH").use_pin_to_last = True
    ours = enable(obj).name
    stack = [each.name for each in obj.modifiers]
    assert stack == ["Armature", ours, SKIN, "Triangulate", "Smooth"]

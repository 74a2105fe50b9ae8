"""Copy Settings to Selected, presets of settings, and the entries in Blender's menus."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation.scene.blender.rigging import rig_of
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.ui import operators
from dq_compensation.ui.looks import copy_groups
from tests.blender.enabled_scenes import enabled_limb, select
from tests.blender.scene_builders import evaluated_positions

pytestmark = pytest.mark.usefixtures("addon")

# The softness and the spread of twists of the presets that come with the add-on.
SHIPPED = {
    "As Painted": (0.0, 0.0),
    "Soft": (0.5, 0.0),
    "Soft with Twist": (0.5, 1.0),
    "Solved": (0.5, 1.0),
}


def two_limbs() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Two limbs in the same pose: the first is selected last and has settings of its own."""
    limbs = []
    for name in ("First", "Second"):
        obj, _ = enabled_limb(name)
        limbs.append(obj)
    settings = settings_of(limbs[0])
    settings.method, settings.factor, settings.curve = "COMPENSATED", 0.25, "FITTED"
    select(limbs[1], limbs[0])
    bpy.context.view_layer.objects.active = limbs[0]
    return limbs[0], limbs[1]


def test_copied_settings_deform_the_other_character_alike() -> None:
    first, second = two_limbs()
    assert np.abs(evaluated_positions(first) - evaluated_positions(second)).max() > 1e-3
    assert bpy.ops.dqc.settings_copy() == {"FINISHED"}
    # The same tree on equal meshes in equal poses: only float32's last digits may differ.
    assert np.abs(evaluated_positions(first) - evaluated_positions(second)).max() < 1e-6
    assert settings_of(second).curve == "FITTED"
    assert settings_of(second).enabled


def test_a_group_that_the_other_character_does_not_have_is_named_and_left() -> None:
    first, second = two_limbs()
    for obj, group in ((first, "Elbow"), (second, "Mine")):
        obj.vertex_groups.new(name=group)
        settings_of(obj).vertex_group = group
    assert copy_groups(first, second) == [f"{second.name} has no vertex group Elbow."]
    assert settings_of(second).vertex_group == "Mine"


def test_one_character_alone_cannot_be_copied() -> None:
    first, _ = two_limbs()
    select(first)
    assert not bpy.ops.dqc.settings_copy.poll()


def test_a_preset_gives_the_settings_to_another_character(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def user_resource(_kind: str, *, path: str = "", create: bool = False) -> str:
        (tmp_path / path).mkdir(parents=True, exist_ok=create)
        return str(tmp_path / path)

    monkeypatch.setattr(bpy.utils, "user_resource", user_resource)
    first, second = two_limbs()
    bpy.ops.dqc.preset_add(name="Quarter")
    written = tmp_path / "presets" / "dq_compensation" / "Quarter.py"
    assert written.exists()
    select(second)
    assert bpy.ops.dqc.preset_apply(filepath=str(written)) == {"FINISHED"}
    assert settings_of(second).factor == pytest.approx(0.25)
    assert np.abs(evaluated_positions(first) - evaluated_positions(second)).max() < 1e-6


def test_nothing_selected_gives_no_preset() -> None:
    select()
    assert not bpy.ops.dqc.preset_add.poll()


def test_presets_that_come_along_act_in_pose_mode_on_all_that_follow_the_armature() -> None:
    first, second = two_limbs()
    folders = bpy.utils.preset_paths("dq_compensation")
    found = (path for folder in folders for path in Path(folder).glob("*.py"))
    present = sorted(found, key=lambda path: path.stem)
    assert [path.stem for path in present] == sorted(SHIPPED)
    armature = rig_of(first)
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    for path in present:
        assert bpy.ops.dqc.preset_apply(filepath=str(path)) == {"FINISHED"}
        given = settings_of(first).softness, settings_of(first).twist_spread
        assert given == pytest.approx(SHIPPED[path.stem])
        assert settings_of(first).method == "COMPENSATED"
        assert settings_of(armature).softness == settings_of(first).softness
    assert settings_of(second).softness == 0.0


def test_menus_have_the_entries_once() -> None:
    for menu in (bpy.types.VIEW3D_MT_object, bpy.types.VIEW3D_MT_pose):
        functions = menu.draw._draw_funcs
        assert functions.count(operators._draw_menu) == 1

"""Before the add-on goes: all of a file disabled, the modifier's name, the end of Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.scene.blender.own_objects import is_hidden
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from tests.blender.enabled_scenes import disable, enable, hidden_armature_modifier, select
from tests.blender.libraries import collected, load_collection, load_objects, overridden
from tests.blender.scene_builders import character, evaluated_positions, pose_at_random
from tests.kept_files import new_file
from tests.limb import build_posed_limb

ADDS, ALONE = "DQ Compensation", "DQ Compensation (if removed, turn on the Armature modifier)"


@pytest.mark.usefixtures("addon")
def test_one_press_disables_all_scenes_and_one_undo_enables_them() -> None:
    limb, _ = build_posed_limb("Limb")
    plain = evaluated_positions(limb)
    limb.dq_compensation.softness = 0.5
    enable(limb)
    other, _ = build_posed_limb("Other")
    other.dq_compensation.method = "SPHERICAL_JOINT"
    enable(other)
    copy = other.copy()
    copy.dq_compensation.is_enabled = False
    elsewhere = bpy.data.scenes.new("Elsewhere")
    elsewhere.collection.objects.link(copy)
    bpy.context.scene.collection.objects.unlink(other)
    elsewhere.collection.objects.link(other)
    names = [obj.name for obj in (limb, other, copy)]
    soft = evaluated_positions(limb)
    assert np.abs(soft - plain).max() > 1e-3
    select()
    bpy.ops.ed.undo_push(message="Before")
    assert bpy.ops.dqc.disable_all("EXEC_DEFAULT", True) == {"FINISHED"}
    assert not any(map(is_hidden, bpy.data.objects))
    for name in names:
        obj = bpy.data.objects[name]
        assert not obj.dq_compensation.enabled
        assert [each.name for each in obj.modifiers] == ["Armature"]
        assert obj.modifiers["Armature"].show_viewport
    # The same modifier with the same weights.
    np.testing.assert_array_equal(evaluated_positions(bpy.data.objects["Limb"]), plain)
    assert not bpy.ops.dqc.disable_all.poll()
    bpy.ops.ed.undo()
    assert [bpy.data.objects[name].dq_compensation.enabled for name in names] == [True, True, False]
    # The same tree with the same palette.
    np.testing.assert_allclose(evaluated_positions(bpy.data.objects["Limb"]), soft, atol=1e-6)


@pytest.mark.usefixtures("addon")
def test_what_belongs_to_another_file_is_named(tmp_path: Path) -> None:
    obj, rig = character()
    enable(obj)
    name = obj.name
    collected("Character", obj, rig)
    path = tmp_path / "character.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    new_file()
    linked = load_objects(path, name)[0].name_full
    assert not bpy.ops.dqc.disable_all.poll()
    body, rig = overridden(load_collection(path, "Character"))
    local, _ = build_posed_limb("Limb")
    enable(local)
    pose_at_random(rig, seed=3)
    assert sorted(api.disable_all()) == sorted([linked, body.name_full])
    assert not body.dq_compensation.enabled
    assert not local.dq_compensation.enabled
    # It cannot be removed here.
    ours = SkinnedObject(body).ours
    assert ours is not None
    assert not ours.show_viewport
    assert not ours.show_render
    assert SkinnedObject(local).ours is None


@pytest.mark.usefixtures("addon")
def test_the_name_says_that_the_armature_modifier_is_off() -> None:
    obj, _ = build_posed_limb("Limb")
    nodes, settings = enable(obj), obj.dq_compensation
    nodes.driver_add("show_render").driver.expression = "True"
    for method, softness in (
        ("COMPENSATED", 0.0),
        ("COMPENSATED", 0.5),
        ("SPHERICAL_JOINT", 0.0),
        ("LINEAR", 0.0),
    ):
        settings.method, settings.softness = method, softness
        assert nodes.name == (ALONE if hidden_armature_modifier(obj) else ADDS)
        # Drivers of the modifier go along.
        assert all(each.is_valid for each in obj.animation_data.drivers)
    nodes.name = "Mine"
    settings.method = "SPHERICAL_JOINT"
    assert nodes.name == "Mine"
    disable(obj)
    assert [each.name for each in obj.modifiers] == ["Armature"]


@pytest.mark.parametrize("also", ["", "dq_compensation.unregister()"])
def test_python_ends_with_its_exit_code(also: str) -> None:
    """Bpy 4.2 crashed while it was freed after Python, bpy 4.5 waited forever."""
    script = "\n".join(
        (
            "import sys, bpy, dq_compensation",
            "dq_compensation.register()",
            "bpy.ops.mesh.primitive_cube_add()",
            also,
            "sys.exit(7)",
        )
    )
    # It takes 2 s.
    end = subprocess.run([sys.executable, "-c", script], check=False, timeout=60)
    assert end.returncode == 7

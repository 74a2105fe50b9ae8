"""The palette neither keeps an armature alive nor shows up where a file is appended."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from dq_compensation.lifecycle.enabling import notes_of, problem_of
from dq_compensation.lifecycle.reconcile import compare_with_file
from dq_compensation.modifier.palette_object import find_palette
from dq_compensation.scene.blender.own_objects import is_palette
from dq_compensation.scene.selected_characters import target_meshes
from tests.blender.enabled_scenes import check, enable, error, select
from tests.kept_files import Pair
from tests.limb import build_limb
from tests.replaced_functions import count_calls

# Parts of the size, between the nodes' float32 and NumPy's float64.
TOLERANCE = 1e-4


def test_a_deleted_armature_is_gone_and_the_panel_says_so(posed_limb: Pair) -> None:
    obj, armature = posed_limb
    select(armature)
    bpy.ops.object.delete()
    assert "Limb Rig" not in bpy.data.objects
    check()
    assert "has no armature" in str(problem_of(obj))
    assert not any(map(is_palette, bpy.data.objects))


def test_an_armature_in_no_collection_is_named(posed_limb: Pair) -> None:
    obj, armature = posed_limb
    bpy.context.scene.collection.objects.unlink(armature)
    check()
    assert any("Limb Rig is in no collection" in note for note in notes_of(obj))


def test_a_deleted_mesh_leaves_the_armature_without_users_of_ours(posed_limb: Pair) -> None:
    obj, armature = posed_limb
    select(obj)
    bpy.ops.object.delete()
    assert armature.users == len(armature.users_collection)


@pytest.mark.parametrize(("kind", "name"), [("Object", "Limb"), ("Scene", "Scene")])
def test_an_appended_palette_stays_out_of_sight(
    posed_limb: Pair, tmp_path: Path, kind: str, name: str
) -> None:
    path = str(tmp_path / "limb.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.append(directory=f"{path}/{kind}/", filename=name)
    obj = bpy.data.objects["Limb"]
    palette = find_palette(bpy.data.objects["Limb Rig"])
    assert palette is not None
    # Objects of the appended scene are linked to this one: see APART in scripts/run_tests.py.
    current, objects = bpy.context.scene.collection.objects, obj.users_scene[0].collection.objects
    for each in set(objects) - set(current):
        current.link(each)
    check()
    assert not palette.users_collection
    bpy.context.view_layer.objects.active = obj
    assert target_meshes(bpy.context) == [obj]
    assert error(obj) < TOLERANCE


def test_an_edit_of_an_armature_looks_at_its_own_meshes_alone(
    posed_limb: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    obj, armature = posed_limb
    other, _ = build_limb("Other")
    enable(other)
    check()
    calls = count_calls(monkeypatch, compare_with_file)
    armature.data.bones["Hand"].use_deform = False
    bpy.context.view_layer.update()
    assert {skinned.obj for skinned, *_ in calls.arguments} == {obj}

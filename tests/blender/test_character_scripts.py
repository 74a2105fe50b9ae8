"""Scripts and the command line: an armature means all its meshes, a mesh means itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.lifecycle.following import flush
from tests.blender.command_runs import CommandLine
from tests.blender.enabled_scenes import check, description, select
from tests.blender.scene_builders import add_armature, link, linked_copy
from tests.kept_files import new_file
from tests.limb import build_limb, build_posed_limb
from tests.replaced_functions import count_calls

Object = bpy.types.Object


@pytest.fixture
def character(addon: None) -> tuple[Object, Object, Object]:
    """An armature with two meshes, *Limb* and *Sleeve*, posed; not enabled."""
    limb, rig = build_posed_limb()
    sleeve = linked_copy(limb, own_data=True)
    sleeve.name = "Sleeve"
    bpy.context.view_layer.update()
    return rig, limb, sleeve


def test_an_armature_means_all_its_meshes(character: tuple[Object, Object, Object]) -> None:
    rig, limb, sleeve = character
    api.enable(rig, factor=0.5)
    assert [each.factor for each in api.settings(rig)] == [0.5, 0.5]
    assert api.settings(rig) == [api.settings(limb), api.settings(sleeve)]
    api.change_settings(rig, curve="SMOOTH")
    assert [each.curve for each in api.settings(rig)] == ["SMOOTH", "SMOOTH"]
    assert np.array_equal(api.evaluate(rig), [api.evaluate(limb), api.evaluate(sleeve)])
    assert len(api.evaluate_frames(rig, [1, 2])) == 2
    assert [len(list(each)) for each in api.iterate_frames(rig, [1, 2])] == [2, 2]
    of_meshes = [issue.key for obj in (limb, sleeve) for issue in api.check(obj)]
    assert {issue.key for issue in api.check(rig)} == set(of_meshes)
    assert [each.object_name for each in api.soften_weights(rig)] == ["Limb", "Sleeve"]
    api.restore_weights(rig)
    api.disable(rig)
    assert not any(each.enabled for each in api.settings(rig))


def test_reports_and_bakes_of_an_armature_are_lists(
    character: tuple[Object, Object, Object],
) -> None:
    rig, limb, _sleeve = character
    said: list[float] = []
    reports = api.report(rig, progress=lambda share, _doing: said.append(share))
    assert [each.object_name for each in reports] == ["Limb", "Sleeve"]
    assert said == sorted(said)
    assert said[-1] == 1.0
    assert [each.object_name for each in api.bake_pose(rig, name="All")] == ["Limb", "Sleeve"]
    assert api.bake_pose(limb, name="One").object_name == "Limb"
    assert [each.object_name for each in api.bake_frames(rig, 1, 2)] == ["Limb", "Sleeve"]


def test_fixes_go_to_the_mesh_that_has_the_issue(
    character: tuple[Object, Object, Object],
) -> None:
    rig, _limb, sleeve = character
    sleeve.vertex_groups["Hand"].add(range(800), 0.0, "REPLACE")
    sleeve.vertex_groups["Upper"].remove([0])
    sleeve.vertex_groups["Lower"].remove([0])
    sleeve.vertex_groups["Hand"].remove([0])
    key = next(each.key for each in api.check(sleeve) if each.check == "unweighted_vertices")
    found = api.fix(rig, "unweighted_vertices", key=key, agree=True)
    assert [len(each) for each in found] == [0, 1]
    assert found[1][0].state == "FIXED"
    with pytest.raises(api.UserError, match="There is no issue x"):
        api.fix(rig, key="x")


@pytest.mark.parametrize("call", [api.settings, api.check, api.enable, api.evaluate])
def test_what_is_no_character_is_refused(addon: None, call: Callable[[Object], object]) -> None:
    with pytest.raises(api.BindingError, match="Lamp is not a mesh"):
        call(link(bpy.data.objects.new("Lamp", None)))
    with pytest.raises(api.BindingError, match="Rig deforms no mesh"):
        call(add_armature(name="Rig"))


def test_an_evaluated_armature_is_taken_for_its_original(
    character: tuple[Object, Object, Object],
) -> None:
    rig, limb, _sleeve = character
    evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    api.enable(evaluated)
    assert limb.dq_compensation.enabled


def test_blender_evaluates_a_character_as_often_as_one_mesh(
    character: tuple[Object, Object, Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    rig, limb, _sleeve = character
    for _ in range(4):
        linked_copy(limb, own_data=True)
    bpy.context.view_layer.update()
    calls = count_calls(monkeypatch, flush)
    evaluated = []
    for objects in (limb, rig):
        api.enable(objects, twist_spread=1.0)
        evaluated.append(sum(bool(changed) for (changed,) in calls.arguments))
        api.disable(rig)
        calls.clear()
    # Once more where all meshes are there, and their limbs are found on the skin of both.
    assert evaluated[1] <= evaluated[0] + 1


@pytest.mark.parametrize("failing", ["Limb", "Sleeve"])
def test_where_one_mesh_fails_all_are_as_before_and_the_error_names_it(
    character: tuple[Object, Object, Object], failing: str
) -> None:
    rig, *meshes = character
    weights = bpy.data.objects[failing].vertex_groups
    names = weights.keys()
    weights.clear()
    before = [description(obj) for obj in meshes]
    settings = api.settings(rig)
    with pytest.raises(api.BindingError, match=failing):
        api.enable(rig, softness=0.5, curve="SMOOTH")
    assert [description(obj) for obj in meshes] == before
    assert api.settings(rig) == settings
    assert not rig.dq_compensation.own
    assert rig.dq_compensation.curve != "SMOOTH"
    for name in names:
        weights.new(name=name)
    api.enable(rig)
    assert [each.enabled for each in api.settings(rig)] == [True, True]


def test_a_failing_enable_leaves_a_copied_modifier_where_it_is(
    character: tuple[Object, Object, Object],
) -> None:
    rig, first, second = character
    api.enable(first)
    select(second, first)
    bpy.context.view_layer.objects.active = first
    bpy.ops.object.make_links_data(type="MODIFIERS")
    check()
    stack = second.modifiers.keys()
    assert len(stack) > 1
    bad, _ = build_posed_limb("Bad")
    bad.modifiers["Armature"].object = rig
    bad.vertex_groups.clear()
    with pytest.raises(api.BindingError, match="Bad"):
        api.enable([bad, second])
    assert second.modifiers.keys() == stack


def test_the_command_line_takes_the_name_of_an_armature(
    command: CommandLine, character: tuple[Object, Object, Object], tmp_path: Path
) -> None:
    build_posed_limb("Other")
    path, saved = tmp_path / "two.blend", tmp_path / "saved.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    done = command("enable", "--file", path, "--object", "Limb Rig", "--output", saved, "--json")
    assert done.code == 0
    names = [each["name"] for each in done.document["files"][0]["objects"]]
    assert names == ["Limb", "Sleeve"]
    bpy.ops.wm.open_mainfile(filepath=str(saved))
    assert [obj.name for obj in api.skinned_meshes() if api.settings(obj).enabled] == names


def test_enabling_an_enabled_mesh_again_changes_what_is_named(addon: None) -> None:
    new_file()
    mesh, rig = build_limb()
    api.enable(mesh)
    api.enable(mesh, method="SPHERICAL_JOINT")
    assert api.settings(mesh).method == "SPHERICAL_JOINT"
    api.enable(rig, method="COMPENSATED", softness=0.5)
    assert (api.settings(mesh).method, api.settings(mesh).softness) == ("COMPENSATED", 0.5)

"""Clothes that follow other bones than the skin below them are found; others are not."""

from __future__ import annotations

from typing import Any

import bpy
import pytest

from dq_compensation import api
from dq_compensation.analysis.surface import seams
from dq_compensation.scene.blender import triangle_trees
from dq_compensation.scene.blender.triangle_trees import tree_of
from dq_compensation.setup_check.catalogue import issues_of_character
from dq_compensation.setup_check.checks.clothes_weights import CHECK
from dq_compensation.setup_check.issue import Issue
from dq_compensation.setup_check.subject import Subject
from human.dressed import SHIRT, add_mesh, garment
from human.loose_clothes import loose_clothes
from human.model import load_human_arrays
from tests.blender.conftest import Human
from tests.kept_files import Pair, new_file_with_human
from tests.replaced_functions import count_calls
from tests.setup_check.plant_clothes_weights import add_skin, other_legs

pytestmark = pytest.mark.usefixtures("addon")


def found(obj: bpy.types.Object) -> list[Issue]:
    bpy.context.view_layer.update()
    return CHECK.find(Subject(obj, bpy.context.evaluated_depsgraph_get()))


@pytest.fixture
def dressed(addon: None) -> tuple[Pair, bpy.types.Object]:
    """The human and a shirt of its own skin, pushed out by 4 mm."""
    pair = new_file_with_human("game_engine")
    arrays = load_human_arrays("game_engine")
    return pair, add_mesh("Shirt", garment(arrays, SHIRT, 0.004, 0.4), pair[1])


def test_a_suit_over_skin_is_fine(human: Human) -> None:
    skin = add_skin(human)
    assert found(human.mesh_object) == []
    assert found(skin) == []


def test_legs_of_the_other_side_are_found_and_mended(human: Human) -> None:
    other_legs(human)
    (issue,) = found(human.mesh_object)
    assert issue.severity == "WARNING"
    assert 1000 < len(issue.vertices) < 2500
    assert "share less than half of their weights" in issue.message
    (fix,) = issue.fixes
    assert fix.question
    obj = human.mesh_object
    said = CHECK.fix(
        "weights_from_body", Subject(obj, bpy.context.evaluated_depsgraph_get()), issue
    )
    assert "took the weights of Skin" in said
    assert found(obj) == []
    # The skin inside is no clothes.
    assert found(bpy.data.objects["Skin"]) == []


def test_a_dressed_human_has_nothing_to_find(dressed: tuple[Pair, bpy.types.Object]) -> None:
    (body, armature), shirt = dressed
    assert found(shirt) == []
    assert found(body) == []
    skirt = loose_clothes("skirt", rows=16, columns=32).add("Skirt")
    api.weights_from_body(skirt)
    assert skirt.parent == armature
    assert found(skirt) == []


@pytest.mark.parametrize("kind", ["armour", "own bones"])
def test_what_is_meant_to_move_by_itself_is_left_alone(
    dressed: tuple[Pair, bpy.types.Object], kind: str
) -> None:
    """Rigid pieces, and clothes on bones that move no skin."""
    (_, armature), shirt = dressed
    every = list(range(len(shirt.data.vertices)))
    shirt.vertex_groups.clear()
    name = "thigh_l"
    if kind == "own bones":
        bpy.context.view_layer.objects.active = armature
        bpy.ops.object.mode_set(mode="EDIT")
        bone: Any = armature.data.edit_bones.new("Cloth")
        bone.head, bone.tail = (0.0, 0.0, 0.0), (0.0, 0.0, 0.1)
        bpy.ops.object.mode_set(mode="OBJECT")
        name = "Cloth"
        shirt.vertex_groups.new(name="thigh_l").add(every[::2], 0.2, "REPLACE")
    shirt.vertex_groups.new(name=name).add(every, 0.8, "REPLACE")
    assert found(shirt) == []


def test_the_wrong_bone_on_all_of_a_shirt_is_found(
    dressed: tuple[Pair, bpy.types.Object],
) -> None:
    _, shirt = dressed
    every = list(range(len(shirt.data.vertices)))
    shirt.vertex_groups.clear()
    shirt.vertex_groups.new(name="thigh_l").add(every, 0.8, "REPLACE")
    shirt.vertex_groups.new(name="thigh_r").add(every[::2], 0.2, "REPLACE")
    (issue,) = found(shirt)
    assert len(issue.vertices) > 0.5 * len(every)


def test_the_work_for_nested_clothes_grows_with_their_number(
    dressed: tuple[Pair, bpy.types.Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each triangle is in one search tree, and each two meshes are compared once for seams."""
    (_, armature), shirt = dressed
    arrays = load_human_arrays("game_engine")
    for layer in range(3):
        cloth = garment(arrays, SHIRT, 0.001 * layer, 0.3)
        add_mesh(f"Layer {layer}", cloth, armature)
    every = [obj for obj in bpy.data.objects if obj.type == "MESH"]
    rows = list(range(len(shirt.data.vertices)))
    shirt.vertex_groups.clear()
    shirt.vertex_groups.new(name="thigh_l").add(rows, 0.8, "REPLACE")
    shirt.vertex_groups.new(name="thigh_r").add(rows[::2], 0.2, "REPLACE")
    bpy.context.view_layer.update()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    alone = {obj.name: issues_of_character([obj], depsgraph)[obj] for obj in every}
    work = count_calls(monkeypatch, tree_of, within=triangle_trees)
    seams_work = count_calls(monkeypatch, seams._pairs, seams._beside, within=seams)
    together = issues_of_character(every, depsgraph)
    triangles = 0
    for obj in every:
        obj.data.calc_loop_triangles()
        triangles += len(obj.data.loop_triangles)
    assert sum(len(each[1]) for each in work.arguments) == triangles
    assert seams_work == {"_pairs": 1, "_beside": len(every) * (len(every) - 1) // 2}
    assert {obj.name: [each.message for each in found] for obj, found in together.items()} == {
        name: [each.message for each in found] for name, found in alone.items()
    }
    assert any(each.check == "clothes_weights" for each in together[shirt])

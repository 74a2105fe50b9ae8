"""Which characters the selection leads to, for the operators and for the panel."""

from __future__ import annotations

import bpy
import pytest

from dq_compensation.scene.selected_characters import (
    NOTHING_SELECTED,
    deformed_meshes,
    meshes_of_characters,
    target_meshes,
)
from dq_compensation.ui.panels import shown_characters
from tests.blender.enabled_scenes import select
from tests.blender.scene_builders import add_armature, add_grid, link, skin

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def objects(addon: None) -> dict[str, bpy.types.Object]:
    """Empties above a rig with two meshes, as importers make them; a prop; another character."""
    made = {name: link(bpy.data.objects.new(name, None)) for name in ("Empty", "Upper Empty")}
    made |= {"Rig": add_armature(name="Rig"), "Other Rig": add_armature(name="Other Rig")}
    made |= {name: add_grid(name=name) for name in ("Body", "Shoes", "Other", "Prop")}
    made["Lamp"] = link(bpy.data.objects.new("Lamp", bpy.data.lights.new("Lamp", "POINT")))
    for mesh, rig in (("Body", "Rig"), ("Shoes", "Rig"), ("Other", "Other Rig")):
        skin(made[mesh], made[rig])
    made["Empty"].parent = made["Upper Empty"]
    made["Rig"].parent = made["Empty"]
    made["Body"].parent = made["Rig"]
    # A mesh without a modifier can be a parent, too.
    made["Shoes"].parent = made["Prop"]
    # A weapon's rig in a character's hand does not belong to the character.
    made["Other Rig"].parent = made["Rig"]
    bpy.context.view_layer.update()
    return made


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        ("Body", "Body"),
        ("Rig", "Body Shoes"),
        ("Empty", "Body Other Shoes"),
        ("Upper Empty", "Body Other Shoes"),
        ("Prop", "Shoes"),
        ("Lamp", ""),
        ("Empty,Upper Empty,Rig,Body", "Body Other Shoes"),
        ("Body,Other", "Body Other"),
        ("Other,Rig", "Other Body Shoes"),
    ],
)
def test_the_selection_leads_to_characters(
    objects: dict[str, bpy.types.Object], selected: str, expected: str
) -> None:
    select(*(objects[name] for name in selected.split(",")))
    found = [obj.name for obj in target_meshes(bpy.context)]
    assert found == expected.split()


def test_enable_and_the_panel_agree_where_an_empty_is_active(
    objects: dict[str, bpy.types.Object],
) -> None:
    """As after a glTF import: all is selected, and the Empty above it is active."""
    select(objects["Empty"], objects["Rig"], objects["Body"])
    characters, text = shown_characters(bpy.context)
    shown = [mesh for character in characters for mesh in character.meshes]
    assert {obj.name for obj in shown} == {"Body", "Shoes", "Other"}
    assert not text
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert all(obj.dq_compensation.enabled for obj in shown)
    assert not objects["Prop"].dq_compensation.enabled


@pytest.mark.parametrize("selected", ["Shoes", "Rig", "Shoes,Body,Rig"])
def test_the_panel_shows_a_character_once(
    objects: dict[str, bpy.types.Object], selected: str
) -> None:
    select(*(objects[name] for name in selected.split(",")))
    (character,), text = shown_characters(bpy.context)
    assert (character.name, [mesh.name for mesh in character.meshes]) == ("Rig", ["Body", "Shoes"])
    assert not text
    assert meshes_of_characters(bpy.context)[0].name == selected.split(",", maxsplit=1)[0].replace(
        "Rig", "Body"
    )


def test_two_characters_are_shown_the_active_one_first(
    objects: dict[str, bpy.types.Object],
) -> None:
    select(objects["Other"], objects["Body"])
    found = [character.name for character in shown_characters(bpy.context)[0]]
    assert found == ["Other Rig", "Rig"]


def test_the_active_object_counts_where_the_selection_leads_to_nothing(
    objects: dict[str, bpy.types.Object],
) -> None:
    select(objects["Rig"])
    objects["Rig"].select_set(False)
    objects["Lamp"].select_set(True)
    assert {obj.name for obj in target_meshes(bpy.context)} == {"Body", "Shoes"}


@pytest.mark.parametrize("selected", ["Lamp", ""])
def test_the_panel_says_what_to_select(objects: dict[str, bpy.types.Object], selected: str) -> None:
    select(*(objects[name] for name in selected.split()))
    assert shown_characters(bpy.context) == ([], f"{NOTHING_SELECTED}.")


def test_a_script_finds_what_it_has_just_changed(objects: dict[str, bpy.types.Object]) -> None:
    """Panels show what was known at the last evaluation; scripts and operators do not wait."""
    rig, hat = objects["Rig"], objects["Body"].copy()
    hat.name = "Hat"
    hat.modifiers.clear()
    bpy.context.scene.collection.objects.link(hat)
    select(rig)
    bpy.context.view_layer.update()
    assert hat not in target_meshes(bpy.context)
    hat.modifiers.new("Armature", "ARMATURE").object = rig
    assert hat in deformed_meshes(rig, bpy.context.view_layer)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert hat.dq_compensation.enabled


def test_where_all_meshes_have_own_settings_a_look_is_given_to_them(
    objects: dict[str, bpy.types.Object],
) -> None:
    body, shoes = objects["Body"], objects["Shoes"]
    select(objects["Rig"])
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    for mesh in (body, shoes):
        select(mesh)
        assert bpy.ops.dqc.own_settings() == {"FINISHED"}
        mesh.dq_compensation.factor = 0.25
    (character,), _ = shown_characters(bpy.context)
    assert character.shown(shoes) == shoes
    assert {body, shoes} <= set(character.owners)

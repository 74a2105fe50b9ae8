"""Crowds through undo, files, copies and libraries: what is drawn is the same, or told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object

from dq_compensation.lifecycle.following import check_all
from dq_compensation.pipeline.crowds.crowd_figures import role_objects
from dq_compensation.pipeline.crowds.crowds import Figures
from dq_compensation.pipeline.crowds.known_crowds import crowds_of_layer
from dq_compensation.pipeline.crowds.settings import crowd_of, is_crowd
from dq_compensation.session.status import status_of
from tests.blender.crowd_scenes import add_crowd, problem_of, role_of, state_of
from tests.blender.libraries import collected, load_collection
from tests.blender.scene_builders import save_and_open
from tests.blender.take_scenes import playing_limb
from tests.kept_files import new_file

pytestmark = pytest.mark.usefixtures("addon")


@pytest.fixture
def crowd(addon: None) -> Object:
    """A crowd and its character, in a collection of their own."""
    obj, armature = playing_limb()
    found = add_crowd()
    collected("Street", obj, armature, found)
    bpy.context.view_layer.objects.active = found
    bpy.context.view_layer.update()
    return found


def check() -> None:
    """What a timer does in a session with a window."""
    check_all(bpy.context.evaluated_depsgraph_get())


def assert_same(figures: Figures, expected: Figures) -> None:
    for name in ("roles", "places", "phases", "speeds"):
        np.testing.assert_array_equal(getattr(figures, name), getattr(expected, name))


def the_crowd(name: str = "Crowd") -> Object:
    return bpy.data.objects[name]


def assert_sound(crowd: Object, expected: Figures) -> None:
    """It has the figures, and each the meshes that its armature deforms now."""
    check()
    assert not problem_of(crowd)
    state = state_of(crowd)
    assert_same(state.figures, expected)
    ((armature, meshes),) = role_objects(crowd, state)
    assert armature == role_of(crowd).character
    assert all(status_of(obj).binding is not None for obj in meshes)
    assert [obj.modifiers["Armature"].object for obj in meshes] == [armature]


def test_adding_and_settings_are_undone_and_redone() -> None:
    """Adding is one step."""
    playing_limb()
    bpy.ops.ed.undo_push(message="Before")
    crowd = add_crowd()
    figures = state_of(crowd).figures
    bpy.ops.ed.undo_push(message="Added")
    crowd_of(crowd).count = 50
    bpy.ops.ed.undo_push(message="Count")
    assert len(state_of(crowd).figures) == 50
    bpy.ops.ed.undo()
    assert_sound(the_crowd(), figures)
    bpy.ops.ed.undo()
    assert "Crowd" not in bpy.data.objects
    bpy.ops.ed.redo()
    assert_sound(the_crowd(), figures)
    bpy.ops.ed.redo()
    assert len(state_of(the_crowd()).figures) == 50
    bpy.ops.object.select_all(action="DESELECT")
    bpy.data.objects["Limb Rig"].select_set(True)
    bpy.data.objects["Limb"].select_set(True)
    bpy.ops.object.delete()
    bpy.ops.ed.undo_push(message="Delete")
    assert "was deleted" in problem_of(the_crowd())
    bpy.ops.ed.undo()
    assert_sound(the_crowd(), state_of(the_crowd()).figures)
    assert len(state_of(the_crowd()).figures) == 50


def test_a_crowd_that_a_script_renames_is_still_drawn(crowd: Object) -> None:
    layer = bpy.context.view_layer
    assert crowds_of_layer(layer) == [crowd]
    crowd.name = "Parade"
    assert crowds_of_layer(layer) == [crowd]


def test_a_saved_crowd_is_opened(crowd: Object, tmp_path: Path) -> None:
    figures = state_of(crowd).figures
    path = str(tmp_path / "street.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    new_file()
    bpy.ops.wm.open_mainfile(filepath=path)
    assert_sound(the_crowd(), figures)


def test_a_character_that_is_excluded_when_the_file_is_opened(
    crowd: Object, tmp_path: Path
) -> None:
    """Its figures need no evaluation."""
    figures = state_of(crowd).figures
    collection = bpy.data.collections.new("Characters")
    bpy.context.scene.collection.children.link(collection)
    for name in ("Limb", "Limb Rig"):
        bpy.data.collections["Street"].objects.unlink(bpy.data.objects[name])
        collection.objects.link(bpy.data.objects[name])
    bpy.context.view_layer.layer_collection.children["Characters"].exclude = True
    save_and_open(tmp_path / "street.blend")
    assert_sound(the_crowd(), figures)


@pytest.mark.parametrize("link", [False, True])
def test_an_appended_or_linked_crowd(crowd: Object, tmp_path: Path, *, link: bool) -> None:
    figures = state_of(crowd).figures
    path = str(tmp_path / "street.blend")
    bpy.data.libraries.write(path, {bpy.data.collections["Street"]})
    new_file()
    load_collection(path, "Street", linked=link)
    bpy.context.view_layer.update()
    assert_sound(the_crowd(), figures)
    bpy.context.view_layer.objects.active = the_crowd()
    assert bpy.ops.dqc.crowd_role_add.poll() != link
    # Another one of the same name is drawn, too, and what is hidden is not.
    own = bpy.data.objects.new("Crowd", None)
    crowd_of(own).is_crowd = True
    bpy.context.scene.collection.objects.link(own)
    layer = bpy.context.view_layer
    layer.update()
    assert len(crowds_of_layer(layer)) == 2
    own.name = "Mob"
    layer.update()
    assert len(crowds_of_layer(layer)) == 2
    own.hide_set(True)
    (shown,) = crowds_of_layer(layer)
    assert shown != own


def test_an_appended_crowd_without_its_meshes_says_so(crowd: Object, tmp_path: Path) -> None:
    """The Empty brings the armatures along, and nobody their meshes."""
    path = str(tmp_path / "street.blend")
    bpy.data.libraries.write(path, {bpy.data.collections["Street"]})
    new_file()
    bpy.ops.wm.append(directory=f"{path}/Object/", filename="Crowd")
    assert is_crowd(the_crowd())
    assert "Limb Rig deforms no mesh. Append its meshes, too" in problem_of(the_crowd())


def test_a_library_override_of_a_crowd_is_edited(crowd: Object, tmp_path: Path) -> None:
    path, shot = str(tmp_path / "street.blend"), str(tmp_path / "shot.blend")
    bpy.data.libraries.write(path, {bpy.data.collections["Street"]})
    new_file()
    scene, view_layer = bpy.context.scene, bpy.context.view_layer
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.collections = ["Street"]
    scene.collection.children.link(wanted.collections[0])
    wanted.collections[0].override_hierarchy_create(scene, view_layer, do_fully_editable=True)

    def override() -> Object:
        (found,) = (obj for obj in bpy.data.objects if is_crowd(obj) and obj.library is None)
        bpy.context.view_layer.objects.active = found
        check()
        return found

    changed = {"count": 7, "seed": 9, "spacing": 4.0, "turn_spread": 0.5, "far_distance": 9.0}
    settings: Any = crowd_of(override())
    for name, value in changed.items():
        assert not settings.is_property_readonly(name)
        setattr(settings, name, value)
    assert role_of(override()).character.library is None
    role_of(override()).fade_frames = 3.0
    assert bpy.ops.dqc.crowd_role_add() == {"FINISHED"}
    save_and_open(shot)
    settings = crowd_of(override())
    assert {name: getattr(settings, name) for name in changed} == changed
    assert [role.take for role in settings.roles] == ["Swing", "Swing"]
    assert len(state_of(override()).figures) == 7
    assert not problem_of(override())
    settings.active_role = 0
    with pytest.raises(RuntimeError, match=r"belongs to the linked file.*share to 0"):
        bpy.ops.dqc.crowd_role_remove()
    settings.active_role = 1
    assert bpy.ops.dqc.crowd_role_remove() == {"FINISHED"}


def test_a_duplicate_is_a_crowd_of_the_same_characters(crowd: Object) -> None:
    figures = state_of(crowd).figures
    bpy.ops.object.select_all(action="DESELECT")
    crowd.select_set(True)
    bpy.ops.object.duplicate()
    copy = the_crowd("Crowd.001")
    assert copy != crowd
    assert_sound(copy, figures)
    crowd_of(copy).seed = 77
    assert_sound(crowd, figures)
    assert (state_of(copy).figures.phases != figures.phases).any()
    bpy.data.objects.remove(crowd)
    assert role_of(copy).character is not None
    assert not problem_of(copy)


def test_a_duplicate_with_its_character_plays_the_new_one(crowd: Object) -> None:
    for obj in bpy.data.collections["Street"].objects:
        obj.select_set(True)
    bpy.ops.object.duplicate()
    copy = the_crowd("Crowd.001")
    assert role_of(copy).character == bpy.data.objects["Limb Rig.001"]
    assert_sound(copy, state_of(crowd).figures)
    assert_sound(crowd, state_of(crowd).figures)

"""What is wrong with a crowd: each a sentence that says what to do; the other figures stay."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation.pipeline.crowds import crowd_figures
from dq_compensation.pipeline.crowds.crowd_figures import _check, known_state
from dq_compensation.pipeline.crowds.known_crowds import note_change
from dq_compensation.pipeline.crowds.settings import crowd_limits, crowd_of
from dq_compensation.pipeline.takes.caching import remove_take
from dq_compensation.pipeline.takes.settings import takes_of
from dq_compensation.session.memory import memories
from tests.blender.crowd_scenes import add_crowd, problem_of, role_of, state_of
from tests.blender.scene_builders import add_armature, edit_mode, save_and_open
from tests.blender.take_scenes import Pair, playing_limb
from tests.limb import build_limb
from tests.replaced_functions import replace_everywhere

pytestmark = pytest.mark.usefixtures("addon")


def refusal_of_adding() -> str:
    """What the button's tooltip says."""
    assert not bpy.ops.dqc.crowd_add.poll()
    with pytest.raises(RuntimeError) as refused:
        bpy.ops.dqc.crowd_add()
    return str(refused.value)


def test_adding_says_what_is_missing() -> None:
    assert "Select a character" in refusal_of_adding()
    _, armature = build_limb()
    assert "Limb Rig deforms no enabled mesh" in refusal_of_adding()
    bpy.ops.dqc.enable()
    assert "Limb Rig has no take" in refusal_of_adding()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    assert "Object Mode" in refusal_of_adding()


def test_a_take_that_is_renamed_is_followed(crowd: bpy.types.Object, limb_with_take: Pair) -> None:
    role_of(crowd).then = "Swing"
    takes_of(limb_with_take[1])[0].name = "Sway"
    assert (role_of(crowd).take, role_of(crowd).then) == ("Sway", "Sway")
    assert not state_of(crowd).problems
    limb_with_take[1].name = "Arm"
    bpy.context.view_layer.update()
    assert state_of(crowd).roles[0].armature_name == "Arm"


def test_a_take_that_is_gone_is_told(crowd: bpy.types.Object, limb_with_take: Pair) -> None:
    role = role_of(crowd)
    role.take = ""
    assert problem_of(crowd) == "The role of Limb Rig has no take. Choose one."
    role.take = "Walk"
    assert problem_of(crowd) == "Limb Rig has no take Walk. Choose one in the list."
    assert not len(state_of(crowd).figures)
    role.take, role.then = "Swing", "Run"
    assert "no take Run" in problem_of(crowd)
    role.then = ""
    assert not problem_of(crowd)
    bpy.data.meshes.remove(takes_of(limb_with_take[1])[0].stored)
    bpy.context.view_layer.update()
    assert "Swing has lost its keys" in problem_of(crowd)
    remove_take(limb_with_take[1], "Swing")
    assert "no take Swing" in problem_of(crowd)


def test_a_take_that_is_cached_again_is_played(crowd: bpy.types.Object) -> None:
    crowd.select_set(False)
    bpy.context.view_layer.objects.active = bpy.data.objects["Limb"]
    former = state_of(crowd)
    bpy.ops.dqc.take_cache(take_name="Swing", first=1, last=6, tolerance=5.0)
    assert state_of(crowd) is not former
    assert state_of(crowd).roles[0].first.length == 5


def test_a_take_of_other_bones_is_told(crowd: bpy.types.Object, limb_with_take: Pair) -> None:
    """All of them, then one."""
    bones = limb_with_take[1].data.bones
    for bone in bones:
        bone.name = f"New {bone.name}"
    bpy.context.view_layer.update()
    assert "has none of the bones of Limb Rig" in problem_of(crowd)
    assert not len(state_of(crowd).figures)
    for name in ("Upper", "Lower"):
        bones[f"New {name}"].name = name
    bpy.context.view_layer.update()
    assert problem_of(crowd).startswith("1 bone of Limb Rig is not in the take Swing and rests.")
    assert len(state_of(crowd).figures) == 10


def test_no_armature_and_another_object_as_the_character(crowd: bpy.types.Object) -> None:
    role = role_of(crowd)
    role.character = None
    assert problem_of(crowd) == "Role 1 has no character. Choose an armature."
    role.character = crowd  # the panel's list does not offer it
    assert problem_of(crowd) == "Crowd is not an armature. Choose the armature of the character."
    role.character = add_armature(name="Bare")
    assert "Bare deforms no mesh" in problem_of(crowd)


def test_what_is_deleted_is_told_and_comes_back(limb_with_take: Pair) -> None:
    """The pointers of the crowd keep deleted objects in the file."""
    other, _ = playing_limb("Other")
    limb_with_take[0].select_set(True)
    other.select_set(True)
    crowd = add_crowd(20)
    before = state_of(crowd)
    assert len(before.roles) == 2
    number = next(r.number for r in before.roles if r.armature_name == "Limb Rig")
    collection = bpy.context.collection
    collection.objects.unlink(limb_with_take[1])
    bpy.context.view_layer.update()
    assert problem_of(crowd).startswith("Limb Rig was deleted.")
    after = state_of(crowd)
    assert [role.armature_name for role in after.roles] == ["Other Rig"]
    # Those of the other character stand where they stood.
    stay = before.figures.roles == [role.number for role in before.roles].index(1 - number)
    np.testing.assert_array_equal(after.figures.places, before.figures.places[stay])
    np.testing.assert_array_equal(after.figures.phases, before.figures.phases[stay])
    assert not after.figures.roles.any()
    collection.objects.link(limb_with_take[1])
    bpy.context.view_layer.update()
    assert not problem_of(crowd)
    np.testing.assert_array_equal(state_of(crowd).figures.places, before.figures.places)


@pytest.mark.parametrize("how", ["delete", "remove"])
def test_meshes_that_are_deleted_or_disabled_are_told(
    crowd: bpy.types.Object, limb_with_take: Pair, how: str
) -> None:
    for obj in bpy.context.selected_objects:
        obj.select_set(False)
    limb_with_take[0].select_set(True)
    bpy.context.view_layer.objects.active = limb_with_take[0]
    bpy.ops.dqc.disable()
    assert problem_of(crowd) == "Limb Rig deforms no enabled mesh. Select it and press Enable."
    bpy.ops.dqc.enable()
    assert not problem_of(crowd)
    if how == "delete":
        bpy.ops.object.delete()
    else:
        bpy.data.objects.remove(limb_with_take[0])
    bpy.context.view_layer.update()
    assert "Limb Rig deforms no mesh" in problem_of(crowd)


def test_a_mesh_in_edit_mode_is_told(crowd: bpy.types.Object, limb_with_take: Pair) -> None:
    with edit_mode(limb_with_take[0]):
        bpy.context.view_layer.update()
        assert "Limb is in Edit Mode" in problem_of(crowd)
    bpy.context.view_layer.update()
    assert not problem_of(crowd)


def test_no_role_and_no_share(crowd: bpy.types.Object) -> None:
    role_of(crowd).share = 0.0
    assert problem_of(crowd) == "All shares of Crowd are 0. Raise one."
    bpy.ops.dqc.crowd_role_remove()
    assert problem_of(crowd) == "Crowd has no role. Press + to add one."
    assert not len(state_of(crowd).figures)


def test_an_excluded_character_whose_place_is_not_known_is_named(
    crowd: bpy.types.Object, tmp_path: Path
) -> None:
    character = role_of(crowd).character
    assert character is not None
    names = crowd.name, character.name
    character.constraints.new("COPY_SCALE").target = crowd
    excluded = bpy.data.collections.new("Excluded")
    bpy.context.scene.collection.children.link(excluded)
    for collection in character.users_collection:
        collection.objects.unlink(character)
    excluded.objects.link(character)
    layer = bpy.context.view_layer.layer_collection.children["Excluded"]
    layer.exclude = True
    save_and_open(tmp_path / "excluded.blend")
    bpy.context.view_layer.update()
    crowd = bpy.data.objects[names[0]]
    assert f"{names[1]} is excluded from the view layer" in problem_of(crowd)
    assert len(state_of(crowd).figures)
    # Blender knows the place from then on, excluded again or not.
    layer = bpy.context.view_layer.layer_collection.children["Excluded"]
    bpy.data.objects[names[1]].location.x = 2.0
    for exclude in (False, True):
        layer.exclude = exclude
        bpy.context.view_layer.update()
        assert not problem_of(crowd), exclude


def test_figures_beyond_a_limit_are_told_and_not_made(
    crowd: bpy.types.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd_of(crowd).count = 100_000
    state = state_of(crowd)
    assert len(state.figures) == 2_000
    # One texture row for 800 vertices and one for their normals; the pose of three bones.
    of_one = 1024 * (16 + 8) + 3 * 256
    assert state.bytes == 2_000 * of_one
    assert problem_of(crowd) == (
        "2,000 of 100,000 figures are shown: all of them would take 2.5 GB on the graphics card. "
        "Raise Figures of a Crowd in the add-on's preferences to see more."
    )
    replace_everywhere(monkeypatch, crowd_limits, lambda: (2_000, 1_000_000))
    note_change()
    state = state_of(crowd)
    assert len(state.figures) == 1_000_000 // of_one
    assert state.bytes <= 1_000_000
    assert "Raise Memory of a Crowd" in problem_of(crowd)


def test_the_panel_knows_what_was_found_last(crowd: bpy.types.Object) -> None:
    """Also of a crowd that is not drawn; one that is removed is forgotten."""
    other = bpy.data.scenes.new("Other")
    assert known_state(crowd) is None
    _check()
    state = known_state(crowd)
    assert state is not None
    assert len(state.figures) == 10
    bpy.context.scene.collection.objects.unlink(crowd)
    other.collection.objects.link(crowd)
    crowd_of(crowd).count = 11
    _check()
    assert known_state(crowd) is state
    bpy.data.objects.remove(crowd)
    _check()
    assert not memories(crowd_figures._CrowdMemory)

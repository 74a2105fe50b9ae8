"""The main panel and its buttons: a character once, whichever of its objects is active."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation.modifier.plain_view import show_ours, show_plain
from dq_compensation.scene.settings.object_settings import armature_with_settings, settings_of
from dq_compensation.session.status import status_of
from dq_compensation.ui import panels
from dq_compensation.ui.panels import sentences_once, shown_characters
from tests.blender.enabled_scenes import check, error, select
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.scene_builders import linked_copy
from tests.limb import build_posed_limb

Object = bpy.types.Object
Character = tuple[Object, list[Object]]

pytestmark = pytest.mark.usefixtures("addon")


def build_meshes(count: int, name: str = "Body") -> Character:
    """An armature with so many meshes on it, not enabled."""
    first, rig = build_posed_limb(name)
    meshes = [first]
    for number in range(1, count):
        meshes.append(linked_copy(first, own_data=True))
        meshes[-1].name = f"{name} {number:02d}"
    bpy.context.view_layer.update()
    return rig, meshes


@pytest.fixture
def five(addon: None) -> Character:
    rig, meshes = build_meshes(5)
    select(rig)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    return rig, meshes


class Drawn:
    """What the panel has drawn: the top level and *Advanced*, with the list of meshes open."""

    def __init__(self) -> None:
        (self.character, *_), _text = shown_characters(bpy.context)
        layout = RecordedLayout({f"dqc_meshes_{self.character.name}"})
        panels.draw_character(layout, bpy.context, self.character)
        panels.AdvancedPanel.fill(layout, bpy.context, self.character)
        self.texts = layout.texts()
        self.buttons = layout.names("operator")
        shown = RecordedLayout()
        panels.draw_character(shown, bpy.context, self.character)
        self.messages = [leaf for leaf in shown.leaves("operator") if leaf.name == "dqc.messages"]
        self._properties = list(layout.leaves("prop"))

    def owners_of(self, name: str) -> list[str]:
        return [each.owner for each in self._properties if each.name == name]


@pytest.mark.parametrize("active", ["rig", "first", "last"])
def test_the_settings_are_drawn_once(five: Character, active: str) -> None:
    rig, meshes = five
    select({"rig": rig, "first": meshes[0], "last": meshes[-1]}[active])
    drawn = Drawn()
    assert drawn.owners_of("method") == drawn.owners_of("factor") == [rig.name]
    assert drawn.owners_of("use_ball_joints") == [rig.name]
    assert "Meshes 5 of 5: Body, Body 01 and 3 more" in drawn.texts
    assert drawn.buttons.count("dqc.switch_mesh") == 5
    assert drawn.buttons.count("dqc.refresh") == 1


def test_a_character_of_many_meshes_is_one_block() -> None:
    rig, _meshes = build_meshes(25)
    select(rig)
    bpy.ops.dqc.enable()
    drawn = Drawn()
    assert len(drawn.owners_of("method")) == 1
    assert "Meshes 25 of 25: Body and 24 more" in drawn.texts


def test_an_active_mesh_with_its_own_settings_has_a_block(five: Character) -> None:
    rig, meshes = five
    meshes[2].dq_compensation.factor = 0.3
    select(meshes[2])
    drawn = Drawn()
    assert drawn.owners_of("factor") == [rig.name, meshes[2].name]
    assert drawn.texts.count("own settings") == 1
    heading = f"Own settings of {meshes[2].name}"
    assert heading in drawn.texts
    assert "dqc.character_settings" in drawn.buttons
    assert bpy.ops.dqc.character_settings() == {"FINISHED"}
    assert meshes[2].dq_compensation.factor == 1.0
    assert error(meshes[2]) < 1e-4
    drawn = Drawn()
    assert drawn.owners_of("factor") == [rig.name]
    assert heading not in drawn.texts
    assert "dqc.own_settings" in drawn.buttons
    assert bpy.ops.dqc.own_settings() == {"FINISHED"}
    rig.dq_compensation.factor = 0.5
    assert meshes[2].dq_compensation.factor == 1.0
    assert not bpy.ops.dqc.own_settings.poll()


def test_a_mesh_with_keys_is_not_given_the_settings_of_its_character(five: Character) -> None:
    mesh = five[1][1]
    mesh.dq_compensation.keyframe_insert("factor", frame=1)
    check()
    select(mesh)
    assert not bpy.ops.dqc.character_settings.poll()


def test_a_switch_turns_one_mesh_off_and_on(five: Character) -> None:
    rig, meshes = five
    select(rig)
    bpy.ops.ed.undo_push(message="Before")
    assert bpy.ops.dqc.switch_mesh(mesh=meshes[1].name) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="Switch")
    assert [settings_of(mesh).is_enabled for mesh in meshes] == [True, False, True, True, True]
    rig.dq_compensation.curve = "SMOOTH"
    assert bpy.ops.dqc.switch_mesh(mesh=meshes[1].name) == {"FINISHED"}
    assert meshes[1].dq_compensation.curve == "SMOOTH"
    assert armature_with_settings(meshes[1]) == rig
    with pytest.raises(RuntimeError, match="has a mesh Nobody"):
        bpy.ops.dqc.switch_mesh(mesh="Nobody")


def test_buttons_act_on_the_whole_character_by_one_of_its_meshes() -> None:
    rig, meshes = build_meshes(3)
    other, others = build_meshes(2, "Other")
    select(meshes[1])
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    assert all(settings_of(mesh).is_enabled for mesh in meshes)
    assert not any(settings_of(mesh).is_enabled for mesh in others)
    assert bpy.ops.dqc.soften_weights() == {"FINISHED"}
    assert bpy.ops.dqc.restore_weights() == {"FINISHED"}
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    assert bpy.ops.dqc.disable() == {"FINISHED"}
    assert not any(settings_of(mesh).is_enabled for mesh in meshes)
    assert not other.dq_compensation.own
    assert rig.dq_compensation.own


def test_comparing_leaves_the_character_as_it_is(five: Character) -> None:
    rig, meshes = five
    meshes[0].dq_compensation.factor = 0.3
    show_plain(meshes)
    bpy.context.view_layer.update()
    show_ours()
    check()
    assert {mesh.dq_compensation.method for mesh in meshes} == {"COMPENSATED"}
    together = [armature_with_settings(mesh) == rig for mesh in meshes]
    assert together == [False, True, True, True, True]
    assert max(map(error, meshes)) < 1e-4


def test_presets_and_copies_go_to_characters(five: Character, tmp_path: Path) -> None:
    rig, meshes = five
    meshes[4].dq_compensation.factor = 0.3
    other, others = build_meshes(2, "Other")
    select(other)
    bpy.ops.dqc.enable()
    path = tmp_path / "half.py"
    path.write_text(
        "import bpy\nsettings = bpy.context.object.dq_compensation\nsettings.factor = 0.5\n"
        "settings.curve = 'SMOOTH'\n"
    )
    select(meshes[2])
    assert bpy.ops.dqc.preset_apply(filepath=str(path)) == {"FINISHED"}
    found = [(mesh.dq_compensation.factor, mesh.dq_compensation.curve) for mesh in meshes]
    assert found[:4] == [(0.5, "SMOOTH")] * 4
    assert found[4] == (pytest.approx(0.3), "MEASURED")
    select(meshes[2], other)
    assert bpy.ops.dqc.settings_copy() == {"FINISHED"}
    assert other.dq_compensation.factor == 0.5
    assert [mesh.dq_compensation.curve for mesh in others] == ["SMOOTH"] * 2
    assert [armature_with_settings(mesh) for mesh in others] == [other] * 2
    np.testing.assert_allclose(rig.dq_compensation.factor, 0.5)


def test_a_joint_is_switched_for_the_character_or_for_an_own_mesh(five: Character) -> None:
    rig, meshes = five
    select(meshes[0])
    assert bpy.ops.dqc.joint_strength(bone="Lower", strength=0.0) == {"FINISHED"}
    assert {mesh.dq_compensation.joints_left_out for mesh in (rig, *meshes)} == {"Lower"}
    meshes[0].dq_compensation.factor = 0.3
    assert bpy.ops.dqc.joint_strength(bone="Lower", strength=1.0) == {"FINISHED"}
    assert meshes[0].dq_compensation.joints_left_out == ""
    assert rig.dq_compensation.joints_left_out == "Lower"


def test_a_problem_is_said_once_with_the_meshes_that_have_it(five: Character) -> None:
    rig, meshes = five
    select(rig)
    for mesh in meshes[1:3]:
        status_of(mesh).notes = [f"{mesh.name} has moved relative to its armature."]
    for mesh in meshes:
        status_of(mesh).notes.append("Twists are spread along Upper.")
    drawn = Drawn()
    found = panels.messages(bpy.context, drawn.character)
    said = " ".join(message.text for message in found)
    assert said.count("has moved") == 1
    assert "Body 01 has moved relative to its armature. Also Body 02." in said
    assert said.count("Twists are spread along Upper.") == 1
    # The panel has two lines, the first sentence; their tooltip, and a click, show all.
    assert len(found) == 2
    lines = [leaf.text for leaf in drawn.messages]
    assert len(lines) == 2
    assert " ".join(lines).startswith(f"(2) {found[0].text}"[:30])


def test_a_sentence_on_some_meshes_names_them(five: Character) -> None:
    first, second, third, *_ = five[1]
    found = sentences_once({first: ["No names."], second: ["No names."], third: []})
    assert found == ["No names. It is about Body, Body 01."]
    assert sentences_once({first: ["Body is wrong."]}) == ["Body is wrong."]
    assert sentences_once({first: ["All."], second: ["All."]}) == ["All."]

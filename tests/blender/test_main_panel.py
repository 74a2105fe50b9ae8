"""The main panel: its look, its rows that stay where they are, its line of what is wrong."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import bpy
import numpy as np
import pytest

from dq_compensation.examples.operators import active_character
from dq_compensation.painting.operators import DQC_OT_choose_groups
from dq_compensation.painting.panel import PaintPanel
from dq_compensation.scene import selected_characters
from dq_compensation.scene.blender.skinned_object import SkinnedObject
from dq_compensation.scene.selected_characters import NOTHING_SELECTED
from dq_compensation.scene.settings.object_settings import CHARACTER_SETTINGS, settings_of
from dq_compensation.session.status import status_of
from dq_compensation.steps import Progress
from dq_compensation.ui import looks, panels
from dq_compensation.ui.looks import known_looks, look_of
from dq_compensation.ui_shared import reporting, sentences
from tests.blender.enabled_scenes import check, enabled_limb, select
from tests.blender.libraries import collected, load_collection, overridden
from tests.blender.recorded_layout import RecordedLayout
from tests.blender.scene_builders import edit_mode, evaluated_positions, link, linked_copy
from tests.blender.test_character_panel import build_meshes
from tests.counted_work import instructions_of

Object = bpy.types.Object

pytestmark = pytest.mark.usefixtures("addon")

OPEN = {"JointsPanel", "PaintPanel", "BakePanel", "PlaybackPanel", "AdvancedPanel"}


def drawn(open_panels: set[str] | frozenset[str] = frozenset()) -> RecordedLayout:
    """The whole panel in the current context."""
    layout = RecordedLayout(open_panels)
    panels.VIEW3D_PT_dq_compensation.fill(MagicMock(), layout, bpy.context)
    return layout


def shown_look() -> str:
    (menu,) = drawn().leaves("menu")
    return menu.text


def choose(name: str, **options: bool) -> None:
    """Choose a look, as one step of undo."""
    (look,) = [each for each in known_looks() if each.name == name]
    assert bpy.ops.dqc.preset_apply(filepath=look.path, **options) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="Look")


def values(owner: Object) -> dict[str, Any]:
    settings: Any = settings_of(owner)
    return {name: getattr(settings, name) for name in CHARACTER_SETTINGS}


@pytest.fixture
def rig(addon: None) -> Object:
    """An armature with three enabled meshes."""
    found, _meshes = build_meshes(3)
    select(found)
    assert bpy.ops.dqc.enable() == {"FINISHED"}
    return found


@pytest.fixture
def users_presets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of presets of the user."""
    shipped = bpy.utils.preset_paths("dq_compensation")
    own = tmp_path / "presets" / "dq_compensation"
    own.mkdir(parents=True)
    monkeypatch.setattr(bpy.utils, "preset_paths", lambda _: [*shipped, str(own)])
    monkeypatch.setattr(
        bpy.utils, "user_resource", lambda _kind, *, path="", **_options: str(tmp_path / path)
    )
    known_looks.cache_clear()
    yield own
    monkeypatch.undo()
    known_looks.cache_clear()


def test_the_look_is_the_preset_whose_values_the_character_has(rig: Object) -> None:
    assert shown_look() == "As Painted"
    for name in ("Soft with Twist", "Soft", "As Painted"):
        choose(name)
        assert shown_look() == name
    choose("Solved")
    assert shown_look() == "Soft with Twist"  # nothing is solved
    rig.dq_compensation.twist_spread, rig.dq_compensation.softness = 0.0, 0.3
    assert shown_look() == "Custom"
    rig.dq_compensation.softness = 0.5
    assert shown_look() == "Soft"
    rig.dq_compensation.factor = 0.0  # nothing is compensated
    assert shown_look() == "Custom"
    choose("Soft")
    assert rig.dq_compensation.factor == 1.0
    rig.dq_compensation.curve = "FITTED"
    assert shown_look() == "Custom"


def test_your_own_looks_are_listed_and_removed_and_shipped_ones_stay(
    rig: Object, users_presets: Path
) -> None:
    rig.dq_compensation.softness = 0.3
    assert bpy.ops.dqc.preset_add(name="Mine") == {"FINISHED"}
    assert (users_presets / "Mine.py").exists()
    assert shown_look() == "Mine"
    rig.dq_compensation.softness = 0.5
    # Of two looks that fit the one counts that says more.
    assert bpy.ops.dqc.preset_add(name="Soft of mine") == {"FINISHED"}
    assert shown_look() == "Soft of mine"
    assert bpy.ops.dqc.preset_add(name="Soft of mine", remove_name=True) == {"FINISHED"}
    assert shown_look() == "Soft"
    assert bpy.ops.dqc.preset_add(name="Soft", remove_name=True) == {"CANCELLED"}
    assert "Soft" in [look.name for look in known_looks()]
    assert rig.dq_compensation.softness == 0.5


def test_of_equal_looks_the_one_that_was_chosen_is_shown_and_removed(
    rig: Object, users_presets: Path
) -> None:
    rig.dq_compensation.softness = 0.3
    for name in ("First", "Second"):
        assert bpy.ops.dqc.preset_add(name=name) == {"FINISHED"}
    assert shown_look() == "Second"
    for name in ("First", "Second"):
        choose(name)
        assert shown_look() == name
    layout = drawn({"AdvancedPanel"})
    buttons = [leaf for leaf in layout.leaves("operator") if leaf.text == "Remove Look"]
    assert [button.properties.name for button in buttons] == ["Second"]
    asked: list[str] = []
    window_manager = MagicMock()
    window_manager.invoke_confirm.side_effect = lambda *_, title: asked.append(title)
    context = MagicMock(window_manager=window_manager)
    invoke: Any = looks.DQC_OT_preset_add.invoke
    invoke(MagicMock(remove_name=True), context, MagicMock())
    (title,) = asked
    assert title.startswith("Remove the look ")
    assert (users_presets / "First.py").exists()


def test_an_override_that_is_not_editable_says_why_its_settings_are_grey(
    rig: Object, tmp_path: Path
) -> None:
    path = tmp_path / "library.blend"
    collected("Character", rig, *(bpy.data.objects[name] for name in ("Body", "Body 01")))
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    for fully in (True, False):
        bpy.ops.wm.read_homefile(use_empty=True)
        linked = load_collection(path, "Character")
        bpy.context.view_layer.update()
        for owner in overridden(linked, fully=fully):
            select(owner)
            (character,), _ = panels.shown_characters(bpy.context)
            said = " ".join(each.text for each in panels.messages(bpy.context, character))
            shown = settings_of(character.shown(owner))
            assert shown.is_property_readonly("factor") == (not fully)
            assert ("The settings are grey" in said) == (not fully)


def test_a_preset_that_computes_is_never_shown_as_the_look(
    rig: Object, users_presets: Path
) -> None:
    (users_presets / "Odd.py").write_text("import bpy\nsettings.factor = max(0, 1)\n", "utf-8")
    known_looks.cache_clear()
    assert "Odd" in [look.name for look in known_looks()]
    assert shown_look() == "As Painted"
    look = look_of(rig)
    assert look is not None
    assert look.name == "As Painted"


def test_undo_of_a_look_is_exact(rig: Object) -> None:
    rig.dq_compensation.factor = 0.7
    own = bpy.data.objects["Body 01"]
    own.dq_compensation.twist_spread = 0.25
    bpy.ops.ed.undo_push(message="Before")
    names = [rig.name, "Body", "Body 01", "Body 02"]
    before = {name: values(bpy.data.objects[name]) for name in names}
    positions = {name: evaluated_positions(bpy.data.objects[name]) for name in names[1:]}
    choose("Soft with Twist")
    assert values(rig) != before[rig.name]
    bpy.ops.ed.undo()
    for name in names:
        assert values(bpy.data.objects[name]) == before[name], name
    for name, expected in positions.items():
        # The same computation on the same data.
        np.testing.assert_array_equal(evaluated_positions(bpy.data.objects[name]), expected)


def test_undo_of_disable_with_own_settings_of_a_mesh_is_exact(rig: Object) -> None:
    own = bpy.data.objects["Body 01"]
    select(own)
    assert bpy.ops.dqc.own_settings() == {"FINISHED"}
    own.dq_compensation.factor, own.dq_compensation.softness = 0.3, 0.25
    rig.dq_compensation.twist_spread = 0.75
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="Before")
    names = [rig.name, "Body", "Body 01", "Body 02"]
    before = {name: values(bpy.data.objects[name]) for name in names}
    assert before["Body 01"] != before["Body"]
    positions = {name: evaluated_positions(bpy.data.objects[name]) for name in names[1:]}
    for _ in range(2):
        select(bpy.data.objects[names[0]])
        assert bpy.ops.dqc.disable() == {"FINISHED"}
        bpy.ops.ed.undo_push(message="Disable")
        assert not settings_of(bpy.data.objects["Body 01"]).is_enabled
        bpy.ops.ed.undo()
        for name in names:
            assert values(bpy.data.objects[name]) == before[name], name
        for name, expected in positions.items():
            assert settings_of(bpy.data.objects[name]).is_enabled
            # The same computation on the same data.
            np.testing.assert_array_equal(evaluated_positions(bpy.data.objects[name]), expected)
        (character,), _ = panels.shown_characters(bpy.context)
        assert [mesh.name for mesh in character.with_own] == ["Body 01"]


def test_a_look_is_for_the_active_character_and_with_alt_for_all(rig: Object) -> None:
    other, _ = enabled_limb("Other")
    select(rig, other)
    before = values(other)
    event = MagicMock(alt=False)
    chosen: list[bool] = []

    class Pressed:
        filepath = next(each.path for each in known_looks() if each.name == "Soft")

        def execute(self, _context: bpy.types.Context) -> set[str]:
            chosen.append(self.active_only)
            return bpy.ops.dqc.preset_apply(filepath=self.filepath, active_only=self.active_only)

    invoke: Any = looks.DQC_OT_preset_apply.invoke
    invoke(Pressed(), bpy.context, event)
    assert (rig.dq_compensation.softness, values(other)) == (0.5, before)
    event.alt = True
    invoke(Pressed(), bpy.context, event)
    assert other.dq_compensation.softness == 0.5
    assert chosen == [True, False]
    # The panel has one block: that of the active character.
    assert [leaf.owner for leaf in drawn().leaves("prop") if leaf.name == "factor"] == [rig.name]


def test_an_override_gets_a_look_and_a_linked_character_refuses(
    rig: Object, tmp_path: Path
) -> None:
    path = str(tmp_path / "library.blend")
    collected("Character", rig, *(bpy.data.objects[name] for name in ("Body", "Body 01")))
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True)
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.collections = ["Character"]
    (collection,) = wanted.collections
    bpy.context.scene.collection.children.link(collection)
    bpy.context.view_layer.update()
    (armature,) = (obj for obj in collection.objects if obj.type == "ARMATURE")
    select(armature)
    assert not bpy.ops.dqc.preset_apply.poll()
    assert shown_look() == "As Painted"
    _mesh, armature = overridden(collection)
    select(armature)
    choose("Soft with Twist")
    assert armature.dq_compensation.twist_spread == 1.0
    assert shown_look() == "Soft with Twist"


def test_nothing_changes_its_height_while_something_is_dragged_or_runs(
    rig: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all sub-panels open; each value as while it is dragged from 0 to 1."""
    for mode in ("OBJECT", "POSE"):
        bpy.ops.object.mode_set(mode=mode)
        rows = drawn(OPEN).height
        top = drawn().height
        for name in ("factor", "softness", "twist_spread"):
            for value in (0.0, 0.4, 1.0):
                setattr(rig.dq_compensation, name, value)
                assert (drawn(OPEN).height, drawn().height) == (rows, top), (mode, name, value)
        for done in (0.0, 0.5):
            shown = SimpleNamespace(progress=Progress(done, "Baking"), time_left=lambda: "9 s left")
            monkeypatch.setattr(reporting, "_works", [shown])
            assert (drawn(OPEN).height, drawn().height) == (rows, top), (mode, done)
            monkeypatch.setattr(reporting, "_works", [])
        choose("As Painted")
    bpy.ops.object.mode_set(mode="OBJECT")


def test_rows_keep_their_places_in_modes_and_with_methods_and_messages(rig: Object) -> None:
    def places() -> list[tuple[str, str]]:
        # The line of messages is a label or a button.
        leaves = [leaf for leaf in drawn().leaves() if leaf.kind != "label"]
        return [(leaf.kind, leaf.name) for leaf in leaves if leaf.name != "dqc.messages"]

    expected, rows = places(), drawn().height
    bpy.ops.object.mode_set(mode="POSE")
    assert places() == expected
    bpy.ops.object.mode_set(mode="OBJECT")
    for method in ("LINEAR", "DUAL_QUATERNION", "SPHERICAL_JOINT"):
        rig.dq_compensation.method = method
        assert (places(), drawn().height) == (expected, rows), method
        assert "What is grey needs the method" in " ".join(drawn().texts())
    rig.dq_compensation.method = "COMPENSATED"
    status_of(bpy.data.objects["Body"]).notes = ["A note.", "Another one."]
    assert drawn().height == rows
    assert "(2) A note." in drawn().texts()


def test_what_is_wrong_has_one_line_with_its_fix(rig: Object) -> None:
    (character,), _ = panels.shown_characters(bpy.context)
    assert panels.messages(bpy.context, character) == []
    status_of(bpy.data.objects["Body 01"]).failure = "Body 01 was not drawn."
    (message,) = panels.messages(bpy.context, character)
    assert (message.text, message.fix) == ("Body 01 was not drawn.", "dqc.refresh")
    layout = drawn()
    assert "Fix" in layout.texts()
    assert bpy.ops.dqc.refresh() == {"FINISHED"}
    assert "Fix" not in drawn().texts()


@pytest.mark.parametrize("setting", ["vertex_group", "blend_group", "softness_group"])
def test_a_group_that_was_renamed_has_a_button_to_choose_another(rig: Object, setting: str) -> None:
    """The button opens its field, which stays there once it is right."""
    mesh = bpy.data.objects["Body 01"]
    mesh.vertex_groups.new(name="Mask").add([0, 1], 0.5, "REPLACE")
    setattr(mesh.dq_compensation, setting, "Mask")
    rig.dq_compensation.softness = 0.5
    check()
    assert not bpy.ops.dqc.choose_groups.poll()
    mesh.vertex_groups["Mask"].name = "Where"
    check()
    (character,), _ = panels.shown_characters(bpy.context)
    (message,) = panels.messages(bpy.context, character)
    assert message.text.startswith("Body 01 has no vertex group Mask; ")
    assert (message.fix, message.button) == ("dqc.choose_groups", "Choose")
    assert "Choose" in drawn().texts()
    assert bpy.ops.dqc.choose_groups.poll()
    popup: Any = SimpleNamespace()
    names = ("active_object", "selected_objects", "view_layer", "scene", "mode")
    known = {name: getattr(bpy.context, name) for name in names}
    context: Any = SimpleNamespace(window_manager=MagicMock(), **known)
    DQC_OT_choose_groups.invoke(popup, context, None)
    for group in ("Mask", "Where"):
        setattr(mesh.dq_compensation, setting, group)
        popup.layout = RecordedLayout()
        DQC_OT_choose_groups.draw(popup, bpy.context)
        assert [leaf.name for leaf in popup.layout.leaves("prop")] == [setting]
    check()
    assert panels.messages(bpy.context, character) == []
    assert not bpy.ops.dqc.choose_groups.poll()


def test_a_long_name_leaves_room_for_what_is_said_of_it(rig: Object) -> None:
    """Where a line is too long: the start of what it says fits beside the end of the name."""
    mesh = bpy.data.objects["Body 01"]
    for name in ("Body 01", "Character_Protagonist_Body_LOD0_high"):
        mesh.name = name
        select(mesh)
        bpy.ops.object.mode_set(mode="EDIT")
        leaves = drawn().leaves("operator")
        said = " ".join(leaf.text for leaf in leaves if leaf.name == "dqc.messages")
        assert "is in Edit Mode" in said
        assert said.startswith(name if name == "Body 01" else "Cha\u2026OD0_high is")
        bpy.ops.object.mode_set(mode="OBJECT")


def test_a_mesh_in_edit_mode_has_no_fix_which_could_not_read_it(rig: Object) -> None:
    select(bpy.data.objects["Body"])
    bpy.ops.object.mode_set(mode="EDIT")
    text = "Body is in Edit Mode. Leave it (Tab) to see the deformation."
    (character,), _ = panels.shown_characters(bpy.context)
    assert panels.messages(bpy.context, character) == [panels.Message(text, "ERROR")]
    bpy.ops.object.mode_set(mode="OBJECT")
    assert panels.messages(bpy.context, character) == []


def test_the_empty_above_a_character_has_its_panels(rig: Object) -> None:
    empty = bpy.data.objects.new("Above", None)
    bpy.context.collection.objects.link(empty)
    rig.parent = empty
    bpy.context.view_layer.update()
    expected = drawn().names("panel")
    select(empty)
    assert drawn().names("panel") == expected
    assert active_character(bpy.context) == PaintPanel.subject(bpy.context)
    assert NOTHING_SELECTED not in " ".join(drawn().texts())
    rig.parent = None
    select(empty)
    bpy.context.view_layer.update()
    assert "No skinned mesh is below Above" in " ".join(drawn().texts())


def test_with_the_armature_active_the_largest_mesh_is_meant_and_named(rig: Object) -> None:
    """Not the first by name, which may be a pair of gloves."""
    largest = bpy.data.objects["Body 02"]
    largest.data.vertices.add(1)
    bpy.context.view_layer.update()
    select(rig)
    for mode in ("OBJECT", "POSE"):
        bpy.ops.object.mode_set(mode=mode)
        assert active_character(bpy.context) == PaintPanel.subject(bpy.context) == largest
        assert "Paint Body 02" in drawn(OPEN).texts()
    largest.hide_set(True)  # as a copy that is kept aside
    assert PaintPanel.subject(bpy.context) != largest
    assert active_character(bpy.context) != largest
    largest.hide_set(False)
    # Whose examples are there counts more.
    settings_of(bpy.data.objects["Body 01"]).examples.add()
    assert active_character(bpy.context) == bpy.data.objects["Body 01"]
    bpy.ops.object.mode_set(mode="OBJECT")
    select(largest)
    assert "Paint" in drawn(OPEN).texts()


def test_joints_are_counted_on_the_whole_character(rig: Object) -> None:
    """Whichever mesh is active: clothes that lack a joint do not hide it."""
    piece = bpy.data.objects["Body"]
    for name in ("Lower", "Hand"):
        piece.vertex_groups.remove(piece.vertex_groups[name])
    bpy.context.view_layer.update()
    said = set()
    for obj in (rig, piece, bpy.data.objects["Body 02"]):
        select(obj)
        (text,) = [each for each in drawn(OPEN).texts() if each.startswith("Joints found")]
        said.add(text)
    assert len(said) == 1
    (text,) = said
    assert not text.startswith("Joints found: 0")


def test_joints_that_no_mesh_has_alone_are_counted_once_each(rig: Object) -> None:
    """The body ends at the elbow, where the glove begins."""
    for name, groups in (("Body", ["Hand"]), ("Body 01", ["Upper"]), ("Body 02", ["Upper"])):
        mesh = bpy.data.objects[name]
        for group in groups:
            mesh.vertex_groups.remove(mesh.vertex_groups[group])
    bpy.context.view_layer.update()
    select(rig)
    (text,) = [each for each in drawn(OPEN).texts() if each.startswith("Joints found")]
    assert text.startswith("Joints found: 2,")


def test_joints_of_the_armature_are_not_those_of_a_mesh_with_own_settings(rig: Object) -> None:
    """Its settings are shown and changed, also where that mesh is the largest."""
    largest, bone = bpy.data.objects["Body 02"], rig.data.bones["Lower"]
    largest.data.vertices.add(1)
    select(largest)
    assert bpy.ops.dqc.own_settings() == {"FINISHED"}
    select(rig)
    bone.dqc_strength = 0.3
    assert bone.dqc_strength == pytest.approx(0.3)
    said = []
    for _ in range(3):
        bpy.ops.dqc.switch_twist(bone="Lower")
        said.append(rig.dq_compensation.twist_left_out)
    assert said == ["Lower", "", "Lower"]


def test_a_long_name_that_begins_with_another_one_is_shortened(rig: Object) -> None:
    rig.name, body = "Character_Protagonist", bpy.data.objects["Body 02"]
    body.name = f"{rig.name}_Body_LOD0_high"
    said, names = f"{body.name} is in Edit Mode. Leave it.", [rig.name, body.name]
    preferences = SimpleNamespace(system=SimpleNamespace(ui_scale=1.0))
    context: Any = SimpleNamespace(region=SimpleNamespace(width=200.0), preferences=preferences)
    first, second = sentences.in_two_lines(context, said, 80, names)
    assert f"{first} {second}".startswith("Cha\u2026OD0_high is in")
    assert second == "Edit Mode. Leave it."


def test_the_list_of_examples_follows_the_active_bone_and_selects_it(rig: Object) -> None:
    settings = settings_of(bpy.data.objects["Body"])
    for bone in ("Upper", "Lower", "Lower"):
        item = settings.examples.add()
        item.name, item.bone = f"{bone} {len(settings.examples)}", bone
    select(rig)
    bpy.ops.object.mode_set(mode="POSE")
    bones = rig.data.bones
    for bone, expected in (("Lower", 1), ("Upper", 0), ("Hand", 0), ("Lower", 1)):
        bones.active = bones[bone]
        assert settings.active_example == expected, bone
    for chosen, bone in ((2, "Lower"), (0, "Upper"), (1, "Lower")):
        settings.active_example = chosen
        assert (settings.active_example, bones.active.name) == (chosen, bone)
        selected = [each.name for each in bpy.context.selected_pose_bones]
        assert selected == [bone]
    bones.active = bones["Hand"]
    assert settings.active_example == 1
    bpy.ops.object.mode_set(mode="OBJECT")


def test_a_long_report_begins_in_the_status_bar_and_is_whole_in_the_panel(rig: Object) -> None:
    said: list[tuple[set[str], str]] = []
    operator = MagicMock()
    operator.report.side_effect = lambda level, text: said.append((level, text))
    text = "Body: 12 vertices changed. Left as they were: jaw, eye.L and 3 more. Done."
    reporting.report_all(operator, "INFO", text)
    # The status bar shows the last one; the Info editor has both.
    assert said[-1] == ({"INFO"}, "Body: 12 vertices changed.")
    assert said[0][1] == "Left as they were: jaw, eye.L and 3 more. Done."
    (character,), _ = panels.shown_characters(bpy.context)
    assert [each.text for each in panels.messages(bpy.context, character)] == [text]
    reporting.report_all(operator, "INFO", "Body is done.")
    assert panels.messages(bpy.context, character) == []
    assert said[-1] == ({"INFO"}, "Body is done.")


def test_modifiers_are_looked_at_once_for_many_drawings(
    rig: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A panel of many meshes shows what is known; an edit is seen."""
    looked: list[str] = []

    class Counting(SkinnedObject):
        def find_modifier(self) -> Any:
            looked.append(self.obj.name)
            return super().find_modifier()

    monkeypatch.setattr(selected_characters, "SkinnedObject", Counting)
    selected_characters.forget_skins()
    drawn()
    first = len(looked)
    assert first > 0
    rig.dq_compensation.factor = 0.5
    bpy.context.view_layer.update()
    for _ in range(3):
        drawn()
    assert len(looked) == first
    mesh = bpy.data.objects["Body 02"]
    mesh.modifiers.remove(mesh.modifiers["Armature"])
    bpy.context.view_layer.update()
    assert "Meshes 2 of 2" in " ".join(drawn().texts())


def test_neither_a_drawing_nor_its_buttons_look_at_the_objects_of_others(rig: Object) -> None:
    """Counted in instructions of Python: a walk through the file has some for each object."""

    def work() -> None:
        names = dict.fromkeys(drawn(OPEN).names("operator"))
        for name in (each for each in names if each.startswith("dqc.")):
            getattr(bpy.ops.dqc, name.removeprefix("dqc.")).poll()

    alone = instructions_of(work)
    for number in range(100):
        link(bpy.data.objects.new(f"Prop {number}", bpy.data.meshes.new("Prop")))
    bpy.context.view_layer.update()
    assert instructions_of(work) == alone


def test_an_object_that_a_script_removes_is_left_out_at_once(rig: Object) -> None:
    assert "Meshes 3 of 3" in " ".join(drawn().texts())
    bpy.data.objects.remove(bpy.data.objects["Body 02"])
    assert "Meshes 2 of 2" in " ".join(drawn().texts())
    select(bpy.data.objects["Body"])
    bpy.data.objects.remove(rig)
    assert "Meshes 1 of 1" in " ".join(drawn().texts())


@pytest.mark.parametrize("mode", ["OBJECT", "POSE"])
def test_done_goes_back_to_where_painting_came_from(rig: Object, mode: str) -> None:
    mesh = bpy.data.objects["Body"]
    select(rig)
    bpy.ops.object.mode_set(mode=mode)
    assert bpy.ops.dqc.paint_weights(group="BLEND") == {"FINISHED"}
    assert (bpy.context.active_object, mesh.mode) == (mesh, "WEIGHT_PAINT")
    assert settings_of(mesh).painted == "BLEND"
    assert mesh.vertex_groups.active.name == "Blend"
    # A second press, for another group, does not forget it.
    assert bpy.ops.dqc.paint_weights(group="SOFTNESS") == {"FINISHED"}
    settings_of(mesh).painted = "BLEND"
    assert mesh.vertex_groups.active.name == "Blend"
    assert bpy.ops.dqc.paint_done() == {"FINISHED"}
    assert (bpy.context.active_object, rig.mode, mesh.mode) == (rig, mode, "OBJECT")
    assert bpy.context.selected_objects == [rig]
    # Without a way that leads back it is Object Mode.
    select(mesh)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    assert bpy.ops.dqc.paint_done() == {"FINISHED"}
    assert (bpy.context.active_object, mesh.mode) == (mesh, "OBJECT")
    assert not bpy.ops.dqc.paint_done.poll()
    bpy.ops.object.mode_set(mode="OBJECT")


def test_blender_s_own_places_have_the_groups(rig: Object) -> None:
    mesh = bpy.data.objects["Body"]
    select(mesh)
    panel = MagicMock(layout=RecordedLayout())
    (draw,) = [
        each
        for each in bpy.types.DATA_PT_vertex_groups.draw._draw_funcs
        if each.__module__.startswith("dq_compensation")
    ]
    draw(panel, bpy.context)
    assert panel.layout.names("prop") == ["vertex_group", "blend_group", "softness_group"]
    assert [t for t in panel.layout.texts() if t != "DQ Compensation"] == [
        "Compensation",
        "Blend",
        "Softness Group",
    ]
    functions = bpy.types.VIEW3D_MT_paint_weight.draw._draw_funcs
    assert sum(each.__module__.startswith("dq_compensation") for each in functions) == 1


def test_the_buttons_of_bakes_ask_200_meshes_once() -> None:
    """Counted in instructions of Python; an edit of any of them is seen."""
    names = ("bake_pose", "bake_range", "bake_cache", "bake_bones", "bake_correctives")
    rig, (mesh, *_) = build_meshes(3)
    select(rig)

    def can_bake() -> list[bool]:
        bpy.context.view_layer.update()
        return [getattr(bpy.ops.dqc, name).poll() for name in names]

    alone = instructions_of(can_bake)
    copies = [linked_copy(mesh) for _ in range(197)]
    assert can_bake() == [True] * 5
    assert instructions_of(can_bake) == alone
    last, armature = copies[-1], rig.data
    last.hide_set(True)
    assert can_bake() == [True] * 5  # it is left out: others are shown
    above = last.modifiers.new("Above", "SMOOTH")
    last.modifiers.move(len(last.modifiers) - 1, 0)
    last.hide_set(False)
    assert can_bake() == [False] * 5
    above.show_viewport = False
    assert can_bake() == [True] * 5
    armature.pose_position = "REST"
    assert can_bake() == [False] * 5
    armature.pose_position = "POSE"
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)  # a script's frame is no edit
    assert bpy.ops.dqc.bake_pose.poll()
    with edit_mode(rig):
        assert can_bake() == [True, True, True, False, True]
    assert can_bake() == [True] * 5
    for obj in bpy.context.view_layer.objects:
        obj.hide_set(obj != rig)
    assert can_bake() == [False] * 5


def test_bakes_and_exports_stand_in_their_order_whoever_declares_them(rig: Object) -> None:
    names = [leaf.name for leaf in drawn({"BakePanel"}).leaves("operator")]
    first = names.index("dqc.bake_pose")
    assert names[first : first + 8] == [
        *("dqc.bake_pose", "dqc.bake_range", "dqc.bake_correctives", "dqc.bake_correctives"),
        *("dqc.bake_bones", "dqc.bake_bones", "dqc.bake_cache", "dqc.export_plain"),
    ]


def test_by_example_offers_solve_folds_and_add_whatever_the_method_is(limb: Object) -> None:
    """The first example sets the method, on top of what the character shows."""
    select(limb)
    offered = drawn({"ExamplePanel"}).names("operator")
    assert {"dqc.solve_folds", "dqc.example_add"} <= set(offered)
    assert "dqc.examples_to_correctives" not in offered
    limb.parent.pose.bones["Lower"].rotation_mode = "XYZ"
    limb.parent.pose.bones["Lower"].rotation_euler.z = 1.0
    bpy.context.view_layer.update()
    limb.dq_compensation.example_bone = "Lower"
    assert bpy.ops.dqc.example_add(mode="NONE") == {"FINISHED"}
    settings = limb.dq_compensation
    assert (settings.method, settings.example_base) == (
        "SPHERICAL_JOINT_BY_EXAMPLE",
        "COMPENSATED",
    )
    texts = drawn({"ExamplePanel"}).texts()
    assert not [text for text in texts if "in Advanced" in text]

"""A setting that is declared is known to scripts, the command line, presets and the pages."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any, get_args, get_type_hints

import bpy
import pytest

from dq_compensation import api
from dq_compensation.command_line.commands import COMMANDS
from dq_compensation.command_line.options import setting_values
from dq_compensation.pipeline.crowds.settings import (
    DQCompensationCrowd,
    DQCompensationCrowdRole,
)
from dq_compensation.pipeline.takes.settings import DQCompensationPlayback
from dq_compensation.scene.settings.declaration import declared_in
from dq_compensation.scene.settings.example_settings import DQCompensationExampleBone
from dq_compensation.scene.settings.object_settings import (
    BONE_SETTINGS,
    METHOD_SETTINGS,
    CharacterChoices,
    Settings,
    settings_of,
)
from dq_compensation.ui import panels
from dq_compensation.ui.looks import DQC_OT_preset_add, copy_groups, copy_settings
from environments import PROJECT
from tests.blender.recorded_layout import RecordedLayout
from tests.limb import build_limb

pytestmark = pytest.mark.usefixtures("addon")

DECLARED = declared_in(CharacterChoices)
GROUPS = ("vertex_group", "blend_group")
PAGES = {
    DQCompensationExampleBone: "by_example.md",
    DQCompensationPlayback: "crowds.md",
    DQCompensationCrowd: "crowds.md",
    DQCompensationCrowdRole: "crowds.md",
}


def other_value(name: str, *, group: str) -> Any:
    """A value that is not the default."""
    words = DECLARED[name].keywords
    if "items" in words:
        return next(item[0] for item in words["items"] if item[0] != words["default"])
    others = {bool: not words["default"], float: 0.25, str: group}
    return others[type(words["default"])]


OTHER = {name: other_value(name, group="Elbow") for name in DECLARED} | {
    "bone_kinds": "Hand=ROW",
    "joint_strengths": "Hand=0.5",
    "joint_softness": "Hand=0.5",
}


@pytest.fixture
def limb() -> bpy.types.Object:
    obj, _ = build_limb("First")
    obj.vertex_groups.new(name="Elbow")
    return obj


def test_scripts_read_and_change_each(limb: bpy.types.Object) -> None:
    api.change_settings(limb, **OTHER)
    found = api.settings(limb)
    assert {name: getattr(found, name) for name in DECLARED} == OTHER
    assert {field.name for field in fields(found)} == {"enabled", *DECLARED}
    assert set(api.SettingValues.__annotations__) == set(DECLARED)
    assert all(name in (api.CharacterSettings.__doc__ or "") for name in DECLARED)


def test_the_command_line_has_an_option_for_each() -> None:
    parser = ArgumentParser()
    (enable,) = [command for command in COMMANDS if command.name == "enable"]
    assert enable.add_options is not None
    enable.add_options(parser)
    words: list[str] = []
    assert setting_values(parser.parse_args(words)) == {}
    for name, value in OTHER.items():
        option = name.removeprefix("use_").replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            words.append(f"--{option}={str(value).lower() if 'items' in name else value}")
    assert setting_values(parser.parse_args(words)) == OTHER
    assert parser.format_help()


def test_copies_have_all_but_the_display_and_presets_no_groups(limb: bpy.types.Object) -> None:
    api.change_settings(limb, **OTHER)
    second, _ = build_limb("Second")
    second.vertex_groups.new(name="Elbow")
    copy_settings(limb, second)
    assert copy_groups(limb, second) == []
    copied = {name for name in DECLARED if getattr(settings_of(second), name) == OTHER[name]}
    assert copied == DECLARED.keys() - {"display"}
    written = {name.removeprefix("settings.") for name in DQC_OT_preset_add.preset_values}
    assert written == copied - {*GROUPS, *BONE_SETTINGS}


def test_what_acts_is_frozen_and_has_the_defaults(limb: bpy.types.Object) -> None:
    assert is_dataclass(Settings)
    assert Settings.of(limb) == Settings()
    with pytest.raises(FrozenInstanceError):
        Settings().factor = 0.5  # type: ignore[misc]


def test_the_panel_shows_each_that_changes_the_method(limb: bpy.types.Object) -> None:
    layout = RecordedLayout()
    panels._sliders(layout, limb)
    panels._method(layout, bpy.context, limb)
    panels._groups(layout, limb)
    # The switch of solved shapes is beside the buttons that make them: `test_solved_look`.
    shown = {*layout.names("prop"), "use_solved_shapes"}
    assert set(METHOD_SETTINGS) - set(BONE_SETTINGS) - shown == set()


def test_choices_are_those_of_the_types() -> None:
    hints = get_type_hints(CharacterChoices)
    chosen = {name: each.keywords for name, each in DECLARED.items() if "items" in each.keywords}
    assert chosen
    for name, words in chosen.items():
        assert {item[0] for item in words["items"]} == set(literals(hints[name])), name


def literals(hint: Any) -> list[str]:
    """The texts of a union of Literals."""
    if isinstance(hint, str):
        return [hint]
    return [text for each in get_args(hint) for text in literals(each)]


def test_each_has_a_row_in_the_table_of_the_guide() -> None:
    guide = (PROJECT / "docs" / "guide.md").read_text(encoding="utf-8")
    table = guide.partition("| setting | what it does |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    labels = {each.keywords["name"] for each in DECLARED.values()}
    assert (labels - set(rows), set(rows) - labels) == (set(), set()), "missing rows, unknown ones"
    assert len(rows) == len(labels)


def test_the_page_of_scripts_names_each() -> None:
    page = (PROJECT / "docs" / "scripting.md").read_text(encoding="utf-8")
    assert [name for name in DECLARED if f"`{name}`" not in page] == []


@pytest.mark.parametrize(("group", "page"), PAGES.items())
def test_those_of_crowds_takes_and_examples_are_in_tables(group: type, page: str) -> None:
    text = (PROJECT / "docs" / page).read_text(encoding="utf-8")
    rows = " ".join(re.findall(r"^\|.*", text, re.MULTILINE))
    for name, each in declared_in(group).items():
        if not name.startswith("active_"):
            words = each.keywords.get("name", "").split()
            assert [word for word in words if word not in rows] == [], name

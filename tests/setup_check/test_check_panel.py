"""The panel of Setup Check, drawn into a layout that only remembers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from dq_compensation.setup_check import findings
from dq_compensation.setup_check.operators import DQC_OT_fix_all
from dq_compensation.setup_check.panel import _Found, _summary, draw_setup_check
from dq_compensation.ui_shared.sentences import broken_lines, shown_width
from tests.blender.enabled_scenes import select
from tests.blender.scene_builders import add_grid
from tests.replaced_functions import replace_everywhere
from tests.setup_check.fake_checks import Dents, dented_body, use_checks

pytestmark = pytest.mark.usefixtures("addon")


class RememberedLayout:
    """Stands in for a UILayout: labels as one text, operators with their properties."""

    def __init__(self, *, closed: bool = False) -> None:
        self.closed = closed
        self.words: list[str] = []
        self.buttons: list[tuple[str, str, SimpleNamespace]] = []
        self.enabled = True

    def label(self, *, text: str = "", **_look: Any) -> None:
        self.words.append(text)

    def operator(self, name: str, *, text: str = "", **_look: Any) -> SimpleNamespace:
        properties = SimpleNamespace()
        self.buttons.append((name, text, properties))
        return properties

    def separator(self) -> None:
        """Leaves nothing to remember."""

    def box(self) -> RememberedLayout:
        return self

    def row(self, **_look: Any) -> RememberedLayout:
        return self

    column = row

    def panel(
        self, _name: str, *, default_closed: bool = False
    ) -> tuple[RememberedLayout, RememberedLayout | None]:
        return self, None if self.closed and default_closed else self

    @property
    def text(self) -> str:
        return " ".join(self.words)


def draw(*, closed: bool = False) -> RememberedLayout:
    layout = RememberedLayout(closed=closed)
    draw_setup_check(layout, bpy.context)
    return layout


@pytest.fixture
def dents(monkeypatch: pytest.MonkeyPatch) -> Dents:
    fake = Dents(("flatten", "ask"), bones=("Lower",), vertices=(0, 1))
    use_checks(monkeypatch, fake.check())
    return fake


@pytest.fixture
def body(dents: Dents) -> bpy.types.Object:
    return dented_body()


def test_without_a_character_there_is_none(dents: Dents) -> None:
    assert (draw().words, draw().buttons) == ([], [])


def test_it_never_checks_by_itself(body: bpy.types.Object, dents: Dents) -> None:
    assert draw(closed=True).words == ["Setup Check"]
    assert draw().words == ["Setup Check", "Not checked yet: Body."]
    bpy.ops.dqc.check()
    looks = dents.looks
    draw()
    assert dents.looks == looks


def test_an_issue_has_its_sentence_and_its_buttons(body: bpy.types.Object) -> None:
    bpy.ops.dqc.check()
    layout = draw()
    assert layout.words[:2] == ["Setup Check: 1", "1 warning"]
    assert "Body has 3 dents." in layout.text
    names = [(name, text) for name, text, _ in layout.buttons]
    assert names == [
        ("dqc.check", ""),
        ("dqc.fix", "Flatten"),
        ("dqc.fix", "Ask..."),
        ("dqc.select_issue", "Select 2 Vertices"),
        ("dqc.select_issue", "Select 1 Bone"),
        ("dqc.ignore_issue", "Ignore"),
        ("dqc.fix_all", ""),
    ]
    button = layout.buttons[1][2]
    assert vars(button) == {
        "object_name": "Body",
        "others": "",
        "check": "dents",
        "key": "dents",
        "fix": "flatten",
    }


def test_what_has_to_be_asked_about_makes_no_fix_all(body: bpy.types.Object, dents: Dents) -> None:
    dents.fixes = ("ask", "flatten")
    bpy.ops.dqc.check()
    # Its button keeps its place.
    assert "dqc.fix_all" in {name for name, _, _ in draw().buttons}
    assert not draw().enabled
    describe: Any = DQC_OT_fix_all.description
    asked = SimpleNamespace(hints=True)
    assert "the rest ask first" in describe(bpy.context, asked)
    dents.fixes = ("flatten",)
    bpy.ops.dqc.check()
    assert "ask first" not in describe(bpy.context, asked)
    bpy.ops.dqc.fix_all()
    assert describe(bpy.context, asked) == "There is nothing to fix"


@pytest.mark.parametrize("count", [0, 3])
def test_it_says_that_findings_are_outdated_without_moving_anything(
    body: bpy.types.Object, count: int
) -> None:
    body["dents"] = count
    bpy.ops.dqc.check()
    before = draw().words
    assert before[0] == ("Setup Check: 1" if count else "Setup Check")
    found = findings.known(body)
    assert found is not None
    found.outdated = ("weights of Body",)
    layout = draw()
    after = layout.words
    # The line of the number of problems is in one line what has changed.
    assert after == ["Setup Check: outdated", *before[2:]]
    assert ("dqc.messages", "Older than weights of Body") in [each[:2] for each in layout.buttons]
    # What its buttons leave of a sidebar of default width, 134 pixels of 252.
    assert shown_width(after[0]) < 134


def test_hints_are_shown_when_they_are_asked_for(body: bpy.types.Object, dents: Dents) -> None:
    """Fix All does what the list shows."""
    dents.severity = "INFORMATION"
    bpy.ops.dqc.check()
    closed, opened = draw(closed=True), draw()
    assert closed.words == ["Setup Check", "Nothing to fix, 1 hint", "Show Hints (1)"]
    names = [name for name, _, _ in closed.buttons]
    assert names == ["dqc.check", "dqc.fix_all"]
    assert (closed.enabled, opened.enabled) == (False, True)
    assert opened.words == [*closed.words, "Body has 3 dents."]
    name, _, properties = opened.buttons[-1]
    assert (name, properties.hints) == ("dqc.fix_all", True)
    bpy.ops.dqc.fix_all(hints=False)
    assert body["dents"] == 3
    bpy.ops.dqc.fix_all()
    assert body["dents"] == 0


def test_several_characters_are_not_checked_in_one_line(body: bpy.types.Object) -> None:
    others = [add_grid(name=f"Grid {number}") for number in range(25)]
    select(body, *others)
    assert draw(closed=True).words == ["Setup Check"]
    findings.run(body, bpy.context.evaluated_depsgraph_get())
    words = draw().words
    assert words[1].startswith("Not checked yet: Grid 0, Grid 1")
    assert len([each for each in words if "Not checked" in each]) == 1
    found = [_Found([body], [], outdated=[])]
    assert _summary(found, whole=True) == ("Setup Check", "CHECKMARK")
    assert _summary(found, whole=False) == ("Setup Check", "QUESTION")


def test_several_characters_are_distinguished(body: bpy.types.Object) -> None:
    other = add_grid(name="Other")
    select(body, other)
    bpy.ops.dqc.check()
    words = draw().words
    assert words.index("Body") < words.index("Other")


def test_lines_break_between_words_and_keep_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_everywhere(monkeypatch, shown_width, len)
    text = "Bones of Rig are scaled: Oberschenkelknochen.L and 4 more."
    for width in (5, 20, 33, 200):
        lines = broken_lines(text, width)
        assert " ".join(lines) == text
        assert all(len(line) <= width or " " not in line for line in lines)
    assert broken_lines("", 20) == []


def test_lines_are_as_wide_as_the_interface_shows_them() -> None:
    """So that a narrow sidebar cuts nothing off, whatever the letters are."""
    text = "Mmmm mmmm WWWW illi lili ill before Armature deforms Human its vertices are changed."
    lines = broken_lines(text, 120.0)
    # Words are measured one by one: kerning beside spaces may differ by a pixel or two a line.
    assert all(shown_width(line) < 120.0 + 3.0 for line in lines)
    assert len(lines[0]) < len(lines[1])
    assert len(lines) < len(text) / 10

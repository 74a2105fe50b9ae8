"""Help: each button, setting and operator finds its page of the manual."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlparse

import bpy
import pytest

from dq_compensation.ui.panels import DQC_MT_help
from dq_compensation.ui_shared.sidebar import SubPanel, manual_map, page_address
from environments import PROJECT
from tests.blender.recorded_layout import RecordedLayout

DOCS = PROJECT / "docs"

pytestmark = pytest.mark.usefixtures("addon")


def require_page(address: str) -> None:
    """Fail unless the address is that of a page for users and of a section in it."""
    found = urlparse(address)
    path = Path(unquote(found.path))
    assert path.parent == DOCS
    assert path.stem not in {"architecture", "measurements"}  # for people who change the code
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    if found.fragment:
        assert found.fragment in {heading.lower().replace(" ", "-") for heading in headings}


def test_every_panel_opens_a_page_and_a_section_that_are_there() -> None:
    parts = SubPanel.__subclasses__()
    assert len(parts) > 5
    for part in parts:
        require_page(page_address(part.help_page, part.help_section))


def test_one_button_has_the_pages_of_all_panels() -> None:
    menu = SimpleNamespace(layout=RecordedLayout())
    draw: Any = DQC_MT_help.draw
    draw(menu, bpy.context)
    buttons = [each for each in menu.layout.leaves("operator") if each.name == "dqc.help"]
    for button in buttons:
        require_page(page_address(button.properties.page, button.properties.section))
    pages = {button.properties.page for button in buttons}
    assert {"guide", "setup_check", "painting", "by_example", "baking", "crowds"} <= pages
    titles = [button.text for button in buttons]
    assert len(titles) == len(set(titles)) == 8


def test_settings_and_operators_have_a_page() -> None:
    prefix, pages = manual_map()
    names = [f"bpy.ops.dqc.{name}" for name in dir(bpy.ops.dqc)]
    names += ["bpy.types.dqcompensationsettings.method", "bpy.types.dqcompensationtake.name"]
    for name in names:
        require_page(prefix + next(page for like, page in pages if fnmatchcase(name, like)))


def test_help_opens_the_page_in_the_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url, **_options: opened.append(url))
    assert bpy.ops.dqc.help(page="painting", section="the-overlay") == {"FINISHED"}
    assert opened == [(DOCS / "painting.md").as_uri() + "#the-overlay"]


def test_blender_finds_the_manual_of_an_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url, **_options: opened.append(url))
    for operator in ("bake_bones", "soften_weights", "restore_weights"):
        bpy.ops.wm.doc_view_manual(doc_id=f"dqc.{operator}")
    softening = (DOCS / "painting.md").as_uri() + "#soften-weights"
    assert opened == [(DOCS / "baking.md").as_uri() + "#bones", softening, softening]

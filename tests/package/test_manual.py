"""The manual in the zip: its links lead somewhere."""

import re
import zipfile
from pathlib import Path

import pytest

from manual_pages import ManualError, write_manual

_LINK = re.compile(r'(?:href|src)="([^":]+)"')


def test_every_link_in_the_zip_leads_to_a_file_and_a_section(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
        pages = {name: opened.read(name).decode() for name in names if name.endswith(".html")}
    anchors = {name: set(re.findall(r'id="([^"]+)"', text)) for name, text in pages.items()}
    broken = []
    for page, text in pages.items():
        for link in _LINK.findall(text):
            name, _, section = link.partition("#")
            target = f"manual/{name}" if name else page
            if target not in names or (section and section not in anchors[target]):
                broken.append(f"{page}: {link}")
    assert broken == []


def test_a_page_that_links_to_one_that_does_not_ship_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n[inside](architecture.md)\n")
    monkeypatch.setattr("manual_pages.DOCS", tmp_path / "docs")
    with pytest.raises(ManualError, match=r"docs/guide\.md links to architecture\.md"):
        write_manual(tmp_path / "manual")

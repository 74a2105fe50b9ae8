"""The manual: its links lead somewhere, in the zip and in the repository; its quotes are said."""

import ast
import re
import zipfile
from pathlib import Path

import pytest

from environments import PROJECT
from manual_pages import ManualError, write_manual

_LINK = re.compile(r'(?:href|src)="([^":]+)"')
_MARKDOWN_LINK = re.compile(r"\]\(([^):]+)\)")
_CODE = re.compile(r"^```.*?^```|^    .*?$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
PAGES = sorted((*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"), PROJECT / "tests/README.md"))


def _anchors(page: Path) -> set[str]:
    """The sections of a page, as links name them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w -]", "", heading).strip().lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_in_the_repository_leads_to_a_file_and_a_section(page: Path) -> None:
    broken = []
    for link in _MARKDOWN_LINK.findall(_CODE.sub("", page.read_text("utf-8"))):
        name, _, section = link.partition("#")
        target = (page.parent / name) if name else page
        if not target.exists() or (section and section not in _anchors(target)):
            broken.append(link)
    assert broken == []


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


def _sentences() -> list[str]:
    """Every text in the add-on's code; what is put into it is a zero byte."""
    found = []
    for path in sorted((PROJECT / "dq_compensation").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (
                    each.value if isinstance(each, ast.Constant) else "" for each in node.values
                )
                found.append("\0".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(re.sub(r"\{\w+\}", "\0", node.value))
    return found


def test_troubleshooting_quotes_what_the_add_on_says() -> None:
    text = (PROJECT / "docs" / "troubleshooting.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+?) \|", text.partition("## What the panel says")[2], re.MULTILINE)
    quoted = [row for row in rows if row != "sentence"]
    assert quoted
    said = "\n".join(_sentences())
    unsaid = [row for row in quoted if not re.search(_as_pattern(row), said)]
    assert unsaid == []


def _as_pattern(quoted: str) -> str:
    """A quoted sentence, whose dots stand for names, as a pattern within one line."""
    return ".*".join(re.escape(part.strip()) for part in quoted.split("..."))

"""The pages for contributors name files and folders that exist."""

from __future__ import annotations

import re

import pytest

from environments import PROJECT

PACKAGE = PROJECT / "dq_compensation"
FOLDERS = (PROJECT, PACKAGE, PROJECT / "tests")
# With the fewest paths that each names.
PAGES = {
    "CONTRIBUTING.md": 6,
    "docs/architecture.md": 6,
    "docs/measurements.md": 2,
    "tests/README.md": 6,
}
SUFFIXES = {".glsl", ".js", ".md", ".py", ".toml", ".yaml"}
# What the project makes, and what is only there while it is made.
MADE = {"build", "dist"}


def paths_of(text: str) -> list[str]:
    """The words between backticks that are paths, as patterns: `<name>` stands for any name."""
    words = re.findall(r"`([\w./*<>-]+)`", text)
    patterns = [re.sub(r"<\w+>", "*", word) for word in words if not word.startswith("*.")]
    return [each for each in patterns if _is_path(each)]


def _is_path(word: str) -> bool:
    first, slash, _ = word.partition("/")
    known = any((folder / first).is_dir() for folder in FOLDERS)
    if first in MADE or (not first and slash):
        return False
    return word[word.rfind(".") :] in SUFFIXES or (bool(slash) and (known or word.endswith("/")))


def exists(path: str) -> bool:
    path = path.rstrip("/")
    if any(any(folder.glob(path)) for folder in FOLDERS):
        return True
    # In the folder that the sentence is about.
    return "/" not in path and any(any(folder.rglob(path)) for folder in FOLDERS[1:])


@pytest.mark.parametrize("page", PAGES)
def test_every_path_of_a_page_exists(page: str) -> None:
    paths = paths_of((PROJECT / page).read_text(encoding="utf-8"))
    assert len(paths) >= PAGES[page]
    assert [path for path in paths if not exists(path)] == []


def test_a_path_that_is_gone_is_found() -> None:
    text = "`core/pose.py`, `core/gone.py`, `fixes/`, `gone/`, `gone_*.py`, `scene.bind`, `A/B`"
    paths = paths_of(text)
    assert [path for path in paths if not exists(path)] == ["core/gone.py", "gone/", "gone_*.py"]


def test_every_room_is_in_the_table() -> None:
    text = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.partition("| room | subject |")[2].partition("\n\n")[0]
    rooms = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    assert sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == sorted(rooms)

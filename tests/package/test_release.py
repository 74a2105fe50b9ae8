"""What is no release is refused, with everything that is missing; the listing is of the README."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from build import manifest
from environments import PROJECT
from listing import (
    ANIMATION,
    FEATURED,
    FOR_CONTRIBUTORS,
    PREVIEWS,
    RENDERS,
    SCREENSHOTS,
    SIZE,
    fitted,
    listing_text,
    missing_from_listing,
    write_listing,
)
from release import changelog_refusals, checkout_refusals, release_notes

CHANGELOG = (
    """# Changelog

## [0.2.0] - 2027-01-31

A thing is new.

### Added
- A thing, and what it does.

## [0.1.0] - unreleased

Everything.

### Added
- Everything.

## [0.0.2] - 2026-01-02
"""
    + "- Another thing.\n" * 11
    + """
## [0.0.1] - 2026-01-01

### Added
- Nobody knows.
"""
)


@pytest.mark.parametrize(
    ("version", "refusals"),
    [
        ("0.2.0", []),
        ("0.1.0", ["The section [0.1.0] of CHANGELOG.md has no date."]),
        ("0.0.1", ["The section [0.0.1] of CHANGELOG.md does not begin with a summary."]),
        ("0.0.2", ["The summary of [0.0.2] in CHANGELOG.md has more than 10 lines."]),
        ("0.2", ["CHANGELOG.md has no section [0.2], the version of the manifest."]),
    ],
)
def test_a_changelog_without_a_dated_section_is_refused(version: str, refusals: list[str]) -> None:
    assert changelog_refusals(version, CHANGELOG) == refusals


def test_release_notes_are_the_summary_of_the_version() -> None:
    assert release_notes("0.2.0", CHANGELOG) == "A thing is new."


def test_the_changelog_has_a_summary_of_the_version() -> None:
    version = manifest()["version"]
    reasons = changelog_refusals(version, (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"))
    # The date comes with the release.
    assert reasons in ([], [f"The section [{version}] of CHANGELOG.md has no date."])


def git(checkout: Path, *arguments: str) -> None:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(("git", *author, *arguments), cwd=checkout, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "code.py").write_text("")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "First")
    return tmp_path


def test_a_clean_checkout_is_accepted_before_and_after_it_is_tagged(checkout: Path) -> None:
    assert checkout_refusals("0.1.0", checkout) == []
    git(checkout, "tag", "-m", "First", "v0.1.0")
    assert checkout_refusals("0.1.0", checkout) == []


def test_files_that_are_not_committed_are_refused(checkout: Path) -> None:
    (checkout / "code.py").write_text("changed")
    (checkout / "notes.txt").write_text("")
    assert checkout_refusals("0.1.0", checkout) == ["Files are not committed: code.py, notes.txt."]


def test_a_version_whose_tag_is_on_another_commit_is_refused(checkout: Path) -> None:
    git(checkout, "tag", "-m", "First", "v0.1.0")
    git(checkout, "commit", "--quiet", "--allow-empty", "-m", "Second")
    refusals = ["The tag v0.1.0 is on another commit: raise the version in the manifest."]
    assert checkout_refusals("0.1.0", checkout) == refusals


def test_a_commit_with_the_tag_of_another_version_is_refused(checkout: Path) -> None:
    git(checkout, "tag", "v0.1.0")
    refusals = ["This commit has the tag v0.1.0, not v0.2.0."]
    assert checkout_refusals("0.2.0", checkout) == refusals


def test_missing_pictures_and_sections_are_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in (*PREVIEWS, ANIMATION):
        save_picture(tmp_path / "docs" / name, SIZE)
    save_picture(tmp_path / "docs" / RENDERS[1], (1280, 720))
    sections = "\n\n".join(f"## {name}\n" for name in FOR_CONTRIBUTORS[1:])
    (tmp_path / "README.md").write_text(f"# Name\n\n{sections}")
    assert missing_from_listing(tmp_path) == [
        f"The picture docs/{FEATURED} is missing.",
        f"The picture docs/{RENDERS[1]} is not of 1920 x 1080 pixels.",
        'README.md has no section "Install": scripts/listing.py leaves it out of the listing.',
    ]


@pytest.mark.parametrize(
    "found", ["[the guide](docs/guide.md)", "`make demo`", "With the painted weights:"]
)
def test_what_only_the_source_has_is_named(found: str, tmp_path: Path) -> None:
    readme = README.replace("First", f"{found}\n\nFirst")
    (tmp_path / "README.md").write_text(readme)
    reason = f'The listing\'s part of README.md says "{found}", which only the source has.'
    assert [each for each in missing_from_listing(tmp_path) if "says" in each] == [reason]


def save_picture(path: Path, size: tuple[int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (255, 0, 0)).save(path)


README = """# Name

First [words](https://example.org).

![A picture](docs/picture.jpg)

## Install
Secret.

## The first minute
1. Press it: it acts.

## What to read
[The guide](docs/guide.md#settings).

## Development
Secret.
"""


def test_the_listing_says_what_the_readme_says_to_users() -> None:
    text = listing_text(README, {"permissions": {"files": "Write caches"}})
    assert text.startswith("First [words](https://example.org).\n\n## The first minute\n1. Press")
    assert "guide" not in text
    assert "- files: Write caches." in text
    assert "Secret" not in text
    assert "picture" not in text


def test_the_listing_has_the_platforms_sizes(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "README.md").write_text(README)
    for name in (*RENDERS, ANIMATION):
        save_picture(project / "docs" / name, SIZE)
    for name in SCREENSHOTS:
        save_picture(project / "docs" / name, (1650, 1404))
    files = write_listing(project, tmp_path / "listing", manifest(), "Notes")
    sizes = {path.name: Image.open(path).size for path in files if path.suffix != ".md"}
    assert sizes.pop("icon.png") == (256, 256)
    assert set(sizes.values()) == {SIZE}
    assert len(sizes) == 2 + len(PREVIEWS)


def drawn_size(picture: Image.Image) -> tuple[int, int]:
    """How wide and how high the red of a picture is on its page."""
    red = np.array(fitted(picture))[:, :, 0] > 128
    return int(red.any(axis=0).sum()), int(red.any(axis=1).sum())


def test_a_screenshot_gets_a_border_and_is_never_enlarged() -> None:
    sizes = {(300, 200): (300, 200), (1132, 604): (1132, 604), SIZE: SIZE}
    # What is larger fits, with the same proportions.
    sizes[3840, 2160], sizes[1650, 1404] = SIZE, (1269, 1080)
    for size, drawn in sizes.items():
        picture = Image.new("RGB", size, (255, 0, 0))
        assert drawn_size(picture) == drawn
        assert fitted(picture).size == SIZE
        assert picture.size == size


def test_the_project_has_what_a_listing_needs() -> None:
    assert missing_from_listing(PROJECT) == []


def test_the_animation_moves_and_is_small() -> None:
    path = PROJECT / "docs" / ANIMATION
    with Image.open(path) as picture:
        assert picture.n_frames > 10
    assert path.stat().st_size < 3_000_000

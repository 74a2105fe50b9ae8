"""What is no release is refused, with everything that is missing; the listing is of the README."""

import subprocess
from pathlib import Path

import pytest
from PIL import Image

from build import manifest
from environments import PROJECT
from listing import FEATURED, PREVIEWS, listing_text, missing_from_listing, write_listing
from release import changelog_refusals, checkout_refusals, release_notes

CHANGELOG = """# Changelog

## [0.2.0] - 2027-01-31

### Added
- A thing.

## [0.1.0] - unreleased

### Added
- Everything.

## [0.0.1] - 2026-01-01
"""


@pytest.mark.parametrize(
    ("version", "refusals"),
    [
        ("0.2.0", []),
        ("0.1.0", ["The section [0.1.0] of CHANGELOG.md has no date."]),
        ("0.0.1", ["The section [0.0.1] of CHANGELOG.md is empty."]),
        ("0.2", ["CHANGELOG.md has no section [0.2], the version of the manifest."]),
    ],
)
def test_a_changelog_without_a_dated_section_is_refused(version: str, refusals: list[str]) -> None:
    assert changelog_refusals(version, CHANGELOG) == refusals


def test_release_notes_are_the_section_of_the_version() -> None:
    assert release_notes("0.2.0", CHANGELOG) == "### Added\n- A thing."


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
    for name in PREVIEWS:
        (tmp_path / "docs" / name).touch()
    (tmp_path / "README.md").write_text("# Name\n\n## Two commands\n\n## Development\n")
    assert missing_from_listing(tmp_path) == [
        f"The picture docs/{FEATURED} is missing.",
        'README.md has no section "Install": scripts/listing.py leaves it out of the listing.',
    ]


README = """# Name

First [words](https://example.org).

![A picture](docs/picture.jpg)

## Install
Secret.

## The first minute
See [the guide](docs/guide.md#settings).

## Development
Secret.
"""


def test_the_listing_says_what_the_readme_says_to_users() -> None:
    text = listing_text(README, {"permissions": {"files": "Write caches"}})
    assert text.startswith("First [words](https://example.org).\n\n## The first minute\n")
    assert "See **the guide**." in text
    assert "- files: Write caches." in text
    assert "Secret" not in text
    assert "picture" not in text


def test_the_listing_has_the_platforms_sizes(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "docs").mkdir(parents=True)
    (project / "README.md").write_text(README)
    for name in (FEATURED, *PREVIEWS):
        Image.new("RGB", (300, 200), (255, 0, 0)).save(project / "docs" / name)
    files = write_listing(project, tmp_path / "listing", manifest(), "Notes")
    sizes = {path.name: Image.open(path).size for path in files if path.suffix != ".md"}
    assert sizes.pop("icon.png") == (256, 256)
    assert set(sizes.values()) == {(1920, 1080)}
    assert len(sizes) == 1 + len(PREVIEWS)
    featured = Image.open(tmp_path / "listing" / "featured.jpg")
    # As high as the page, its sides filled; JPEG moves colours by a few steps.
    assert featured.getpixel((960, 5))[0] > 240  # type: ignore[index]
    assert featured.getpixel((5, 540))[0] < 60  # type: ignore[index]


def test_the_readme_has_the_sections_that_are_left_out() -> None:
    assert [reason for reason in missing_from_listing(PROJECT) if "README" in reason] == []

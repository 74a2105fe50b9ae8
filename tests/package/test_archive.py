"""What the zip holds: the files meant to ship and the manual, and only those."""

import zipfile
from pathlib import Path

import pytest

from build import BuildError, manifest, validate
from environments import BLENDER_VERSIONS, PROJECT
from manual_pages import user_pages

# Those of the platform that could be ours: docs.blender.org/manual, advanced/extensions/tags.
TAGS = {"3D View", "Animation", "Bake", "Geometry Nodes", "Object", "Paint", "Pipeline", "Rigging"}


def shipped_files() -> set[str]:
    patterns = ("dq_compensation/**/*.py", "shaders/**/*.glsl", "presets/**/*.py", "sample/*")
    files = {path for pattern in patterns for path in PROJECT.glob(pattern)}
    names = {path.relative_to(PROJECT).as_posix() for path in files}
    return names | {"blender_manifest.toml", "__init__.py", "LICENSE"}


def test_holds_exactly_the_files_meant_to_ship(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        names = {name for name in opened.namelist() if not name.endswith("/")}
    manual = {name for name in names if name.startswith("manual/")}
    assert names - manual == shipped_files()
    pages = {f"manual/{page.stem}.html" for page in user_pages()}
    assert {name for name in manual if name.endswith(".html")} == pages


def test_holds_the_files_as_they_are_in_the_project(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        differing = [
            name for name in shipped_files() if opened.read(name) != (PROJECT / name).read_bytes()
        ]
    assert differing == []


def test_is_small(archive: Path) -> None:
    """Code, pages and the sample character are 3 MB. Large pictures and animations do not ship."""
    assert archive.stat().st_size < 3_100_000
    with zipfile.ZipFile(archive) as opened:
        assert [name for name in opened.namelist() if "listing" in name or "webp" in name] == []


def test_name_has_the_manifests_version(archive: Path) -> None:
    assert archive.name == f"dq_compensation-{manifest()['version']}.zip"


@pytest.mark.parametrize("version", BLENDER_VERSIONS)
def test_each_blender_finds_it_valid(archive: Path, version: str, tmp_path: Path) -> None:
    validate(archive, version)
    without_manifest = tmp_path / "without_manifest.zip"
    with zipfile.ZipFile(without_manifest, "w") as opened:
        opened.writestr("__init__.py", "")
    with pytest.raises(BuildError, match="blender_manifest"):
        validate(without_manifest, version)


def test_manifest_keeps_the_rules_that_the_validator_does_not_know() -> None:
    facts = manifest()
    assert len(facts["tagline"]) <= 64
    assert not facts["tagline"].endswith(".")
    assert "blender" not in facts["name"].lower()
    assert set(facts["tags"]) <= TAGS
    page = facts["id"].replace("_", "-")
    # Why: see there.
    assert "blender_version_max" not in facts
    assert facts["website"] == f"https://extensions.blender.org/add-ons/{page}/"
    # Add to this when the add-on goes on line.
    assert set(facts["permissions"]) == {"files"}
    for reason in facts["permissions"].values():
        assert len(reason) <= 64
        assert not reason.endswith(".")

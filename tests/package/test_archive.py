"""What the zip holds: the files meant to ship and the manual, and only those."""

import re
import tomllib
import zipfile
from pathlib import Path

from environments import PROJECT
from manual_pages import user_pages


def shipped_files() -> set[str]:
    patterns = ("dq_compensation/**/*.py", "shaders/**/*.glsl")
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


def test_name_has_the_manifests_version(archive: Path) -> None:
    manifest = tomllib.loads((PROJECT / "blender_manifest.toml").read_text(encoding="utf-8"))
    assert archive.name == f"dq_compensation-{manifest['version']}.zip"


def test_changelog_has_a_section_for_the_manifests_version() -> None:
    manifest = tomllib.loads((PROJECT / "blender_manifest.toml").read_text(encoding="utf-8"))
    changelog = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## \[([^\]]+)\]", changelog, flags=re.MULTILINE)
    assert manifest["version"] in sections


def test_manifest_keeps_the_rules_that_the_validator_does_not_know() -> None:
    manifest = tomllib.loads((PROJECT / "blender_manifest.toml").read_text(encoding="utf-8"))
    assert len(manifest["tagline"]) <= 64
    assert not manifest["tagline"].endswith(".")
    # Add to this when the add-on goes on line.
    assert set(manifest["permissions"]) == {"files"}
    for reason in manifest["permissions"].values():
        assert len(reason) <= 64
        assert not reason.endswith(".")

"""Files of newer Blenders and files with missing libraries: told, and nothing is lost."""

from __future__ import annotations

import re
from pathlib import Path

import bpy
import pytest

from tests.blender.command_runs import CommandLine, save_limb


def saved_by_a_newer_blender(path: Path) -> Path:
    """Let a file say that the Blender after the next ones has saved it."""
    save_limb(path)
    raw = path.read_bytes()
    found = re.match(rb"BLENDER(?:\d\d-\d\d|-)v(\d+)", raw)
    assert found is not None
    newer = b"0909" if len(found.group(1)) == 4 else b"909"
    path.write_bytes(raw[: found.start(1)] + newer + raw[found.end(1) :])
    return path


def test_a_newer_file_is_read_with_a_warning_and_never_saved(
    command: CommandLine, tmp_path: Path
) -> None:
    path = saved_by_a_newer_blender(tmp_path / "newer.blend")
    before = path.read_bytes()
    looked = command("check", "--file", path, "--json")
    assert looked.code == 0
    assert f"{path} was saved by Blender 9.9, this is Blender" in looked.error
    assert len(looked.document["files"][0]["warnings"]) == 1
    changed = command("enable", "--file", path, "--in-place")
    assert changed.code == 3
    assert "To save it would lose data: use the newer Blender." in changed.errors[-1]
    assert path.read_bytes() == before


@pytest.fixture
def linking_file(addon: None, tmp_path: Path) -> Path:
    """A file with a limb of its own, and one that it links from a library that is missing."""
    library = save_limb(tmp_path / "library.blend", "Linked")
    path = save_limb(tmp_path / "shot.blend")
    bpy.ops.wm.open_mainfile(filepath=str(path))
    with bpy.data.libraries.load(str(library), link=True) as (there, wanted):
        wanted.objects = list(there.objects)
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    bpy.ops.wm.save_mainfile()
    library.unlink()
    return path


def test_a_missing_library_is_named_and_the_other_characters_go_on(
    command: CommandLine, linking_file: Path, tmp_path: Path
) -> None:
    library = tmp_path / "library.blend"
    outcome = command("check", "--file", linking_file, "--json")
    assert outcome.code == 0
    assert outcome.error.endswith(f"{linking_file} links {library}, which is missing.")
    assert [each["name"] for each in outcome.document["files"][0]["objects"]] == ["Limb"]


def test_a_character_in_a_missing_library_is_a_failure_of_the_file(
    command: CommandLine, linking_file: Path, tmp_path: Path
) -> None:
    outcome = command("check", "--file", linking_file, "--object", "Linked")
    assert outcome.code == 3
    wanted = f"Linked needs Linked of {tmp_path / 'library.blend'}, which is missing."
    assert outcome.errors[-1].endswith(wanted)

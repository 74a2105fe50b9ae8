"""Outputs of the command line that meet, that replace a file, or with unusual names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import bpy
import pytest

from dq_compensation import api
from dq_compensation.command_line.commands import main
from dq_compensation.errors import UserError
from dq_compensation.pipeline.files.whole_files import beside, written_whole
from tests.blender.command_runs import CommandLine, save_limb

posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows has no such names or owners")


@pytest.mark.parametrize(
    "words", [("evaluate", "--output", "x.npy"), ("bake", "cache", "--output", "x.pc2")]
)
def test_objects_with_one_file_are_refused(
    command: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_limb(tmp_path / "limbs.blend", "A:B", "A_B")
    outcome = command(*words, "--file", "limbs.blend")
    assert outcome.code == 4
    assert "A:B and A_B would both be written to x A_B." in outcome.error
    assert [path.name for path in tmp_path.iterdir()] == ["limbs.blend"]


def test_objects_with_one_file_are_refused_by_the_api(addon: None, tmp_path: Path) -> None:
    path = save_limb(tmp_path / "limbs.blend", "A:B", "A_B")
    limbs = api.skinned_meshes()
    with pytest.raises(UserError, match="A:B and A_B would both be written"):
        api.bake_cache(limbs, tmp_path / "x.pc2", 1, 2)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_result_of_another_input_is_not_replaced(
    command: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_limb(tmp_path / "a.blend", "Left", "Right")
    save_limb(tmp_path / "a Left.blend")
    (tmp_path / "out").mkdir()
    options = ("evaluate", "--file", "a.blend", "a Left.blend", "--output", "out")
    outcome = command(*options)
    assert outcome.code == 3
    assert "a Left.blend and a.blend would both be written to out/a Left.npy." in outcome.error
    assert sorted(os.listdir("out")) == ["a Left.npy", "a Right.npy"]


def test_json_does_not_replace_an_input(command: CommandLine, limb_file: Path) -> None:
    before = limb_file.read_bytes()
    outcome = command("check", "--json", limb_file, "--file", limb_file)
    assert outcome.code == 2
    assert f"'{limb_file}' does not end with .json" in outcome.error
    assert limb_file.read_bytes() == before


@posix_only
def test_paths_of_a_link_lead_from_the_link(command: CommandLine, tmp_path: Path) -> None:
    for name in ("shots", "store"):
        (tmp_path / name).mkdir()
    texture, link = tmp_path / "shots" / "skin.png", tmp_path / "shots" / "limb.blend"
    real = save_limb(tmp_path / "store" / "1.blend")
    bpy.data.images.new("Skin", 4, 4).filepath = "//skin.png"
    bpy.data.images["Skin"].source = "FILE"
    bpy.data.images["Skin"].use_fake_user = True
    bpy.ops.wm.save_as_mainfile(filepath=str(real), copy=True, relative_remap=False)
    link.symlink_to(real)
    (tmp_path / "out").mkdir()
    for options in (["--in-place"], ["--output", tmp_path / "out"]):
        assert command("enable", "--file", link, *options).code == 0
        written = link if options == ["--in-place"] else tmp_path / "out" / "limb.blend"
        bpy.ops.wm.open_mainfile(filepath=str(written))
        path = bpy.path.abspath(bpy.data.images["Skin"].filepath)
        assert os.path.normpath(path) == str(texture)
    assert link.is_symlink()


@contextmanager
def _as_another_user() -> Generator[None]:
    """Root may write everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@posix_only
def test_read_only_files_are_not_replaced(command: CommandLine, limb_file: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        path = Path(shutil.copy(limb_file, folder))
        path.chmod(0o444)
        main(["check", "--file", str(path), "--quiet"])
        with _as_another_user():
            outcome = command("enable", "--file", path, "--in-place")
            with pytest.raises(UserError, match="read-only"), beside(path):
                pytest.fail("nothing may be written")
        assert os.listdir(folder) == ["limb.blend"]
    assert outcome.code == 3
    assert outcome.error.endswith(f"{path} cannot be written: it is read-only.")


@posix_only
def test_a_replaced_file_keeps_its_owner_and_group(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    if os.geteuid() == 0:
        os.chown(path, 1234, 1235)
    path.chmod(0o664)
    before = path.stat()
    with written_whole(path) as file:
        file.write(b"new")
    after = path.stat()
    assert path.read_text() == "new"
    assert (after.st_uid, after.st_gid, after.st_mode) == (
        before.st_uid,
        before.st_gid,
        before.st_mode,
    )


@posix_only
def test_a_disk_that_cannot_sync_folders_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def fail_for_folders(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(22, "Invalid argument")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_for_folders)
    with written_whole(tmp_path / "file") as file:
        file.write(b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems know names in UTF-8 only")
def test_names_that_are_not_utf8_are_worked_on(command: CommandLine, limb_file: Path) -> None:
    path = limb_file.with_name(os.fsdecode(b"h\xe9ros.blend"))
    limb_file.rename(path)
    target = path.with_name("found.json")
    options = ("evaluate", "--file", path, "--output", f"{path.parent}/", "--json")
    outcome = command(*options, target)
    assert (outcome.code, outcome.errors) == (0, [])
    assert path.with_suffix(".npy").exists()
    for document in (json.loads(target.read_text()), command(*options).document):
        assert document["files"][0]["file"] == str(path)


def test_a_bug_in_one_file_does_not_keep_the_others_from_being_done(
    command: CommandLine, limb_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Path(shutil.copy(limb_file, limb_file.with_name("other.blend")))
    check, seen = api.check, []

    def fail_once(obj: bpy.types.Object) -> list[api.Issue]:
        seen.append(bpy.data.filepath)
        if len(seen) == 1:
            raise ZeroDivisionError("division by zero")
        return check(obj)

    monkeypatch.setattr(api, "check", fail_once)
    outcome = command("check", "--file", limb_file, other, "--json")
    assert outcome.code == 6
    assert seen == [str(limb_file), str(other)]
    assert (
        outcome.errors[0] == "dq_compensation: this is a bug: ZeroDivisionError: division by zero"
    )
    first, second = outcome.document["files"]
    assert first["error"]["code"] == 6
    assert second["error"] is None


def test_a_standard_output_that_cannot_be_used_is_no_finding(
    command: CommandLine, limb_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> int:
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(os, "dup", fail)
    code = main(["check", "--file", str(limb_file)])
    monkeypatch.undo()
    assert code == 6


_CHECK = """\
import os, sys
import dq_compensation
from dq_compensation.command_line.commands import main
dq_compensation.register()
os._exit(main(["check", "--file", *sys.argv[1:]]))
"""


@posix_only
@pytest.mark.newest_only
def test_a_reader_that_went_away_stops_the_run(limb_file: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    run = subprocess.run(
        [sys.executable, "-c", _CHECK, str(limb_file)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    # Not 1: that would say that something was found.
    assert run.returncode == 5
    assert run.stderr.splitlines()[-1] == "dq_compensation: stopped"

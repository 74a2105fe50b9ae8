"""A disk that takes a part of a file leaves the old file; the command says why it failed.

A limit of the process stands for a full disk, where only root could make one: what a
file has more is not written, which is what Blender, Python and NumPy meet on a full disk, with a
quota and on a network's disk.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.command_line.blend_files import is_whole
from dq_compensation.command_line.console import Console
from dq_compensation.errors import FileError
from dq_compensation.pipeline.files.alembic_files import size_at_most
from tests.blender.command_runs import CommandLine, save_limb

resource = pytest.importorskip("resource", reason="Windows has no limit for the size of files")


@contextmanager
def files_limited_to(size: int) -> Generator[None]:
    """No file gets longer than that; Python ignores the signal that would end the process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def disk_of(kilobytes: int, folder: Path) -> Generator[None]:
    """A real disk of that size in a folder."""
    options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "none", str(folder)]
    if (
        shutil.which("mount") is None
        or subprocess.run(["mount", *options], check=False, capture_output=True).returncode
    ):
        pytest.skip("only root may mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KB, which is less than any .blend file."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    with disk_of(64, folder):
        yield folder


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("enable",), "limb.blend"),
        (("evaluate", "--frames", "1-99"), "limb.npy"),
        (("bake", "cache", "--frames", "1-99"), "limb.pc2"),
    ],
)
def test_a_full_disk_is_told_and_leaves_nothing(
    command: CommandLine, limb_file: Path, tiny_disk: Path, words: tuple[str, ...], name: str
) -> None:
    old = tiny_disk / name
    old.write_text("old")
    outcome = command(*words, "--file", limb_file, "--output", old)
    assert outcome.code == 3
    assert f"{old} cannot be written: its disk is full" in outcome.error
    assert old.read_text() == "old"
    assert [path.name for path in tiny_disk.iterdir()] == [name]


@pytest.mark.parametrize("output", ["limb.blend", "new.blend"])
def test_a_compressed_file_that_does_not_fit_on_a_disk(
    command: CommandLine, limb_file: Path, tmp_path: Path, output: str
) -> None:
    """Blender reports success for what it writes, all but the last pages of 4 KB.

    How well a file can be compressed varies by less than a page.
    """
    source = save_limb(tmp_path / "compressed.blend", compress=True)
    written = tmp_path / "written.blend"
    assert command("enable", "--file", source, "--output", written).code == 0
    folder = tmp_path / "disk"
    folder.mkdir()
    pages = sum(-(-path.stat().st_size // 4096) for path in (source, written))
    with disk_of(4 * (pages - 2), folder):
        path = Path(shutil.copy(source, folder / "limb.blend"))
        target = folder / output
        where = ("--in-place",) if target == path else ("--output", target)
        outcome = command("enable", "--file", path, *where)
        assert outcome.code == 3
        assert f"{target} cannot be written: its disk is full, 0 KB are left." in outcome.error
        assert path.read_bytes() == source.read_bytes()
        assert os.listdir(folder) == ["limb.blend"]


# Compressed files of the same scene differ by more than 1000 bytes: addresses are in them.
@pytest.mark.parametrize(
    ("compress", "missing"), [(False, 1000), (False, 50_000), (True, 20_000), (True, 50_000)]
)
def test_a_file_of_which_a_part_is_missing_replaces_nothing(
    command: CommandLine, addon: None, tmp_path: Path, compress: bool, missing: int
) -> None:
    path = save_limb(tmp_path / "limb.blend", compress=compress)
    before, written = path.read_bytes(), tmp_path / "written.blend"
    assert command("enable", "--file", path, "--output", written).code == 0
    limit = written.stat().st_size - missing
    written.unlink()
    for where in (("--in-place",), ("--output", written)):
        with files_limited_to(limit):
            outcome = command("enable", "--file", path, *where)
        assert outcome.code == 3
        assert " cannot be written: " in outcome.error
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["limb.blend"]


@pytest.mark.parametrize("compress", [False, True])
def test_a_file_is_whole_only_with_all_of_its_bytes(
    addon: None, tmp_path: Path, compress: bool
) -> None:
    path = save_limb(tmp_path / "limb.blend", compress=compress)
    content = path.read_bytes()
    assert is_whole(path)
    chosen = np.random.default_rng(0).integers(0, len(content), 100).tolist()
    for length in (0, 3, 11, 17, 30, len(content) - 9, len(content) - 1, *chosen):
        path.write_bytes(content[:length])
        assert not is_whole(path), length
    path.write_bytes(content + b"\0")
    assert not is_whole(path)
    # What is missing in the middle leaves the end as it was.
    path.write_bytes(content[:5000] + content[5100:])
    assert not is_whole(path)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["limb.npy", "limb.pc2", "limb.mdd"])
def test_other_files_are_written_to_the_last_byte(
    command: CommandLine, limb_file: Path, tmp_path: Path, name: str
) -> None:
    target = tmp_path / name
    words = ("evaluate", "--file", limb_file, "--frames", "1-2", "--output", target)
    assert command(*words).code == 0
    wanted = target.read_bytes()
    for missing in (1, 100, len(wanted) // 2):
        with files_limited_to(len(wanted) - missing):
            outcome = command(*words)
        assert outcome.code == 3
        assert outcome.error.endswith(f"{target} cannot be written: File too large.")
        assert target.read_bytes() == wanted
        assert sorted(os.listdir(tmp_path)) == ["limb.blend", name]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is full")
def test_a_standard_output_on_a_full_disk_is_no_bug() -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        with pytest.raises(FileError, match="The standard output cannot be written: No space left"):
            Console(full, quiet=False).say("Saved")
        # What could not be written is gone: otherwise closing would fail, too.
        full.flush()


@pytest.mark.parametrize("stack", [(), ("SUBSURF",), ("SUBSURF", "SMOOTH")])
def test_alembic_takes_what_is_foretold(
    limb_file: Path, tmp_path: Path, stack: tuple[str, ...]
) -> None:
    """Not less, for then Blender would end; 105 KB and 50 % more at most."""
    limb = bpy.data.objects["Limb"]
    api.enable(limb)
    for kind in stack:
        modifier = limb.modifiers.new(kind, kind)
        if isinstance(modifier, bpy.types.SubsurfModifier):
            modifier.levels, modifier.render_levels = 0, 1
    for frames in (1, 5):
        path = tmp_path / "limb.abc"
        api.bake_cache(limb, path, 1, frames)
        size = path.stat().st_size
        assert size <= size_at_most(limb, frames) <= 1.5 * size + 105_000


def test_alembic_is_not_begun_where_it_may_not_fit(
    command: CommandLine, limb_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("enable", "--file", limb_file, "--in-place")
    target = tmp_path / "limb.abc"
    target.write_text("old")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=2_000_000))
    outcome = command("bake", "cache", "--file", limb_file, "--output", target, "--frames", "1-999")
    assert outcome.code == 3
    assert (
        f"{target} cannot be written: it can take 20 MB, and its disk has 2.0 MB left"
        in outcome.error
    )
    assert target.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["limb.abc", "limb.blend"]

"""`evaluate` to chunks, and `merge`: several runs give what one gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dq_compensation.bake.chunk_merging import read_chunks
from tests.blender.command_runs import LAST, CommandLine, save_limb


@pytest.fixture
def limbs_file(addon: None, tmp_path: Path) -> Path:
    return save_limb(tmp_path / "limbs.blend", "Left", "Right")


@pytest.fixture
def chunks(command: CommandLine, limbs_file: Path) -> list[Path]:
    paths = [limbs_file.with_name("part 1.npz"), limbs_file.with_name("part 2.npz")]
    for path, frames in zip(paths, ("1-2", f"3-{LAST}"), strict=True):
        outcome = command("evaluate", "--file", limbs_file, "--frames", frames, "--output", path)
        assert (outcome.code, outcome.errors) == (0, [])
    return paths


def test_merged_chunks_equal_one_run(
    command: CommandLine, limbs_file: Path, chunks: list[Path], tmp_path: Path
) -> None:
    whole = ("evaluate", "--file", limbs_file, "--frames", f"1-{LAST}", "--output")
    assert command(*whole, tmp_path / "whole.pc2").code == 0
    pattern, merged = tmp_path / "part *.npz", tmp_path / "merged.pc2"
    outcome = command("merge", pattern, "--frames", f"1-{LAST}", "--output", merged, "--json")
    assert (outcome.code, outcome.errors) == (0, [])
    (file,) = outcome.document["files"]
    assert file["output"] == [str(tmp_path / f"merged {name}.pc2") for name in ("Left", "Right")]
    for name in ("Left", "Right"):
        one, other = (tmp_path / f"{stem} {name}.pc2" for stem in ("whole", "merged"))
        assert one.read_bytes() == other.read_bytes()
    assert command(*whole, tmp_path / "whole.npy").code == 0
    assert command("merge", *reversed(chunks), "--output", tmp_path / "all.npz").code == 0
    np.testing.assert_array_equal(
        read_chunks([tmp_path / "all.npz"]).of("Left").values, np.load(tmp_path / "whole Left.npy")
    )


def test_method_and_factor_are_those_of_the_options(
    command: CommandLine, limbs_file: Path, tmp_path: Path
) -> None:
    options = ("--object", "Left", "--frames", LAST, "--method", "COMPENSATED", "--factor", "0.4")
    for name in ("left.npy", "left.npz"):
        target = tmp_path / name
        assert command("evaluate", "--file", limbs_file, *options, "--output", target).code == 0
    chunk = read_chunks([tmp_path / "left.npz"])
    np.testing.assert_array_equal(chunk.of("Left").values, np.load(tmp_path / "left.npy"))


def test_chunks_that_are_done_are_left_alone(
    command: CommandLine, limbs_file: Path, chunks: list[Path]
) -> None:
    before = [path.stat().st_mtime_ns for path in chunks]
    for path in chunks:
        outcome = command("evaluate", "--file", limbs_file, "--output", path, "--skip-done")
        assert (outcome.code, outcome.output) == (0, f"{limbs_file}: nothing to do\n")
    assert [path.stat().st_mtime_ns for path in chunks] == before


def test_chunks_that_do_not_fit_are_told(
    command: CommandLine, limbs_file: Path, chunks: list[Path], tmp_path: Path
) -> None:
    target = tmp_path / "all.pc2"
    outcome = command("merge", chunks[0], "--frames", f"1-{LAST}", "--output", target)
    assert outcome.code == 3
    assert "No chunk has frame 3, 4, 5" in outcome.error
    outcome = command("merge", *chunks, tmp_path / "missing.npz", "--output", target)
    assert outcome.code == 3
    assert f"There is no file {tmp_path / 'missing.npz'}" in outcome.error
    assert command("merge", *chunks, "--output", chunks[0]).code == 2
    assert command("merge", *chunks, "--output", tmp_path / "all.abc").code == 2
    keys = ("evaluate", "--file", limbs_file, "--shape-keys-for", "LINEAR", "--output")
    assert command(*keys, tmp_path / "keys.npy").code == 2
    assert not target.exists()

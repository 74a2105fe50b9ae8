"""The commands in `docs/farm.md` work when they are copied and pasted."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dq_compensation.command_line.commands import COMMANDS
from environments import PROJECT
from tests.farm.openjd_runs import openjd

LimbFile = Callable[[str], Path]

PAGE = (PROJECT / "docs" / "farm.md").read_text(encoding="utf-8")
FRAMES = 250


def block(language: str, *words: str) -> str:
    """The only code block of a language that has these words."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    (found,) = [each for each in blocks if all(word in each for word in words)]
    return found


def shell(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", text], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )


@pytest.mark.usefixtures("blender")
def test_xargs_does_all_files_and_tells_the_one_that_fails(
    limb_file: LimbFile, tmp_path: Path
) -> None:
    (tmp_path / "shots").mkdir()
    limb_file("shots/two words.blend")
    (tmp_path / "shots" / "broken.blend").write_bytes(b"no .blend file")
    run = shell(block("sh", "xargs -0"), tmp_path)
    assert run.returncode == 123
    assert "dq_compensation: shots/broken.blend is" in run.stderr
    (cache,) = (tmp_path / "baked").iterdir()
    assert cache.name == "two words.pc2"
    assert cache.stat().st_size == 32 + FRAMES * 800 * 12


def test_make_does_what_is_older_than_its_file(tmp_path: Path) -> None:
    (tmp_path / "shots").mkdir()
    (tmp_path / "Makefile").write_text(block("make", "baked"))
    for name in ("a", "b"):
        (tmp_path / "shots" / f"{name}.blend").touch()
    (tmp_path / "baked").mkdir()
    (tmp_path / "baked" / "a.pc2").touch()
    run = shell("make --dry-run", tmp_path)
    commands = [line for line in run.stdout.splitlines() if "blender" in line]
    assert [shlex.split(line)[-1] for line in commands] == ["baked/b.pc2"]


def test_jobs_have_the_parameters_of_their_templates() -> None:
    for words in re.findall(
        r"^openjd run (.*?)(?=^openjd|\Z)", block("sh", "openjd run"), re.M | re.S
    ):
        template, option, parameters = shlex.split(words)
        assert option == "--job-param"
        path = str(PROJECT / template)
        run = openjd("summary", path, option, json.dumps(json.loads(parameters)))
        assert run.returncode == 0, run.stdout


def test_commands_of_the_page_exist() -> None:
    typed = set(re.findall(r"--command dq_compensation(?: \\\n)?\s+((?:bake )?[a-z]+)", PAGE))
    assert typed >= {"bake cache"}
    assert typed <= {command.name for command in COMMANDS}

"""The page *Command Line*: its examples run, and its tables are complete."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from dq_compensation.command_line.commands import COMMANDS
from dq_compensation.command_line.console import ExitCode
from environments import PROJECT
from tests.blender.command_runs import CommandLine, save_crowd, save_dressed, save_limb

PAGE = (PROJECT / "docs" / "command_line.md").read_text(encoding="utf-8")
EXAMPLES = [
    shlex.split(line)[1:]
    for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    for line in block.splitlines()
]


def test_every_example_runs(
    command: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("hero", "shot"):
        save_limb(tmp_path / f"{name}.blend")
    save_dressed(tmp_path / "dressed.blend")
    save_crowd(tmp_path / "street.blend", 3)
    for example in EXAMPLES:
        outcome = command(*example)
        assert (outcome.code, outcome.errors) == (0, []), example
        if "--output" in example:
            assert Path(example[example.index("--output") + 1]).is_file()
    assert (tmp_path / "findings.json").is_file()


def test_every_command_has_an_example() -> None:
    shown = {" ".join(example) for example in EXAMPLES}
    for each in COMMANDS:
        assert any(example.startswith(each.name) for example in shown), each.name


def test_every_exit_code_is_in_the_table() -> None:
    assert re.findall(r"^\| (\d) \|", PAGE, flags=re.MULTILINE) == [
        str(code.value) for code in ExitCode
    ]


def test_the_shown_document_has_the_names_of_a_real_one(
    command: CommandLine, tmp_path: Path
) -> None:
    shown = json.loads(re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)[0])
    found = command("check", "--file", save_limb(tmp_path / "limb.blend"), "--json").document
    assert list(found) == list(shown)
    assert list(found["files"][0]) == list(shown["files"][0])
    assert found["format"] == shown["format"]

"""Files with a moving character, and the program that stands in for Blender."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dq_compensation
from environments import PROJECT
from tests.blender.command_runs import save_limb
from tests.kept_files import new_file

STAND_IN = PROJECT / "scripts" / "blender"


@pytest.fixture
def blender(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The path of a program that runs the project's commands as Blender does."""
    # Not the extension and the preferences of whoever runs the tests.
    monkeypatch.setenv("BLENDER_USER_RESOURCES", str(tmp_path / "user"))
    monkeypatch.setenv("PATH", f"{STAND_IN.parent}{os.pathsep}{os.environ['PATH']}")
    return str(STAND_IN)


@pytest.fixture
def limb_file(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A function that writes a .blend file with a limb that moves in the frames 1 to 5."""
    new_file()
    dq_compensation.register()
    yield lambda name: save_limb(tmp_path / name)
    dq_compensation.unregister()

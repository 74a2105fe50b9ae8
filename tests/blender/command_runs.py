"""Files for the command line, and its runs within this process."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import pytest

from dq_compensation import api
from dq_compensation.command_line.commands import main
from tests.kept_files import new_file_from
from tests.limb import build_limb, key_limb

LAST = 5
"""The limb of the files moves from frame 1 to this one."""


def save_limb(path: Path, *names: str, compress: bool = False) -> Path:
    """Write a file with a moving limb of 800 vertices for each name; the last one is open then."""
    names = names or ("Limb",)
    new_file_from("moving_" + "_".join(names), lambda: _build(names))
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=compress)
    return path


def save_crowd(path: Path, count: int) -> Path:
    """Write a file with a crowd of limbs that play a take; it is open then."""
    save_limb(path)
    limb = bpy.data.objects["Limb"]
    bpy.context.view_layer.objects.active = limb
    api.enable(limb)
    api.cache_take(limb.parent, "Wave", 1, LAST)
    bpy.ops.dqc.crowd_add(count=count)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    return path


def save_dressed(path: Path) -> Path:
    """Write a file with a limb and a sleeve around it, without weights; it is open then."""
    save_limb(path)
    limb = bpy.data.objects["Limb"]
    sleeve = bpy.data.objects.new("Sleeve", limb.data.copy())
    bpy.context.scene.collection.objects.link(sleeve)
    sleeve.matrix_world = limb.matrix_world
    for vertex, normal in zip(sleeve.data.vertices, limb.data.vertex_normals, strict=True):
        vertex.co += 0.01 * normal.vector
    sleeve.vertex_groups.clear()
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    return path


def _build(names: tuple[str, ...]) -> None:
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    for name in names:
        _, armature = build_limb(name)
        key_limb(armature, {1: 0.0, 3: 0.4, LAST: 1.0})
    scene.frame_set(3)


@dataclass(frozen=True)
class Outcome:
    """What a run of the command line printed, without progress, and its exit code."""

    code: int
    output: str
    errors: list[str]

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.output)

    @property
    def error(self) -> str:
        """The one line of a failure."""
        assert len(self.errors) == 1, self.errors
        return self.errors[0]


class CommandLine:
    """Runs commands and reads what they print."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def __call__(self, *argv: object) -> Outcome:
        self._captured.readouterr()
        code = main([str(each) for each in argv])
        printed = self._captured.readouterr()
        # A slow machine gets to see progress.
        errors = [line for line in printed.err.splitlines() if not re.search(r", \d+ %$", line)]
        return Outcome(code, printed.out, errors)

"""Checks that are made up, to test what carries checks and fixes out."""

from __future__ import annotations

from dataclasses import dataclass, field

import bpy
import numpy as np
import pytest

from dq_compensation.setup_check import catalogue
from dq_compensation.setup_check.issue import Check, Fix, FixError, Issue, Repair, Severity
from dq_compensation.setup_check.subject import Subject
from tests.blender.enabled_scenes import select
from tests.blender.scene_builders import add_armature, add_grid, skin


def use_checks(patch: pytest.MonkeyPatch, *checks: Check) -> None:
    """Let these be all checks until the test ends."""
    patch.setattr(catalogue, "CHECKS", checks)


def dented_body() -> bpy.types.Object:
    """A selected small character with three dents, in the current scene."""
    obj = add_grid()
    skin(obj, add_armature())
    obj["dents"] = 3
    select(obj)
    bpy.context.view_layer.update()
    return obj


@dataclass
class Dents:
    """A check of the custom property `dents`; counts how often it looked.

    Each entry of `fixes` is offered: `flatten` clears the property without asking, `ask` with a
    question, `refuse` refuses, `fail` raises what nobody has foreseen after it has begun to write.
    """

    fixes: tuple[str, ...] = ("flatten",)
    name: str = "dents"
    looks: int = 0
    bones: tuple[str, ...] = ()
    vertices: tuple[int, ...] = ()
    severity: Severity = "WARNING"
    fixed: list[str] = field(default_factory=list)

    def check(self) -> Check:
        """The check itself."""
        return Check(
            self.name,
            self._find,
            {
                "flatten": self._flatten,
                "ask": self._flatten,
                "refuse": self._refuse,
                "fail": self._fail,
            },
        )

    def _find(self, subject: Subject) -> list[Issue]:
        self.looks += 1
        dents = subject.obj.get(self.name, 0)
        if not dents:
            return []
        offered = tuple(
            Fix(name, name.capitalize(), f"Does {name}", "Really?" if name == "ask" else "")
            for name in self.fixes
        )
        return [
            Issue(
                key="dents",
                severity=self.severity,
                message=f"{subject.obj.name} has {dents} dents.",
                bones=self.bones,
                vertices=np.array(self.vertices, np.int32),
                amount=dents,
                fixes=offered,
            )
        ]

    def _flatten(self, subject: Subject, _issue: Issue) -> Repair:
        yield
        dents = subject.obj[self.name]
        subject.obj[self.name] = 0
        self.fixed.append(subject.obj.name)
        return f"Flattened {dents} dents"

    def _refuse(self, subject: Subject, _issue: Issue) -> Repair:
        yield  # as what finds out late
        raise FixError(f"The dents of {subject.obj.name} are too deep. Hammer them out.")

    def _fail(self, subject: Subject, _issue: Issue) -> Repair:
        yield
        subject.obj[self.name] = -1
        raise ZeroDivisionError("no hammer")

"""Operators report what the user must know, and let faults of ours through."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import pytest

from dq_compensation.core.example_poses import ExampleError
from dq_compensation.errors import BindingError, PoseError, UserError
from dq_compensation.setup_check.issue import FixError
from dq_compensation.ui_shared.reporting import Acting, reports_errors


@pytest.mark.parametrize("error", [UserError, BindingError, PoseError, ExampleError, FixError])
def test_an_error_for_the_user_is_reported_and_cancels(error: type[UserError]) -> None:
    reports: list[tuple[set[str], str]] = []

    @reports_errors
    def execute(self: SimpleNamespace, context: bpy.types.Context) -> set[str]:
        raise error("Limb is hidden. Show it (Alt H).")

    operator = SimpleNamespace(report=lambda kind, text: reports.append((kind, text)))
    assert execute(operator, bpy.context) == {"CANCELLED"}
    assert reports == [({"ERROR"}, "Limb is hidden. Show it (Alt H).")]


def test_any_other_error_is_a_fault_of_ours() -> None:
    @reports_errors
    def execute(self: SimpleNamespace, context: bpy.types.Context) -> set[str]:
        raise ValueError("two arrays of different length")

    with pytest.raises(ValueError, match="two arrays"):
        execute(SimpleNamespace(), bpy.context)


@pytest.mark.usefixtures("addon")
def test_each_operator_that_acts_reports_what_it_did() -> None:
    names = [name for name in dir(bpy.types) if name.startswith("DQC_OT_")]
    acting = [each for name in names if hasattr(each := getattr(bpy.types, name), "act")]
    assert len(acting) > 30
    assert [each for each in acting if not issubclass(each, Acting)] == []


def test_what_needs_a_window_says_so_to_scripts() -> None:
    reports: list[tuple[set[str], str]] = []
    operator = SimpleNamespace(report=lambda kind, text: reports.append((kind, text)))
    operator.bl_label, operator.act = "Compare", lambda context: Acting.act(operator, context)
    assert Acting.execute(operator, bpy.context) == {"CANCELLED"}
    assert reports == [({"ERROR"}, "Compare needs a window. Press its button there.")]

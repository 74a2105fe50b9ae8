"""One sentence says what a task does: in the tooltip, in `help` and in that of the command."""

from __future__ import annotations

from collections.abc import Callable
from inspect import getdoc
from typing import Any

import bpy
import pytest

from dq_compensation import api
from dq_compensation.command_line.commands import COMMANDS

pytestmark = pytest.mark.usefixtures("addon")

# The function, the operator and the command of each task; empty: there is none.
TASKS: tuple[tuple[Callable[..., Any], str, str], ...] = (
    (api.check, "check", "check"),
    (api.enable, "enable", "enable"),
    (api.disable, "disable", "disable"),
    (api.disable_all, "disable_all", ""),
    (api.report, "", "report"),
    (api.soften_weights, "soften_weights", "soften"),
    (api.weights_from_body, "weights_from_body", "weights"),
    (api.restore_weights, "restore_weights", ""),
    (api.solve_folds, "solve_folds", "solve"),
    (api.remove_solved_shapes, "remove_solved", ""),
    (api.bake_pose, "bake_pose", "bake pose"),
    (api.bake_frames, "bake_range", "bake frames"),
    (api.bake_correctives, "bake_correctives", "bake correctives"),
    (api.bake_bones, "bake_bones", "bake bones"),
    (api.remove_bake, "remove_bake", ""),
    (api.bake_cache, "bake_cache", "bake cache"),
    (api.bake_crowd, "bake_crowd", "bake crowd"),
    (api.export_plain, "export_plain", "export"),
    (api.cache_take, "take_cache", ""),
)


@pytest.mark.parametrize(("function", "operator", "command"), TASKS)
def test_button_function_and_command_say_the_same(
    function: Callable[..., Any], operator: str, command: str
) -> None:
    sentence = (getdoc(function) or "").partition(".")[0]
    assert sentence
    if operator:
        tooltip = getattr(bpy.ops.dqc, operator).get_rna_type().description
        assert tooltip.partition(".")[0] == sentence
    if command:
        (summary,) = (each.summary for each in COMMANDS if each.name == command)
        assert summary == sentence[0].lower() + sentence[1:]


def test_each_command_is_a_task_but_the_one_that_writes_files() -> None:
    missing = {each.name for each in COMMANDS} - {command for *_, command in TASKS}
    assert missing == {"evaluate"}, "TASKS has a row for each"

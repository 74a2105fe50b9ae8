"""Each option of bakes and softening is declared once; dialogs, scripts and commands have it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from inspect import getdoc, signature
from math import isfinite
from typing import Any

import bpy
import pytest

from dq_compensation import api
from dq_compensation.bake.options import KeyOptions, MemoryOptions, PoseOptions, RangeOptions
from dq_compensation.pipeline.bones.options import BonesOptions
from dq_compensation.pipeline.correctives.options import CorrectiveOptions
from dq_compensation.pipeline.crowds.options import CrowdBakeOptions
from dq_compensation.pipeline.takes.options import TakeOptions
from dq_compensation.scene.settings.declaration import Declared, declared_in
from dq_compensation.softness.options import SofteningOptions
from dq_compensation.transfer.options import BodyWeightsOptions
from environments import PROJECT
from tests.blender.command_runs import CommandLine

pytestmark = pytest.mark.usefixtures("addon")


@dataclass(frozen=True)
class Bake:
    """Where the options of a dataclass are offered.

    Attributes:
        command: its words; empty: there is none, as for takes.
        own: properties of the dialog for options that it asks for in a way of its own.
        by_frames: options that the command line reads from `--frames`.
    """

    task: type
    operator: str
    script: Callable[..., Any]
    command: str
    own: tuple[str, ...] = ()
    by_frames: tuple[str, ...] = ()


BAKES = (
    Bake(PoseOptions, "bake_pose", api.bake_pose, "bake pose"),
    Bake(RangeOptions, "bake_range", api.bake_frames, "bake frames", by_frames=("step",)),
    Bake(
        CorrectiveOptions,
        "bake_correctives",
        api.bake_correctives,
        "bake correctives",
        own=("bones", "bone_names", "angles", "twist_angles"),
    ),
    Bake(
        BonesOptions,
        "bake_bones",
        api.bake_bones,
        "bake bones",
        own=("bones", "bone_names"),
    ),
    Bake(CrowdBakeOptions, "bake_crowd", api.bake_crowd, "bake crowd"),
    Bake(SofteningOptions, "soften_weights", api.soften_weights, "soften"),
    Bake(BodyWeightsOptions, "weights_from_body", api.weights_from_body, "weights"),
    Bake(TakeOptions, "take_cache", api.cache_take, ""),
)
every_bake = pytest.mark.parametrize("bake", BAKES, ids=lambda bake: bake.operator)


def properties_of(operator: str) -> dict[str, Any]:
    rna = getattr(bpy.ops.dqc, operator).get_rna_type()
    return {name: prop for name, prop in rna.properties.items() if name != "rna_type"}


def required(bake: Bake) -> tuple[Any, ...]:
    """An object that cannot be baked, and what a script has to say besides."""
    return (None, 1, 5) if bake.task is RangeOptions else (None,)


def test_every_function_with_options_is_in_the_table() -> None:
    functions = [getattr(api, name) for name in api.__all__]
    missing = {each for each in functions if hasattr(each, "options")}
    missing -= {bake.script for bake in BAKES}
    assert not missing, "BAKES has a row for each"


@every_bake
def test_the_dialog_has_each_option(bake: Bake) -> None:
    properties = properties_of(bake.operator)
    offered = {each.property_name: each for each in declared_in(bake.task).values()}
    asked = {name: each for name, each in offered.items() if not each.several}
    assert set(asked) | set(bake.own) <= set(properties)
    for name, each in asked.items():
        found = properties[name]
        assert (found.name, found.description) == (each.keywords["name"], each.description)
        assert found.default == pytest.approx(each.default)
        if found.type == "ENUM":
            # Scripts may have more of them.
            assert set(found.enum_items.keys()) <= set(each.allowed)
        least, most = each.bounds
        if isfinite(least):
            assert found.hard_min == pytest.approx(least)
        if isfinite(most):
            assert found.hard_max == pytest.approx(most)
    for name in properties:
        others = {"first", "last", "show_details", *bake.own, *declared_in(MemoryOptions)}
        assert name in asked or name in others, f"{name} is not declared"


def test_examples_are_baked_with_the_options_of_keys() -> None:
    names = {each.property_name for each in declared_in(KeyOptions).values()}
    assert set(properties_of("examples_to_correctives")) == {*names, "show_details"}


@every_bake
def test_a_script_has_each_option(bake: Bake) -> None:
    parameters = signature(bake.script).parameters
    text = " ".join((getdoc(bake.script) or "").split())
    for each in declared_in(bake.task).values():
        assert parameters[each.name].default == each.default
        assert f" {each.name}: {each.sentence}" in text
        for choice in each.allowed:
            assert repr(choice) in text
    assert "{options}" not in text


def wrong_values(option: Declared) -> list[Any]:
    if option.allowed:
        return ["WAX"]
    if option.several or option.kind not in {int, float}:
        return []
    least, most = option.bounds
    beyond = [each for each in (least - 1, most + 1) if isfinite(each)]
    return [*beyond, float("nan")]


@every_bake
def test_a_script_is_told_of_values_that_cannot_be(bake: Bake) -> None:
    for each in declared_in(bake.task).values():
        for value in wrong_values(each):
            with pytest.raises(api.UserError, match=each.noun):
                bake.script(*required(bake), **{each.name: value})


@every_bake
def test_a_script_is_told_of_names_that_are_none(bake: Bake) -> None:
    message = rf"^{bake.script.__name__}\(\): got an unexpected keyword argument 'wax'"
    with pytest.raises(api.UserError, match=message):
        bake.script(*required(bake), wax=1)


def test_the_object_can_be_named_as_well() -> None:
    with pytest.raises(api.UserError, match="None is not an object"):
        api.bake_bones(objects=None, budget=2)


@pytest.mark.parametrize("bake", BAKES[:-1], ids=lambda bake: bake.operator)
def test_the_command_line_has_each_option(
    bake: Bake, command: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    text = " ".join(command(*bake.command.split(), "--help").output.split())
    for each in declared_in(bake.task).values():
        option = f"--{each.name.replace('_', '-')}"
        if each.name in bake.by_frames:
            assert option not in text
            continue
        assert re.search(rf" {option}[ ,].*? {re.escape(each.sentence)}", text), option
        if each.allowed:
            assert f"{option} {{{','.join(each.allowed)}}}" in text


@pytest.mark.parametrize(
    ("words", "option", "value", "message"),
    [
        ("bake bones", "--influences", 256, "'256' is not a whole number from 0 to 255"),
        ("bake bones", "--influences", 1.5, "'1.5' is not a whole number from 0 to 255"),
        ("bake bones", "--tolerance", 0, "'0' is not a number of at least 0.001"),
        ("bake bones", "--poses", "WAX", "invalid choice: 'WAX'"),
        ("soften", "--amount", 0, "'0' is not a number from 0.01 to 2"),
        ("soften", "--amount", "nan", "'nan' is not a number from 0.01 to 2"),
        ("soften", "--influences", 0, "'0' is not a whole number from 1 to 64"),
        ("soften", "--influences", 4.5, "'4.5' is not a whole number from 1 to 64"),
    ],
)
def test_a_wrong_value_is_refused_before_a_file_is_opened(
    command: CommandLine, words: str, option: str, value: object, message: str
) -> None:
    outcome = command(*words.split(), "--file", "missing.blend", "--in-place", option, value)
    assert outcome.code == 2
    assert message in outcome.error


@pytest.mark.parametrize(("name", "count"), [("baking", 3), ("painting", 2)])
def test_the_manual_names_options_as_the_dialogs_do(name: str, count: int) -> None:
    labels = {each.keywords["name"] for bake in BAKES for each in declared_in(bake.task).values()}
    page = (PROJECT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| option \|.*\n\|.*\n((?:\|.*\n)+)", page, re.MULTILINE)
    assert len(tables) == count
    rows = [row.split("|")[1].strip() for table in tables for row in table.splitlines()]
    assert [label for row in rows for label in row.split(", ") if label not in labels] == []

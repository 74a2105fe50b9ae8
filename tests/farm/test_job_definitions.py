"""The job definitions in `farm/`: they are valid, and all engines get the same tasks."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import pytest
import yaml  # comes with openjd
from py_mini_racer import JSEvalException, MiniRacer  # pyright: ignore[reportMissingImports]

from dq_compensation.command_line.commands import COMMANDS
from dq_compensation.scene.settings.choices import METHODS
from environments import PROJECT
from tests.farm.openjd_runs import TEMPLATES, openjd, recorded_tasks, run_job

JOB_TYPE = PROJECT / "farm" / "flamenco" / "dq_compensation_files.js"
MANAGER = Path(__file__).with_name("flamenco_manager.js")


def engine() -> MiniRacer:
    """A JavaScript engine that has read Flamenco's functions and the job type."""
    found = MiniRacer()
    for script in (MANAGER, JOB_TYPE):
        found.eval(script.read_text(encoding="utf-8"))
    return found


def job_settings() -> dict[str, dict[str, Any]]:
    """The settings of the job type, by name."""
    job_type = json.loads(engine().eval("JSON.stringify(JOB_TYPE)"))
    return {setting["key"]: setting for setting in job_type["settings"]}


def flamenco_tasks(**settings: Any) -> list[dict[str, Any]]:
    """The tasks that Flamenco makes, with the defaults of the job type for other settings."""
    known = {name: setting.get("default", "") for name, setting in job_settings().items()}
    assert set(settings) <= set(known)
    # Flamenco's add-on evaluates an absolute path in Blender.
    known |= settings | {"output_path": settings.get("output", "")}
    return json.loads(engine().eval(f"compiledTasks({json.dumps(known)})"))


def given_to_blender(tasks: list[dict[str, Any]]) -> list[list[str]]:
    commands = [command for task in tasks for command in task["commands"]]
    assert {command["name"] for command in commands} == {"exec"}
    assert {command["parameters"]["exe"] for command in commands} == {"{blender}"}
    return [command["parameters"]["args"] for command in commands]


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.yaml")), ids=lambda path: path.stem)
def test_templates_are_valid(path: Path) -> None:
    run = openjd("check", str(path))
    assert run.returncode == 0, run.stdout


def test_both_engines_offer_the_same_choices() -> None:
    template = yaml.safe_load((TEMPLATES / "files.yaml").read_text(encoding="utf-8"))
    parameters = {each["name"]: each for each in template["parameterDefinitions"]}
    settings = job_settings()
    for name in ("Command", "Method"):
        assert settings[name.lower()]["choices"] == parameters[name]["allowedValues"]
    methods = [identifier for identifier, *_ in METHODS]
    assert sorted(parameters["Method"]["allowedValues"]) == sorted(["", *methods])
    assert set(parameters["Command"]["allowedValues"]) <= {each.name for each in COMMANDS}


def test_flamencos_add_on_can_evaluate_the_automatic_settings(tmp_path: Path) -> None:
    """With the names that its manual lists, in Blender."""
    for name in ("b.blend", "a.blend", "notes.txt"):
        (tmp_path / name).touch()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "open.blend"))
    chosen = SimpleNamespace(folder="//", pattern="[ab].blend", output="//out")
    names = {"bpy": bpy, "C": bpy.context, "Path": Path, "settings": chosen}
    found = {
        name: eval(setting["eval"], dict(names))
        for name, setting in job_settings().items()
        if "eval" in setting
    }
    assert found == {
        "files": f"{tmp_path / 'a.blend'};{tmp_path / 'b.blend'}",
        "output_path": str(tmp_path / "out"),
    }


def test_each_file_is_a_task(tmp_path: Path) -> None:
    files = ["/shots/a.blend", "/shots/two words.blend"]
    tasks = recorded_tasks("files.yaml", {"Files": files}, tmp_path)
    assert tasks == [["--command", "dq_compensation", "check", "--file", file] for file in files]
    assert given_to_blender(flamenco_tasks(files=";".join(files))) == tasks


def test_both_engines_pass_on_all_options_of_files(tmp_path: Path) -> None:
    files = ["/shots/a.blend", "/shots/b.blend"]
    parameters = {
        "Files": files,
        "Command": "bake frames",
        "Objects": ["Body*", "Left Hand"],
        "Method": "COMPENSATED",
        "Output": "/baked",
        "Options": ["--frames", "1-250"],
    }
    tasks = recorded_tasks("files.yaml", parameters, tmp_path)
    words = "bake frames --file /shots/b.blend --object Body* Left_Hand --method COMPENSATED"
    words += " --output /baked/ --skip-done --frames 1-250"
    expected = [word.replace("_", " ") for word in words.split()]
    assert tasks[1] == ["--command", "dq_compensation", *expected]
    compiled = flamenco_tasks(
        files=";".join(files),
        command="bake frames",
        objects="Body*, Left Hand",
        method="COMPENSATED",
        output="/baked",
        options="--frames 1-250",
    )
    assert given_to_blender(compiled) == tasks
    assert [task["name"] for task in compiled] == ["a", "b"]


def test_two_files_with_one_output_are_refused(tmp_path: Path) -> None:
    files = ["/a/hero.blend", "/b/hero.blend"]
    sentence = "Two files have the name hero.blend, and would have one output"
    run = run_job("files.yaml", {"Files": files, "Output": str(tmp_path)})
    assert run.returncode != 0
    assert sentence in run.stdout
    with pytest.raises(JSEvalException, match=sentence):
        flamenco_tasks(files=";".join(files), output="/out")
    # Without an output they are two files to check.
    assert len(flamenco_tasks(files=";".join(files))) == 2
    assert len(recorded_tasks("files.yaml", {"Files": files}, tmp_path)) == 2


def test_flamenco_without_files_says_where_it_looked() -> None:
    with pytest.raises(JSEvalException, match=r"No file of /shots fits \*\.blend"):
        flamenco_tasks(files="", folder="/shots")


def test_flamenco_keeps_what_is_between_quotes() -> None:
    (task,) = flamenco_tasks(
        files="/a.blend",
        objects='"Arm, left", Bob\'s',
        options='--bones "Lower Arm"  --budget 2',
    )
    (args,) = given_to_blender([task])
    words = ["--object", "Arm, left", "Bob's", "--bones", "Lower Arm", "--budget", "2"]
    assert args[-len(words) :] == words
    with pytest.raises(JSEvalException, match="is not closed"):
        flamenco_tasks(files="/a.blend", options='--bones "Lower')

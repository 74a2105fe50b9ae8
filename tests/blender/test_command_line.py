"""The command line: what it takes, what it prints, and its exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.command_line.commands import COMMANDS, main
from tests.blender.command_runs import LAST, CommandLine, save_limb


def test_check_is_fine_with_a_character_that_is(command: CommandLine, limb_file: Path) -> None:
    outcome = command("check", "--file", limb_file)
    assert (outcome.code, outcome.errors) == (0, [])
    assert outcome.output.endswith("1 file checked: 0 errors, 0 warnings, 0 notes\n")


@pytest.fixture
def scaled_file(addon: None, tmp_path: Path) -> Path:
    """A limb whose object scale Setup Check warns about."""
    path = save_limb(tmp_path / "scaled.blend")
    bpy.data.objects["Limb"].scale = (1.0, 2.0, 1.0)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    return path


def test_findings_give_their_own_exit_code(command: CommandLine, scaled_file: Path) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(scaled_file))
    issues = api.check(bpy.data.objects["Limb"])
    assert {issue.severity for issue in issues} == {"WARNING"}
    outcome = command("check", "--file", scaled_file, "--fail-on", "warning")
    assert outcome.code == 1
    assert f"{scaled_file}: Limb: warning: {issues[0].message}\n" in outcome.output
    assert command("check", "--file", scaled_file).code == 0
    assert command("check", "--file", scaled_file, "--fail-on", "never").code == 0


def test_json_on_standard_output_is_alone_there(command: CommandLine, scaled_file: Path) -> None:
    outcome = command("check", "--file", scaled_file, "--json", "--fail-on", "warning")
    found = outcome.document
    assert (found["format"], found["command"], found["exit_code"]) == (1, "check", 1)
    (file,) = found["files"]
    assert (file["file"], file["error"], file["skipped"]) == (str(scaled_file), None, False)
    (limb,) = file["objects"]
    assert limb["name"] == "Limb"
    assert {issue["severity"] for issue in limb["issues"]} == {"WARNING"}


def test_check_says_what_two_meshes_share_once(command: CommandLine, limb_file: Path) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(limb_file))
    limb = bpy.data.objects["Limb"]
    other = limb.copy()
    other.data, other.name = limb.data.copy(), "Other"
    bpy.context.collection.objects.link(other)
    limb.modifiers[0].object.pose.bones["Lower"].scale = (1.0, 1.5, 1.0)
    bpy.ops.wm.save_as_mainfile(filepath=str(limb_file))
    for chosen in ((), ("--object", "Limb Rig")):
        outcome = command("check", "--file", limb_file, *chosen)
        assert outcome.output.count("The pose of Limb Rig scales") == 1
        assert "This concerns Limb, Other." in outcome.output
        assert outcome.output.endswith("0 errors, 1 warning, 0 notes\n")


def test_json_goes_to_a_file(command: CommandLine, limb_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "found.json"
    outcome = command("check", "--file", limb_file, "--json", target, "--quiet")
    assert (outcome.output, outcome.errors) == ("", [])
    assert json.loads(target.read_text())["files"][0]["objects"][0]["issues"] == []


def test_what_blender_prints_is_shown_when_asked_for(command: CommandLine, limb_file: Path) -> None:
    outcome = command("check", "--file", limb_file, "--verbose")
    assert any("Read blend" in line for line in outcome.errors)
    assert "Read blend" not in outcome.output


def test_positions_are_those_of_the_api(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "limb.npy"
    outcome = command(
        *("evaluate", "--file", limb_file, "--frames", f"1-{LAST}x3", "--output", target),
        *("--method", "DUAL_QUATERNION"),
    )
    assert (outcome.code, outcome.errors) == (0, [])
    frames = [1, 4, LAST]
    wanted = api.evaluate_frames(bpy.data.objects["Limb"], frames, method="DUAL_QUATERNION")
    assert np.array_equal(np.load(target), wanted)
    assert np.ptp(wanted, axis=0).max() > 0.1


def test_a_point_cache_has_the_positions_of_an_array(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    options = ("--frames", f"1-{LAST}", "--method", "COMPENSATED", "--factor", "0.4")
    for name in ("limb.npy", "limb.pc2"):
        target = tmp_path / name
        outcome = command("evaluate", "--file", limb_file, *options, "--output", target, "--json")
        assert (outcome.code, outcome.errors) == (0, [])
        (file,) = outcome.document["files"]
        assert file["output"] == [str(target)]
        assert file["objects"][0]["frames"] == [1, 2, 3, 4, LAST]
    # A header of 32 bytes, then the positions.
    cache = np.frombuffer((tmp_path / "limb.pc2").read_bytes(), "<f4", offset=32)
    array = np.load(tmp_path / "limb.npy")
    np.testing.assert_array_equal(cache.reshape(array.shape), array)


def test_a_folder_gets_a_file_for_each_object(command: CommandLine, tmp_path: Path) -> None:
    both = save_limb(tmp_path / "both.blend", "Left", "Right")
    (tmp_path / "out").mkdir()
    outcome = command("evaluate", "--file", both, "--output", tmp_path / "out")
    assert outcome.code == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "both Left.npy",
        "both Right.npy",
    }
    command("evaluate", "--file", both, "--object", "R*", "--output", tmp_path / "one.npy")
    assert np.load(tmp_path / "one.npy").shape == (1, 800, 3)


def test_evaluate_writes_world_space(
    command: CommandLine, scaled_file: Path, tmp_path: Path
) -> None:
    found = {}
    for space in ("local", "world"):
        target = tmp_path / f"{space}.npy"
        command("evaluate", "--file", scaled_file, "--space", space, "--output", target)
        found[space] = np.load(target)[0]
    bpy.ops.wm.open_mainfile(filepath=str(scaled_file))
    expected = api.evaluate(bpy.data.objects["Limb"], space="WORLD")
    np.testing.assert_allclose(found["world"], expected, atol=1e-6)
    assert np.abs(found["world"] - found["local"]).max() > 0.1
    refused = ["evaluate", "--file", scaled_file, "--space", "world", "--output", "a.pc2"]
    assert "Leave out --space" in command(*refused).error


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["check"], 2, "--file"),
        (["dance"], 2, "invalid choice: 'dance'"),
        (["check", "--file", "{limb}", "--fail-on", "all"], 2, "invalid choice: 'all'"),
        (["evaluate", "--file", "{limb}", "--output", "x.npy", "--frames", "a"], 2, "1-250x5"),
        (["evaluate", "--file", "{limb}", "--output", "x.npy", "--factor", "2"], 2, "from 0 to 1"),
        (["evaluate", "--file", "{limb}", "--output", "x.txt"], 2, "does not end with .npy"),
        (["evaluate", "--file", "{limb}", "--output", "{limb}.npy/no/"], 3, "There is no folder"),
        (
            ["evaluate", "--file", "x", "--output", "x.npy", "--frames", "1-9999999"],
            2,
            "to 1048574",
        ),
        (["bake", "pose", "--file", "x", "--frame", "999999999999"], 2, "whole number from"),
        (["bake", "bones", "--file", "x", "--influences", "256"], 2, "from 0 to 255"),
        (
            ["enable", "--file", "{limb}", "--output", "{folder}/x.txt"],
            2,
            "does not end with .blend",
        ),
        (["enable", "--file", "{limb}", "--output", "{folder}/new"], 2, "not end with .blend"),
        (["check", "--file", "{folder}/none.blend"], 3, "There is no file {folder}/none.blend"),
        (["check", "--file", "{folder}/*.nothing"], 3, "No file fits the pattern"),
        (["check", "--file", "{folder}"], 3, "is not a file"),
        (["check", "--file", "{text}"], 3, "is not a .blend file"),
        (["check", "--file", "{half}"], 3, "is damaged or incomplete"),
        (["check", "--file", "{limb}", "--object", "Lim"], 4, "no object Lim. Did you mean Limb?"),
        (["check", "--file", "{limb}", "--object", "Q*"], 4, "Its skinned meshes: Limb."),
        (["check", "--file", "{limb}", "--object", "Empty"], 4, "Its skinned meshes: Limb."),
        (["check", "--file", "{nothing}"], 4, "no skinned mesh"),
        (["check", "--file", "{limb}", "--json", "{folder}/no/x.json"], 3, "There is no folder"),
    ],
)
def test_bad_input_is_one_line_and_a_code(
    command: CommandLine, limb_file: Path, argv: list[str], code: int, said: str
) -> None:
    folder = limb_file.parent
    places = {"limb": limb_file, "folder": folder}
    for name in ("text", "half", "nothing"):
        places[name] = folder / f"{name}.blend"
    places["text"].write_text("not a file of Blender's" * 100)
    whole = limb_file.read_bytes()
    places["half"].write_bytes(whole[: len(whole) // 2])
    bpy.data.objects["Limb"].modifiers.clear()
    bpy.ops.wm.save_as_mainfile(filepath=str(places["nothing"]), copy=True)
    outcome = command(*(each.format(**places) for each in argv))
    assert outcome.code == code
    assert said.format(**places) in outcome.error
    assert "Traceback" not in outcome.error


def test_a_file_that_fails_does_not_keep_the_others_from_being_done(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "a_broken.blend"
    broken.write_text("nothing")
    outcome = command("check", "--file", tmp_path / "*.blend", "--json")
    assert outcome.code == 3
    assert outcome.error == f"dq_compensation: {broken} is not a .blend file."
    first, second = outcome.document["files"]
    assert first["error"] == {"code": 3, "message": f"{broken} is not a .blend file."}
    assert (second["file"], second["error"]) == (str(limb_file), None)


def test_every_command_shows_its_help(command: CommandLine) -> None:
    for each in COMMANDS:
        outcome = command(*each.name.split(), "--help")
        assert outcome.code == 0
        assert all(example in outcome.output for example in each.examples)
    assert command("--help").code == 0
    assert "crowds, by names or patterns" in command("bake", "crowd", "--help").output


def test_the_standard_output_is_as_before_afterwards(
    limb_file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    main(["check", "--file", str(limb_file), "--quiet"])
    capfd.readouterr()
    sys.stdout.write("said\n")
    assert capfd.readouterr().out == "said\n"


@pytest.mark.parametrize("name", ["limb.npy", "limb.pc2"])
def test_an_armature_in_rest_position_is_refused_whatever_is_written(
    command: CommandLine, limb_file: Path, tmp_path: Path, name: str
) -> None:
    bpy.data.objects["Limb Rig"].data.pose_position = "REST"
    path = tmp_path / "rest.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    outcome = command("evaluate", "--file", path, "--output", tmp_path / name)
    assert outcome.code == 4
    assert "Limb Rig is in Rest Position, which has no poses." in outcome.error
    assert not (tmp_path / name).exists()


def test_objects_of_another_scene_are_worked_on(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    bpy.context.window.scene = bpy.data.scenes.new("Empty")
    path, output = tmp_path / "two.blend", tmp_path / "limb.npy"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    wanted = ("evaluate", "--frames", f"1-{LAST}", "--object", "Limb", "--output", output)
    assert command(*wanted, "--file", path).code == 4
    assert command(*wanted, "--file", path, "--scene", "Scene").code == 0
    found = np.load(output)
    command(*wanted, "--file", limb_file)
    np.testing.assert_array_equal(found, np.load(output))
    assert np.ptp(found, axis=0).max() > 0.1
    saved = tmp_path / "enabled.blend"
    assert command("enable", "--file", path, "--scene", "Scene", "--output", saved).code == 0
    outcome = command("check", "--file", path, "--scene", "Nothing")
    assert (outcome.code, "Its scenes: Empty, Scene." in outcome.error) == (4, True)

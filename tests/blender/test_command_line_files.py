"""The command line writes files that are complete, where the options say, and nothing else."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.command_line.commands import main
from dq_compensation.command_line.console import ExitCode
from dq_compensation.scene.settings.object_settings import settings_of
from tests.blender.command_runs import LAST, CommandLine, save_crowd, save_limb


def open_again(path: Path) -> bpy.types.Object:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    return bpy.data.objects["Limb"]


def test_enabling_saves_a_new_file_and_leaves_the_input(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    before = limb_file.read_bytes()
    target = tmp_path / "enabled.blend"
    outcome = command(
        *("enable", "--file", limb_file, "--output", target, "--json"),
        *("--method", "compensated", "--factor", "0.5", "--curve", "fitted"),
        *("--no-mesh-joints", "--no-ball-joints"),
    )
    assert (outcome.code, outcome.errors) == (0, [])
    (file,) = outcome.document["files"]
    assert file["output"] == [str(target)]
    assert file["objects"][0]["settings"]["method"] == "COMPENSATED"
    assert limb_file.read_bytes() == before
    found = api.settings(open_again(target))
    assert (found.enabled, found.method, found.factor) == (True, "COMPENSATED", 0.5)
    assert (found.use_mesh_joints, found.use_ball_joints) == (False, False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["enabled.blend", "limb.blend"]


def test_a_look_is_a_start_and_an_option_beside_it_wins(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "soft.blend"
    words = ("--look", "soft_with_twist", "--softness", "0.25")
    assert command("enable", "--file", limb_file, "--output", target, *words).code == 0
    found = api.settings(open_again(target))
    assert (found.softness, found.twist_spread, found.use_ball_joints) == (0.25, 1.0, True)


def test_disabling_gives_back_what_the_input_was(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "enabled.blend"
    command("enable", "--file", limb_file, "--output", target)
    assert [m.type for m in open_again(target).modifiers] == ["ARMATURE", "NODES"]
    assert api.settings(bpy.data.objects["Limb"]).use_ball_joints
    command("disable", "--file", target, "--in-place")
    found = open_again(target)
    assert not settings_of(found).enabled
    assert [m.type for m in found.modifiers] == ["ARMATURE"]


@pytest.mark.parametrize("compress", [False, True])
def test_in_place_keeps_compression_and_permissions(
    command: CommandLine, tmp_path: Path, compress: bool
) -> None:
    path = save_limb(tmp_path / "limb.blend", compress=compress)
    path.chmod(0o640)
    beginning = path.read_bytes()[:4]
    assert command("enable", "--file", path, "--in-place").code == 0
    assert path.read_bytes()[:4] == beginning
    assert path.stat().st_mode & 0o777 == 0o640
    assert settings_of(open_again(path)).enabled
    assert [each.name for each in tmp_path.iterdir()] == ["limb.blend"]


def test_relative_paths_lead_where_they_led(command: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "shots").mkdir()
    (tmp_path / "out").mkdir()
    path = save_limb(tmp_path / "shots" / "limb.blend")
    bpy.ops.wm.open_mainfile(filepath=str(path))
    bpy.data.images.new("Skin", 4, 4).filepath = "//textures/skin.png"
    bpy.data.images["Skin"].source = "FILE"
    bpy.data.images["Skin"].use_fake_user = True
    bpy.ops.wm.save_mainfile(filepath=str(path))
    command("enable", "--file", path, "--output", tmp_path / "out")
    open_again(tmp_path / "out" / "limb.blend")
    image = bpy.data.images["Skin"]
    assert image.filepath.startswith("//")
    wanted = tmp_path / "shots" / "textures" / "skin.png"
    assert Path(os.path.normpath(bpy.path.abspath(image.filepath))) == wanted


def test_a_link_stays_a_link(command: CommandLine, limb_file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.blend"
    link.symlink_to(limb_file)
    assert command("enable", "--file", link, "--in-place").code == 0
    assert link.is_symlink()
    assert settings_of(open_again(limb_file)).enabled


def test_two_inputs_with_one_output_are_told_before_any_work(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "out").mkdir()
    second = Path(shutil.copy(limb_file, tmp_path / "b" / "limb.blend"))
    files = ("--file", limb_file, second)
    for words in (("enable",), ("evaluate",), ("bake", "cache")):
        for output in (tmp_path / "out", tmp_path / "out.pc2"):
            if output.suffix and words == ("enable",):
                continue
            outcome = command(*words, *files, "--output", output)
            assert outcome.code == 2
            assert "would all be written to" in outcome.error
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 2, "--output FILE_OR_FOLDER, or --in-place"),
        (["--output", "{limb}", "--in-place"], 2, "--output FILE_OR_FOLDER, or --in-place"),
        (["--output", "{limb}"], 2, "is an input. Choose another --output, or say --in-place"),
        (["--output", "{folder}/no/x.blend"], 3, "There is no folder {folder}/no. Make it first."),
        (["--output", "{folder}/no/"], 3, "There is no folder {folder}/no. Make it first."),
        (["--output", "{pipe}"], 3, "{pipe} exists and is not a file."),
        (["--in-place", "--skip-done"], 2, "--skip-done needs an --output"),
        (["--in-place", "--vertex-group", "None"], 4, "Limb has no vertex group None."),
        (["--in-place", "--object", "Nobody"], 4, "no object Nobody"),
    ],
)
def test_outputs_that_cannot_be_are_told(
    command: CommandLine, limb_file: Path, options: list[str], code: int, said: str
) -> None:
    before, folder = limb_file.read_bytes(), limb_file.parent
    os.mkfifo(folder / "pipe.blend")
    names = {"limb": limb_file, "folder": folder, "pipe": folder / "pipe.blend"}
    outcome = command("enable", "--file", limb_file, *(each.format(**names) for each in options))
    assert outcome.code == code
    assert said.format(**names) in outcome.error
    assert limb_file.read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["limb.blend", "pipe.blend"]


def test_a_character_that_fails_leaves_its_file_as_it_was(
    command: CommandLine, tmp_path: Path
) -> None:
    path = save_limb(tmp_path / "both.blend", "Left", "Right")
    bpy.data.objects["Right"].modifiers["Armature"].object = None
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    before = path.read_bytes()
    outcome = command("enable", "--file", path, "--in-place", "--object", "Left", "Right")
    assert outcome.code == 4
    assert "Right" in outcome.error
    assert path.read_bytes() == before


def test_done_files_are_skipped(command: CommandLine, limb_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.blend"
    options = ("enable", "--file", limb_file, "--output", target, "--skip-done", "--json")
    assert not command(*options).document["files"][0]["skipped"]
    written = target.stat().st_mtime_ns
    outcome = command(*options)
    assert outcome.code == 0
    assert outcome.document["files"][0]["skipped"]
    assert target.stat().st_mtime_ns == written
    os.utime(limb_file, ns=(written + 1, written + 1))
    assert not command(*options).document["files"][0]["skipped"]


def test_a_baked_range_plays_in_blender_alone(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    wanted = api.evaluate_frames(open_again(limb_file), range(1, LAST + 1), method="COMPENSATED")
    target = tmp_path / "baked.blend"
    outcome = command(
        *("bake", "frames", "--file", limb_file, "--output", target, "--method", "COMPENSATED"),
        *("--frames", f"1-{LAST}", "--json"),
    )
    assert (outcome.code, outcome.errors) == (0, [])
    report = outcome.document["files"][0]["objects"][0]["report"]
    assert report["frames"] == LAST
    assert report["deviation"]["largest"] < 0.01
    limb = open_again(target)
    assert len(limb.data.shape_keys.key_blocks) == LAST + 1
    # Keys in float32: a millionth of the limb's 1.5 units, after the Armature modifier.
    for frame in (2, LAST):
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        mesh = limb.evaluated_get(depsgraph).data
        shown = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.attributes["position"].data.foreach_get("vector", shown)
        assert np.abs(shown.reshape(-1, 3) - wanted[frame - 1]).max() < 5e-6


def test_a_pose_of_another_frame_becomes_a_key(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "pose.blend"
    outcome = command(
        *("bake", "pose", "--file", limb_file, "--frame", LAST, "--name", "Bent"),
        *("--output", target),
    )
    assert outcome.code == 0
    assert outcome.output.startswith("Baked the pose of Limb to Bent")
    limb = open_again(target)
    assert "Bent" in limb.data.shape_keys.key_blocks
    assert bpy.context.scene.frame_current == 3


def test_a_pose_without_a_key_is_saved_after_the_pose_of_another_frame(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    rig = open_again(limb_file).parent
    rig.keyframe_insert("location", frame=1)
    bpy.context.view_layer.update()
    rig.location.z = 0.5
    bpy.ops.wm.save_mainfile()
    target = tmp_path / "pose.blend"
    words = ("bake", "pose", "--file", limb_file, "--frame", LAST, "--output", target)
    assert command(*words).code == 0
    assert open_again(target).parent.location.z == 0.5


def test_correctives_and_bones_are_baked_with_the_apis_defaults(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    keys, bones = tmp_path / "keys.blend", tmp_path / "bones.blend"
    first = command(
        *("bake", "correctives", "--file", limb_file, "--output", keys, "--angles", 90, "--json")
    )
    second = command("bake", "bones", "--file", limb_file, "--output", bones)
    assert (first.code, second.code, first.errors, second.errors) == (0, 0, [], [])
    names = first.document["files"][0]["objects"][0]["report"]["key_names"]
    assert names
    assert set(names) <= set(open_again(keys).data.shape_keys.key_blocks.keys())
    assert "helper bone" in second.output
    assert len(open_again(bones).modifiers["Armature"].object.data.bones) > 3


def test_crowds_are_baked(command: CommandLine, limb_file: Path, tmp_path: Path) -> None:
    street, baked = save_crowd(tmp_path / "street.blend", 4), tmp_path / "baked.blend"
    outcome = command("bake", "crowd", "--file", street, "--output", baked, "--tolerance", 30)
    assert (outcome.code, outcome.errors) == (0, [])
    bpy.ops.wm.open_mainfile(filepath=str(baked))
    graph = bpy.context.evaluated_depsgraph_get()
    places = {tuple(e.matrix_world.translation) for e in graph.object_instances if e.is_instance}
    assert len(places) == 4
    without = command("bake", "crowd", "--file", limb_file, "--output", tmp_path / "none.blend")
    assert without.code == ExitCode.CHARACTER
    assert without.errors == [
        f"dq_compensation: {limb_file} has no crowd: no Empty that Add Crowd has made."
    ]


@pytest.mark.parametrize("suffix", ["pc2", "mdd", "abc"])
def test_caches_are_what_the_api_writes(
    command: CommandLine, limb_file: Path, tmp_path: Path, suffix: str
) -> None:
    target = tmp_path / f"limb.{suffix}"
    if suffix == "abc":
        refused = command("bake", "cache", "--file", limb_file, "--output", target)
        assert refused.code == 4
        assert f"Enable Limb first, by the command enable --file {limb_file} --out" in refused.error
        command("enable", "--file", limb_file, "--in-place")
    outcome = command("bake", "cache", "--file", limb_file, "--output", target)
    assert (outcome.code, outcome.errors) == (0, [])
    wanted = tmp_path / f"wanted.{suffix}"
    api.bake_cache(open_again(limb_file), wanted, 1, LAST)
    if suffix == "abc":
        # It has the date in it.
        assert target.stat().st_size == pytest.approx(wanted.stat().st_size, rel=0.05)
    else:
        assert target.read_bytes() == wanted.read_bytes()


def test_a_failure_of_the_disk_leaves_the_old_file(
    command: CommandLine, limb_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = limb_file.read_bytes()

    def fail(_source: Path, _target: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "replace", fail)
    outcome = command("enable", "--file", limb_file, "--in-place")
    assert outcome.code == 3
    assert outcome.error.endswith(f"{limb_file} cannot be written: Input/output error.")
    assert limb_file.read_bytes() == before
    assert [path.name for path in limb_file.parent.iterdir()] == ["limb.blend"]


def test_a_folder_without_permission_is_told_before_any_work(
    command: CommandLine, limb_file: Path
) -> None:
    # Pytest's folders are root's alone; another user must reach this one.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = Path(shutil.copy(limb_file, folder))
        path.chmod(0o644)
        main(["check", "--file", str(path), "--quiet"])
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        else:
            folder.chmod(0o555)
        try:
            outcome = command("enable", "--file", path, "--in-place")
        finally:
            if root:
                os.seteuid(0)
            folder.chmod(0o755)
    assert outcome.code == 3
    assert f"no permission to write in {folder}" in outcome.error


def test_a_factor_that_is_animated_is_not_replaced_without_a_word(
    command: CommandLine, limb_file: Path, tmp_path: Path
) -> None:
    limb = open_again(limb_file)
    limb.keyframe_insert("dq_compensation.factor", frame=1)
    bpy.ops.wm.save_mainfile()
    options = ("evaluate", "--file", limb_file, "--factor", "0.5", "--output")
    outcome = command(*options, tmp_path / "limb.pc2")
    assert outcome.code == 4
    assert "The factor of Limb is animated" in outcome.error
    assert command(*options, tmp_path / "limb.npy").code == 0

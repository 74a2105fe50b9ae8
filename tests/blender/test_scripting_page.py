"""Every example of docs/scripting.md runs on a human, and gives what the page says."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Vector

import dq_compensation
from dq_compensation import api
from environments import PROJECT
from tests.blender.bake_scenes import LAST_FRAME, animate, native
from tests.blender.conftest import Human
from tests.blender.scene_builders import all_weights, link
from tests.human_body import HEAD_HANDS_AND_FEET, human_arrays
from tests.kept_files import new_file_with_human

PAGE = (PROJECT / "docs" / "scripting.md").read_text(encoding="utf-8")
INSTALLED = "bl_ext.user_default.dq_compensation"
# Of a human of 1.7 units in float32.
EXACT = 1e-6


def blocks_of(section: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


HEADS, BODIES = zip(
    *(part.split("\n", 1) for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]), strict=True
)
SECTIONS = dict(zip(HEADS, BODIES, strict=True))
IMPORT = blocks_of(SECTIONS["Import"])[0]


@pytest.fixture
def installed(addon: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The add-on under the names that it has as an extension."""
    parents = [INSTALLED.rsplit(".", depth)[0] for depth in (2, 1)] + [INSTALLED]
    for name in parents:
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name) or ModuleType(name))
    monkeypatch.setitem(sys.modules, f"{INSTALLED}.dq_compensation", dq_compensation)
    monkeypatch.setitem(sys.modules, f"{INSTALLED}.dq_compensation.api", api)


@pytest.fixture
def saved(installed: None, tmp_path: Path) -> Path:
    """The file that every section begins with; it is open."""
    body, armature = new_file_with_human("game_engine", HEAD_HANDS_AND_FEET)
    animate(Human(body, armature, human_arrays("game_engine", HEAD_HANDS_AND_FEET)))
    path = tmp_path / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def run(section: str) -> tuple[dict[str, Any], str]:
    """The names that the examples of a section define, and what they print."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = io.StringIO()
    blocks = blocks_of(SECTIONS[section])
    assert blocks
    with contextlib.redirect_stdout(printed):
        for block in ([] if section == "Import" else [IMPORT]) + blocks:
            exec(compile(block, f"docs/scripting.md, {section}", "exec"), names)
    return names, printed.getvalue()


def by_armature(obj: bpy.types.Object) -> dict[int, np.ndarray]:
    """What Blender's own modifiers make of an object in every frame."""
    found = {}
    for frame in range(1, LAST_FRAME + 1):
        bpy.context.scene.frame_set(frame)
        found[frame] = native(obj)
    return found


def of_cache(path: Path) -> np.ndarray:
    """Shape (F, n, 3): the positions in a PC2 file, whose header has 32 bytes."""
    count, samples = np.frombuffer(path.read_bytes()[16:32], "<i4")[[0, 3]]
    return np.frombuffer(path.read_bytes()[32:], "<f4").reshape(samples, count, 3)


def test_every_section_with_examples_is_run_by_a_test() -> None:
    tests = Path(__file__).read_text(encoding="utf-8")
    missing = [head for head in SECTIONS if blocks_of(SECTIONS[head]) and f'"{head}"' not in tests]
    assert not missing


def test_the_page_names_every_function() -> None:
    functions = [name for name in api.__all__ if name[0].islower()]
    assert [name for name in functions if f"`{name}`" not in PAGE] == []


@pytest.mark.usefixtures("saved")
def test_the_api_is_found_by_both_ways_of_importing_it() -> None:
    entry = bpy.context.preferences.addons.new()
    entry.module = INSTALLED
    try:
        names, _ = run("Import")
    finally:
        bpy.context.preferences.addons.remove(entry)
    assert names["api"] is api
    assert names["human"].name == "Human"


@pytest.mark.usefixtures("saved")
def test_an_error_is_the_sentence_of_the_panel() -> None:
    link(bpy.data.objects.new("Camera", None))
    _, printed = run("What all functions have in common")
    assert printed == "Camera is not a mesh. Select the character's mesh.\n"


@pytest.mark.usefixtures("saved")
def test_characters_are_enabled_and_disabled() -> None:
    names, printed = run("Find, enable and disable")
    assert printed == "['Human']\n"
    assert not names["human"].dq_compensation.enabled
    assert [modifier.type for modifier in names["human"].modifiers] == ["ARMATURE"]


@pytest.mark.usefixtures("saved")
def test_softened_weights_are_put_back() -> None:
    before = all_weights(bpy.data.objects["Human"])
    names, printed = run("Soft weights")
    softened = names["softened"]
    assert printed == f"Human {softened.changed} of {softened.vertices} vertices\n"
    assert softened.changed > 0
    assert all_weights(names["human"]) == before


@pytest.mark.usefixtures("saved")
def test_solved_shapes_are_added_switched_and_removed() -> None:
    names, printed = run("Solved shapes")
    assert re.fullmatch(r"\[\('lowerarm_l', \d+\)\] \d+ True\n", printed)
    wanted, without, human = names["wanted"], names["without"], names["human"]
    assert np.abs(wanted - without).max() > 2e-3  # a tenth of some centimetres
    assert np.array_equal(api.evaluate(human), without)
    assert api.solved_shapes(human) == []


@pytest.mark.usefixtures("saved")
def test_folds_are_solved() -> None:
    names, printed = run("Solve folds")
    (joint,) = names["report"].solved
    assert f"\n{joint.bone} {joint.poses} {joint.before.crossings} 0\n" in printed
    assert len(api.solved_shapes(names["human"])) == joint.poses
    assert (names["estimate"].joints, names["estimate"].shapes) == (1, joint.poses)


@pytest.mark.usefixtures("saved")
def test_a_report_has_joints() -> None:
    names, printed = run("Report")
    assert "Joints bent by 90 degrees" in printed
    assert f"{names['worst'].bone} " in printed
    assert printed.endswith(" % of the radius are lost\n")
    assert names["elbow"].bone == "lowerarm_l"
    assert names["elbow"].own.bulge < names["elbow"].preserve_volume.bulge


@pytest.mark.usefixtures("saved")
def test_settings_change_together_or_not_at_all() -> None:
    names, printed = run("Settings")
    assert printed == (
        "COMPENSATED is now DUAL_QUATERNION\n"
        "The factor 2.0 cannot be used. Give a number from 0 to 1.\n"
    )
    human = names["human"]
    assert names["idle"]["pelvis"] == "it has no joint that moves skin"
    assert not human.dq_compensation.bone_kinds
    shown = native(human)
    human.dq_compensation.factor = 0.5
    api.disable(human)
    human.modifiers[0].use_deform_preserve_volume = True
    assert np.abs(native(human) - shown).max() <= EXACT


@pytest.mark.usefixtures("saved")
def test_issues_are_listed_and_fixed() -> None:
    body = bpy.data.objects["Human"]
    body.vertex_groups["lowerarm_l"].add([0], 0.3, "ADD")
    bpy.data.objects["Human Rig"].pose.bones["lowerarm_l"].scale = (1.0, 1.3, 1.0)
    bpy.ops.wm.save_mainfile()
    names, printed = run("Check and fix")
    assert "can be fixed: " in printed
    assert "FIXED" in printed
    assert names["errors"] == []
    assert tuple(names["rig"].pose.bones["lowerarm_l"].scale) == (1.0, 1.0, 1.0)
    assert api.fix(names["human"]) == []
    assert {each.severity for each in api.check(names["human"], ignored=True)} == {"INFORMATION"}


@pytest.mark.usefixtures("saved")
def test_positions_are_those_of_the_armature_modifier() -> None:
    names, printed = run("Positions")
    human = names["human"]
    assert np.abs(names["linear"] - native(human)).max() <= EXACT
    assert np.abs(names["by_nodes"] - names["positions"]).max() <= 1e-4
    placed = np.array([human.matrix_world @ Vector(each) for each in names["positions"]])
    assert np.abs(names["in_world"] - placed).max() <= EXACT
    api.change_settings(human, method="LINEAR")
    wanted = api.evaluate_frames(human, range(1, LAST_FRAME + 1))
    for frame, shape in by_armature(human).items():
        assert np.abs(wanted[frame - 1] - shape).max() <= EXACT
    assert names["frames"].shape == (LAST_FRAME, len(human.data.vertices), 3)
    assert np.abs(names["frames"] - wanted).max() > 0.001
    assert np.array_equal(names["shutter"][1], names["frames"][3])
    assert float(printed.split()[-1]) > 0.0
    assert names["highest"] == names["frames"][:, :, 2].max()


@pytest.mark.usefixtures("saved")
def test_baked_keys_play_the_deformation() -> None:
    names, _ = run("Bake to shape keys")
    human, copy = names["human"], names["copy"]
    assert "Flexed" in human.data.shape_keys.key_blocks
    human.hide_set(False)
    wanted = api.evaluate_frames(human, range(1, LAST_FRAME + 1))
    for frame, shape in by_armature(copy).items():
        # Frames within 0.1 mm of the interpolation have no key.
        assert np.abs(wanted[frame - 1] - shape).max() <= 0.00011
    assert copy.name == "Human Baked"


@pytest.mark.usefixtures("saved")
def test_correctives_follow_the_bones() -> None:
    names, printed = run("Correctives")
    assert names["after"].largest < 0.5 * names["before"].largest
    keys = names["human"].data.shape_keys.key_blocks.keys()
    assert {"lowerarm_l 60", "lowerarm_r 60"} <= set(keys)
    assert printed.startswith(f"{len(keys) - 1} keys")


@pytest.mark.usefixtures("saved")
def test_helper_bones_bring_linear_skinning_nearer() -> None:
    names, printed = run("Bones")
    report = names["report"]
    assert report.after.rms < report.before.rms
    summary, figures, *lines = printed.splitlines()
    assert " would get " in summary
    assert " helpers, " in figures
    assert len(lines) == 1 + len(report.joints)
    assert {joint.bone for joint in report.joints} == {"lowerarm_l", "lowerarm_r"}


def test_caches_hold_every_frame(saved: Path) -> None:
    names, _ = run("Caches and takes")
    wanted = api.evaluate_frames(names["human"], range(1, LAST_FRAME + 1))
    assert np.abs(of_cache(saved.parent / "human.pc2") - wanted).max() <= EXACT
    assert [take.name for take in names["rig"].dq_compensation.takes] == ["Walk"]


@pytest.mark.usefixtures("saved")
def test_a_baked_crowd_has_all_its_figures() -> None:
    names, printed = run("Crowds")
    graph = bpy.context.evaluated_depsgraph_get()
    # What the iteration gives is gone with the next step.
    places = {tuple(e.matrix_world.translation) for e in graph.object_instances if e.is_instance}
    assert len(places) == 5
    assert printed.splitlines()[-1] == f"{names['baked'].name} has 5 figures"


@pytest.mark.usefixtures("saved")
def test_progress_rises_to_the_end() -> None:
    _, printed = run("Progress, and stopping")
    shares = [int(line.split()[-1].rstrip("%")) for line in printed.splitlines()]
    assert shares == sorted(shares)
    assert shares[-1] == 100


@pytest.mark.usefixtures("saved")
def test_an_operator_is_one_undo_step() -> None:
    names, _ = run("In an operator of your own")
    bpy.context.view_layer.objects.active = names["human"]
    try:
        bpy.ops.ed.undo_push(message="Before")
        assert bpy.ops.character.prepare("EXEC_DEFAULT", True) == {"FINISHED"}
        assert bpy.data.objects["Human"].dq_compensation.enabled
        bpy.ops.ed.undo()
        assert not bpy.data.objects["Human"].dq_compensation.enabled
        bpy.context.view_layer.objects.active = link(bpy.data.objects.new("Camera", None))
        with pytest.raises(RuntimeError, match="Camera is not a mesh"):
            bpy.ops.character.prepare()
    finally:
        bpy.utils.unregister_class(names["CHARACTER_OT_prepare"])


def test_handlers_see_every_file_and_frame(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The rig deforms it as its parent, and by the modifier once more: an error.
    bpy.data.objects["Human"].parent_type = "ARMATURE"
    bpy.ops.wm.save_mainfile()
    names, _ = run("In a handler")
    try:
        bpy.ops.wm.open_mainfile(filepath=str(saved))
        assert "Human: Human has the parent type Armature" in capsys.readouterr().out
        human = bpy.data.objects["Human"]
        bpy.app.handlers.load_post.remove(names["report_errors"])
        bpy.context.scene.frame_set(2)
        highest = api.evaluate(human)[:, 2].max()
        assert bpy.context.scene["top of the character"] == pytest.approx(highest, abs=EXACT)
    finally:
        bpy.app.handlers.frame_change_post.remove(names["measure"])
        if names["report_errors"] in bpy.app.handlers.load_post:
            bpy.app.handlers.load_post.remove(names["report_errors"])

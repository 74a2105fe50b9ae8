"""The functions for scripts give what the operators give, on an equal character."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.bake.bake_reports import last_report
from dq_compensation.pipeline.takes.settings import takes_of
from tests.blender.bake_scenes import native
from tests.blender.enabled_scenes import select
from tests.blender.libraries import load_objects
from tests.blender.scene_builders import edit_mode
from tests.limb import build_limb, key_limb

LAST = 5

Pair = tuple[bpy.types.Object, bpy.types.Object]


@pytest.fixture
def pair(addon: None) -> Pair:
    """Two equal limbs, enabled, on rigs of their own, that move in the frames 1 to 5."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    found = []
    for name in ("Limb", "Twin"):
        obj, armature = build_limb(name)
        key_limb(armature, {1: 0.0, 3: 0.4, LAST: 1.0})
        found.append(obj)
    scene.frame_set(2)
    for obj in found:
        api.enable(obj, factor=0.9)
    return found[0], found[1]


def state_of(obj: bpy.types.Object) -> dict[str, Any]:
    """Keys, groups, bones, modifiers and settings of a character, without its name."""
    mesh, bones = obj.data, obj.parent.data.bones
    keys = {}
    for block in mesh.shape_keys.key_blocks if mesh.shape_keys else ():
        points = np.empty(3 * len(block.points), np.float32)
        block.points.foreach_get("co", points)
        keys[block.name] = (points.tobytes(), block.value)
    animation = mesh.shape_keys.animation_data if mesh.shape_keys else None
    drivers = animation.drivers if animation else ()
    return {
        "settings": api.settings(obj),
        "keys": keys,
        "drivers": [(each.data_path, each.driver.expression) for each in drivers],
        "groups": [group.name for group in obj.vertex_groups],
        "bones": [bone.name for bone in bones],
        "modifiers": [
            (each.type, each.show_viewport, getattr(each, "use_deform_preserve_volume", None))
            for each in obj.modifiers
        ],
        "takes": [(take.name, take.keys, take.error) for take in takes_of(obj.parent)],
    }


Script = Callable[[bpy.types.Object], Any]
Operator = Callable[[], object]
BAKES: dict[str, tuple[Script, Operator]] = {
    "pose": (
        lambda obj: api.bake_pose(obj, "A", target="DUAL_QUATERNION"),
        lambda: bpy.ops.dqc.bake_pose(key_name="A", target="DUAL_QUATERNION"),
    ),
    "frames": (
        lambda obj: api.bake_frames(obj, 1, LAST, step=2, tolerance=0.01),
        lambda: bpy.ops.dqc.bake_range(step=2, tolerance=0.01),
    ),
    "correctives": (
        lambda obj: api.bake_correctives(obj, "Lower"),
        lambda: bpy.ops.dqc.bake_correctives(bone_names="Lower"),
    ),
    "bones": (
        lambda obj: api.bake_bones(obj, poses="FRAMES", tolerance=2.0)[0],
        lambda: bpy.ops.dqc.bake_bones(bones="ALL", poses="FRAMES", tolerance=2.0),
    ),
}


@pytest.mark.parametrize("name", BAKES)
def test_a_bake_is_that_of_the_operator(pair: Pair, name: str) -> None:
    mine, theirs = pair
    script, operator = BAKES[name]
    report = script(mine)
    select(theirs)
    assert operator() == {"FINISHED"}
    assert state_of(mine) == state_of(theirs)
    assert last_report(mine) == report.sentence()
    assert last_report(theirs) == report.sentence().replace("Limb", "Twin")
    for frame in (1, 4):
        bpy.context.scene.frame_set(frame)
        assert np.array_equal(native(mine), native(theirs))


@pytest.mark.parametrize("ending", ["pc2", "mdd", "abc"])
def test_a_cache_is_that_of_the_operator(pair: Pair, tmp_path: Path, ending: str) -> None:
    obj = pair[0]
    files = [tmp_path / f"{name}.{ending}" for name in ("script", "operator")]
    (report,) = api.bake_cache(obj, files[0], 1, LAST)
    select(obj)
    cache_format = {"abc": "ALEMBIC"}.get(ending, ending.upper())
    assert bpy.ops.dqc.bake_cache(filepath=str(files[1]), cache_format=cache_format) == {"FINISHED"}
    contents = [file.read_bytes() for file in files]
    assert (report.path, report.frames) == (files[0], LAST)
    assert sorted(tmp_path.iterdir()) == sorted(files)
    if ending == "abc":
        # It has the time of writing in it, as text.
        assert len(contents[0]) == pytest.approx(len(contents[1]), abs=64)
    else:
        assert contents[0] == contents[1]


def test_a_take_is_that_of_the_operator(pair: Pair) -> None:
    mine, theirs = pair
    report = api.cache_take(mine.parent, tolerance=1.0)
    select(theirs.parent)
    assert bpy.ops.dqc.take_cache(take_name=report.take_name, tolerance=1.0) == {"FINISHED"}
    assert state_of(mine) == state_of(theirs)
    assert (report.frames, report.travels) == (LAST, False)


def spoil(obj: bpy.types.Object) -> None:
    """Weights that add up to more than 1, a scaled bone, a bone in the mesh's own rest pose."""
    obj.vertex_groups["Lower"].add(range(30), 0.4, "ADD")
    obj.parent.pose.bones["Hand"].scale = (1.0, 1.4, 1.0)
    obj.scale = (1.5, 1.5, 1.5)
    bpy.context.view_layer.update()


def test_fix_does_what_fix_all_does(pair: Pair) -> None:
    mine, theirs = pair
    for obj in pair:
        spoil(obj)
    results = api.fix(mine)
    select(theirs)
    bpy.ops.dqc.fix_all()
    assert state_of(mine) == state_of(theirs)
    assert [result.state for result in results] == ["FIXED", "FIXED", "ASKS", "BY_HAND"]
    left = {issue.check for issue in api.check(theirs)}
    assert left == {result.check for result in results if result.state in {"ASKS", "BY_HAND"}}


def test_a_fix_with_a_question_needs_a_yes(pair: Pair) -> None:
    obj = pair[0]
    spoil(obj)
    bone = obj.parent.pose.bones["Hand"]
    asked: list[str] = []

    def answer(issue: api.Issue, fix: api.Fix) -> bool:
        asked.append(f"{issue.check}: {fix.question}")
        return False

    (left,) = api.fix(obj, "bone_scale", agree=answer)
    assert (left.state, f"bone_scale: {left.sentence}") == ("ASKS", asked[0])
    assert bone.scale[1] == pytest.approx(1.4)
    (fixed,) = api.fix(obj, left.check, key=left.key, fix=left.fix, agree=True)
    assert fixed.state == "FIXED"
    assert tuple(bone.scale) == (1.0, 1.0, 1.0)
    assert api.fix(obj, "bone_scale") == []


def test_what_one_check_does_not_concern_stays(pair: Pair) -> None:
    obj = pair[0]
    spoil(obj)
    (fixed,) = api.fix(obj, "weight_sums")
    assert (fixed.check, fixed.state) == ("weight_sums", "FIXED")
    assert tuple(obj.scale) == (1.5, 1.5, 1.5)


def test_fixing_in_edit_mode_comes_back_to_it(pair: Pair) -> None:
    obj = pair[0]
    obj.vertex_groups["Lower"].add(range(30), 0.4, "ADD")
    with edit_mode(obj):
        assert [result.state for result in api.fix(obj, "weight_sums")] == ["FIXED"]
        assert obj.mode == "EDIT"
    assert api.fix(obj, "weight_sums") == []
    assert api.settings(obj).enabled


def test_what_cannot_be_deformed_is_not_left_enabled(pair: Pair) -> None:
    obj = pair[0]
    api.disable(obj)
    before = state_of(obj)
    with edit_mode(obj), pytest.raises(api.BindingError, match="Limb is in Edit Mode"):
        api.enable(obj, factor=0.1)
    assert state_of(obj) == before
    obj.modifiers["Armature"].object = None
    with pytest.raises(api.BindingError, match="has no armature"):
        api.enable(obj, factor=0.1)
    assert api.settings(obj) == before["settings"]


def test_a_copy_gets_the_keys_and_the_selection_stays(pair: Pair) -> None:
    obj, other = pair
    select(other)
    wanted = api.evaluate_frames(obj, range(1, LAST + 1))
    report = api.bake_frames(obj, 1, LAST, onto="COPY")
    assert bpy.context.selected_objects == [other]
    assert bpy.context.view_layer.objects.active == other
    assert api.settings(obj).enabled
    copy = bpy.data.objects[report.onto_name]
    for frame in (1, 3, LAST):
        bpy.context.scene.frame_set(frame)
        assert np.abs(native(copy) - wanted[frame - 1]).max() <= 1e-6


@pytest.mark.parametrize("enabled", [False, True])
def test_linked_characters_are_read_and_never_changed(
    pair: Pair, tmp_path: Path, enabled: bool
) -> None:
    if not enabled:
        api.disable(pair[0])
    path = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    obj, _ = load_objects(path, "Limb", "Limb Rig")
    bpy.context.view_layer.update()
    assert api.skinned_meshes() == [obj]
    before = state_of(obj)
    override = "Make a library override of it and of its armature"
    cannot_change = override if enabled else "Enable it in that file"
    refused: list[tuple[str, Callable[[], object]]] = [
        (cannot_change, lambda: api.enable(obj)),
        (cannot_change, lambda: api.change_settings(obj, factor=0.5)),
        ("linked from another file. Fix it there", lambda: api.fix(obj)),
        ("Bake it there", lambda: api.bake_frames(obj, 1, LAST)),
        ("Bake it there", lambda: api.bake_pose(obj)),
        ("Bake it there", lambda: api.bake_correctives(obj, "Lower")),
        ("Bake onto a copy", lambda: api.bake_bones(obj)),
        ("cache the take in its own file", lambda: api.cache_take(obj.parent, "A", 1, LAST)),
    ]
    if enabled:
        refused.append((override, lambda: api.disable(obj)))
    for message, call in refused:
        with pytest.raises(api.UserError, match=message):
            call()
    assert state_of(obj) == before
    api.bake_cache(obj, tmp_path / "limb.pc2", 1, LAST)
    report = api.bake_frames(obj, 1, LAST, onto="COPY")
    assert bpy.data.objects[report.onto_name].library is None
    assert api.check(obj) == []

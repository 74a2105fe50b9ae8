"""A range of frames as shape keys: playing the timeline plays what the add-on showed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from bpy.types import Object

from dq_compensation import api
from dq_compensation.bake import bake_memory
from dq_compensation.bake.bake_reports import RangeReport, last_report
from dq_compensation.bake.deviations import only_armature_shown
from dq_compensation.bake.key_names import frame_names, keys_of_pattern
from dq_compensation.bake.operators import meshes_to_bake
from dq_compensation.bake.options import RangeOptions
from dq_compensation.bake.range_bake import bake_range, kept_frames
from dq_compensation.errors import UserError
from dq_compensation.scene.blender.scenes import frames_of_range
from dq_compensation.scene.stack import armature_modifier
from tests.blender.bake_scenes import (
    LAST_FRAME,
    TOLERANCE,
    add_playing_keys,
    animate,
    baked_names,
    curves_of,
    key_description,
    native,
    shows_armature_alone,
    size_of,
)
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import datablocks, description, distance, enable, select
from tests.blender.scene_builders import character

FRAMES = tuple(range(1, LAST_FRAME + 1))


@pytest.fixture
def moving_human(addon: None, body_with_rig: Callable[[str], Human]) -> Human:
    """The human of 53 bones, posed within its limits in eight frames, enabled."""
    human = body_with_rig("game_engine")
    animate(human)
    enable(human.mesh_object)
    return human


@pytest.fixture
def moving_grid(addon: None) -> Object:
    """The small character, moving mildly in the frames 1 to 8, enabled."""
    obj, armature = character()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST_FRAME
    for frame, angle in ((1, 0.0), (5, 0.3), (8, -0.2)):
        for bone in armature.pose.bones:
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = (angle, 0.5 * angle, -angle)
            bone.keyframe_insert("rotation_euler", frame=frame)
    scene.frame_set(2)
    enable(obj)
    return obj


def bake(obj: Object, **options: Any) -> RangeReport:
    steps = bake_range([obj], RangeOptions(**{"first": 1, "last": LAST_FRAME} | options))
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value[0]


def in_each_frame(
    of: Callable[[], np.ndarray], frames: tuple[int, ...] = FRAMES
) -> dict[int, np.ndarray]:
    scene = bpy.context.scene
    found = {}
    now = scene.frame_current
    for frame in frames:
        scene.frame_set(frame)
        found[frame] = of()
    scene.frame_set(now)
    return found


def largest(one: dict[int, np.ndarray], other: dict[int, np.ndarray], size: float) -> float:
    return max(distance(one[frame], other[frame], size) for frame in other)


@pytest.mark.parametrize("target", ["LINEAR", "DUAL_QUATERNION"])
def test_every_frame_plays_what_was_shown(moving_human: Human, target: str) -> None:
    obj = moving_human.mesh_object
    size = size_of(obj)
    wanted = in_each_frame(lambda: api.evaluate(obj))
    modifier = armature_modifier(obj)
    modifier.use_deform_preserve_volume = target == "LINEAR"
    report = bake(obj, target=target)
    assert len(report.key_names) == LAST_FRAME
    assert report.unreached == 0
    assert not obj.dq_compensation.enabled
    assert shows_armature_alone(obj, target == "DUAL_QUATERNION")
    assert largest(wanted, in_each_frame(lambda: native(obj)), size) <= TOLERANCE
    assert report.deviation.largest <= 1000.0 * TOLERANCE * size
    assert report.deviation.poses == LAST_FRAME
    for name in report.key_names:
        obj.data.shape_keys.key_blocks[name].mute = True
    without = in_each_frame(lambda: native(obj), (4,))
    assert largest(wanted, without, size) > 100 * TOLERANCE  # it is the keys that do it


def test_other_keys_play_on_in_every_frame(moving_human: Human) -> None:
    obj = moving_human.mesh_object
    add_playing_keys(moving_human)
    known = {"Basis", "Breath", "Driven"}
    before = key_description(obj, known)
    action = obj.data.shape_keys.animation_data.action
    wanted = in_each_frame(lambda: api.evaluate(obj))
    bake(obj)
    assert key_description(obj, known) == before
    assert obj.data.shape_keys.animation_data.action == action
    assert [block.name for block in obj.data.shape_keys.key_blocks][:3] == [
        "Basis",
        "Breath",
        "Driven",
    ]
    assert largest(wanted, in_each_frame(lambda: native(obj)), size_of(obj)) <= TOLERANCE


def test_a_copy_plays_it_and_the_character_stays(moving_human: Human) -> None:
    obj = moving_human.mesh_object
    add_playing_keys(moving_human)
    known = {"Basis", "Breath", "Driven"}
    before = key_description(obj, known)
    wanted = in_each_frame(lambda: api.evaluate(obj))
    report = bake(obj, onto="COPY")
    copy = bpy.data.objects[report.onto_name]
    assert copy != obj
    assert "onto Human Baked" in report.sentence()
    assert obj.dq_compensation.enabled
    assert key_description(obj, known) == before
    assert not baked_names(obj)
    keys, action = copy.data.shape_keys, obj.data.shape_keys.animation_data.action
    assert keys.animation_data.action != action
    assert all("Frame" not in curve.data_path for curve in curves_of(obj))
    assert largest(wanted, in_each_frame(lambda: native(copy)), size_of(obj)) <= TOLERANCE


def test_the_values_hand_over_linearly(moving_grid: Object) -> None:
    """Where the armature's action ends, the frames 1 and 8, the keys hold as the bones do."""
    report = bake(moving_grid, step=3)
    assert report.key_names == ("Frame 0001", "Frame 0004", "Frame 0007", "Frame 0008")
    expected = {
        0.0: [1, 0, 0, 0],
        1.0: [1, 0, 0, 0],
        2.0: [2 / 3, 1 / 3, 0, 0],
        5.5: [0, 0.5, 0.5, 0],
        7.0: [0, 0, 1, 0],
        7.25: [0, 0, 0.75, 0.25],
        8.0: [0, 0, 0, 1],
        20.0: [0, 0, 0, 1],
    }
    assert_values(moving_grid, report, expected)


def test_within_the_action_the_keys_are_off_before_and_after(moving_grid: Object) -> None:
    report = bake(moving_grid, first=3, last=5, step=2)
    expected = {
        2.0: [0, 0],
        2.5: [0.5, 0],
        3.0: [1, 0],
        4.0: [0.5, 0.5],
        5.5: [0, 0.5],
        6.0: [0, 0],
    }
    assert_values(moving_grid, report, expected)


def assert_values(obj: Object, report: RangeReport, expected: dict[float, list[float]]) -> None:
    key, scene = obj.data.shape_keys, bpy.context.scene
    for frame, values in expected.items():
        scene.frame_set(int(frame), subframe=frame % 1.0)
        found = [key.key_blocks[name].value for name in report.key_names]
        assert np.allclose(found, values, atol=1e-6), frame


def test_frames_within_the_tolerance_get_no_key(moving_human: Human) -> None:
    obj = moving_human.mesh_object
    wanted = in_each_frame(lambda: api.evaluate(obj))
    report = bake(obj, tolerance=20.0)
    assert 2 <= len(report.key_names) < LAST_FRAME
    apart = largest(wanted, in_each_frame(lambda: native(obj)), 1.0)
    assert 1e-5 < apart <= 0.02 + TOLERANCE
    assert abs(report.deviation.largest - 1000.0 * apart) <= 1e-3
    assert f"to {len(report.key_names)} shape keys" in report.sentence()


def test_what_interpolation_gives_needs_no_key() -> None:
    frames = (1, 2, 3, 5, 8, 9, 10)
    values = np.interp(frames, (1, 5, 10), (0.0, 2.0, 1.0)).astype(np.float32)
    offsets = values[:, None, None] * np.ones((1, 4, 3), np.float32)
    assert kept_frames(offsets, frames, 1e-5) == [0, 3, 6]
    assert kept_frames(offsets, frames, 0.0) == list(range(7))
    assert kept_frames(offsets, frames, 10.0) == [0, 6]
    offsets[4, 2, 1] += 0.1
    kept = kept_frames(offsets, frames, 0.05)
    assert 4 in kept
    around = [frames[index] for index in kept]
    played = np.stack(
        [
            np.interp(frames, around, offsets[kept, vertex, axis])
            for vertex in range(4)
            for axis in range(3)
        ],
        axis=1,
    )
    assert np.abs(played.reshape(7, 4, 3) - offsets).max() <= 0.05


def test_a_second_bake_takes_the_place_of_the_first(moving_grid: Object) -> None:
    obj = moving_grid
    wanted = in_each_frame(lambda: api.evaluate(obj))
    bake(obj)
    enable(obj)
    report = bake(obj, step=2, target="DUAL_QUATERNION")
    assert baked_names(obj) == list(report.key_names) == [f"Frame 000{i}" for i in (1, 3, 5, 7, 8)]
    assert len(curves_of(obj)) == 5
    shown = in_each_frame(lambda: native(obj), (1, 3, 5, 7, 8))
    assert max(distance(shown[frame], wanted[frame]) for frame in shown) <= TOLERANCE


def test_without_overwriting_earlier_keys_stay(moving_grid: Object) -> None:
    wanted = in_each_frame(lambda: api.evaluate(moving_grid), (1, 2, 4, 5))
    bake(moving_grid, last=2)
    before = key_description(moving_grid, {"Frame 0001", "Frame 0002"})
    bake(moving_grid, first=4, last=5, overwrite=False)
    assert key_description(moving_grid, {"Frame 0001", "Frame 0002"}) == before
    assert baked_names(moving_grid)[2:] == ["Frame 0004", "Frame 0005"]
    shown = in_each_frame(lambda: native(moving_grid), (1, 2, 4, 5))
    assert max(distance(shown[frame], wanted[frame]) for frame in shown) <= TOLERANCE


def test_frames_that_a_bake_plays_already_are_not_corrected_twice(moving_grid: Object) -> None:
    bake(moving_grid, last=3)
    with pytest.raises(UserError, match=r"act on Body: Frame 0002, Frame 0003\."):
        bake(moving_grid, first=2, last=6, pattern="Other {frame}")
    assert baked_names(moving_grid) == ["Frame 0001", "Frame 0002", "Frame 0003"]


def test_stopped_while_it_reads_nothing_has_changed(moving_human: Human) -> None:
    obj = moving_human.mesh_object
    add_playing_keys(moving_human)
    before = description(obj), key_description(obj, {"Basis", "Breath", "Driven"}), datablocks()
    scene = bpy.context.scene
    for onto in ("THIS", "COPY"):
        steps = bake_range([obj], RangeOptions(1, LAST_FRAME, onto=onto))
        shares = [next(steps).share for _ in range(5)]
        assert shares == sorted(shares)
        assert scene.frame_current == 5
        steps.close()
        assert scene.frame_current == 3
        after = description(obj), key_description(obj, {"Basis", "Breath", "Driven"}), datablocks()
        assert after == before


def test_stopped_while_it_checks_the_keys_are_there(moving_grid: Object) -> None:
    obj = moving_grid
    steps = bake_range([obj], RangeOptions(1, LAST_FRAME))
    while next(steps).stoppable:
        pass
    steps.close()
    assert len(baked_names(obj)) == LAST_FRAME
    assert shows_armature_alone(obj, False)
    assert bpy.context.scene.frame_current == 2
    assert "not checked" in str(last_report(obj))


def test_the_operator_says_what_it_did_and_leaves_frame_and_selection(moving_grid: Object) -> None:
    scene = bpy.context.scene
    scene.frame_set(6, subframe=0.25)
    selected = list(bpy.context.selected_objects)
    assert bpy.ops.dqc.bake_range(tolerance=0.0) == {"FINISHED"}
    assert (scene.frame_current, scene.frame_subframe) == (6, 0.25)
    assert list(bpy.context.selected_objects) == selected
    assert bpy.context.active_object == moving_grid
    message = str(last_report(moving_grid))
    assert message.startswith("Baked 8 frames of Body to 8 shape keys: largest error ")
    assert message.endswith(" mm (8 frames checked).")


def test_the_operator_is_one_undo_step(moving_grid: Object) -> None:
    bpy.context.preferences.edit.use_global_undo = True
    before = description(moving_grid)
    bpy.ops.ed.undo_push(message="Before")
    assert bpy.ops.dqc.bake_range(first=2, last=5) == {"FINISHED"}
    bpy.ops.ed.undo_push(message="Bake Frames")
    bpy.ops.ed.undo()
    obj = bpy.data.objects["Body"]
    assert description(obj) == before
    assert obj.dq_compensation.enabled
    assert not last_report(obj)


def test_a_copy_takes_the_place_of_the_character_in_one_undo_step(moving_grid: Object) -> None:
    bpy.context.preferences.edit.use_global_undo = True
    bpy.ops.ed.undo_push(message="Before")
    assert bpy.ops.dqc.bake_range(first=2, last=5, onto="COPY") == {"FINISHED"}
    copy = bpy.data.objects["Body Baked"]
    assert moving_grid.hide_get()
    assert not copy.hide_get()
    assert bpy.context.selected_objects == [copy]
    assert str(last_report(copy)).endswith("Body is hidden; Alt H in Object Mode shows it.")
    # The armature's own bakes go to what is shown.
    select(copy.find_armature())
    assert meshes_to_bake(bpy.context) == [copy]
    bpy.ops.ed.undo_push(message="Bake Frames")
    bpy.ops.ed.undo()
    obj = bpy.data.objects["Body"]
    assert not obj.hide_get()
    assert obj.select_get()


def test_a_stopped_check_of_a_copy_hides_the_character_as_well(moving_grid: Object) -> None:
    steps = bake_range([moving_grid], RangeOptions(1, 3, onto="COPY"))
    while next(steps).stoppable:
        pass
    assert not moving_grid.hide_get()
    steps.close()
    assert moving_grid.hide_get()


def test_enable_warns_of_baked_keys_that_act(
    moving_grid: Object, capfd: pytest.CaptureFixture[str]
) -> None:
    bake(moving_grid)
    enable(moving_grid)
    printed = capfd.readouterr().out
    assert "Body is corrected twice: shape keys of a bake act on it, too: Frame 0001" in printed
    bpy.ops.dqc.disable()
    for block in moving_grid.data.shape_keys.key_blocks:
        block.mute = True
    enable(moving_grid)
    assert "corrected twice" not in capfd.readouterr().out


def test_all_bakes_go_onto_the_character_by_default(addon: None) -> None:
    for name in ("bake_pose", "bake_range", "bake_correctives", "examples_to_correctives"):
        properties = getattr(bpy.ops.dqc, name).get_rna_type().properties
        assert properties["onto"].default == "THIS", name


def test_much_memory_is_asked_for_first(
    moving_grid: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = datablocks()
    monkeypatch.setattr(bake_memory, "MUCH_MEMORY", 1000.0)
    with pytest.raises(RuntimeError, match=r"8 frames need about \d+ KB of memory"):
        bpy.ops.dqc.bake_range()
    assert datablocks() == before
    assert bpy.ops.dqc.bake_range(much_memory=True) == {"FINISHED"}


def test_several_characters_are_baked_together(moving_human: Human) -> None:
    obj = moving_human.mesh_object
    other = obj.copy()
    other.data = obj.data.copy()
    other.name = "Suit"
    bpy.context.scene.collection.objects.link(other)
    bpy.context.view_layer.update()
    select(obj, other)
    wanted = in_each_frame(lambda: api.evaluate(obj), (1, 2))
    bpy.ops.dqc.bake_range(first=1, last=2)
    for each in (obj, other):
        assert baked_names(each) == ["Frame 0001", "Frame 0002"]
        shown = in_each_frame(lambda each=each: native(each), (1, 2))
        assert largest(wanted, shown, size_of(obj)) <= TOLERANCE


def test_a_shared_mesh_is_refused(moving_grid: Object) -> None:
    twin = bpy.data.objects.new("Twin", moving_grid.data)
    bpy.context.scene.collection.objects.link(twin)
    before = description(moving_grid)
    with pytest.raises(RuntimeError, match="2 objects share the mesh of Body"):
        bpy.ops.dqc.bake_range()
    assert description(moving_grid) == before
    assert bpy.ops.dqc.bake_range(onto="COPY") == {"FINISHED"}


def test_a_driven_key_is_not_taken_for_an_earlier_bake(moving_grid: Object) -> None:
    obj = moving_grid
    obj.shape_key_add(name="Basis", from_mix=False)
    obj.shape_key_add(name="Frame 7", from_mix=False).driver_add("value")
    for onto in ("THIS", "COPY"):
        with pytest.raises(UserError, match="Frame 7 of Body has a driver"):
            bake(obj, onto=onto)
    bake(obj, pattern="Baked {frame}")
    assert "Frame 7" in obj.data.shape_keys.key_blocks


@pytest.mark.parametrize(
    "pattern", ["Frame", "{frame", "{frame.real}", "{0}", "{other}", "{frame}{frame}", "{frame:z}"]
)
def test_a_pattern_without_the_frame_is_refused(moving_grid: Object, pattern: str) -> None:
    with pytest.raises(UserError, match="key names"):
        bake(moving_grid, pattern=pattern)
    assert moving_grid.data.shape_keys is None


def test_long_names_and_empty_ranges_are_refused(moving_grid: Object) -> None:
    with pytest.raises(UserError, match="too long"):
        bake(moving_grid, pattern="x" * 60 + "{frame:04d}")
    with pytest.raises(UserError, match="before it begins"):
        bake(moving_grid, first=5, last=4)
    assert moving_grid.data.shape_keys is None


def test_names_of_a_pattern_are_known_again(moving_grid: Object) -> None:
    assert frame_names("A(+) {frame:03d}", (-4, 7)) == ["A(+) -04", "A(+) 007"]
    for name in ("Basis", "A(+) -04", "A(+) 7", "A(+) 7b", "AA 7"):
        moving_grid.shape_key_add(name=name, from_mix=False)
    assert keys_of_pattern(moving_grid, "A(+) {frame:03d}") == ["A(+) -04", "A(+) 7"]


def test_the_last_frame_is_always_baked() -> None:
    assert frames_of_range(1, 10, 4) == (1, 5, 9, 10)
    assert frames_of_range(-2, 0, 1) == (-2, -1, 0)
    assert frames_of_range(3, 3, 7) == (3,)


def test_modifiers_may_come_and_go_while_a_bake_is_checked(moving_grid: Object) -> None:
    """Those that stay get their settings back, and what a script has added keeps its own."""
    modifiers = moving_grid.modifiers
    armature = armature_modifier(moving_grid)
    assert armature is not None
    own, volume = armature.name, armature.use_deform_preserve_volume
    modifiers.new("Goes", "SMOOTH")
    modifiers.new("Stays", "SMOOTH").show_viewport = False
    before = {each.name: each.show_viewport for each in modifiers if each.name != "Goes"}
    with only_armature_shown(moving_grid, "LINEAR"):
        assert [each.name for each in modifiers if each.show_viewport] == [own]
        modifiers.remove(modifiers["Goes"])
        modifiers.new("Comes", "SMOOTH")
    found = {each.name: each.show_viewport for each in modifiers}
    assert found.pop("Comes")
    assert found == before
    assert armature_modifier(moving_grid).use_deform_preserve_volume == volume

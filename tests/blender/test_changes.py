"""Every change in Blender is looked at once, and reported to all who follow it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import pytest

from dq_compensation.modifier.palette_object import own_palettes
from dq_compensation.pipeline.takes.take_checks import check_takes
from dq_compensation.session import changes
from dq_compensation.session.changes import Changes
from dq_compensation.session.known_objects import KnownObjects
from dq_compensation.session.memory import memories, memory_of
from tests.blender.enabled_scenes import enable
from tests.blender.scene_builders import link, new_file
from tests.blender.softness_scenes import soft_copies
from tests.limb import build_limb

Object = bpy.types.Object


class Note:
    """A kind of memory."""


@pytest.fixture
def reported(addon: None) -> Iterator[list[Changes]]:
    """A file with a limb, and what is reported of evaluations from then on."""
    new_file()
    build_limb()
    bpy.context.view_layer.update()
    found: list[Changes] = []

    def follow(evaluated: Changes) -> None:
        _ = evaluated.updates  # only now can they be read
        found.append(evaluated)

    for event in (changes.EDIT, changes.FRAME):
        event.append(follow)
    yield found
    for event in (changes.EDIT, changes.FRAME):
        event.remove(follow)


def names(found: Changes) -> set[str]:
    return {each.data.name for each in found.updates}


def test_an_edit_is_reported_with_what_was_evaluated(reported: list[Changes]) -> None:
    limb = bpy.data.objects["Limb"]
    limb.data.vertices[0].co.x += 1.0
    limb.data.update()
    bpy.context.view_layer.update()
    (edit,) = reported
    assert not edit.is_frame
    mesh = next(each for each in edit.updates if each.data == limb.data)
    assert mesh[2:] == (True, True, True)
    assert {limb.session_uid, limb.data.session_uid} <= edit.uids


def test_of_a_frame_only_what_a_script_edits_is_reported(reported: list[Changes]) -> None:
    limb, rig = bpy.data.objects["Limb"], bpy.data.objects["Limb Rig"]
    limb.shape_key_add(name="Basis")
    key = limb.shape_key_add(name="Wide")
    for frame in (1, 10):
        key.value = 0.1 * frame
        key.keyframe_insert("value", frame=frame)
        rig.pose.bones["Lower"].location.x = 0.1 * frame
        rig.pose.bones["Lower"].keyframe_insert("location", frame=frame)
        rig.location.y = limb.location.z = float(frame)
        rig.keyframe_insert("location", frame=frame)
        limb.keyframe_insert("location", frame=frame)
    scene = bpy.context.scene
    scene.frame_set(2)
    reported.clear()
    scene.frame_set(3)
    assert [names(each) for each in reported if each.is_frame] == [set()]

    def edit(*_args: object) -> None:
        limb.data.vertices[0].co.x += 1.0
        limb.data.update()

    bpy.app.handlers.frame_change_pre.append(edit)
    try:
        reported.clear()
        scene.frame_set(4)
    finally:
        bpy.app.handlers.frame_change_pre.remove(edit)
    assert [names(each) for each in reported if each.is_frame] == [{"Limb", "Key"}]


def test_a_follower_that_fails_stops_no_other(
    reported: list[Changes], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_changes: Changes) -> None:
        raise RuntimeError("as planned")

    changes.EDIT.insert(0, fail)
    try:
        bpy.data.objects["Limb"].location.x += 1.0
        bpy.context.view_layer.update()
    finally:
        changes.EDIT.remove(fail)
    assert len(reported) == 1
    assert "as planned" in caplog.text


def test_a_factor_alone_is_reported_to_nobody(reported: list[Changes]) -> None:
    limb = bpy.data.objects["Limb"]
    enable(limb)
    bpy.context.view_layer.update()
    reported.clear()
    limb.dq_compensation.factor = 0.3
    bpy.context.view_layer.update()
    assert not reported
    limb.dq_compensation.factor = 0.4
    bpy.data.objects["Limb Rig"].location.x += 1.0
    bpy.context.view_layer.update()
    assert ["Limb Rig" in names(each) for each in reported] == [True]


@pytest.mark.usefixtures("reported")
def test_no_follower_looks_at_what_another_has_removed(caplog: pytest.LogCaptureFixture) -> None:
    """The soft copy goes with the softness, the palette with the armature."""
    check_takes()  # From now on each edit is looked at.
    limb = bpy.data.objects["Limb"]
    enable(limb)
    for softness in (0.5, 0.0):
        limb.dq_compensation.softness = softness
    bpy.context.view_layer.update()
    assert not soft_copies()
    bpy.data.objects.remove(bpy.data.objects["Limb Rig"])
    bpy.context.view_layer.update()
    assert not own_palettes()
    assert not caplog.records


def test_what_is_remembered_outlives_an_undo_and_no_other_file(
    reported: list[Changes], tmp_path: Path
) -> None:
    limb = bpy.data.objects["Limb"]
    note = memory_of(limb, Note)
    assert memory_of(limb, Note) is note
    bpy.ops.ed.undo_push(message="Before")
    bpy.data.objects["Limb"].location.x += 1.0
    bpy.ops.ed.undo_push(message="Moved")
    bpy.ops.ed.undo()
    assert memory_of(bpy.data.objects["Limb"], Note) is note
    path = str(tmp_path / "limb.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    assert memories(Note)
    bpy.ops.wm.open_mainfile(filepath=path)
    assert not memories(Note)


def test_known_objects_follow_what_comes_and_goes(reported: list[Changes]) -> None:
    """Also where the number of objects stays the same."""
    meant = KnownObjects(lambda obj: "meant" in obj)
    first = link(bpy.data.objects.new("First", None))
    first["meant"] = True
    assert meant.all() == [first]
    bpy.data.objects.remove(first)
    second = bpy.data.objects.new("Second", None)
    second["meant"] = True
    link(second)
    bpy.context.view_layer.update()
    assert meant.all() == [second]
    del second["meant"]
    assert not meant.all()
    assert not meant

"""Followers of crowds, takes, examples and findings are called only for files that have them.

Whether one is called is asked as `session.changes` asks it, after what users and scripts do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import pytest

from dq_compensation import api
from dq_compensation.pipeline.takes.known_takes import with_takes
from dq_compensation.pipeline.takes.take_copying import copy_takes
from dq_compensation.scene.settings.setting_events import FOLLOWED, FOLLOWED_SETTING_CHANGED
from dq_compensation.session import changes
from tests.blender.crowd_scenes import add_crowd
from tests.blender.enabled_scenes import enabled_character, select
from tests.blender.example_scenes import small_character
from tests.blender.scene_builders import new_file
from tests.blender.take_scenes import playing_limb

Object = bpy.types.Object

PLAIN = {"app_handlers"}
"""What a plain character calls, for an edit and for a factor."""


def called(event: list[Callable[..., object]] = changes.EDIT) -> set[str]:
    """The modules whose followers an event calls now."""
    found = (each for each in event if FOLLOWED.get(each, True))
    return {each.__module__.rpartition(".")[2] for each in found}


@pytest.fixture(autouse=True)
def _addon(addon: None) -> None:
    new_file()


def test_a_plain_character_calls_no_other_follower() -> None:
    obj, rig = enabled_character()
    obj.dq_compensation.factor = 0.5
    rig.pose.bones["Lower"].location.x = 0.1
    bpy.context.view_layer.update()
    assert called() == called(changes.FRAME) == PLAIN
    assert called(FOLLOWED_SETTING_CHANGED) == PLAIN


def test_a_check_is_followed_until_another_file_comes() -> None:
    obj, _ = enabled_character()
    select(obj)
    assert bpy.ops.dqc.check() == {"FINISHED"}
    assert called() == PLAIN | {"findings"}
    new_file()
    enabled_character()
    assert called() == PLAIN


def test_takes_are_followed_through_undo_and_files(tmp_path: Path) -> None:
    _, rig = playing_limb(takes=())
    assert "take_checks" not in called()
    bpy.ops.ed.undo_push(message="Before")
    api.cache_take(rig, "Swing", 1, 5)
    assert "take_checks" in called()
    bpy.ops.ed.undo_push(message="Take")
    bpy.ops.ed.undo()
    assert "take_checks" not in called()
    bpy.ops.ed.redo()
    assert "take_checks" in called()
    path = str(tmp_path / "takes.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    new_file()
    assert "take_checks" not in called()
    # One that is linked, or appended, comes with its takes.
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Limb Rig"]
    assert "take_checks" in called()
    bpy.ops.wm.open_mainfile(filepath=path)
    assert "take_checks" in called()


def test_takes_are_followed_where_they_are_copied_to() -> None:
    _, source = playing_limb("One")
    _, other = playing_limb("Other", takes=())
    assert with_takes.all() == [source]
    copy_takes(source, other)
    assert set(with_takes.all()) == {source, other}


def test_examples_are_followed_whoever_adds_them() -> None:
    obj, _ = enabled_character()
    assert "shown_weights" not in called()
    obj.dq_compensation.method = "SPHERICAL_JOINT_BY_EXAMPLE"
    bpy.context.view_layer.update()
    assert "shown_weights" not in called()
    example = obj.dq_compensation.examples.add()
    example.name, example.bone = "bent", "Lower"
    bpy.context.view_layer.update()
    assert "shown_weights" in called()
    assert "shown_weights" in called(changes.FRAME)
    new_file()
    assert "shown_weights" not in called()
    small_character()
    assert "shown_weights" in called()


def test_a_posed_copy_is_followed_while_there_is_one() -> None:
    obj, _, _ = small_character()
    assert "posed_copy" not in called()
    select(obj)
    bpy.ops.ed.undo_push(message="Before")
    assert bpy.ops.dqc.example_edit() == {"FINISHED"}
    assert "posed_copy" in called()
    # A copy that was deleted: its character is to be shown again.
    copy = bpy.context.active_object
    assert copy is not None
    bpy.data.objects.remove(copy)
    assert "posed_copy" in called()
    bpy.ops.ed.undo_push(message="Deleted")
    bpy.ops.ed.undo()
    assert "posed_copy" not in called()


def test_a_crowd_is_followed_while_there_is_one() -> None:
    limb, _ = playing_limb()
    assert "crowd_figures" not in called() | called(FOLLOWED_SETTING_CHANGED)
    crowd = add_crowd()
    assert "crowd_figures" in called() & called(FOLLOWED_SETTING_CHANGED)
    bpy.data.objects.remove(crowd)
    bpy.context.view_layer.update()
    assert "crowd_figures" not in called()
    select(limb)
    add_crowd()
    new_file()
    enabled_character()
    assert called() == PLAIN

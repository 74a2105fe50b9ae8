"""Which operators are undo steps, which events go together, what Enable and Disable report."""

from __future__ import annotations

from collections import Counter

import bpy
import pytest

from tests.blender.enabled_scenes import select
from tests.blender.scene_builders import character

pytestmark = pytest.mark.usefixtures("addon")

# They change nothing in the file; what the key of compare changes is put back when it is released.
ONLY_LOOK = {
    "bake_cache",
    "export_plain",
    "check",
    "compare",
    "compare_volume",
    "compare_solved",
    "help",
    "choose_groups",
    "messages",
    "preferences_reset",
    "preset_add",
    "test_motion",
}
# What it computes follows from the file, and is computed again after an undo.
ONLY_LOOK |= {"update_softness", "stop_softness"}


def test_every_operator_that_changes_the_file_is_an_undo_step() -> None:
    names = set(dir(bpy.ops.dqc))
    assert len(names) > 20
    without = {name for name in names if "UNDO" not in getattr(bpy.ops.dqc, name).bl_options}
    assert without == ONLY_LOOK


def _followed_by(event: str) -> Counter[str]:
    handlers = getattr(bpy.app.handlers, event)
    modules = (handler.__module__ for handler in handlers)
    return Counter(module for module in modules if module.startswith("dq_compensation"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("undo_post", "redo_post"),
        ("save_post", "save_post_fail"),
        ("render_complete", "render_cancel"),
    ],
)
def test_who_follows_an_event_follows_its_twin(one: str, other: str) -> None:
    assert _followed_by(one)
    assert _followed_by(one) == _followed_by(other)


def test_enable_and_disable_name_what_they_changed(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a window Blender prints what operators report."""
    obj, _ = character()
    select(obj)
    for operator in (bpy.ops.dqc.enable, bpy.ops.dqc.disable):
        operator()
        assert obj.name in capfd.readouterr().out

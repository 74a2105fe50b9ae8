"""A short soak: `make soak` does thousands of actions. Each thing that it looks at can be wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from random import Random

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.errors import UserError
from dq_compensation.lifecycle.reconcile import Reconciled, reconcile
from dq_compensation.modifier.attribute_names import SET
from dq_compensation.modifier.attributes.vertex_attributes import CONTENT_PROPERTY
from dq_compensation.modifier.written_record import STATE_PROPERTY
from dq_compensation.pipeline.takes.settings import takes_of
from dq_compensation.pipeline.takes.stored_takes import TAKE_PROPERTY, unpacked
from dq_compensation.pipeline.takes.takes import chained, interpolated, take_times
from dq_compensation.scene.blender.own_objects import PALETTE_PROPERTY
from dq_compensation.scene.settings.object_settings import settings_of
from dq_compensation.scene.stack import record_of_tree, write_tree_record
from dq_compensation.session.status import status_of
from tests.blender.enabled_scenes import check, disable, ours
from tests.blender.scene_builders import evaluated_positions
from tests.blender.take_scenes import playing_limb
from tests.blender.test_modifiers_before import put_first
from tests.replaced_functions import replace_everywhere
from tests.soak import deforming_actions, invariants
from tests.soak.addon_actions import EXCUSED, OPERATORS
from tests.soak.damage import damaged_archive
from tests.soak.file_actions import start
from tests.soak.fuzz import fuzz
from tests.soak.growth import grown, play
from tests.soak.invariants import Seen, disable_everything, faults, leftovers
from tests.soak.soak import SoakError, soak

pytestmark = pytest.mark.usefixtures("addon")


def test_sixty_random_actions_leave_the_file_right() -> None:
    seen = soak(60, seed=2)
    assert seen.compared > 20


def test_each_operator_is_an_action_or_has_an_excuse() -> None:
    registered = {name for name in dir(bpy.ops.dqc) if not name.startswith("_")}
    known = OPERATORS.keys() | EXCUSED.keys()
    assert (registered - known, known - registered) == (set(), set()), "tests/soak/addon_actions.py"
    assert not OPERATORS.keys() & EXCUSED.keys()


def _handler_that_raises(*_args: object) -> None:
    raise ValueError("of a handler")


def _handler_that_logs(*_args: object) -> None:
    logging.getLogger("dq_compensation").error("logged")


@pytest.mark.parametrize(
    ("handler", "sentence"),
    [(_handler_that_raises, "a traceback was printed"), (_handler_that_logs, "logged")],
)
def test_an_error_in_a_handler_or_in_the_log_is_found(
    handler: Callable[..., None], sentence: str
) -> None:
    # The action may open a file.
    bpy.app.handlers.depsgraph_update_post.append(bpy.app.handlers.persistent(handler))
    try:
        with pytest.raises(SoakError, match=sentence):
            soak(1, seed=1)
    finally:
        bpy.app.handlers.depsgraph_update_post.remove(handler)


def _weights_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> str:
    replace_everywhere(monkeypatch, reconcile, lambda *_args, **_options: Reconciled())
    bpy.data.objects["Arm"].vertex_groups["Lower"].add(range(800), 0.5, "ADD")
    return "Arm: off by"


def _a_mesh_of_a_character_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> str:
    replace_everywhere(monkeypatch, reconcile, lambda *_args, **_options: Reconciled())
    mesh = bpy.data.objects["Sleeve"].data
    assert isinstance(mesh, bpy.types.Mesh)
    mesh.vertices[0].co.z += 0.05
    mesh.update()
    return "Sleeve is not as it is enabled anew"


def _not_a_number(monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    bpy.data.objects["Arm Rig"].pose.bones["Lower"].location.x = np.nan
    return "Arm: positions are not finite"


def _no_armature_modifier_back(monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    obj = bpy.data.objects["Arm"]
    disable(obj)
    settings_of(obj).native.users_settings = '{"0 display_type": ["WIRE", "BOUNDS"]}'
    return "its Armature modifier is not given back"


def _a_handler_is_gone(monkeypatch: pytest.MonkeyPatch) -> str:
    event = bpy.app.handlers.save_pre
    monkeypatch.setattr(invariants, "handlers", lambda: [f"{len(event)}"])
    return "handlers:"


def _a_status_is_kept(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(invariants, "check", lambda: status_of(bpy.data.objects["Arm Rig"]))
    return "1 statuses of objects that are not enabled"


def _more_palettes(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(invariants, "check", lambda: None)
    for _ in range(4):
        bpy.data.objects.new("Palette", bpy.data.meshes.new("Palette"))[PALETTE_PROPERTY] = True
    return "7 palettes for 3 armatures"


@pytest.mark.parametrize(
    "plant",
    [
        _weights_are_not_followed,
        _a_mesh_of_a_character_is_not_followed,
        _not_a_number,
        _no_armature_modifier_back,
        _a_handler_is_gone,
        _a_status_is_kept,
        _more_palettes,
    ],
)
def test_a_fault_is_found(
    plant: Callable[[pytest.MonkeyPatch], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    start()
    seen = Seen()
    assert faults(seen) == []
    sentence = plant(monkeypatch)
    assert any(sentence in fault for fault in faults(seen))


def _frame_in_which_a_wave_has_grown() -> bpy.types.Object:
    """The limb among what a soak starts with, whose joints are those of an earlier frame."""
    start()
    obj, scene = bpy.data.objects["Arm"], bpy.context.scene
    wave = put_first(obj, "WAVE", width=0.4, narrowness=3.0, time_offset=-20.0)
    for number, height in ((1, 0.02), (6, 0.6)):
        wave.height = height
        wave.keyframe_insert("height", frame=number)
    obj.dq_compensation.curve = "FITTED"
    for number in (1, 5):
        scene.frame_set(number)
        check()
    expected = api.evaluate(obj)
    off = np.abs(evaluated_positions(obj) - expected).max() / np.ptp(expected, axis=0).max()
    assert off > 0.02, "otherwise this tests nothing"
    return obj


def test_joints_of_the_frame_in_which_a_mesh_was_read_are_right() -> None:
    _frame_in_which_a_wave_has_grown()
    assert faults(Seen()) == []


def test_old_weights_are_found_where_joints_are_of_another_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _frame_in_which_a_wave_has_grown()
    sentence = _weights_are_not_followed(monkeypatch)
    assert any(sentence in fault for fault in faults(Seen()))


def test_what_enable_moves_at_rest_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    obj, rng = bpy.data.objects["Arm"], Random(1)
    assert deforming_actions.at_rest(rng, obj)

    def check() -> None:
        obj.data.vertices[0].co.z += 0.01
        invariants.check()

    monkeypatch.setattr(deforming_actions, "check", check)
    with pytest.raises(AssertionError, match="Enable at rest moves vertices by"):
        deforming_actions.at_rest(rng, obj)


def test_what_is_left_is_found() -> None:
    start()
    tree, mesh = ours(bpy.data.objects["Arm"]).node_group, bpy.data.meshes["Arm"]
    assert tree is not None
    key = record_of_tree(tree)["key"]
    disable_everything()
    assert leftovers() == []
    write_tree_record(bpy.data.node_groups.new("Left", "GeometryNodeTree"), key=key)
    mesh[CONTENT_PROPERTY] = bpy.data.objects["Arm"][STATE_PROPERTY] = "{}"
    mesh.attributes.new(SET, "INT", "POINT")
    bpy.data.objects.new("Palette", mesh)[PALETTE_PROPERTY] = True
    bpy.data.objects["Arm"].modifiers.new("DQ Compensation", "NODES")
    bpy.data.objects["Arm"].driver_add('modifiers["DQ Compensation"].show_viewport')
    assert leftovers() == [
        "Palette is left",
        "Left is left",
        f"Arm has {SET}",
        f"Arm has {CONTENT_PROPERTY}",
        f"Arm has {STATE_PROPERTY}",
        "Arm has a driver of ours",
    ]


def test_nothing_grows_from_frame_to_frame() -> None:
    before, after = play(frames=60, warm_up=40)
    assert not grown(before, after)
    assert grown(after, replace(after, data=after.data + 1, objects=after.objects + 600)) == [
        "objects",
        "data",
    ]


def test_damaged_files_are_refused_or_right() -> None:
    assert fuzz(4, seed=1, brief=True) == []


def test_damaged_takes_are_refused_or_whole() -> None:
    _, rig = playing_limb()
    (item,) = takes_of(rig)
    assert item.stored is not None
    whole = item.stored[TAKE_PROPERTY]
    refused = 0
    for number in range(80):
        rng = Random(f"damage {number}")
        try:
            take = unpacked(damaged_archive(whole, rng))
        except UserError:
            refused += 1
        else:
            poses = interpolated(take, take_times(take, np.array([0.0, 3.5, 40.0])))
            assert np.isfinite(chained(take, poses)).all()
    # What is not refused has other values of the right kind.
    assert 40 < refused < 80

"""What an edit costs: a weight reads no bones again, a new name of a bone reads no weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.core.measured_joints import MeasuredJoints
from dq_compensation.modifier.base import take_over_modifier
from dq_compensation.modifier.hooks import keep_hooks
from dq_compensation.modifier.modifier_inputs import drive_settings, get_input
from dq_compensation.modifier.our_modifiers import apply
from dq_compensation.modifier.palette_object import edition_of, find_palette
from dq_compensation.modifier.palette_points import write_bones
from dq_compensation.modifier.written_record import changed_parts
from dq_compensation.scene.binding.bind import bind
from dq_compensation.scene.binding.facts import digest_of_bones
from dq_compensation.scene.blender.armature import read_skeleton
from dq_compensation.scene.settings.object_settings import Settings, armature_with_settings
from dq_compensation.session.known_bindings import current_binding
from tests.blender.enabled_scenes import check, distance, enable, error, ours, seen, select
from tests.blender.scene_builders import evaluated_positions, new_file
from tests.limb import build_limb, pose_limb
from tests.replaced_functions import count_calls
from tests.rigify_human import new_file_with_rigify_human

Object = bpy.types.Object
TOLERANCE = 1e-4  # of two evaluators, in parts of the size


@pytest.fixture
def limb(addon: None) -> tuple[Object, Object]:
    """A limb that *Measured* with ball joints deforms, posed, and its armature."""
    new_file()
    obj, rig = build_limb()
    obj.dq_compensation.use_ball_joints = True
    enable(obj)
    pose_limb(rig)
    check()
    return obj, rig


@pytest.fixture
def calls(limb: tuple[Object, Object], monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often mesh and bones are read, joints are found and the palette is written."""
    found = count_calls(monkeypatch, digest_of_bones, read_skeleton, bind, write_bones)
    joints_of = MeasuredJoints.of

    def counted(*arguments: Any, **options: Any) -> MeasuredJoints:
        found["joints found"] += 1
        return joints_of(*arguments, **options)

    monkeypatch.setattr(MeasuredJoints, "of", counted)
    return found


def rename(rig: Object, old: str, new: str) -> None:
    rig.data.bones[old].name = new
    bpy.context.view_layer.update()


def assert_as_bound_anew(obj: Object) -> None:
    """What the session knows of an object is what is read of it now, and it is deformed so."""
    known, anew = current_binding(obj), bind(obj)
    assert (known.skeleton.names, known.group_names) == (anew.skeleton.names, anew.group_names)
    assert (known.structure, known.content) == (anew.structure, anew.content)
    assert known.bones_at_rest == anew.bones_at_rest
    one, other = (each.deformation(Settings.of(obj)).compensation for each in (known, anew))
    assert one is not None
    assert other is not None
    np.testing.assert_array_equal(one.amounts, other.amounts)
    assert error(obj) <= TOLERANCE


def assert_as_written_anew(obj: Object) -> None:
    """The file has the record of what there is now, and the object is deformed so."""
    assert changed_parts(seen(obj), Settings.of(obj), bind(obj)) == ()
    assert error(obj) <= TOLERANCE


def test_an_edited_weight_reads_the_mesh_and_no_bones(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    limb[0].vertex_groups["Lower"].add([260], 0.3, "REPLACE")
    bpy.context.view_layer.update()
    assert calls == {"bind": 1, "digest_of_bones": 1, "joints found": 1}
    assert_as_bound_anew(limb[0])


def test_an_edited_weight_leaves_what_does_not_follow_from_weights(
    limb: tuple[Object, Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = count_calls(monkeypatch, drive_settings, keep_hooks, apply, take_over_modifier)
    limb[0].vertex_groups["Lower"].add([260], 0.3, "REPLACE")
    bpy.context.view_layer.update()
    assert not found
    assert_as_written_anew(limb[0])


def test_weights_that_make_another_set_of_bones_change_inputs_of_the_modifier(
    limb: tuple[Object, Object],
) -> None:
    obj = limb[0]
    obj.dq_compensation.method = "SPHERICAL_JOINT"
    before = get_input(ours(obj), "Sets")
    for group in obj.vertex_groups:
        group.add([260], 0.3, "REPLACE")
    bpy.context.view_layer.update()
    assert get_input(ours(obj), "Sets") == before + 1
    assert_as_written_anew(obj)


def test_a_renamed_bone_keeps_weights_joints_and_the_palette(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    obj, rig = limb
    edition = edition_of(find_palette(rig))
    for old, new in (("Lower", "Forearm"), ("Forearm", "Lower")):
        calls.clear()
        rename(rig, old, new)
        # For what the modifier was made for, for the binding, and where they are at rest.
        assert calls == {"digest_of_bones": 3, "read_skeleton": 1}
        assert edition_of(find_palette(rig)) == edition
        assert_as_bound_anew(obj)


@pytest.mark.parametrize("with_driver", [False, True])
def test_a_bone_renamed_before_a_frame_is_noticed_in_it(
    limb: tuple[Object, Object], calls: Counter[str], *, with_driver: bool
) -> None:
    """An armature with drivers, as Rigify's have, looks in every frame as if it were renamed."""
    obj, rig = limb
    if with_driver:
        rig.data.bones["Upper"].driver_add("bbone_easein")
    scene = bpy.context.scene
    for frame in (2, 3):
        scene.frame_set(frame)
    calls.clear()
    rig.data.bones["Lower"].name = "Forearm"
    scene.frame_set(4)
    assert calls["read_skeleton"] == 1
    assert_as_bound_anew(obj)


def test_a_name_of_one_side_finds_joints_anew(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    rename(limb[1], "Hand", "Hand.L")
    assert calls["joints found"] == 1
    assert not calls["bind"]
    assert_as_bound_anew(limb[0])


def _with_a_mask(obj: Object) -> None:
    obj.modifiers["Armature"].vertex_group = "Lower"


def _with_a_key(obj: Object) -> None:
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Key").vertex_group = "Lower"


def _without_the_group(obj: Object) -> None:
    obj.vertex_groups["Lower"].name = "Of no bone"


@pytest.mark.parametrize("change", [_with_a_mask, _with_a_key, _without_the_group])
def test_what_else_a_name_changes_is_read_anew(
    limb: tuple[Object, Object], calls: Counter[str], change: Callable[[Object], None]
) -> None:
    """Blender leaves the old name of the group in masks and keys: then they have none."""
    obj, rig = limb
    change(obj)
    check()
    calls.clear()
    rename(rig, "Lower", "Of no bone")
    check()
    assert calls["bind"] == 1
    assert_as_bound_anew(obj)


def test_two_bones_that_changed_names_at_once_do_not_keep_the_palette(
    limb: tuple[Object, Object], calls: Counter[str]
) -> None:
    """Where no group has followed: names of groups say which bone they are of."""
    obj, rig = limb
    other = rig.data.copy()
    for old, new in (("Lower", "x"), ("Upper", "Lower"), ("x", "Upper")):
        other.bones[old].name = new
    rig.data = other
    check()
    assert calls["write_bones"] == 1
    assert_as_bound_anew(obj)


def test_an_edited_weight_of_a_whole_character_ends_where_enabling_anew_does(addon: None) -> None:
    """What is kept from one reading to the next is that of the same bones: equal to the bit."""
    human, rig = new_file_with_rigify_human()
    human.dq_compensation.use_ball_joints = True
    enable(human)
    bone = rig.data.bones["DEF-forearm.L"]
    human.vertex_groups[bone.name].add(range(0, 13000, 50), 0.4, "REPLACE")
    rig.data.bones["DEF-hand.L"].name = "Left Hand"
    bpy.context.view_layer.update()
    edited = current_binding(human).deformation(Settings.of(human)).compensation
    assert bpy.ops.dqc.disable() == {"FINISHED"}
    enable(human)
    anew = current_binding(human).deformation(Settings.of(human)).compensation
    assert isinstance(edited, MeasuredJoints)
    assert isinstance(anew, MeasuredJoints)
    assert edited.swings is not None
    assert anew.swings is not None
    for one, other, names in (
        (edited, anew, ("joints", "bones", "amounts", "ropes")),
        (edited.swings, anew.swings, ("heads", "axes", "joints", "amounts", "hinged")),
    ):
        for name in names:
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("setting", ["method", "curve", "use_ball_joints"])
@pytest.mark.parametrize("edited", ["weights", "vertices"])
def test_an_edit_and_a_setting_right_after_it_are_both_followed(
    limb: tuple[Object, Object], edited: str, setting: str
) -> None:
    """As in a script: Blender has not evaluated the edit when the setting changes."""
    obj, rig = limb
    # The settings of the character are its armature's.
    assert armature_with_settings(obj) == rig
    other = {"method": "LINEAR", "curve": "FITTED", "use_ball_joints": False}
    before = getattr(rig.dq_compensation, setting)
    if edited == "weights":
        obj.vertex_groups["Lower"].add([260], 0.3, "REPLACE")
    else:
        obj.data.vertices[260].co.x += 0.05
        obj.data.update()
    for value in (other[setting], before):
        setattr(rig.dq_compensation, setting, value)
        bpy.context.view_layer.update()
        assert_as_written_anew(obj)
    setattr(rig.dq_compensation, setting, before)  # the same value
    obj.data.vertices[259].co.x += 0.05
    obj.data.update()
    bpy.context.view_layer.update()
    assert_as_written_anew(obj)


def test_an_animated_modifier_and_a_setting_right_after_it_are_both_followed(
    limb: tuple[Object, Object],
) -> None:
    """Soft weights need steps of all vertices then."""
    obj, rig = limb
    rig.dq_compensation.softness = 0.4
    check()
    modifier: Any = obj.modifiers.new("Above", "DISPLACE")
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    for frame, strength in ((1, 0.02), (6, 0.2)):
        modifier.strength = strength
        modifier.keyframe_insert("strength", frame=frame)
    rig.dq_compensation.use_ball_joints = False
    bpy.context.scene.frame_set(5)
    check()
    assert distance(evaluated_positions(obj), api.evaluate(obj)) <= 1e-3


def test_a_stroke_on_a_bone_is_followed(limb: tuple[Object, Object]) -> None:
    """Since Blender 5 a stroke names the mesh without saying that more than its shape changed.

    Here the change of the mode names it so.
    """
    obj, _ = limb
    select(obj)
    handlers: Any = bpy.app.handlers.depsgraph_update_post
    kept = handlers[:]
    handlers.clear()
    obj.vertex_groups["Lower"].add([260], 0.3, "REPLACE")
    bpy.context.view_layer.update()
    handlers[:] = kept
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    bpy.context.view_layer.update()
    check()
    assert_as_bound_anew(obj)
    assert_as_written_anew(obj)

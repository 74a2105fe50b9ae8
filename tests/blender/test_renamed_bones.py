"""A renamed bone keeps its example poses: in every mode, with undo, for every mesh of the rig."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.scene.binding.bind import bind
from tests.blender.enabled_scenes import check, disable, distance, enable, select
from tests.blender.example_scenes import small_character
from tests.blender.scene_builders import edit_mode, evaluated_positions, linked_copy
from tests.kept_files import new_file
from tests.limb import build_posed_limb

pytestmark = pytest.mark.usefixtures("addon")

TOLERANCE = 1e-4


def in_object_mode(armature: bpy.types.Object, old: str, new: str) -> None:
    armature.data.bones[old].name = new


def in_pose_mode(armature: bpy.types.Object, old: str, new: str) -> None:
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    armature.pose.bones[old].name = new
    bpy.context.view_layer.update()
    bpy.ops.object.mode_set(mode="OBJECT")


def in_edit_mode(armature: bpy.types.Object, old: str, new: str) -> None:
    with edit_mode(armature):
        armature.data.edit_bones[old].name = new
        check()


Rename = Callable[[bpy.types.Object, str, str], None]
MODES: list[Rename] = [in_object_mode, in_pose_mode, in_edit_mode]


def bones_of(obj: bpy.types.Object) -> tuple[list[str], list[str]]:
    settings = obj.dq_compensation
    return [item.bone for item in settings.examples], [one.name for one in settings.example_bones]


def is_right(obj: bpy.types.Object, bone: str, wanted: NDArray[np.floating]) -> None:
    """The examples are of that bone, and the character has their shape."""
    assert bones_of(obj) == ([bone], [bone])
    assert distance(evaluated_positions(obj), wanted) < TOLERANCE


def twin_of(obj: bpy.types.Object) -> bpy.types.Object:
    """A copy with a mesh of its own."""
    return linked_copy(obj, own_data=True)


@pytest.mark.parametrize("rename", MODES)
@pytest.mark.parametrize("deforms", [True, False])
def test_the_examples_follow(rename: Rename, deforms: bool) -> None:
    obj, armature, wanted = small_character()
    obj.dq_compensation.support_bone = "Lower"
    if not deforms:
        armature.data.bones["Lower"].use_deform = False
        bpy.context.view_layer.update()
        wanted = evaluated_positions(obj)
    rename(armature, "Lower", "Forearm")
    check()
    is_right(obj, "Forearm", wanted)
    assert obj.dq_compensation.support_bone == "Forearm"
    assert obj.dq_compensation.example_bones[0].support == "Support"
    assert bind(obj).examples().problems == ()
    # And again: what is remembered is up to date.
    rename(armature, "Forearm", "Unterarm")
    check()
    assert bones_of(obj) == (["Unterarm"], ["Unterarm"])


@pytest.mark.parametrize("method", ["LINEAR", "DUAL_QUATERNION", "COMPENSATED"])
def test_examples_that_do_not_act_follow_too(method: str) -> None:
    obj, armature, _ = small_character()
    obj.dq_compensation.method = method
    check()
    in_object_mode(armature, "Lower", "Forearm")
    check()
    assert bones_of(obj) == (["Forearm"], ["Forearm"])


@pytest.mark.parametrize("rename", MODES)
def test_two_bones_that_change_names_are_not_mixed_up(rename: Rename) -> None:
    obj, armature, wanted = small_character()
    rename(armature, "Lower", "x")
    rename(armature, "Upper", "Lower")
    rename(armature, "x", "Upper")
    check()
    check()
    is_right(obj, "Upper", wanted)


def test_names_that_two_bones_have_exchanged_at_once() -> None:
    obj, armature, wanted = small_character()
    with edit_mode(armature):
        for old, new in (("Lower", "x"), ("Upper", "Lower"), ("x", "Upper")):
            armature.data.edit_bones[old].name = new
    check()
    check()
    is_right(obj, "Upper", wanted)


def test_every_mesh_of_the_armature_follows() -> None:
    obj, armature, wanted = small_character()
    twin = twin_of(obj)
    check()
    in_object_mode(armature, "Lower", "Forearm")
    check()
    for one in (obj, twin):
        is_right(one, "Forearm", wanted)


def test_a_name_that_says_twist_counts_at_once() -> None:
    """The independent answer: a limb that had the name before it was enabled."""
    obj, armature = build_posed_limb()
    armature.data.bones["Lower"].name = "LowerTwist"
    bpy.context.view_layer.update()
    enable(obj)
    wanted = evaluated_positions(obj)
    new_file()
    obj, armature = build_posed_limb()
    enable(obj)
    before = evaluated_positions(obj)
    in_object_mode(armature, "Lower", "LowerTwist")
    check()
    assert distance(before, wanted) > 100.0 * TOLERANCE
    assert distance(evaluated_positions(obj), wanted) < TOLERANCE


def test_undo_and_redo_of_a_renaming() -> None:
    _, armature, wanted = small_character()
    bpy.ops.ed.undo_push(message="Before")
    in_object_mode(armature, "Lower", "Forearm")
    bpy.ops.ed.undo_push(message="Renamed")
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message="Something else")

    check()
    is_right(bpy.data.objects["Body"], "Forearm", wanted)
    for step, name in (("undo", "Forearm"), ("undo", "Lower"), ("redo", "Forearm")):
        getattr(bpy.ops.ed, step)()
        check()
        is_right(bpy.data.objects["Body"], name, wanted)


def test_a_removed_bone_is_missed_by_name() -> None:
    obj, armature, _ = small_character()
    with edit_mode(armature):
        bones = armature.data.edit_bones
        bones.remove(bones["Lower"])
    check()
    (problem,) = bind(obj).examples().problems
    assert "belongs to the bone Lower, which is not there" in problem


def test_a_mesh_that_is_not_enabled_follows_with_one_that_is() -> None:
    obj, armature, _ = small_character()
    twin = twin_of(obj)
    check()
    disable(twin)
    in_object_mode(armature, "Lower", "Forearm")
    check()
    assert bones_of(twin) == (["Forearm"], ["Forearm"])

"""The node modifier with solved shapes against `core`.

Distances are in parts of the object's size: 1e-4 is what all evaluators promise. Offsets are a
tenth of the limb's radius, so that a wrong weight of 1 % is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation import api
from dq_compensation.modifier.attribute_names import SOLVED_INPUT
from dq_compensation.modifier.base import base_for
from dq_compensation.modifier.modifier_inputs import get_input, get_inputs
from dq_compensation.scene.blender.own_objects import SOLVED_POINTS_PROPERTY, is_hidden
from dq_compensation.scene.stack import record_of_tree
from human.model import Rig
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import (
    check,
    distance,
    enable,
    error,
    ours,
    select,
    without_addon,
)
from tests.blender.scene_builders import evaluated_positions, new_file
from tests.blender.solved_scenes import DEPTH, ELBOW, WRIST, limb_with_shapes, plain, pose
from tests.limb import RADIUS, build_bendy_limb, build_limb, pose_limb
from tests.replaced_functions import replace_everywhere
from tests.solved import give_solved_shapes

pytestmark = pytest.mark.usefixtures("addon")
TOLERANCE = 1e-4
SIZE = 0.1 * RADIUS
JOINTS = {"Lower": True, "Hand": False}
METHODS = ("COMPENSATED", "DUAL_QUATERNION", "LINEAR", "SPHERICAL_JOINT")


def solved_limb(
    monkeypatch: pytest.MonkeyPatch, method: str = "COMPENSATED", combined: int = 1
) -> tuple[bpy.types.Object, bpy.types.Object]:
    give_solved_shapes(monkeypatch, JOINTS, SIZE, combined)
    new_file()
    obj, rig = build_limb()
    obj.dq_compensation.method = method
    enable(obj)
    return obj, rig


def bend(rig: bpy.types.Object, lower: float, hand: tuple[float, float, float]) -> None:
    """Bend the hinge by so many radians, about the axis that it bends about; and swing the hand."""
    pose_limb(rig, 0.0, 0.0)
    rig.pose.bones["Lower"].rotation_euler = (0.0, 0.0, -lower)
    rig.pose.bones["Hand"].rotation_euler = hand
    bpy.context.view_layer.update()


POSES = (
    (0.0, (0.0, 0.0, 0.0)),
    (0.4, (0.0, 0.0, 0.0)),
    (0.785, (0.3, 0.2, 0.9)),
    (1.9, (-0.7, 0.5, 0.3)),
    (-0.9, (1.2, -2.5, -0.8)),
    (2.9, (0.0, 0.0, 2.8)),
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("combined", [1, 2])
def test_nodes_equal_numpy(monkeypatch: pytest.MonkeyPatch, method: str, combined: int) -> None:
    obj, rig = solved_limb(monkeypatch, method, combined)
    moved = 0.0
    for lower, hand in POSES:
        bend(rig, lower, hand)
        assert error(obj) <= TOLERANCE
        moved = max(moved, distance(evaluated_positions(obj), without(obj)))
    assert moved > 0.5 * SIZE


def without(obj: bpy.types.Object, joint: str = "Lower") -> NDArray[np.float32]:
    """The vertices without solved shapes."""
    with pytest.MonkeyPatch.context() as patch:
        give_solved_shapes(patch, {joint: True}, 0.0)
        return api.evaluate(obj)


def test_where_all_joints_rest_nothing_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly: the tree leaves all of it out."""
    obj, rig = solved_limb(monkeypatch)
    bend(rig, 0.0, (0.0, 0.0, 0.0))
    shown = evaluated_positions(obj)
    assert distance(shown, without(obj)) <= 1e-6
    bend(rig, 0.785, (0.0, 0.0, 0.0))
    assert distance(evaluated_positions(obj), without(obj)) > SIZE


@pytest.mark.parametrize(
    ("scale", "of_object"),
    [((1.3, 0.9, 1.1), 1.0), ((1.0, 1.0, -1.0), 1.0), ((1.0, 1.0, 1.0), 2.0)],
    ids=["scaled", "mirrored", "placed"],
)
@pytest.mark.parametrize("method", ["COMPENSATED", "LINEAR", "SPHERICAL_JOINT"])
def test_scaled_bones_and_placed_objects(
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    scale: tuple[float, float, float],
    of_object: float,
) -> None:
    obj, rig = solved_limb(monkeypatch, method)
    bend(rig, 0.7, (0.3, 0.2, 0.9))
    rig.pose.bones["Hand"].scale = scale
    if of_object != 1.0:
        obj.location, obj.rotation_euler = (0.3, 0.2, -0.1), (0.4, 0.5, -0.6)
        obj.scale = (of_object, 1.0, 1.0)
        bpy.context.view_layer.update()
        check()
    bpy.context.view_layer.update()
    assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), without(obj)) > SIZE


@pytest.mark.parametrize("base", ["ARMATURE", "SOFT", "OWN"])
@pytest.mark.parametrize("inverted", [False, True])
def test_mask_blend_and_painted_weights_scale_them(
    monkeypatch: pytest.MonkeyPatch, base: str, *, inverted: bool
) -> None:
    if base == "OWN":
        replace_everywhere(monkeypatch, base_for, lambda *_args, **_options: "OWN")
    obj, rig = solved_limb(monkeypatch)
    obj.modifiers["Armature"].invert_vertex_group = inverted
    settings = obj.dq_compensation
    settings.softness = 0.5 * (base == "SOFT")
    settings.factor = 0.7
    names = ("Mask", "Blend", "Painted")
    for part, name in enumerate(names):
        group = obj.vertex_groups.new(name=name)
        for tenth in range(10):
            rows = range((tenth + 3 * part) % 10, len(obj.data.vertices), 10)
            group.add(list(rows), 0.05 + 0.1 * tenth, "REPLACE")
    obj.modifiers["Armature"].vertex_group = "Mask"
    settings.blend_group, settings.vertex_group = "Blend", "Painted"
    check()
    bend(rig, 0.7, (0.3, 0.2, 0.9))
    assert record_of_tree(ours(obj).node_group)["base"] == base
    assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), without(obj)) > 0.3 * SIZE


def test_shape_keys_and_examples_go_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    obj, rig = solved_limb(monkeypatch)
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Thick")
    key.value = 0.5
    for point in key.data:
        point.co.yz = point.co.yz * 1.2
    check()
    bend(rig, 0.7, (0.3, 0.2, 0.9))
    assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), without(obj)) > SIZE


def test_objects_that_share_a_mesh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has its own points; the attributes of the mesh serve both."""
    obj, rig = solved_limb(monkeypatch)
    twin = obj.copy()
    bpy.context.scene.collection.objects.link(twin)
    enable(twin)
    check()
    bend(rig, 0.7, (0.3, 0.2, 0.9))
    assert error(obj) <= TOLERANCE
    assert error(twin) <= TOLERANCE


@pytest.mark.parametrize("method", ["COMPENSATED", "DUAL_QUATERNION"])
def test_bendy_bones(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    give_solved_shapes(monkeypatch, JOINTS, SIZE)
    new_file()
    obj, rig = build_bendy_limb(4)
    obj.dq_compensation.method = method
    enable(obj)
    rig.pose.bones["Lower"].rotation_euler = (0.1, 0.2, -0.8)
    bpy.context.view_layer.update()
    assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), without(obj)) > SIZE


def test_disable_and_undo_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    obj, rig = solved_limb(monkeypatch)
    points = get_input(ours(obj), SOLVED_INPUT)
    name = points.name
    assert is_hidden(points, SOLVED_POINTS_PROPERTY)
    assert not points.users_collection
    api.disable(obj)
    assert name not in bpy.data.objects
    assert not [each for each in obj.data.attributes if each.name.startswith(".dqc")]
    api.enable(obj)
    bend(rig, 0.7, (0.3, 0.2, 0.9))
    assert error(obj) <= TOLERANCE


def test_edited_points_are_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    obj, rig = solved_limb(monkeypatch)
    bend(rig, 0.7, (0.3, 0.2, 0.9))
    points = get_input(ours(obj), SOLVED_INPUT)
    points.data.clear_geometry()
    check()
    assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), without(obj)) > SIZE


# Through what scripts and users call.


@pytest.fixture
def limb_and_rig() -> tuple[bpy.types.Object, bpy.types.Object]:
    """An enabled limb with shapes that a script has added."""
    new_file()
    obj, rig = build_limb()
    enable(obj)
    limb_with_shapes(obj, rig)
    check()
    return obj, rig


def shown_error(obj: bpy.types.Object, rig: bpy.types.Object) -> float:
    """The error in a pose in which all shapes act, which is seen."""
    pose(rig, Lower=80.0, Hand=40.0)
    check()
    assert distance(evaluated_positions(obj), plain(obj)) > 0.1 * DEPTH
    return error(obj)


def test_shapes_that_a_script_adds_are_shown(limb_and_rig: tuple[bpy.types.Object, ...]) -> None:
    obj, rig = limb_and_rig
    assert shown_error(obj, rig) <= TOLERANCE
    api.remove_solved_shapes(obj)
    check()
    assert SOLVED_INPUT not in get_inputs(ours(obj))
    assert not [each for each in bpy.data.objects if is_hidden(each, SOLVED_POINTS_PROPERTY)]
    assert error(obj) <= TOLERANCE


def test_a_joint_that_is_left_out_and_back(limb_and_rig: tuple[bpy.types.Object, ...]) -> None:
    obj, rig = limb_and_rig
    shown_error(obj, rig)
    for left_out in (WRIST, f"{ELBOW}, {WRIST}", ""):
        obj.dq_compensation.shapes_left_out = left_out
        check()
        assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), plain(obj)) > 0.1 * DEPTH


def test_a_saved_file_shows_them_without_the_add_on(
    limb_and_rig: tuple[bpy.types.Object, ...], tmp_path: Path
) -> None:
    obj, rig = limb_and_rig
    shown_error(obj, rig)
    shown = evaluated_positions(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "limb.blend"))
    found = without_addon(tmp_path / "limb.blend", f"shown({obj.name!r})")
    assert distance(np.array(found), shown) <= 1e-6


def test_undo_and_redo(limb_and_rig: tuple[bpy.types.Object, ...]) -> None:
    obj, rig = limb_and_rig
    name, rig_name = obj.name, rig.name
    shown_error(obj, rig)
    bpy.ops.ed.undo_push(message="with shapes")
    api.remove_solved_shapes(obj)
    check()
    bpy.ops.ed.undo_push(message="removed")
    for step in (bpy.ops.ed.undo, bpy.ops.ed.redo, bpy.ops.ed.undo):
        step()
        check()
        obj, rig = bpy.data.objects[name], bpy.data.objects[rig_name]
        assert error(obj) <= TOLERANCE
    assert shown_error(obj, rig) <= TOLERANCE


def test_duplicates_and_renamed_bones(limb_and_rig: tuple[bpy.types.Object, ...]) -> None:
    obj, rig = limb_and_rig
    select(obj)
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    twin = bpy.context.view_layer.objects.active
    check()
    assert shown_error(obj, rig) <= TOLERANCE
    assert error(twin) <= TOLERANCE
    rig.data.bones["Lower"].name = "Forearm"
    check()
    assert error(obj) <= TOLERANCE
    assert error(twin) <= TOLERANCE
    rig.pose.bones["Forearm"].rotation_euler.z = 1.0
    check()
    assert error(obj) <= TOLERANCE


def test_fingers_of_a_human_combine(
    human_with_rig: Callable[[Rig], Human], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four joints in a row; in a slot are blocks of few shapes and of many."""
    joints = dict.fromkeys(("thigh_l", "index_01_l", "index_02_l", "index_03_l"), True)
    give_solved_shapes(monkeypatch, joints, 0.005, 4)
    human = human_with_rig("game_engine")
    obj = human.mesh_object
    enable(obj)
    for bone in joints:
        turned = human.armature_object.pose.bones[bone]
        turned.rotation_mode, turned.rotation_euler = "XYZ", (0.7, 0.1, 0.4)
    bpy.context.view_layer.update()
    assert error(obj) <= TOLERANCE
    assert distance(evaluated_positions(obj), without(obj, "thigh_l")) > 0.005

"""Shape keys that do not do what they should are found and fixed."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from dq_compensation import api
from dq_compensation.setup_check.checks.shape_keys import SHAPE_KEYS
from tests.blender.conftest import Human
from tests.blender.scene_builders import link
from tests.setup_check.animated_human import TOLERANCE, find, fix, moved, world_positions
from tests.setup_check.plant_shape_keys import PLANTED, add_keys, pose, posed_key


def test_a_clean_human_has_no_finding(human: Human) -> None:
    assert not find(SHAPE_KEYS, human)
    add_keys(human, "Smile", "Frown").key_blocks["Smile"].value = 0.7
    assert not find(SHAPE_KEYS, human)


@pytest.mark.parametrize(
    ("variant", "key", "severity", "offender"),
    [
        ("absolute", "absolute", "ERROR", "Human"),
        ("unset", "unset_values", "INFORMATION", "Frown"),
        ("without_effect", "unset_values", "INFORMATION", "New"),
        ("mismatched", "mismatched", "ERROR", "Smile"),
        ("pinned", "pinned", "INFORMATION", "Smile"),
        ("posed", "posed", "WARNING", "Armature"),
    ],
)
def test_what_is_wrong_with_keys_is_found_and_fixed(
    whole_human: Human, variant: str, key: str, severity: str, offender: str
) -> None:
    PLANTED[f"shape_keys/{variant}"](whole_human)
    before = world_positions(whole_human.mesh_object)
    found = find(SHAPE_KEYS, whole_human)
    assert set(found) == {key}
    assert found[key].severity == severity
    assert offender in found[key].message
    if not found[key].fixes:
        return
    fix(SHAPE_KEYS, whole_human, key)
    assert not find(SHAPE_KEYS, whole_human)
    if not found[key].fixes[0].question:
        assert moved(before, world_positions(whole_human.mesh_object)) < TOLERANCE


@pytest.mark.usefixtures("addon")
def test_that_fbx_leaves_keys_out_is_said_once_for_a_character(human: Human) -> None:
    obj = human.mesh_object
    second = obj.copy()
    second.data = obj.data.copy()
    link(second)
    assert second.name > obj.name
    for each in (obj, second):
        each.shape_key_add(name="Basis")
        api.enable(each)
    assert "left_out_of_fbx" not in {
        issue.key for each in (obj, second) for issue in api.check(each)
    }
    second.shape_key_add(name="Frown").value = 0.0
    assert "left_out_of_fbx" in {issue.key for issue in api.check(second)}
    obj.shape_key_add(name="Smile").value = 0.0
    (issue,) = (each for each in api.check(obj) if each.key == "left_out_of_fbx")
    assert "Apply Modifiers" in issue.message
    assert "left_out_of_fbx" not in {issue.key for issue in api.check(second)}
    api.disable(obj)
    api.disable(second)
    assert "left_out_of_fbx" not in {issue.key for issue in api.check(obj)}


@pytest.mark.parametrize("time", [-3.0, 0.0, 4.0, 10.0, 17.0, 25.0])
def test_relative_keys_give_the_shape_of_the_absolute_ones(human: Human, time: float) -> None:
    keys = add_keys(human, "Closed", "Open")
    human.armature_object.pose.bones["lowerarm01.L"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    keys.key_blocks["Open"].relative_key = keys.key_blocks["Closed"]
    keys.use_relative = False
    keys.eval_time = time
    before = world_positions(human.mesh_object)
    assert find(SHAPE_KEYS, human)["absolute"].fixes[0].question == ""
    fix(SHAPE_KEYS, human, "absolute")
    assert keys.use_relative
    assert moved(before, world_positions(human.mesh_object)) < TOLERANCE


def test_what_absolute_keys_lose_is_asked_before(human: Human) -> None:
    PLANTED["shape_keys/absolute"](human)
    keys = human.mesh_object.data.shape_keys
    keys.keyframe_insert("eval_time", frame=1)
    action = keys.animation_data.action
    assert action.name in find(SHAPE_KEYS, human)["absolute"].fixes[0].question
    keys.animation_data_clear()
    for block in keys.key_blocks:
        block.interpolation = "KEY_BSPLINE"
    assert "look different" in find(SHAPE_KEYS, human)["absolute"].fixes[0].question


def test_a_key_that_somebody_animates_may_be_on(human: Human) -> None:
    keys = add_keys(human, "Smile", "Frown", "Blink")
    for name in ("Smile", "Frown", "Blink"):
        keys.key_blocks[name].value = 1.0
    keys.key_blocks["Smile"].keyframe_insert("value", frame=1)
    keys.key_blocks["Frown"].driver_add("value").driver.expression = "1"
    keys.key_blocks["Blink"].mute = True
    assert not find(SHAPE_KEYS, human)


def test_setting_to_0_asks_when_it_shows_and_names_who_shares_the_mesh(human: Human) -> None:
    PLANTED["shape_keys/unset"](human)
    assert "look different" in find(SHAPE_KEYS, human)["unset_values"].fixes[0].question
    link(bpy.data.objects.new("Twin", human.mesh_object.data))
    assert (
        "1 object with the same mesh" in find(SHAPE_KEYS, human)["unset_values"].fixes[0].question
    )
    summary = fix(SHAPE_KEYS, human, "unset_values")
    assert summary == "Set 1 shape key of Human to 0: Frown."
    assert human.mesh_object.data.shape_keys.key_blocks["Frown"].value == 0.0


def test_fitted_keys_keep_their_points_and_take_the_rest_from_the_mesh(human: Human) -> None:
    mesh = human.mesh_object.data
    keys = add_keys(human, "Smile")
    count = len(mesh.vertices)
    smile = [point.co.copy() for point in keys.key_blocks["Smile"].points]
    mesh.vertices.add(2)
    mesh.vertices[count].co, mesh.vertices[count + 1].co = (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
    weights = [[(g.group, g.weight) for g in v.groups] for v in mesh.vertices]
    summary = fix(SHAPE_KEYS, human, "mismatched")
    assert summary == f"Gave 2 shape keys of Human {count + 2} points."
    for name, first in (("Basis", None), ("Smile", smile)):
        points = [point.co for point in keys.key_blocks[name].points]
        assert tuple(points[count]) == (1.0, 2.0, 3.0)
        assert tuple(points[count + 1]) == (4.0, 5.0, 6.0)
        if first is not None:
            np.testing.assert_array_equal(points[:count], first)
    assert weights == [[(g.group, g.weight) for g in v.groups] for v in mesh.vertices]


def test_a_corrective_sculpted_in_a_pose_holds_none(human: Human) -> None:
    """What brings a posed arm to another shape is not rigid at rest."""
    keys = add_keys(human, "Bulge")
    rest = np.array([vertex.co for vertex in human.mesh_object.data.vertices])
    pose(human)
    lifted = human.evaluated_positions() - rest
    for bone in human.armature_object.pose.bones:
        bone.matrix_basis.identity()
    sizes = 0.3 * np.sin(9.0 * rest[:, 2:]) * lifted
    keys.key_blocks["Bulge"].points.foreach_set("co", (rest + sizes).astype(np.float32).ravel())
    assert not find(SHAPE_KEYS, human)


def test_a_key_that_turns_the_whole_body_holds_no_pose(human: Human) -> None:
    keys = add_keys(human, "Turned")
    rest = np.array([vertex.co for vertex in human.mesh_object.data.vertices])
    turned = rest @ np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    keys.key_blocks["Turned"].points.foreach_set("co", turned.astype(np.float32).ravel())
    assert not find(SHAPE_KEYS, human)


def test_a_pose_held_by_a_key_happens_twice(human: Human) -> None:
    """What the message says, seen: the key and the pose together turn the limbs by both."""
    posed_key(human)
    pose(human)
    once = world_positions(human.mesh_object)
    human.mesh_object.data.shape_keys.key_blocks["Armature"].value = 1.0
    assert moved(once, world_positions(human.mesh_object)) > 0.1

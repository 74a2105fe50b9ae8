"""Applying an armature's scale moves nothing: in no frame, in no action, and no child."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from dq_compensation import api
from dq_compensation.lifecycle.enabling import refresh
from dq_compensation.setup_check.checks.object_scale import CHECK
from dq_compensation.setup_check.issue import FixError
from human.model import Rig
from tests.blender.conftest import Human
from tests.blender.enabled_scenes import enable, error
from tests.blender.scene_builders import add_armature, add_grid, evaluated_positions, link, skin
from tests.setup_check.animated_human import (
    TOLERANCE,
    add_child,
    animate,
    find,
    fix,
    matrices_over_frames,
    moved,
    over_frames,
    place_somewhere,
    world_positions,
)
from tests.setup_check.plant_object_scale import PLANTED


@pytest.mark.parametrize(
    ("rig", "scale"),
    [
        ("default", (2.0, 2.0, 2.0)),
        ("cmu_mb", (0.5, 0.5, 0.5)),
        ("cmu_mb", (-1.0, 1.0, 1.0)),
        ("game_engine", (-2.0, -2.0, -2.0)),
        ("cmu_mb", (2.0, -2.0, -2.0)),
    ],
)
def test_applying_the_armatures_scale_keeps_animation_and_children(
    human_with_rig: Callable[[Rig], Human], rig: Rig, scale: tuple[float, float, float]
) -> None:
    human = human_with_rig(rig)
    rig_object = human.armature_object
    bone = rig_object.pose.bones[8].name
    children = [add_child(rig_object), add_child(rig_object, bone), add_child(human.mesh_object)]
    children[1].matrix_parent_inverse = Matrix.Translation((0.3, 0.1, 0.0))
    animate(rig_object)
    place_somewhere(human)
    rig_object.scale = scale
    before, places = over_frames(human.mesh_object), matrices_over_frames(*children)

    summary = fix(CHECK, human, "armature")

    assert f"{len(rig_object.data.bones)} bones" in summary
    assert not find(CHECK, human)
    assert tuple(rig_object.scale) == tuple(human.mesh_object.scale) == (1.0, 1.0, 1.0)
    assert moved(before, over_frames(human.mesh_object)) < TOLERANCE
    np.testing.assert_allclose(matrices_over_frames(*children), places, atol=TOLERANCE)
    # Heads and tails are where they were, and the mesh is no longer scaled by anything.
    assert np.allclose(human.mesh_object.matrix_parent_inverse, np.eye(4))


def test_an_import_in_centimetres_gets_metres(human: Human) -> None:
    PLANTED["object_scale/as_imported"](human)
    place_somewhere(human)
    before = world_positions(human.mesh_object)
    fix(CHECK, human, "armature")
    assert not find(CHECK, human)
    assert moved(before, world_positions(human.mesh_object)) < TOLERANCE
    height = np.ptp([bone.head_local.z for bone in human.armature_object.data.bones])
    assert 1.0 < height < 2.0


def test_rolls_and_tails_are_mirrored_with_the_armature(human: Human) -> None:
    rig = human.armature_object
    rig.scale = (-1.0, 1.0, 1.0)
    before = {b.name: (b.head_local.copy(), b.tail_local.copy(), b.z_axis) for b in rig.data.bones}
    axes = {b.name: b.matrix_local.to_3x3().col[2].copy() for b in rig.data.bones}
    fix(CHECK, human, "armature")
    flip = Matrix.Diagonal((-1.0, 1.0, 1.0))
    for bone in rig.data.bones:
        head, tail, _ = before[bone.name]
        # A small face bone's direction comes from positions in float32, a hundred lengths away.
        assert (flip @ head - bone.head_local).length < 1e-6
        assert (flip @ tail - bone.tail_local).length < 1e-6
        assert (flip @ axes[bone.name] - bone.matrix_local.to_3x3().col[2]).length < 1e-4


def test_modes_and_selection_are_as_before(human: Human) -> None:
    obj, rig = human.mesh_object, human.armature_object
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="POSE")
    for one in (obj, rig):
        one.select_set(True)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    rig.scale = (-1.0, 1.0, 1.0)
    fix(CHECK, human, "armature")
    assert (obj.mode, rig.mode) == ("WEIGHT_PAINT", "POSE")
    assert bpy.context.view_layer.objects.active == obj
    assert obj.select_get()
    assert rig.select_get()


def test_an_unequal_scale_keeps_the_rest_pose_and_asks_when_posed(human: Human) -> None:
    human.armature_object.scale = (1.0, 1.1, 1.3)
    assert find(CHECK, human)["armature"].fixes[0].question == ""
    before = world_positions(human.mesh_object)
    fix(CHECK, human, "armature")
    assert moved(before, world_positions(human.mesh_object)) < TOLERANCE
    human.armature_object.scale = (1.0, 1.1, 1.3)
    human.armature_object.pose.bones[3].rotation_quaternion = (0.9, 0.1, 0.3, 0.0)
    assert "look different" in find(CHECK, human)["armature"].fixes[0].question


def test_strips_stored_actions_and_constraint_actions_are_scaled_along(human: Human) -> None:
    rig = human.armature_object
    actions = []
    for seed in range(3):
        animate(rig, seed)
        actions.append(rig.animation_data.action)
        rig.animation_data.action = None
    _strip(rig, actions[0])
    actions[1].use_fake_user = True
    constraint: Any = rig.pose.bones[5].constraints.new("ACTION")
    constraint.action, constraint.influence = actions[2], 0.0
    rig.scale = (0.5, 0.5, 0.5)
    _play(rig, actions[1])
    stored = over_frames(human.mesh_object)
    rig.animation_data.action = None
    question = find(CHECK, human)["armature"].fixes[0].question
    assert all(action.name in question for action in actions)
    before = over_frames(human.mesh_object)
    fix(CHECK, human, "armature")
    assert moved(before, over_frames(human.mesh_object)) < TOLERANCE
    # Assigned again, the stored one is as large in the world as it was.
    rig.animation_data.nla_tracks[0].mute = True
    _play(rig, actions[1])
    assert moved(stored, over_frames(human.mesh_object)) < TOLERANCE


def _play(rig: bpy.types.Object, action: Any) -> None:
    rig.animation_data.action = action
    if hasattr(action, "slots"):
        rig.animation_data.action_slot = action.slots[0]


def _strip(rig: bpy.types.Object, action: Any) -> None:
    strip = rig.animation_data.nla_tracks.new().strips.new("walk", 1, action)
    if hasattr(action, "slots"):
        strip.action_slot = action.slots[0]


_LOCAL = {"owner_space": "LOCAL", "target_space": "LOCAL"}
_POSE = {"owner_space": "POSE", "target_space": "POSE"}


@pytest.mark.parametrize(
    ("kind", "settings", "reads"),
    [
        ("STRETCH_TO", {}, True),
        ("CHILD_OF", {}, True),
        ("LIMIT_LOCATION", {"owner_space": "LOCAL", "use_min_x": True, "min_x": 0.04}, True),
        ("LIMIT_LOCATION", {"owner_space": "LOCAL", "use_min_x": True}, False),
        ("LIMIT_LOCATION", {"use_min_x": True, "min_x": 0.04}, False),
        ("LIMIT_DISTANCE", {"distance": 0.1} | _POSE, True),
        ("LIMIT_DISTANCE", {"distance": 0.1, "limit_mode": "LIMITDIST_ONSURFACE"}, False),
        ("TRANSFORM", {"map_from": "LOCATION", "from_max_x": 0.1} | _LOCAL, True),
        ("TRANSFORM", {"map_to": "LOCATION", "to_max_x": 0.1} | _LOCAL, True),
        ("ACTION", {"transform_channel": "LOCATION_X", "target_space": "LOCAL"}, True),
        ("COPY_ROTATION", {}, False),
    ],
)
def test_constraints_of_bones_with_lengths_are_named_and_no_button_is_offered(
    kind: str, settings: dict[str, object], reads: bool, human: Human
) -> None:
    """The others act as before."""
    rig = human.armature_object
    animate(rig)
    rig.location, rig.scale = (0.4, -0.3, 0.2), (3.0, 3.0, 3.0)
    constraint: Any = rig.pose.bones["lowerarm01.L"].constraints.new(kind)
    if hasattr(constraint, "target"):
        constraint.target, constraint.subtarget = rig, rig.pose.bones[2].name
    for name, value in settings.items():
        setattr(constraint, name, value)
    before = over_frames(human.mesh_object)
    issue = find(CHECK, human)["armature"]
    assert bool(issue.fixes) != reads
    assert (f"read by {constraint.name} of lowerarm01.L (Human Rig)." in issue.message) == reads
    if reads:
        with pytest.raises(FixError, match="Remove these first"):
            fix(CHECK, human, "armature")
        assert tuple(rig.scale) == (3.0, 3.0, 3.0)
    else:
        fix(CHECK, human, "armature")
    assert moved(before, over_frames(human.mesh_object)) < TOLERANCE


@pytest.mark.parametrize(
    ("kind", "settings", "asks"),
    [
        ("COPY_LOCATION", {"target_space": "LOCAL"}, True),
        ("COPY_LOCATION", {}, False),
        ("COPY_TRANSFORMS", {}, True),
        ("TRANSFORM", {"map_from": "SCALE"}, True),
        ("TRANSFORM", {"map_from": "ROTATION"}, False),
        ("ACTION", {"transform_channel": "SCALE_X"}, True),
        ("CHILD_OF", {}, True),
        ("CHILD_OF", {"use_scale_x": False}, True),
        ("CHILD_OF", dict.fromkeys(("use_scale_x", "use_scale_y", "use_scale_z"), False), False),
    ],
)
def test_constraints_that_read_the_scale_are_named_before(
    kind: str, settings: dict[str, object], asks: bool, human: Human
) -> None:
    """Those that are not named stay where they were."""
    rig = human.armature_object
    rig.scale = (3.0, 3.0, 3.0)
    hat_rig = add_armature(("Hat",), name="Hat Rig")
    hat = add_grid(name="Hat")
    skin(hat, hat_rig, groups=("Hat",))
    follow: Any = hat_rig.pose.bones["Hat"].constraints.new(kind)
    follow.target, follow.subtarget = rig, rig.pose.bones[6].name
    for name, value in settings.items():
        setattr(follow, name, value)
    issue = find(CHECK, human)["armature"]
    assert ("Hat (Hat Rig)" in issue.message) == asks
    assert bool(issue.fixes) != asks
    if not asks:
        before = world_positions(hat)
        fix(CHECK, human, "armature")
        assert moved(before, world_positions(hat)) < TOLERANCE


def test_a_space_of_the_armature_is_named_before(human: Human) -> None:
    rig = human.armature_object
    rig.scale = (3.0, 3.0, 3.0)
    other = link(bpy.data.objects.new("Other", None))
    limit: Any = other.constraints.new("LIMIT_LOCATION")
    limit.owner_space, limit.space_object = "CUSTOM", rig
    assert "of Other" in find(CHECK, human)["armature"].message


def test_a_shared_armature_is_copied_after_asking(human: Human) -> None:
    twin = link(bpy.data.objects.new("Twin", human.armature_object.data))
    human.armature_object.scale = (2.0, 2.0, 2.0)
    before = world_positions(human.mesh_object)
    assert "own copy" in find(CHECK, human)["armature"].fixes[0].question
    fix(CHECK, human, "armature")
    assert twin.data != human.armature_object.data
    assert moved(before, world_positions(human.mesh_object)) < TOLERANCE


def test_keys_that_hold_the_scale_are_set_to_one(human: Human) -> None:
    rig = human.armature_object
    rig.scale = (0.5, 0.5, 0.5)
    rig.keyframe_insert("scale", frame=1)
    rig.keyframe_insert("scale", frame=9)
    before = over_frames(human.mesh_object)
    assert "6 keys" in find(CHECK, human)["armature"].fixes[0].question
    fix(CHECK, human, "armature")
    assert moved(before, over_frames(human.mesh_object)) < TOLERANCE
    bpy.context.scene.frame_set(5)
    assert tuple(rig.scale) == (1.0, 1.0, 1.0)


def test_an_enabled_character_stays_right(
    addon: None, human_with_rig: Callable[[Rig], Human]
) -> None:
    human = human_with_rig("game_engine")
    animate(human.armature_object)
    place_somewhere(human)
    human.armature_object.scale = (-2.0, 2.0, 2.0)
    bpy.context.scene.frame_set(5)
    enable(human.mesh_object)
    before = world_positions(human.mesh_object)
    summary = fix(CHECK, human, "armature")
    assert "Constraints" not in summary  # the palette has one, which follows
    refresh(human.mesh_object, bpy.context.evaluated_depsgraph_get())
    # Two evaluations of the compensation, each within the evaluators' 1e-4 of the specification.
    assert error(human.mesh_object) < 1e-4
    assert moved(before, world_positions(human.mesh_object)) < 1e-4
    assert len(api.evaluate(human.mesh_object)) == len(evaluated_positions(human.mesh_object))


@pytest.mark.parametrize(
    ("path", "asks"),
    [
        ('pose.bones["lowerarm01.L"].location[1]', True),
        ('pose.bones["lowerarm01.L"].rotation_euler[1]', False),
        ("scale[0]", True),
    ],
)
def test_drivers_that_read_lengths_are_named_before(path: str, asks: bool, human: Human) -> None:
    """They read another number afterwards."""
    reader = bpy.data.objects.new("Reader", None)
    bpy.context.scene.collection.objects.link(reader)
    driver = reader.driver_add("location", 0).driver
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = human.armature_object, path
    driver.expression = variable.name
    human.mesh_object.parent = None
    human.armature_object.scale = human.mesh_object.scale = (2.0, 2.0, 2.0)
    assert ("drivers of Reader" in find(CHECK, human)["armature"].message) == asks
    if path == "scale[0]":
        variable.targets[0].id = human.mesh_object
        assert "drivers of Reader" in find(CHECK, human)["mesh"].message
